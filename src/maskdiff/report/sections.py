"""The parts of the page, one by one: for a page that shows them beside something else."""

from __future__ import annotations

import os
from typing import Any

from maskdiff.io.atomic import atomic_write
from maskdiff.report.builder import ReportBuilder
from maskdiff.report.page import MAX_PICTURES, environment, page_values
from maskdiff.report.payload import as_json
from maskdiff.report.small_bars import learned_and_new

# Name -> template; what there is nothing to show of is left out.
_TEMPLATES = {"scores": "scores.html", "time": "timeline.html", "columns": "columns.html", "groups": "groups.html"}


def sections(builder: ReportBuilder) -> dict[str, Any]:
    """The sections as HTML by name, what is known about the rows, and the rows of each group by their numbers.

    >>> import pandas as pd
    >>> from maskdiff import TableDetector
    >>> normal = pd.DataFrame({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100})
    >>> builder = ReportBuilder(TableDetector("kernel").fit(normal))
    >>> found = sections(builder.add(pd.DataFrame({"pet": ["cat", "cat"], "says": ["woof", "woof"]})))
    >>> sorted(found["html"]), found["group_rows"], found["alarms"]
    (['columns', 'drift', 'groups', 'scores'], [[0, 1]], 2)
    """
    values = page_values(builder, source=None, model=None)
    names = dict(_TEMPLATES)
    if not values["timelines"]:
        del names["time"]
    if builder.search is None and values["wording"].is_table:
        pictures = [learned_and_new(one) for one in values["drift"][:MAX_PICTURES]]
        values |= {"column_bars": pictures, "all_pictured": len(pictures) == len(values["drift"])}
    if builder.search is None:
        names["drift"] = "column_drift.html" if values["wording"].is_table else "token_drift.html"
    html = {
        name: environment().get_template(template).render(**values)
        for name, template in (names.items() if builder.n_judged else ())
    }
    listed = [*builder.highest_alarms.alarms, *builder.highest_alarms.below]
    grouping = values["grouping"]
    rows: list[list[int]] = [[] for _ in grouping.groups]
    for alarm, group in zip(listed, grouping.group_of, strict=True):
        if group >= 0:
            rows[group].append(alarm.number)
    return {
        "html": html,
        "group_rows": rows,
        "group_names": [" + ".join(builder.content.group_names(one.shared)) for one in grouping.groups],
        "rows": builder.n_rows,
        "judged": builder.n_judged,
        "alarms": builder.n_alarms if builder.search is None else builder.search.found,
        "rate": builder.rate,
        "finest_rate": builder.detector.calibration_.finest_rate,
        "threshold": builder.threshold,
        "unit": values["unit"],
        "unit_short": values["unit_short"],
        "full_shade": values["full_shade"],
        "parts": builder.detector.encoder_.parts,
        "checks": [{"title": check.title, "message": check.message} for check in builder.checks()],
    }


def write_sections(builder: ReportBuilder, path: str | os.PathLike[str]) -> None:
    """The sections as one JSON file."""
    with atomic_write(path) as file:
        file.write(as_json(sections(builder)))
