"""What a ReportBuilder gathered, put into words and onto the page."""

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
from maskdiff.report.histogram import ScoreHistogram, draw_together
from maskdiff.report.payload import payload, script_json
from maskdiff.version import __version__

if TYPE_CHECKING:
    from maskdiff.report.builder import ReportBuilder

# So many alarms stand in the page itself, for paper and for browsers without scripts.
WRITTEN_OUT = 50
# So many lines of a table about columns are open; so many more can be unfolded.
OPEN_LINES, FOLDED_LINES = 12, 188
# Up to so many columns, the list of anomalies opens with all of them.
MOST_OPEN_COLUMNS = 30
# Where several terms of evidence are combined, scores count standard deviations.
UNITS = {False: ("nats", "nats"), True: ("standard deviations", "SD")}


@cache
def environment() -> Environment:
    """The templates; whatever they are given is text, never markup."""
    made = Environment(
        loader=PackageLoader("maskdiff.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(formatting.FILTERS)
    return made


@cache
def asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render(builder: ReportBuilder, *, source: str | None, model: str | None, title: str | None, when: datetime) -> str:
    """The whole page."""
    content, alarms = builder.content, builder.highest_alarms.alarms
    context_names = builder.highest_alarms.context_names or ()
    grouping = group_alarms(alarms, content.group_key)
    top = figures(builder)
    data = payload(alarms, content.names, context_names, grouping)
    data |= {"order": content.column_order(), "oddKey": content.odd_key(), "unit": top["unit_short"]}
    data |= {"reasonsHeading": content.wording.reasons_heading, "value": content.wording.value}
    early, late = asset("early.js"), asset("list.js") + asset("page.js")
    return (
        environment()
        .get_template("report.html")
        .render(
            title=title or "Anomaly report",
            source=source,
            when=when,
            version=__version__,
            css=Markup(asset("report.css")),
            early=Markup(early),
            late=Markup(late),
            script_hashes=[digest(early), digest(late)],
            data=Markup(script_json(data)),
            content=content,
            wording=content.wording,
            names=content.names,
            context_names=context_names,
            rows=alarms[:WRITTEN_OUT],
            kept=len(alarms),
            grouping=grouping,
            odd_options=odd_options(data, content.odd_counts(alarms)),
            full_shade=data["full"],
            open_wide=len(content.names) <= MOST_OPEN_COLUMNS,
            open_lines=OPEN_LINES,
            most_lines=OPEN_LINES + FOLDED_LINES,
            **top,
            **distribution(builder),
            score_shares=content.score_shares(),
            drift=content.drift(),
            model=model_facts(builder, model),
        )
    )


def odd_options(data: dict[str, Any], counts: list[tuple[int | str, str, int]]) -> list[tuple[int, str, int]]:
    """The counts with texts replaced by their places among the texts of the payload's only column."""
    places = {text: at for at, text in enumerate(data["columns"][0]["texts"])}
    return [(places[key] if isinstance(key, str) else key, name, n) for key, name, n in counts]


def digest(script: str) -> str:
    """What the page's security policy knows the script by: no other script is ever run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def figures(builder: ReportBuilder) -> dict[str, Any]:
    """The numbers at the top."""
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
    bars = draw_together(builder.scores, calibration)
    return {
        "charts": [draw(bars, builder.threshold, scale) for scale in SCALES],
        "chart_size": (WIDTH, HEIGHT),
        "bar_lines": bar_lines(bars),
        "beyond": bars.beyond,
        "last_edge": float(bars.edges[-1]),
        "calibration_above": calibration.alarms,
    }


def model_facts(builder: ReportBuilder, name: str | None) -> dict[str, Any]:
    """With which model the rows were scored."""
    detector = builder.detector
    probes = detector.probes_
    return {
        "name": name,
        "evidence": list(map(formatting.display_value, detector.evidence_.describe())),
        "settings": settings(detector),
        "levels": ", ".join(f"{level:g}" for level in probes.levels),
        "views": probes.views_per_level,
        **builder.content.training_facts(),
        "finest_rate": detector.calibration_.finest_rate,
    }


def settings(detector: Detector) -> list[tuple[str, str]]:
    """The detector's settings as it was made, but for those that say nothing about the scores."""
    silent = ("progress", "device", "probes", "columns", "false_alarm_rate")
    told = {name: value for name, value in detector.get_params(deep=False).items() if name not in silent}
    # What was not set needs no telling; a reconstructor that was handed over is told above.
    return [(name, str(value)) for name, value in told.items() if isinstance(value, str | int | float)]
