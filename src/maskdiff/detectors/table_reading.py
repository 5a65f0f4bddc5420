"""The part of a table's detector that goes through its rows, batch by batch, and gives them codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from maskdiff.codes import Codes, FloatArray, IntArray, Schema
from maskdiff.codes.hashes import Hashes, row_hashes
from maskdiff.detectors.learning import Batches
from maskdiff.detectors.split import RowSplit, in_step
from maskdiff.detectors.text_evidence import HeldTexts
from maskdiff.detectors.updating.unseen_cells import UnseenCells
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.outlying import OutlyingNumbers
from maskdiff.encoders.table.statistics import TableStatistics
from maskdiff.training import CheckpointStore


@dataclass(frozen=True, eq=False)
class OtherRows:
    """What is known of rows without having them: what the columns of all rows stand for, and statistics of these."""

    text_types: Mapping[str, Found]
    statistics: TableStatistics


class TableReading:
    """Reads the batches of a table: what its columns stand for, which rows are equal, their codes."""

    seed: int
    encoder_: Any
    fit_batches: Any
    _text_types: Any
    _unseen: Any
    # What other machines found out about rows that are not among the batches.
    _other_rows: OtherRows | None = None

    def fit_sample(
        self, batches: Batches, n_rows: int, others: OtherRows, *, checkpoint: CheckpointStore | None = None
    ) -> Self:
        """Learn from a uniform sample of a table's rows, and from what is known of all `others`.

        The encoder learns from all rows that neither tune nor calibrate; what is trained, compared with and
        calibrated are rows of the sample. Otherwise as `fit_batches`.
        """
        self._other_rows = others
        try:
            fitted: Self = self.fit_batches(batches, n_rows, checkpoint=checkpoint)
            return fitted
        finally:
            del self._other_rows

    def _new_encoder(self) -> TableEncoder:
        """An encoder with the detector's settings."""
        raise NotImplementedError

    def _look(self, batches: Batches, n_rows: int | None) -> int:
        """What columns of texts stand for is decided by all rows, those that calibrate too."""
        if self._other_rows is not None and n_rows is not None:
            self._text_types = self._other_rows.text_types
            return n_rows
        recognition = self._new_encoder().recognition()
        for rows in batches():
            recognition.add(rows)
            if n_rows is not None and recognition.settled:
                break
        self._text_types = recognition.found()
        return recognition.rows if n_rows is None else n_rows

    def _statistics(self, encoder: TableEncoder, batches: Batches) -> TableStatistics:
        """What this encoder learns from, of all rows."""
        statistics = encoder.statistics(text_types=self._text_types)
        for rows in batches():
            statistics.add(rows)
        return statistics

    def _row_keys(self, batches: Batches) -> Hashes:
        encoder = self._new_encoder()
        encoder.fit_statistics(self._statistics(encoder, batches))
        return np.concatenate([row_hashes(encoder.encode(rows), 0) for rows in batches()])

    def _outlying(self, batches: Batches) -> FloatArray | None:
        statistics = self._statistics(self._new_encoder(), batches)
        outlying = OutlyingNumbers.of(statistics)
        if not outlying.ends:
            return None
        return np.concatenate([outlying.p_values(rows, statistics) for rows in batches()])

    def _encode(self, batches: Batches, split: RowSplit) -> tuple[Codes, Codes, Codes]:
        order = split.order
        learned_from, place = np.zeros(len(order), dtype=np.bool_), np.empty(len(order), dtype=np.int64)
        learned_from[split.train], place[order] = True, np.arange(len(order))
        parts = in_step(batches(), learned_from)
        encoder = self._new_encoder()
        statistics = encoder.statistics(text_types=self._text_types)
        for rows, chosen in parts:
            statistics.add(rows.take(chosen))
            # Which columns are row ids is decided by all rows; see `encoders.table.keys` for why that is no leak.
            statistics.watch(rows.take(~chosen))
        if self._other_rows is not None:
            statistics.merge(self._other_rows.statistics)
        self.encoder_ = encoder.fit_statistics(statistics)
        # In the order of the split, each part is a view of one array, and nothing is held twice.
        values = np.empty((len(place), len(self.encoder_.schema_)), dtype=self.encoder_.schema_.code_dtype)
        # Only rows that were not learned from can be beyond the range; they are few.
        n_learned, excess = len(split.train), np.zeros((len(order) - len(split.train), values.shape[1]))
        texts, unseen = HeldTexts(split, self.seed), UnseenCells()
        for rows, of_rows in in_step(batches(), np.column_stack([place, texts.kept])):
            here, kept = of_rows[:, 0], of_rows[:, 1] > 0
            codes = self.encoder_.encode(rows)
            texts.add(codes, kept)
            values[here] = codes.values
            apart = here >= n_learned
            if codes.excess is not None:
                excess[here[apart] - n_learned] = codes.excess[apart]
            if apart.any():
                unseen.add(self.encoder_, rows.take(apart), codes.take(apart), here[apart])
        self._unseen = unseen.in_order()
        _fill_in(values[:n_learned], self.encoder_.schema_, self.seed)
        codes, tuning, calibration = split.cut(Codes(values, self.encoder_.schema_, texts=texts.joined()))
        if excess.any():
            tuning = replace(tuning, excess=excess[: len(tuning)])
            calibration = calibration if split.leave_one_out else replace(calibration, excess=excess[len(tuning) :])
        return codes, tuning, calibration


def _fill_in(values: IntArray, schema: Schema, seed: int) -> None:
    """Put a value of the column, drawn by how often each occurs, where a row to learn from holds a damaged number.

    Nothing else there is unseen. To learn from it would make it known, and to leave such rows out would lose many where
    a few numbers in each of many columns are damaged.
    """
    rng = np.random.default_rng(seed)
    for field in np.flatnonzero((values >= schema.compact_sizes).any(axis=0)):
        one, rows = schema.fields[field], np.flatnonzero(values[:, field] >= schema.fields[field].size)
        values[rows, field] = rng.choice(one.size, len(rows), p=np.array(one.counts) / sum(one.counts))
