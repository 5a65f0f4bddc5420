"""maskdiff finds anomalies in tables, token sequences and text, and says which cells are wrong.

A masked diffusion model learns normal rows. A row is scored by hiding random cells at several levels and averaging how
surprised the model is by the true values. **Higher = more anomalous.** Scores count standard deviations of normal rows
where several sources of evidence are combined, as tables are by default, and nats otherwise.

    maskdiff.find(table)          # the odd rows of one table, where nobody knows which are normal
    maskdiff.repair(table)        # a copy of it in which wrong cells hold what should be there
    detector = maskdiff.TableDetector().fit(normal)
    detector.is_anomaly(new)      # alarms at a false-alarm rate of 1%
    detector.explain(new)         # which cells, and what was expected there
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from maskdiff.threads import sleep_while_waiting
from maskdiff.version import __version__ as __version__

if TYPE_CHECKING:
    from maskdiff import (
        bench,
        calibration,
        cascade,
        checks,
        codes,
        datasets,
        detectors,
        drift,
        encoders,
        errors,
        evidence,
        explanations,
        io,
        jobs,
        masking,
        objectives,
        plot,
        probes,
        progress,
        reconstructors,
        report,
        score,
        state,
        storage,
        theory,
        threads,
        training,
        written_files,
    )
    from maskdiff.calibration import Calibration
    from maskdiff.detectors import Findings, SequenceDetector, TableDetector, TextDetector, find, repair
    from maskdiff.encoders.table.encoder import TableEncoder
    from maskdiff.masking import MaskedViews, Schedule
    from maskdiff.probes import ProbeGrid
    from maskdiff.reconstructors import (
        KernelReconstructor,
        MLPReconstructor,
        PretrainedReconstructor,
        Reconstructor,
        TransformerReconstructor,
    )
    from maskdiff.storage import load, save
    from maskdiff.training import Epochs, HeldOutLoss, Steps, Training

# All are imported where they are first used: torch and pandas take longer to import than `maskdiff --help` may.
_HOMES = {
    "Calibration": "calibration",
    "Epochs": "training",
    "Findings": "detectors",
    "HeldOutLoss": "training",
    "KernelReconstructor": "reconstructors",
    "MLPReconstructor": "reconstructors",
    "MaskedViews": "masking",
    "PretrainedReconstructor": "reconstructors",
    "ProbeGrid": "probes",
    "Reconstructor": "reconstructors",
    "Schedule": "masking",
    "SequenceDetector": "detectors",
    "Steps": "training",
    "TableDetector": "detectors",
    "TableEncoder": "encoders.table.encoder",
    "TextDetector": "detectors",
    "Training": "training",
    "TransformerReconstructor": "reconstructors",
    "find": "detectors",
    "load": "storage",
    "repair": "detectors",
    "save": "storage",
}
_ROOMS = (
    "bench",
    "calibration",
    "cascade",
    "checks",
    "client",
    "codes",
    "datasets",
    "detectors",
    "distributed",
    "drift",
    "encoders",
    "errors",
    "evidence",
    "explanations",
    "export",
    "io",
    "jobs",
    "masking",
    "objectives",
    "plot",
    "probes",
    "progress",
    "reconstructors",
    "report",
    "runtime",
    "score",
    "service",
    "state",
    "storage",
    "theory",
    "threads",
    "training",
    "written_files",
)

__all__ = [
    "Calibration",
    "Epochs",
    "Findings",
    "HeldOutLoss",
    "KernelReconstructor",
    "MLPReconstructor",
    "MaskedViews",
    "PretrainedReconstructor",
    "ProbeGrid",
    "Reconstructor",
    "Schedule",
    "SequenceDetector",
    "Steps",
    "TableDetector",
    "TableEncoder",
    "TextDetector",
    "Training",
    "TransformerReconstructor",
    "bench",
    "calibration",
    "cascade",
    "checks",
    "client",
    "codes",
    "datasets",
    "detectors",
    "distributed",
    "drift",
    "encoders",
    "errors",
    "evidence",
    "explanations",
    "export",
    "find",
    "io",
    "jobs",
    "load",
    "masking",
    "objectives",
    "plot",
    "probes",
    "progress",
    "reconstructors",
    "repair",
    "report",
    "runtime",
    "save",
    "score",
    "service",
    "state",
    "storage",
    "theory",
    "threads",
    "training",
    "written_files",
]

# Before torch is loaded: on a busy machine its threads would else spend most of their time waiting for each other.
sleep_while_waiting()


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"maskdiff.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'maskdiff' has no attribute {name!r}")
    return getattr(import_module(f"maskdiff.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
