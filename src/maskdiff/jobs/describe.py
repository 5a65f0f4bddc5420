"""What a model holds: its columns, settings, calibration, updates, rules and versions, as plain values."""

from __future__ import annotations

import os
import platform
from typing import Any

from maskdiff.detectors import Detector
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.version import __version__

RATES = (0.1, 0.05, 0.01, 0.001)
_LIBRARIES = ("torch", "numpy", "pyarrow")
_SHOWN_LABELS = 4


def describe_model(model: Model, *, all_labels: bool = False) -> dict[str, Any]:
    """All there is to say about a model; with `all_labels` every category and bin, else the first few of a column.

    >>> from maskdiff import TableDetector
    >>> facts = describe_model(TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100))
    >>> [column["name"] for column in facts["columns"]], facts["calibration"]["rows"] > 0
    (['x0', 'x1'], True)
    """
    detector, path = as_detector(model), model_path(model)
    return {
        "columns": column_facts(detector, all_labels=all_labels),
        "settings": setting_facts(detector),
        "calibration": calibration_facts(detector),
        "updates": [update.to_record() for update in detector.updates_],
        "dismissals": [rule.to_record() for rule in detector.dismissals_.rules],
        "versions": versions(path),
    }


def column_facts(detector: Detector, *, all_labels: bool = False) -> list[dict[str, Any]]:
    """The summary of each column, with its labels and how many normal rows held each."""
    fields = {field.name: field for field in detector.encoder_.schema_}
    most = None if all_labels else _SHOWN_LABELS
    return [
        column | {"labels": dict(list(zip(field.labels, field.counts, strict=True))[:most])}
        if (field := fields.get(column["name"]))
        else column | {"labels": {}}
        for column in detector.encoder_.summary()
    ]


def setting_facts(detector: Detector) -> dict[str, Any]:
    """The settings by name, those that are objects as texts."""
    hidden = ("progress", "device", "columns")
    settings = {name: value for name, value in detector.get_params(deep=False).items() if name not in hidden}
    settings |= {"probes": detector.probes_, "reconstructor": detector.reconstructor_}
    settings |= {"evidence": "; ".join(detector.evidence_.describe()), "effort": detector.describe_effort()}
    return {
        name: value if isinstance(value, str | int | float | None) else repr(value) for name, value in settings.items()
    }


def calibration_facts(detector: Detector) -> dict[str, Any]:
    """The normal rows that calibrate, and the thresholds for the usual false-alarm rates."""
    calibration = detector.calibration_
    own = calibration.rate_or_default(detector.false_alarm_rate)
    rates = [rate for rate in sorted({own, *RATES}, reverse=True) if rate >= calibration.finest_rate]
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


def versions(path: str | os.PathLike[str] | None) -> dict[str, str]:
    """What a model file says about its making, and what reads it here."""
    from importlib.metadata import version

    from safetensors import safe_open

    made = {}
    if path is not None:
        with safe_open(path, framework="np") as file:
            header = file.metadata()
        made = {"model format": header["format"], "written by": f"maskdiff {header.get('version', '(unknown)')}"}
    here = {"maskdiff": __version__, "python": platform.python_version()}
    return made | here | {name: version(name) for name in _LIBRARIES}
