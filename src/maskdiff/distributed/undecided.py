"""Scored rows of one part of the input, where some choices need all parts: which rows are alarms, which score highest.

A worker writes such rows with two columns more, the alarm score and the rule that would dismiss the row. Once all
parts are scored, `Decision` says which rows are alarms, and the columns go. N rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maskdiff.calibration import Calibration
from maskdiff.codes import BoolArray, IntArray
from maskdiff.jobs.choice import Written, as_they_come, highest, possible_anomalies
from maskdiff.jobs.score import ScoreOptions, Scoring
from maskdiff.jobs.verdict_columns import with_alarms

ASIDE = (pa.field("__alarm_score", pa.float64()), pa.field("__rule", pa.int64()))


def needs_all_rows(options: ScoreOptions) -> bool:
    """Whether no row can be written for good before all are scored."""
    return options.top is not None or options.false_discovery_rate is not None


class PartScoring(Scoring):
    """The rows of one part on their way through a detector; choices about all rows are left open."""

    @property
    def aside_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, *ASIDE], self.schema.metadata)

    def undecided(self) -> Iterator[pa.RecordBatch]:
        """The rows that may be written in the end, with the columns of `ASIDE` behind them."""
        options, judged = self.options, self._judged()
        if options.only_anomalies:
            judged = possible_anomalies(judged, options.false_discovery_rate)
        if options.top is None:
            written: Iterator[Written] = as_they_come(judged, self._write)
        else:
            size = self.rows.reading.batch_rows(len(self.schema))
            written = highest(judged, self._write, self.schema, options.top, size)
        for part in written:
            self.summary.written += len(part.places)
            aside = [pa.array(part.alarm_score), pa.array(self._rule_of(part.places))]
            yield pa.RecordBatch.from_arrays([*part.batch.columns, *aside], schema=self.aside_schema)

    def _rule_of(self, places: IntArray) -> IntArray:
        if self.options.false_discovery_rate is None:
            return np.zeros(len(places), np.int64)
        if self.options.top is None:  # the rows of the latest batch
            return self._rules[-1][places - (self.summary.rows - len(self._rules[-1]))]
        return np.concatenate([*self._rules, np.empty(0, np.int64)])[places]

    def p_value_counts(self) -> Counter[tuple[float, bool]]:
        """How many rows have each p-value, apart for those that a rule would dismiss: few different ones."""
        p_values = self.detector.calibration_.p_values(np.concatenate([*self._scores, np.empty(0)]))
        ruled = np.concatenate([*self._rules, np.empty(0, np.int64)]) > 0
        counts: Counter[tuple[float, bool]] = Counter()
        for rule in (False, True):
            values, numbers = np.unique(p_values[ruled == rule], return_counts=True)
            counts.update({(value, rule): n for value, n in zip(values.tolist(), numbers.tolist(), strict=True)})
        return counts


@dataclass(frozen=True)
class Decision:
    """What all parts together decided: the largest p-value of an alarm, None where each row was decided alone."""

    highest_p: float | None = None

    @classmethod
    def of(cls, counts: Mapping[tuple[float, bool], int], rate: float | None) -> Decision:
        """Benjamini-Hochberg, from how many rows have each p-value; 0 where none is an alarm.

        >>> Decision.of({(0.001, False): 5, (0.5, False): 5, (0.001, True): 1}, rate=0.1)
        Decision(highest_p=0.001)
        """
        if rate is None:
            return cls()
        of_value: Counter[float] = Counter()
        for (value, _), number in counts.items():
            of_value[value] += number
        values = np.array(sorted(of_value))
        ranks = np.cumsum([of_value[value] for value in values.tolist()])
        total = int(ranks[-1]) if len(ranks) else 0
        fits = values * (total / np.maximum(ranks, 1)) <= rate
        return cls(float(values[fits].max()) if fits.any() else 0.0)

    def alarms(self, batch: pa.RecordBatch, calibration: Calibration) -> tuple[BoolArray, IntArray]:
        """Which rows of a batch with the columns of `ASIDE` are alarms, and which rule dismisses the others, (N,)."""
        score, rule = (batch.column(batch.num_columns - at).to_numpy(zero_copy_only=False) for at in (2, 1))
        raised = calibration.p_values(score) <= (self.highest_p or 0.0)
        dismissed_by = np.where(raised, rule, 0)
        return raised & (dismissed_by == 0), dismissed_by

    def applied(self, batch: pa.RecordBatch, calibration: Calibration, options: ScoreOptions) -> pa.RecordBatch:
        """The rows as they are written for good, without the columns of `ASIDE`."""
        alone = batch.select(list(range(batch.num_columns - len(ASIDE))))
        if self.highest_p is None:
            return alone
        alarm, dismissed_by = self.alarms(batch, calibration)
        decided = with_alarms(alone, alarm, dismissed_by, options.prefix)
        return decided.filter(pa.array(alarm)) if options.only_anomalies else decided

    def counts(self, counts: Mapping[tuple[float, bool], int]) -> tuple[int, int]:
        """How many of all rows are anomalies, and how many are dismissed."""
        selected = {key: n for key, n in counts.items() if key[0] <= (self.highest_p or 0.0)}
        return sum(n for key, n in selected.items() if not key[1]), sum(n for key, n in selected.items() if key[1])


def highest_rows(table: pa.Table, number: int) -> pa.Table:
    """The rows with the highest alarm scores, the highest first; of equal ones those that come first."""
    scores = table.column(ASIDE[0].name).to_numpy()
    return table.take(pa.array(np.argsort(-scores, kind="stable")[:number]))
