"""What a ReportBuilder gathered, put into words and onto the page."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections import Counter
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from maskdiff import __version__
from maskdiff.detectors import TableDetector
from maskdiff.report import words
from maskdiff.report.alarms import Alarm
from maskdiff.report.chart import HEIGHT, SCALES, WIDTH, bar_lines, draw
from maskdiff.report.groups import group_alarms
from maskdiff.report.histogram import ScoreHistogram, draw_together
from maskdiff.report.payload import payload, script_json

if TYPE_CHECKING:
    from maskdiff.report.builder import ReportBuilder

# So many alarms stand in the page itself, for paper and for browsers without scripts.
WRITTEN_OUT = 50
# So many lines of a table about columns are open; so many more can be unfolded.
OPEN_LINES, FOLDED_LINES = 12, 188
# Up to so many columns, the list of anomalies opens with all of them.
MOST_OPEN_COLUMNS = 30
# Where scores of several kinds are put together, they count standard deviations.
UNITS = {False: ("nats", "nats"), True: ("standard deviations", "SD")}
ASKED = {
    "MLPReconstructor": "a neural network",
    "KernelReconstructor": "a kernel over normal rows",
    "Neighbours": "the nearest normal rows",
}


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
    named = (words.count, words.percent, words.rate, words.score, words.p_value, words.shown)
    made.filters.update({function.__name__: function for function in named})
    return made


@cache
def asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render(builder: ReportBuilder, *, source: str | None, model: str | None, title: str | None, when: datetime) -> str:
    """The whole page."""
    alarms = builder.book.alarms
    names = builder.detector.encoder_.schema_.names
    context_names = builder.book.context_names or ()
    grouping = group_alarms(alarms)
    carrying, top = carriers(builder), figures(builder)
    order = [carrier.field for carrier in carrying]
    data = payload(alarms, names, context_names, grouping) | {"order": order, "unit": top["unit_short"]}
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
            names=names,
            context_names=context_names,
            rows=alarms[:WRITTEN_OUT],
            kept=len(alarms),
            grouping=grouping,
            odd_columns=odd_columns(alarms, names),
            full_shade=data["full"],
            open_wide=len(names) <= MOST_OPEN_COLUMNS,
            open_lines=OPEN_LINES,
            most_lines=OPEN_LINES + FOLDED_LINES,
            **top,
            **distribution(builder),
            carriers=carrying,
            drift=builder.drift.columns(),
            model=model_facts(builder, model),
        )
    )


def digest(script: str) -> str:
    """What the page's security policy knows the script by: no other script is ever run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def figures(builder: ReportBuilder) -> dict[str, Any]:
    """The numbers at the top."""
    unit, unit_short = UNITS[len(builder.detector.evidence_.kinds) > 1]
    return {
        "unit": unit,
        "unit_short": unit_short,
        "n_rows": builder.n_rows,
        "n_alarms": builder.n_alarms,
        "alarm_share": builder.n_alarms / max(1, builder.n_rows),
        "rate": builder.rate,
        "false_alarms": builder.rate * builder.n_rows,
        "threshold": builder.threshold,
        "highest": builder.highest,
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


@dataclasses.dataclass(frozen=True)
class Carrier:
    """How much of the alarms' scores one column carries, against its part in the other rows' scores."""

    field: int
    name: str
    share: float
    elsewhere: float
    n_odd: int


def carriers(builder: ReportBuilder) -> list[Carrier]:
    """Every column, the one that carries most first."""
    share = builder.carried / max(builder.carried.sum(), 1e-30)
    elsewhere = builder.carried_elsewhere / max(builder.carried_elsewhere.sum(), 1e-30)
    names = builder.detector.encoder_.schema_.names
    order = np.argsort(-share, kind="stable").tolist()
    return [Carrier(j, names[j], float(share[j]), float(elsewhere[j]), int(builder.odd[j])) for j in order]


def odd_columns(alarms: list[Alarm], names: list[str]) -> list[tuple[int, str, int]]:
    """The columns that are odd in any of the kept alarms, with the number of these, the most frequent first."""
    counted = Counter(cell.field for alarm in alarms for cell in alarm.odd_cells)
    return [(field, names[field], n) for field, n in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]


def model_facts(builder: ReportBuilder, name: str | None) -> dict[str, Any]:
    """With which model the rows were scored."""
    detector = builder.detector
    encoder, probes = detector.encoder_, detector.probes_
    asked = dict.fromkeys(kind.source for kind in detector.evidence_.kinds)
    trained = Counter(sum(field.counts) for field in encoder.schema_).most_common(1)[0][0]
    return {
        "name": name,
        "asks": [described(detector.evidence_.sources[name]) for name in asked],
        "settings": settings(detector),
        "levels": ", ".join(f"{level:g}" for level in probes.levels),
        "views": probes.views_per_level,
        "trained": trained,
        "columns": encoder.summary(),
        "n_columns": len(encoder.schema_),
        "left_out": encoder.left_out_,
        "finest_rate": detector.calibration_.finest_rate,
    }


def described(source: Any) -> str:
    """One source of evidence in words; a reconstructor of the user's own by the name of its class."""
    asked = getattr(source, "reconstructor", None) or getattr(source, "neighbours", source)
    name = type(asked).__name__
    return f"{ASKED[name]}: {asked!r}" if name in ASKED else name


def settings(detector: TableDetector) -> list[tuple[str, str]]:
    """The detector's settings as it was made, but for those that say nothing about the scores."""
    silent = ("progress", "device", "probes", "columns", "false_alarm_rate")
    return [(name, str(value)) for name, value in detector.get_params(deep=False).items() if name not in silent]
