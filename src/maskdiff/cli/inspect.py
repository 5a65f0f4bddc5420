"""`maskdiff inspect`: what a model holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable, table
from maskdiff.cli.update import update_lines

if TYPE_CHECKING:
    from maskdiff.detectors import TableDetector


def inspect(
    ctx: typer.Context,
    model: options.Model,
    labels: Annotated[bool, typer.Option("--labels", help="Every category and bin, with its normal rows.")] = False,
) -> None:
    """Show a model's columns, settings, calibration and versions."""
    from maskdiff.jobs.describe import describe_model, versions
    from maskdiff.storage import load

    output: Output = ctx.obj
    detector = load(model)
    facts = describe_model(detector, all_labels=labels) | {"versions": versions(model)}
    columns, calibration = facts["columns"], facts["calibration"]
    output.facts(command="inspect", model=model, **facts)
    output.say(
        f"{printable(Path(model).name)}: {counted(len(columns), 'column')}, "
        f"calibrated on {counted(calibration['rows'], 'normal row')}",
        "",
        table(("column", "read as", "codes", "missing", "holds"), (_line(column, labels) for column in columns)),
        "",
        table(("setting", "value"), ((name, str(value)) for name, value in facts["settings"].items())),
        "",
        *_thresholds(calibration),
        *_updates(detector),
        *_rules(detector),
        f"versions: {', '.join(f'{name} {number}' for name, number in facts['versions'].items())}",
    )


def _line(column: dict[str, Any], labels: bool) -> tuple[str, ...]:
    missing = percent(column["missing"]) if column["missing"] else ""
    if column["left_out"]:
        return column["name"], f"left out: {column['left_out']}", "", missing, ""
    shown = [f"{label} ({count:,})" if labels else label for label, count in column["labels"].items()]
    more = ", ..." if column["codes"] > len(shown) else ""
    return column["name"], column["type"], f"{column['codes']:,}", missing, ", ".join(shown) + more


def _thresholds(calibration: dict[str, Any]) -> list[str]:
    """What a row must score above, and how odd a cell must be, for an alarm at each rate."""
    heads = {
        "thresholds": "alarm above a score of",
        "cell_thresholds": "or where one cell is odder than",
    }
    return [
        f"{head} (and the false-alarm rate): "
        + ", ".join(f"{gamma:.4g} ({percent(float(rate))})" for rate, gamma in calibration[name].items())
        for name, head in heads.items()
        if calibration[name]
    ]


def _updates(detector: TableDetector) -> list[str]:
    """What each update changed, the last one last."""
    lines = []
    for number, summary in enumerate(detector.updates_, start=1):
        first, *rest = update_lines(summary)
        lines += [f"update {number}: {first}", *(f"  {line}" for line in rest)]
    return ["", *lines] if lines else []


def _rules(detector: TableDetector) -> list[Any]:
    rules = [(str(rule.number), str(rule)) for rule in detector.dismissals_.rules]
    return ["", table(("rule", "dismisses alarms with"), rules), ""] if rules else []
