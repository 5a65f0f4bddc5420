"""Rows that are lists of symbols."""

from __future__ import annotations

from typing import Any

from maskdiff.cascade import Effort
from maskdiff.detectors.tokens import TokenDetector
from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.masking import Schedule
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import Reconstructor


class SequenceDetector(TokenDetector):
    """Finds odd sequences of symbols, and the symbols that make them odd.

    Rows are lists of anything hashable, or strings that `separator` splits. `fit(normal)`, then `anomaly_score`,
    `p_value`, `is_anomaly`, `explain` as for tables; an explanation has the column `position`, counted from 0. Scores
    are in nats.

    A sequence without symbols (empty or missing) holds no evidence: its score is NaN, its p-value is 1, and it is never
    an alarm, at any false-alarm rate. A NoEvidenceWarning names such rows; fitting leaves them out.

    Parameters
    ----------
    reconstructor : "transformer", or an object with `log_prob` and `most_likely` (see `Reconstructor`).
    separator : how to split rows that are strings: at " " or another separator, into characters with "", into the
        symbols of a molecule with "smiles".
    column : the column that holds the sequences, where rows come as a table.
    max_length, overlap : longer rows are looked at in windows of at most so many that overlap; every symbol counts
        once. None: 256 and 64.
    preset, probes, objective, schedule, aggregate, leave_out_labelled, effort, false_alarm_rate, device, seed,
        progress : as for TableDetector.

    Examples
    --------
    >>> from maskdiff import Steps, Training
    >>> from maskdiff.reconstructors import TransformerReconstructor
    >>> quick = Training(Steps(60), batch_size=32, learning_rate=0.01)
    >>> small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=quick)
    >>> normal = [["open", "read", "close"], ["open", "write", "close"]] * 100
    >>> detector = SequenceDetector(small).fit(normal)
    >>> detector.is_anomaly([["open", "read", "close"], ["close", "read", "open"]])
    array([False,  True])
    """

    def __init__(
        self,
        reconstructor: str | Reconstructor = "transformer",
        *,
        separator: str | None = None,
        column: str | None = None,
        max_length: int | None = None,
        overlap: int | None = None,
        preset: str | None = None,
        probes: ProbeGrid | None = None,
        objective: Any = "reconstruction",
        schedule: str | Schedule = "linear",
        aggregate: str = "mean",
        leave_out_labelled: bool = False,
        effort: Effort = "auto",
        false_alarm_rate: float | None = None,
        device: str = "auto",
        seed: int = 0,
        progress: bool | Callback | None = None,
    ) -> None:
        self.reconstructor = reconstructor
        self.separator = separator
        self.column = column
        self.max_length = max_length
        self.overlap = overlap
        self.preset = preset
        self.probes = probes
        self.objective = objective
        self.schedule = schedule
        self.aggregate = aggregate
        self.leave_out_labelled = leave_out_labelled
        self.effort = effort
        self.false_alarm_rate = false_alarm_rate
        self.device = device
        self.seed = seed
        self.progress = progress

    _encoder = SequenceEncoder

    def _new_encoder(self) -> SequenceEncoder:
        return SequenceEncoder(self.separator, self.column, *self._window())
