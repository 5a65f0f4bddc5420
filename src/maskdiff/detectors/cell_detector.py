"""A detector of rows whose single cells can be judged: what is usual for them, and the alarms they raise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.calibration import CellCalibration
from maskdiff.cascade import RowAlarms
from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.detectors.base import Detector
from maskdiff.detectors.cell_alarms import CellAlarms, CellVerdicts, FoldCells, joined
from maskdiff.detectors.cell_repairs import with_codes
from maskdiff.detectors.learning import MAIN, Batches
from maskdiff.detectors.text_evidence import TEXTS, TextEvidence
from maskdiff.detectors.verdicts import Verdicts
from maskdiff.evidence import CellEvidence, Evidence, SingleCells
from maskdiff.evidence.base import State
from maskdiff.explanations import Places
from maskdiff.explanations.odd_cells import reason_strength, without_usual_news
from maskdiff.explanations.oddities import ODD, oddities
from maskdiff.explanations.repair_gain import beyond_half_the_usual, by_repair_gain
from maskdiff.masking import as_schedule
from maskdiff.progress import Callback, listening
from maskdiff.reconstructors import abilities
from maskdiff.state.tensors import Tensors

if TYPE_CHECKING:
    from maskdiff.detectors.finding.search import Found

# What is usual for values is learned from at most so many rows.
MOST_USUAL = 5000


class CellDetector(TextEvidence, Detector):
    """The half of a table detector that judges single cells."""

    cell_share: float
    judges_cells = True

    def _lifts(self, reconstructor: Any) -> bool:
        """Whether a single odd cell raises an alarm for its row."""
        return self.preset is None and self.cell_share > 0 and abilities(reconstructor).log_odds is not None

    def _single_cells(self) -> SingleCells:
        level = self.probes_.levels[0]
        return SingleCells(self.reconstructor_, as_schedule(self.schedule), level, self.torch_device())

    def _learn_cells(
        self, evidence: Evidence, codes: Codes, tuning: Codes, scores: FloatArray, callback: Callback | None
    ) -> CellAlarms:
        """What is usual for values, from rows that were learned from, and for columns, from rows that tune."""
        cells = self._single_cells()
        if not self._lifts(self.reconstructor_):
            return CellAlarms(cells)
        some = np.random.default_rng(self.seed).permutation(len(codes))[:MOST_USUAL]
        cells = cells.with_usual_values(codes.take(some), callback=callback)
        log_odds = cells.log_odds(tuning, np.empty(0), stage="calibrating", callback=callback)
        log_odds = self._with_text_odds(log_odds, tuning, evidence=evidence)
        return CellAlarms.learned(cells, cells.beyond(log_odds, tuning), scores, tuning.known, self.cell_share)

    def _row_alarms(
        self, codes: Codes, evidence: Evidence, *, stage: str = "scoring", callback: Callback | None = None
    ) -> RowAlarms:
        alarms = self.cell_alarms_
        log_odds = alarms.cells.log_odds(codes, np.empty(0), stage=stage, callback=callback)
        log_odds = self._with_text_odds(log_odds, codes, evidence=evidence)
        if alarms.lift is None:
            return RowAlarms(lambda scores: scores, log_odds)
        oddness = alarms.cells.oddness(log_odds, codes)
        return RowAlarms(lambda scores: alarms.alarm_score(scores, oddness), log_odds)

    def warm_up(self) -> Self:
        """Load what the first row would wait for, such as compiled loops: about half a second; the detector itself."""
        super().warm_up()
        schema = self.encoder_.schema_
        row = Codes(np.zeros((1, len(schema)), dtype=schema.code_dtype), schema)
        sources = (one for name, one in self.evidence_.sources.items() if name != TEXTS)
        for source in sources:
            source.cells(row, stage="scoring")
        if not self._fits_on_texts():
            self._alarm(row, self._weigh(row), self.threshold())
        return self

    def _alarm(self, codes: Codes, found: CellEvidence, threshold: float) -> tuple[FloatArray, CellVerdicts]:
        log_odds = found.log_odds
        if log_odds is None:
            with listening(self.progress) as callback:
                log_odds = self.cell_alarms_.cells.log_odds(codes, found.surprise, callback=callback)
            log_odds = self._with_text_odds(log_odds, codes, found.surprise)
        cells = self.cell_alarms_.verdicts(log_odds, codes, threshold)
        return self.cell_alarms_.alarm_score(found.score, cells.oddness), cells

    def _oddity(self, verdicts: Verdicts) -> NDArray[Any]:
        usual, cells = self.cell_alarms_.usual, verdicts.cells
        assert usual is not None
        assert cells is not None
        assert verdicts.by_term is not None
        compares = np.array([term.source not in (MAIN, TEXTS) for term in self.evidence_.terms])
        by_one_cell = usual.by_one_cell(cells.oddness, verdicts.by_term, compares)
        by_one_cell |= verdicts.alarm_score > verdicts.anomaly_score
        # A cell far beyond the range makes every normal row distant by itself.
        carried = 2 * verdicts.contributions.max(axis=1) > verdicts.anomaly_score
        by_one_cell |= carried & (verdicts.p_value <= ODD)
        first = without_usual_news(verdicts.strength, verdicts.codes).argmax(axis=1)
        return oddities(by_one_cell, verdicts.p_value, verdicts.codes, first)

    def reason_strength(self, verdicts: Verdicts) -> FloatArray:
        """The same; of cells that are odd together the one comes first whose repair gains most."""
        log_odds = None if verdicts.cells is None else verdicts.cells.log_odds
        codes, usual = verdicts.codes, self.cell_alarms_.cells.usual
        if log_odds is None:
            return without_usual_news(verdicts.strength, codes)
        beyond = log_odds if usual is None else beyond_half_the_usual(log_odds, usual.of_cells(codes))
        strength = without_usual_news(reason_strength(verdicts.contributions, beyond), codes)
        return by_repair_gain(strength, log_odds, partial(self._after_repair, codes, log_odds))

    def _after_repair(
        self, codes: Codes, log_odds: FloatArray, row: NDArray[np.int64], field: NDArray[np.int64]
    ) -> FloatArray:
        """The log odds of all cells of these rows, (C, F), where one holds its expected value; those of texts stay."""
        expected, _ = self.expected_codes(codes, Places(row, field))
        after = self._single_cells().asked(with_codes(codes.take(row), np.arange(len(row)), field, expected))
        texts = list(codes.texts or ())
        after[:, texts] = log_odds[row][:, texts]
        return after

    def _uncalibrated_cells(self, codes: Codes, found: CellEvidence) -> CellVerdicts:
        alarms = self.cell_alarms_
        log_odds, none = alarms.cells.log_odds(codes, found.surprise), np.zeros(codes.values.shape)
        log_odds = self._with_text_odds(log_odds, codes, found.surprise)
        return CellVerdicts(none, log_odds if alarms.cells.asks else None, CellCalibration.of(none), np.inf)

    def cell_log_odds(self, X: Any) -> tuple[FloatArray, FloatArray, IntArray]:
        """How much likelier than each cell's own value another one was, in nats; no calibration is needed.

        How much likelier the own value is in its column alone than given the rest of its row, in nats (-inf: a text).
        And the code of that value, -1 for one never seen and for texts, of which no two are alike; each (N, F).
        """
        codes, cells = self.encoder_.encode(X), self._single_cells()
        values = np.where(codes.known, codes.values.astype(np.int64), -1)
        texts = list(codes.texts or ())
        values[:, texts] = -1
        log_odds = cells.asked(codes)
        log_odds[self._expects_rare(codes, log_odds)] = 0.0
        log_ratio = np.log(codes.schema.shares_of(values)) + cells.surprise(codes)
        log_ratio[:, texts] = -np.inf
        return self._with_text_odds(log_odds, codes), log_ratio, values

    def _expects_rare(self, codes: Codes, log_odds: FloatArray) -> BoolArray:
        """Where any of many rare values is likeliest, (N, F): no single one of them need be likelier than a cell's."""
        rare_F = np.array([field.rare for field in codes.schema])
        row, field = np.nonzero((log_odds > 0) & codes.known & (rare_F >= 0))
        expected, _ = self.expected_codes(codes, Places(row, field))
        any_rare = np.zeros(log_odds.shape, np.bool_)
        any_rare[row, field] = expected == rare_F[field]
        return any_rare

    def _found_cells(self, found: Found, batches: Batches, callback: Callback | None) -> CellVerdicts:
        from maskdiff.detectors.finding.found_cells import judge_cells

        return judge_cells(found.first_round, batches, self.encoder_.schema_, callback, frequent=found.frequent)

    def cell_threshold(self, false_alarm_rate: float | None = None) -> float | None:
        """How odd one cell must be to make its row an alarm by itself at this rate; None where no cell can."""
        threshold, lift = self.threshold(false_alarm_rate), self.cell_alarms_.lift
        return None if lift is None else lift.cell_threshold(threshold)

    def _cells_to_state(self) -> State:
        return self.cell_alarms_.to_state()

    def _cells_from_state(self, plain: Any, tensors: Tensors) -> None:
        schema, n_terms = self.encoder_.schema_, len(self.evidence_.terms)
        self.cell_alarms_ = CellAlarms.from_state(plain, tensors, self._single_cells(), schema, n_terms)

    def _calibrate(self, codes: Codes, found: CellEvidence, callback: Callback | None) -> FloatArray:
        alarms = self.cell_alarms_
        log_odds = alarms.cells.log_odds(codes, found.surprise, stage="calibrating", callback=callback)
        log_odds = self._with_text_odds(log_odds, codes, found.surprise)
        if alarms.lift is None:  # no alarm rests on it, so the rows that calibrate may say what is usual
            alarms = replace(alarms, cells=alarms.cells.learned(log_odds))
        oddness = alarms.cells.oddness(log_odds, codes)
        assert found.by_term is not None
        self.cell_alarms_ = alarms.calibrated(oddness, found.by_term)
        return alarms.alarm_score(found.score, oddness)

    def _fold_cells(self, evidence: Evidence, held_out: Codes, callback: Callback | None) -> FoldCells:
        cells = self._single_cells()
        names = [field.name for field in held_out.schema]
        surprise = np.zeros(held_out.values.shape)  # only models that are asked about each cell are cross-fitted
        log_odds = cells.log_odds(held_out, surprise, stage="calibrating", callback=callback)
        return FoldCells(names, self._with_text_odds(log_odds, held_out, evidence=evidence), held_out.known)

    def _calibrate_folds(self, by_term: FloatArray, cells: list[FoldCells]) -> FloatArray:
        scores, (log_odds, known) = by_term.sum(axis=1), joined(cells)
        alarms = CellAlarms.learned(self._single_cells(), log_odds, scores, known, self.cell_share or 0.5)
        if not self._lifts(self.reconstructor_):
            alarms = replace(alarms, lift=None)
        assert alarms.cells.scale is not None
        oddness = alarms.cells.scale.oddness(log_odds, known)
        self.cell_alarms_ = alarms.calibrated(oddness, by_term)
        return alarms.alarm_score(scores, oddness)
