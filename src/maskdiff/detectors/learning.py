"""How a detector learns: it splits the normal rows, fits an encoder, a reconstructor and evidence, and calibrates."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maskdiff.calibration import Calibration
from maskdiff.cascade import FULL
from maskdiff.codes import Codes, FloatArray
from maskdiff.codes.hashes import Hashes
from maskdiff.detectors.dismissals import Dismissals
from maskdiff.detectors.efforts import Efforts, LearnedLooks
from maskdiff.detectors.finding.cross_fit import rows_chosen
from maskdiff.detectors.finding.search import odd_rows
from maskdiff.detectors.fingerprint import Fingerprint
from maskdiff.detectors.labelled_rows import normal_rows
from maskdiff.detectors.settings import Configured
from maskdiff.detectors.split import RowSplit, fold_splits, split_rows, split_without_calibration
from maskdiff.detectors.updating.fitted_rows import rows_kept
from maskdiff.detectors.updating.updates import Updates
from maskdiff.errors import SettingError
from maskdiff.evidence import CellEvidence, Evidence, EvidenceTerm
from maskdiff.masking import as_schedule
from maskdiff.objectives import as_objective
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback, listening, renamed
from maskdiff.reconstructors import abilities
from maskdiff.training import CheckpointStore
from maskdiff.training.side_by_side import side_by_side

# The name of the source of evidence that every detector has.
MAIN = "reconstructor"

# Reads the rows, from the first to the last; called once for each pass.
Batches = Callable[[], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class UncalibratedRows:
    """Rows to learn from and rows that tune, and what is to learn from them."""

    reconstructor: Any
    codes: Codes
    tuning: Codes


class Learner(Efforts, Updates, Configured):
    """The half of a detector that learns. A subclass says how rows are read, and which reconstructors have names."""

    # Whether trainings are so small that each takes one thread, and several can go on at a time.
    trains_side_by_side = False
    # Whether the rows to judge come from the same file as those learned from, odd ones among them.
    in_search = False
    # How many rows `contamination` left out of the last fit.
    n_left_out_ = 0

    # Defined by each kind of data ------------------------------------------------------------------------------------

    def _read(self, X: Any) -> Any:
        """The rows of X with `n_rows` and `take(rows)`."""
        raise SettingError(f"{type(self).__name__} does not say how to read its rows: define _read(X).")

    def _look(self, batches: Batches, n_rows: int | None) -> int:
        """How many rows there are, where it is not known; a detector may look at all rows here before it learns."""
        return sum(rows.n_rows for rows in batches()) if n_rows is None else n_rows

    def _encode(self, batches: Batches, split: RowSplit) -> tuple[Codes, Codes, Codes]:
        """The encoder, fitted on the rows to learn from; the codes of these, of those that tune and that calibrate."""
        raise SettingError(f"{type(self).__name__} does not say how to encode its rows: define _encode.")

    def _row_keys(self, batches: Batches) -> Hashes:
        """One number for each row, equal for rows that are equal to the detector, shape (n,)."""
        raise SettingError(f"{type(self).__name__} does not say which rows are equal: define _row_keys(batches).")

    def _outlying(self, batches: Batches) -> FloatArray | None:
        """How likely a normal row has a number as far outside of its column, shape (n,); None where rows hold none."""
        return None

    def _search_probes(self, probes: ProbeGrid) -> ProbeGrid:
        """The probes by which the models of a search judge rows: here the same."""
        return probes

    def _tunes(self, reconstructor: Any) -> bool:
        """Whether anything is decided by normal rows that were not learned from."""
        able = abilities(reconstructor)
        return able.fit is not None and able.tunes

    def _choose(self, codes: Codes, held_out: Codes) -> Any:
        """What normal rows that were not learned from decide before there is any evidence: here nothing."""

    def _evidence(self, codes: Codes, choice: Any) -> Evidence:
        """What the score is made of, not yet on one scale: here the reconstructor's surprise alone."""
        source = self.masked_surprise(self.reconstructor_, self.probes_)
        return Evidence({MAIN: source}, (EvidenceTerm(MAIN, self.aggregate),))

    def _gather(
        self, codes: Codes, tuning: Codes, callback: Callback | None, *, looks: bool = False
    ) -> tuple[Evidence, LearnedLooks]:
        """What the score is made of, with its scales; where `looks` are wanted, what rows that tune say of them."""
        return self._evidence(codes, self._choose(codes, tuning)), {}

    def _comparing_with(self, evidence: Evidence, codes: Codes, more: Codes, choice: Any) -> Evidence:
        """The same evidence, once rows that have decided something are compared with too: here none are."""
        return evidence

    @property
    def _scales_terms(self) -> bool:
        """Whether terms of evidence are put on one scale by normal rows: here there is only one."""
        return False

    def _calibrate(self, codes: Codes, found: CellEvidence, callback: Callback | None) -> FloatArray:
        """The alarm scores of the rows that calibrate: here their scores."""
        return found.score

    def _leaves_one_out(self, reconstructor: Any) -> bool:
        """Whether rows that were learned from calibrate, each left out."""
        # It must have been among the normal rows, which is not sure once the oddest are gone.
        return abilities(reconstructor).left_out is not None and not self.contamination

    def _cross_fits(self, reconstructor: Any, n_rows: int) -> bool:
        """Whether every row calibrates, judged by a model that did not learn from it."""
        return False

    def _fold_cells(self, evidence: Evidence, held_out: Codes, callback: Callback | None) -> Any:
        """What the model of one fold says of single cells of the rows it did not learn from: here nothing."""

    def _calibrate_folds(self, by_term: FloatArray, cells: list[Any]) -> FloatArray:
        """The alarm scores of all rows, in the order of the folds, from what each term adds: here their sums."""
        scores: FloatArray = by_term.sum(axis=1)
        return scores

    def _check_learned(self) -> None:
        """Refuse parts of a model file that do not belong together."""

    def _check_folders(self) -> None:
        """Refuse folders that cannot be read before anything long begins; a loaded detector no longer needs them."""

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is normal from normal rows.

        `y` may label anomalies among them: `leave_out_labelled` leaves them out, otherwise a warning counts them.
        """
        rows = normal_rows(self._read(X), y, leave_out=self.leave_out_labelled)
        return self._learn(lambda: [rows], rows.n_rows)

    def fit_batches(
        self, batches: Batches, n_rows: int | None = None, *, checkpoint: CheckpointStore | None = None
    ) -> Self:
        """Learn from rows that come in parts; of a table larger than memory only the codes are held.

        `batches()` gives the parts, the same ones each time it is called; the result does not depend on how the rows
        are cut into parts. `n_rows` is the number of rows, counted by a pass of its own unless given. A `checkpoint`
        stores the state of a training that may be interrupted.

        >>> from maskdiff import TableDetector
        >>> parts = [[["cat", "meow"], ["dog", "woof"]] * 100] * 3
        >>> len(TableDetector("kernel").fit_batches(lambda: iter(parts)).calibration_)
        600
        """

        def read() -> Iterable[Any]:
            return map(self._read, batches())

        return self._learn(read, n_rows, checkpoint)

    def _learn(self, batches: Batches, n_rows: int | None, checkpoint: CheckpointStore | None = None) -> Self:
        """Learn from these rows, read by `_read`, but for those that tune and those that calibrate."""
        self._check_settings()
        self._check_folders()
        self.dismissals_, self.updates_, self.kept_, self.n_left_out_ = Dismissals(), (), None, 0
        n_rows = self._look(batches, n_rows)
        reconstructor, self.probes_ = self._resolve()
        leave_one_out = self._leaves_one_out(reconstructor)
        if self._cross_fits(reconstructor, n_rows):
            return self._learn_crosswise(batches, n_rows, reconstructor, checkpoint)
        split = split_rows(n_rows, self.seed, tunes=self._tunes(reconstructor), leave_one_out=leave_one_out)
        if self.false_alarm_rate is not None:  # one that so few rows cannot promise is refused before the long part
            Calibration(np.zeros(len(split.calibration))).check_rate(self.false_alarm_rate)
        with listening(self.progress) as callback:
            if self.contamination:
                # Rows that calibrate stay, so that no alarm rate is broken.
                kept = split.kept(odd_rows(self, batches, n_rows, callback))
                batches, split, self.n_left_out_ = rows_chosen(batches, kept), split.among(kept), int((~kept).sum())
            codes, tuning, calibration = self._encode(batches, split)
            alone = (tuning,) if leave_one_out else (tuning, calibration)
            self.fingerprint_ = Fingerprint.of((codes, *alone), self.seed)
            # Where nothing is tuned, a loss is still shown while a network trains; it decides nothing.
            shown = tuning if len(split.tuning) else calibration
            learned = self._model(reconstructor, codes, shown, callback, checkpoint, looks=self.effort != FULL)
            if not leave_one_out:
                self.kept_ = rows_kept(self, codes, tuning, calibration)
            judged = self.evidence_.left_out() if leave_one_out else self.evidence_
            found = judged.weigh(calibration, stage="calibrating", callback=callback)
            scores = self._calibrate(calibration, found, callback)
            looks = self._calibrate_looks(learned, calibration, scores)
            self.adopt_calibration(Calibration.from_scores(scores), looks)
        return self

    def _learn_crosswise(
        self, batches: Batches, n_rows: int, reconstructor: Any, checkpoint: CheckpointStore | None
    ) -> Self:
        """Every row calibrates by what a model says of it that learned from the other folds; the last one is kept.

        A model of all rows would know more values than those that calibrate, and find new rows odder than they did.
        The one that is kept compares new rows with all rows: each is then at most as far from the nearest as it was.
        """
        if self.false_alarm_rate is not None:
            Calibration(np.zeros(n_rows)).check_rate(self.false_alarm_rate)
        splits, choice, found = fold_splits(n_rows, self.seed), None, []
        cells: list[Any] = []
        with listening(self.progress) as callback:
            parts = [renamed(callback, f"{{}}, part {number} of {len(splits)}") for number in range(1, len(splits) + 1)]
            folds = [(*self._encode(batches, split), self.encoder_, self._unseen) for split in splits]

            def learn(number: int, report: Callback | None) -> Any:
                codes, _, held_out, *_ = folds[number]
                stored = checkpoint if number == len(folds) - 1 else None
                return self._fit_reconstructor(reconstructor, codes, held_out, report, stored)

            learned = side_by_side(learn, parts, threads=self.torch_device().type == "cpu")
            for (codes, _, held_out, encoder, unseen), model, part in zip(folds, learned, parts, strict=True):
                self.encoder_, self._unseen, self.reconstructor_ = encoder, unseen, model
                choice = self._choose(codes, held_out) if choice is None else choice
                evidence = self._evidence(codes, choice)
                found.append(evidence.term_scores(held_out, stage="calibrating", callback=part))
                cells.append(self._fold_cells(evidence, held_out, part))
        self.fingerprint_ = Fingerprint.of((codes, held_out), self.seed)
        term_scores = np.concatenate(found)
        # One scale for the answers of all models, the one that is kept among them.
        self.evidence_ = evidence.scaled_by(term_scores) if self._scales_terms else evidence
        self.kept_ = rows_kept(self, codes, None, held_out)
        scales = [term.scale for term in self.evidence_.terms]
        scores = self._calibrate_folds(term_scores / scales, cells)
        self.evidence_ = self._comparing_with(self.evidence_, codes, held_out, choice)
        self.adopt_calibration(Calibration.from_scores(scores))
        return self

    def begin_uncalibrated(self, batches: Batches, n_rows: int) -> UncalibratedRows:
        """Read these rows, seen by `_look`, to judge others by them; none is kept back to calibrate."""
        self.in_search = True
        reconstructor, probes = self._resolve()
        self.probes_ = self._search_probes(probes)
        # A network shows a loss while it trains, even where nothing is tuned.
        tunes = self._tunes(reconstructor) or abilities(reconstructor).left_out is None
        codes, tuning, _ = self._encode(batches, split_without_calibration(n_rows, self.seed, tunes=tunes))
        return UncalibratedRows(reconstructor, codes, tuning)

    def train_uncalibrated(
        self, rows: UncalibratedRows, callback: Callback | None, checkpoint: CheckpointStore | None = None
    ) -> None:
        """The long part; several detectors may do it at a time."""
        self.reconstructor_ = self._fit_reconstructor(rows.reconstructor, rows.codes, rows.tuning, callback, checkpoint)

    def end_uncalibrated(self, rows: UncalibratedRows, callback: Callback | None) -> Self:
        """All evidence, once the reconstructor is trained."""
        self.evidence_, _ = self._gather(rows.codes, rows.tuning, callback)
        return self

    def learn_uncalibrated(
        self, batches: Batches, n_rows: int, callback: Callback | None, checkpoint: CheckpointStore | None = None
    ) -> Self:
        """Learn from these rows, read by `_read` and seen by `_look`; none is kept back to calibrate."""
        rows = self.begin_uncalibrated(batches, n_rows)
        self.train_uncalibrated(rows, callback, checkpoint)
        return self.end_uncalibrated(rows, callback)

    def _model(
        self,
        reconstructor: Any,
        codes: Codes,
        held_out: Codes,
        callback: Callback | None,
        checkpoint: CheckpointStore | None = None,
        *,
        looks: bool = False,
    ) -> LearnedLooks:
        """The reconstructor and all evidence, learned from these rows."""
        self.reconstructor_ = self._fit_reconstructor(reconstructor, codes, held_out, callback, checkpoint)
        self.evidence_, learned = self._gather(codes, held_out, callback, looks=looks)
        return learned

    def _fit_reconstructor(
        self,
        reconstructor: Any,
        codes: Codes,
        held_out: Codes,
        callback: Callback | None,
        checkpoint: CheckpointStore | None,
    ) -> Any:
        fit = abilities(copy.copy(reconstructor)).fit
        if fit is None:
            return reconstructor
        return fit(
            codes,
            objective=as_objective(self.objective, self.probes_.levels),
            schedule=as_schedule(self.schedule),
            seed=int(self.seed),
            device=self.torch_device(),
            held_out=held_out,
            callback=callback,
            **({} if checkpoint is None else {"checkpoint": checkpoint}),
        )
