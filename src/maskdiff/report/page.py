"""The page of a ReportBuilder: what it gathered, rendered into the templates."""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from maskdiff.detectors import Detector
from maskdiff.report import formatting
from maskdiff.report.chart import HEIGHT, SCALES, WIDTH, bar_lines, draw
from maskdiff.report.groups import group_alarms
from maskdiff.report.histogram import ScoreHistogram, shared_bars
from maskdiff.report.payload import payload, script_json
from maskdiff.version import __version__

if TYPE_CHECKING:
    from maskdiff.report.builder import ReportBuilder

# The alarms in the page itself, for paper and for browsers without scripts.
STATIC_ALARMS = 50
# The lines of a table about columns that are open, and those that can be unfolded.
OPEN_LINES, FOLDED_LINES = 12, 188
# Up to this many columns, the list of anomalies opens with all of them.
MAX_OPEN_COLUMNS = 30
# Where several terms of evidence are combined, scores count standard deviations.
UNITS = {False: ("nats", "nats"), True: ("standard deviations", "SD")}


@cache
def environment() -> Environment:
    """The templates; all values are escaped as text."""
    environment = Environment(
        loader=PackageLoader("maskdiff.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(formatting.FILTERS)
    return environment


@cache
def asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render(builder: ReportBuilder, *, source: str | None, model: str | None, title: str | None, when: datetime) -> str:
    """The whole page."""
    content, alarms = builder.content, builder.highest_alarms.alarms
    context_names = builder.highest_alarms.context_names or ()
    grouping = group_alarms(alarms, content.group_key)
    numbers = summary_numbers(builder)
    data = payload(alarms, content.names, context_names, grouping)
    data |= {"order": content.column_order(), "oddKey": content.odd_key(), "unit": numbers["unit_short"]}
    data |= {"reasonsHeading": content.wording.reasons_heading, "value": content.wording.value}
    early_script, page_script = asset("early.js"), asset("list.js") + asset("page.js")
    return (
        environment()
        .get_template("report.html")
        .render(
            title=title or "Anomaly report",
            source=source,
            when=when,
            version=__version__,
            css=Markup(asset("report.css")),
            early_script=Markup(early_script),
            page_script=Markup(page_script),
            script_hashes=[script_hash(early_script), script_hash(page_script)],
            data=Markup(script_json(data)),
            content=content,
            wording=content.wording,
            names=content.names,
            context_names=context_names,
            static_alarms=alarms[:STATIC_ALARMS],
            n_kept=len(alarms),
            grouping=grouping,
            odd_options=odd_options(data, content.odd_counts(alarms)),
            full_shade=data["full"],
            show_all_columns=len(content.names) <= MAX_OPEN_COLUMNS,
            open_lines=OPEN_LINES,
            max_lines=OPEN_LINES + FOLDED_LINES,
            **numbers,
            **distribution(builder),
            score_shares=content.score_shares(),
            drift=content.drift(),
            checks=builder.checks(),
            model=model_facts(builder, model),
        )
    )


def odd_options(data: dict[str, Any], counts: list[tuple[int | str, str, int]]) -> list[tuple[int, str, int]]:
    """The counts with texts replaced by their places among the texts of the payload's only column."""
    places = {text: at for at, text in enumerate(data["columns"][0]["texts"])}
    return [(places[key] if isinstance(key, str) else key, name, n) for key, name, n in counts]


def script_hash(script: str) -> str:
    """The hash by which the page's security policy admits this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def summary_numbers(builder: ReportBuilder) -> dict[str, Any]:
    """The numbers at the top of the page."""
    unit, unit_short = UNITS[len(builder.detector.evidence_.terms) > 1]
    return {
        "unit": unit,
        "unit_short": unit_short,
        "n_rows": builder.n_rows,
        "n_empty": builder.n_empty,
        "n_alarms": builder.n_alarms,
        "alarm_share": builder.n_alarms / max(1, builder.n_rows),
        "rate": builder.rate,
        "false_alarms": builder.rate * builder.n_rows,
        "threshold": builder.threshold,
        "highest": builder.highest_score,
        "first_row": builder.first_row or 0,
        "n_calibration": len(builder.detector.calibration_),
    }


def distribution(builder: ReportBuilder) -> dict[str, Any]:
    """The score distribution as pictures and as a table."""
    calibration = ScoreHistogram(builder.threshold).add(builder.detector.calibration_.scores)
    bars = shared_bars(builder.scores, calibration)
    return {
        "charts": [draw(bars, builder.threshold, scale) for scale in SCALES],
        "chart_size": (WIDTH, HEIGHT),
        "bar_lines": bar_lines(bars),
        "beyond": bars.beyond,
        "last_edge": float(bars.edges[-1]),
        "calibration_above": calibration.alarms,
    }


def model_facts(builder: ReportBuilder, name: str | None) -> dict[str, Any]:
    """The model that scored the rows."""
    detector = builder.detector
    probes = detector.probes_
    return {
        "name": name,
        "evidence": list(map(formatting.display_value, detector.evidence_.describe())),
        "settings": detector_settings(detector),
        "levels": ", ".join(f"{level:g}" for level in probes.levels),
        "views": probes.views_per_level,
        **builder.content.training_facts(),
        "finest_rate": detector.calibration_.finest_rate,
    }


def detector_settings(detector: Detector) -> list[tuple[str, str]]:
    """The detector's constructor arguments, without those that have no effect on scores or are shown elsewhere."""
    shown_elsewhere = ("progress", "device", "probes", "columns", "false_alarm_rate")
    settings = {name: value for name, value in detector.get_params(deep=False).items() if name not in shown_elsewhere}
    # None was not set; a reconstructor that is an object is shown as evidence.
    return [(name, str(value)) for name, value in settings.items() if isinstance(value, str | int | float)]
