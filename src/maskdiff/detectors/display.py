"""A fitted detector as notebooks show it: what it reads, what it is made of and when it raises an alarm."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from maskdiff.explanations.shading import visible

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector

# Columns that are listed; wide tables have thousands.
MOST_COLUMNS = 200
_BOX = "border-left:3px solid #d9722e;padding:2px 12px;margin:6px 0;line-height:1.5"
_HEADS = ("column", "read as", "codes", "missing")


def summary_html(detector: Detector) -> str:
    """What a fitted detector has learned, as a piece of HTML without scripts; texts of the data are escaped."""
    columns = detector.encoder_.summary()
    used = [column for column in columns if not column["left_out"]]
    calibration = detector.calibration_
    rate = calibration.rate_or_default(detector.false_alarm_rate)
    head = (
        f"<b>{escape(type(detector).__name__)}</b>, fitted: reads {_counted(len(used), 'column')}, "
        f"calibrated on {_counted(len(calibration), 'normal row')}. Alarm above a score of {detector.threshold():.4g}"
        f"{_by_cell(detector)}, which at most {100 * rate:.3g}% of normal rows reach."
    )
    evidence = "".join(f"<li>{_text(source)}</li>" for source in detector.evidence_.describe())
    return (
        f'<div style="{_BOX}"><div>{head}</div><div>The score is made of:</div><ul style="margin:0">{evidence}</ul>'
        f"<details><summary>{_counted(len(columns), 'column')}</summary>{_table(columns)}</details></div>"
    )


def _by_cell(detector: Detector) -> str:
    """The other way to an alarm, where there is one."""
    above = detector.cell_threshold()
    return "" if above is None else f", or where one cell is odder than {above:.4g}"


def _table(columns: list[dict[str, Any]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    lines = "".join(_line(column) for column in columns[:MOST_COLUMNS])
    more = f"<div>and {len(columns) - MOST_COLUMNS:,} more</div>" if len(columns) > MOST_COLUMNS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def _line(column: dict[str, Any]) -> str:
    read_as = f"left out: {column['left_out']}" if column["left_out"] else column["type"]
    codes = "" if column["left_out"] else f"{column['codes']:,}"
    missing = f"{column['missing']:.1%}" if column["missing"] else ""
    cells = (_text(column["name"]), _text(read_as), codes, missing)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _text(value: Any) -> str:
    return escape(visible(str(value)))
