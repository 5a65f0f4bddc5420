"""`maskdiff inspect`: what a model holds."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable, table
from maskdiff.cli.update import update_lines

if TYPE_CHECKING:
    from maskdiff.detectors import TableDetector

_RATES = (0.1, 0.05, 0.01, 0.001)
_LIBRARIES = ("torch", "numpy", "pyarrow")
_SHOWN_LABELS = 4


def inspect(
    ctx: typer.Context,
    model: options.Model,
    labels: Annotated[bool, typer.Option("--labels", help="Every category and bin, with its normal rows.")] = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show a model's columns, settings, calibration and versions."""
    from maskdiff.storage import load

    output: Output = ctx.obj
    detector = load(model)
    columns, settings, calibration = _columns(detector, labels), _settings(detector), _calibration(detector)
    versions = _versions(model)
    output.facts(
        command="inspect",
        model=model,
        columns=columns,
        settings=settings,
        calibration=calibration,
        updates=[update.to_record() for update in detector.updates_],
        dismissals=[rule.to_record() for rule in detector.dismissals_.rules],
        versions=versions,
    )
    output.say(
        f"{printable(Path(model).name)}: {counted(len(columns), 'column')}, "
        f"calibrated on {counted(calibration['rows'], 'normal row')}",
        "",
        table(("column", "read as", "codes", "missing", "holds"), (_line(column, labels) for column in columns)),
        "",
        table(("setting", "value"), ((name, str(value)) for name, value in settings.items())),
        "",
        *_thresholds(calibration),
        *_updates(detector),
        *_rules(detector),
        f"versions: {', '.join(f'{name} {number}' for name, number in versions.items())}",
    )


def _columns(detector: TableDetector, labels: bool) -> list[dict[str, Any]]:
    """The summary of each column, with its labels and how many normal rows held each."""
    fields = {field.name: field for field in detector.encoder_.schema_}
    most = None if labels else _SHOWN_LABELS
    return [
        column | {"labels": dict(list(zip(field.labels, field.counts, strict=True))[:most])}
        if (field := fields.get(column["name"]))
        else column | {"labels": {}}
        for column in detector.encoder_.summary()
    ]


def _line(column: dict[str, Any], labels: bool) -> tuple[str, ...]:
    missing = percent(column["missing"]) if column["missing"] else ""
    if column["left_out"]:
        return column["name"], f"left out: {column['left_out']}", "", missing, ""
    shown = [f"{label} ({count:,})" if labels else label for label, count in column["labels"].items()]
    more = ", ..." if column["codes"] > len(shown) else ""
    return column["name"], column["type"], f"{column['codes']:,}", missing, ", ".join(shown) + more


def _settings(detector: TableDetector) -> dict[str, Any]:
    hidden = ("progress", "device", "columns")
    settings = {name: value for name, value in detector.get_params(deep=False).items() if name not in hidden}
    settings |= {"probes": detector.probes_, "reconstructor": detector.reconstructor_}
    settings |= {"evidence": "; ".join(detector.evidence_.describe()), "effort": detector.describe_effort()}
    return {
        name: value if isinstance(value, str | int | float | None) else repr(value) for name, value in settings.items()
    }


def _calibration(detector: TableDetector) -> dict[str, Any]:
    calibration = detector.calibration_
    own = calibration.rate_or_default(detector.false_alarm_rate)
    rates = [rate for rate in sorted({own, *_RATES}, reverse=True) if rate >= calibration.finest_rate]
    return {
        "rows": len(calibration),
        "median_score": float(calibration.scores[len(calibration) // 2]),
        "highest_score": float(calibration.scores[-1]),
        "false_alarm_rate": own,
        "thresholds": {f"{rate:g}": calibration.threshold(rate) for rate in rates},
        "cell_thresholds": {
            f"{rate:g}": above for rate in rates if (above := detector.cell_threshold(rate)) is not None
        },
    }


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


def _versions(model: str) -> dict[str, str]:
    """What the file says about its making, and what reads it here."""
    from importlib.metadata import version

    from safetensors import safe_open

    from maskdiff import __version__

    with safe_open(model, framework="np") as file:
        header = file.metadata()
    made = {"model format": header["format"], "written by": f"maskdiff {header.get('version', '(unknown)')}"}
    here = {"maskdiff": __version__, "python": platform.python_version()}
    return made | here | {name: version(name) for name in _LIBRARIES}
