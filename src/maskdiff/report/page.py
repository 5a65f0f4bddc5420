"""The page of a ReportBuilder: what it gathered, rendered into the templates."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from maskdiff.detectors import Detector
from maskdiff.drift.columns import ColumnDrift
from maskdiff.evidence import Evidence
from maskdiff.report import formatting
from maskdiff.report.chart import HEIGHT, SCALES, WIDTH, bar_lines, draw
from maskdiff.report.content.base import ScoreShare
from maskdiff.report.groups import group_alarms
from maskdiff.report.histogram import ScoreHistogram, shared_bars
from maskdiff.report.payload import digest, packed, payload
from maskdiff.report.rates import choice_texts
from maskdiff.report.settings import source_words, value_text
from maskdiff.report.small_bars import HEIGHT as SMALL_HEIGHT
from maskdiff.report.small_bars import WIDTH as SMALL_WIDTH
from maskdiff.report.small_bars import SmallBars, learned_and_new, over_time
from maskdiff.version import __version__

if TYPE_CHECKING:
    from maskdiff.report.builder import ReportBuilder

# The alarms in the page itself, for paper and for browsers without scripts.
STATIC_ALARMS = 50
# The lines of a table about columns that are open, and those that can be unfolded.
OPEN_LINES, FOLDED_LINES = 12, 188
# Up to this many columns, the list of anomalies opens with all of them.
MAX_OPEN_COLUMNS = 30
# The columns whose learned and new values are drawn.
MAX_PICTURES = 60
PAGE_SCRIPTS = ("unpack.js", "list.js", "export.js", "reviewed.js", "page.js")
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
    values = page_values(builder, source=source, model=model)
    return environment().get_template("report.html").render(title=title or "Anomaly report", when=when, **values)


def page_values(builder: ReportBuilder, *, source: str | None, model: str | None) -> dict[str, Any]:
    """What the templates of the page show."""
    content, alarms = builder.content, builder.highest_alarms.alarms
    below = builder.highest_alarms.below
    context_names = builder.highest_alarms.context_names or ()
    grouping = group_alarms(alarms, content.group_key, below)
    numbers = summary_numbers(builder)
    nearest = content.nearest(alarms)
    choices = builder.rates.choices(len(alarms) + len(below))
    data = payload([*alarms, *below], content.names, context_names, grouping, nearest)
    data |= {"order": content.column_order(), "oddKey": content.odd_key(), "unit": numbers["unit_short"]}
    data |= {"reasonsHeading": content.wording.reasons_heading, "value": content.wording.value}
    data |= {"isText": not content.wording.is_table}
    data |= {"rates": choice_texts(choices, builder.n_judged), "ownRate": builder.rates.own}
    early_script, page_script = asset("early.js"), "".join(map(asset, PAGE_SCRIPTS))
    score_shares, drift = content.score_shares(), content.drift()
    return {
        "source": source,
        "version": __version__,
        "css": Markup(asset("report.css")),
        "early_script": Markup(early_script),
        "page_script": Markup(page_script),
        "script_hashes": [script_hash(early_script), script_hash(page_script)],
        "data": Markup(packed(data | {"digest": digest(data)})),
        "content": content,
        "search": builder.search,
        "wording": content.wording,
        "names": content.names,
        "context_names": context_names,
        "static_alarms": alarms[:STATIC_ALARMS],
        "nearest": nearest,
        "n_kept": len(alarms),
        "lowest_p": builder.highest_alarms.lowest_p,
        "grouping": grouping,
        "odd_options": odd_options(data, content.odd_counts(alarms, below)),
        "oddities": content.oddities(),
        "rates": data["rates"],
        "own_rate": builder.rates.own,
        "full_shade": data["full"],
        "show_all_columns": len(content.names) <= MAX_OPEN_COLUMNS,
        "open_lines": OPEN_LINES,
        "max_lines": OPEN_LINES + FOLDED_LINES,
        **numbers,
        **distribution(builder),
        "score_shares": score_shares,
        "drift": drift,
        "timelines": [(one, over_time(one, builder.rate)) for one in builder.timelines()],
        "column_bars": column_bars(drift, score_shares) if content.wording.is_table and builder.n_judged else [],
        "all_pictured": False,
        "small_size": (SMALL_WIDTH, SMALL_HEIGHT),
        "checks": builder.checks(),
        "model": model_facts(builder, model),
    }


def column_bars(drift: Sequence[ColumnDrift], score_shares: Sequence[ScoreShare]) -> list[SmallBars]:
    """Pictures of the columns that matter: those that drifted, and those that are odd in an anomaly."""
    odd = {share.name for share in score_shares if share.n_odd}
    shown = [one for one in drift if one.level != "chance" or one.name in odd]
    return [learned_and_new(one) for one in shown[:MAX_PICTURES]]


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
        "n_dismissed": builder.n_dismissed,
        "n_judged": builder.n_judged,
        "n_alarms": builder.n_alarms,
        "alarm_share": builder.n_alarms / max(1, builder.n_judged),
        "rate": builder.rate,
        "false_alarms": builder.rate * builder.n_judged,
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
        "axis": (float(bars.edges[0]), float(bars.edges[-1])),
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
        "evidence": evidence_words(detector.evidence_),
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
    named = [(name.replace("_", " "), value) for name, value in settings.items()]
    return [(name, value_text(value)) for name, value in named if isinstance(value, str | int | float)]


def evidence_words(evidence: Evidence) -> list[tuple[str, str]]:
    """The sources of evidence in the order of the terms that read them: what each is, and its settings."""
    names = dict.fromkeys(term.source for term in evidence.terms)
    return [source_words(evidence.sources[name]) for name in names]
