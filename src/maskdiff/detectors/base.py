"""What every detector can do.

Higher score = more anomalous, everywhere but in the four methods that carry scikit-learn's names and signs
(`score_samples`, `decision_function`, `predict`, `fit_predict`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.codes.stored import check_schema
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.detectors.dismissals import Dismissals
from maskdiff.detectors.display import summary_html
from maskdiff.detectors.feedback import Feedback
from maskdiff.detectors.fingerprint import Fingerprint
from maskdiff.detectors.labels import labelled, pandas_index
from maskdiff.detectors.learning import MAIN, Learner
from maskdiff.detectors.verdicts import Verdicts
from maskdiff.errors import SettingError
from maskdiff.evidence import CellEvidence, Evidence, MaskedSurprise
from maskdiff.evidence.base import State
from maskdiff.explanations import (
    CellPlaces,
    OddCells,
    contradicted,
    contradictions,
    expected_codes,
    explanation_table,
    odd_cells,
)
from maskdiff.explanations.contradictions import MOST_COMPARED, RARELY_AS_ODD
from maskdiff.explanations.shading import Piece
from maskdiff.masking import as_schedule
from maskdiff.probes import ProbeGrid
from maskdiff.progress import listening
from maskdiff.state import arguments_from_plain, arguments_to_plain, check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, check_names, named, under

if TYPE_CHECKING:
    from maskdiff.detectors.finding.findings import Findings

# Settings that say nothing about the scores are not stored.
_NOT_STORED = ("progress", "device")


class Detector(OutlierMixin, Feedback, Learner):  # type: ignore[misc]
    """What every detector can do once it has learned: score, judge, explain, be stored."""

    _encoder: type[Any]
    _verdicts: type[Verdicts] = Verdicts

    # One file, whose odd rows nobody knows ----------------------------------------------------------------------------

    def fit_find(
        self,
        X: Any,
        *,
        contamination: float | str | None = None,
        false_discovery_rate: float = 0.1,
        group: Any = None,
        order: Any = None,
    ) -> Findings:
        """The odd rows of X itself, without labels; the detector then has learned from the rows that are not odd.

        Each row is judged by a model that did not learn from it (equal rows stay together, unless they are so many
        that they are usual). A first round learns from all other rows; the next ones leave out the oddest, as many as
        `contamination` says: a share, or "auto", where the scores decide; None: the detector's own if it is set, else
        "auto". On average at most `false_discovery_rate` of the rows found are normal.

        `group` names a column, or gives a value for each row: rows of one group are never learned from to judge each
        other. `order` does the same with time: folds are blocks that follow each other. Columns named here are not
        learned from.

        >>> from maskdiff import TableDetector
        >>> rows = [["cat", "meow"], ["dog", "woof"]] * 100 + [["cat", "woof"]]
        >>> findings = TableDetector("kernel").fit_find(rows)
        >>> findings.is_anomaly.nonzero()[0].tolist()
        [200]
        """
        from maskdiff.detectors.finding.finder import fit_find

        return fit_find(
            self,
            X,
            contamination=contamination,
            false_discovery_rate=false_discovery_rate,
            group=group,
            order=order,
        )

    # Scoring ---------------------------------------------------------------------------------------------------------

    def anomaly_score(self, X: Any) -> FloatArray:
        """How odd each row is, shape (n,). Higher = more anomalous; NaN for a row without tokens.

        In standard deviations of normal rows where several terms of evidence are combined, as by default in tables;
        otherwise in nats.
        """
        return self._scored(X)[1].score

    def contributions(self, X: Any) -> FloatArray:
        """What each cell adds to its row's score, shape (n, F); the row sums are `anomaly_score`."""
        return self._scored(X)[1].contributions

    def p_value(self, X: Any) -> FloatArray:
        """How likely a normal row is to have at least this alarm score, shape (n,)."""
        return self.judge(X).p_value

    def is_anomaly(self, X: Any, false_alarm_rate: float | None = None) -> BoolArray:
        """Algorithm 1's label: whether each row is above the threshold for this false-alarm rate, shape (n,).

        In tables a row is above it as a whole, or by one cell that is odd for its column; see `Verdicts`. Rows that a
        rule dismisses do not count: see `dismiss`.
        """
        return self.judge(X, false_alarm_rate).is_anomaly

    def select(self, X: Any, false_discovery_rate: float) -> BoolArray:
        """Rows to report together so that on average at most this share of them is normal, shape (n,).

        Of those, the ones that a rule dismisses are left out afterwards: see `dismiss`.
        """
        verdicts = self.judge(X)
        selected = self.calibration_.select(verdicts.alarm_score, false_discovery_rate)
        return selected if verdicts.rule is None else selected & (verdicts.rule == 0)

    def threshold(self, false_alarm_rate: float | None = None) -> float:
        """gamma: a normal row's alarm score is above it with probability at most this rate."""
        check_is_fitted(self)
        rate = self.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        return self.calibration_.threshold(self.calibration_.rate_or_default(rate))

    def cell_threshold(self, false_alarm_rate: float | None = None) -> float | None:
        """How odd one cell must be to make its row an alarm by itself at this rate; None where no cell can."""
        return None

    def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts:
        """Score, p-value, alarm and contributions of every row, from one pass; `to_frame()` keeps a pandas index."""
        codes, found = self._scored(X)
        threshold = self.threshold(false_alarm_rate)
        alarm_score, cells = self._alarm(codes, found, threshold)
        raised = alarm_score > threshold
        rule = self._rules_about(X, codes, found.contributions, cells)
        verdicts = self._verdicts(
            found.score,
            alarm_score,
            self.calibration_.p_values(alarm_score),
            raised if rule is None else raised & (rule == 0),
            self.fingerprint_.times(codes),
            found.contributions,
            found.surprise,
            codes,
            pandas_index(X),
            raised,
            rule,
            cells,
            found.by_term,
        )
        return replace(verdicts, oddity=self._oddity(verdicts))

    def _oddity(self, verdicts: Verdicts) -> NDArray[Any] | None:
        """What makes each row odd, (N,): of tokens there is nothing to say."""
        return None

    def _alarm(self, codes: Codes, found: CellEvidence, threshold: float) -> tuple[FloatArray, CellVerdicts | None]:
        """What is compared with the threshold, (N,), and what there is to say about single cells: here nothing."""
        return found.score, None

    def uncalibrated_verdicts(self, X: Any) -> Verdicts:
        """Scores and contributions of rows by a model that was not calibrated; no row is an alarm."""
        codes = self.encoder_.encode(X)
        found, n = self.evidence_.weigh(codes), len(codes)
        return self._verdicts(
            found.score,
            found.score,
            np.ones(n),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.int8),
            found.contributions,
            found.surprise,
            codes,
            pandas_index(X),
            np.zeros(n, dtype=np.bool_),
            cells=self._uncalibrated_cells(codes, found),
        )

    def _uncalibrated_cells(self, codes: Codes, found: CellEvidence) -> CellVerdicts | None:
        """What there is to say about single cells by a model that was not calibrated: here nothing."""
        return None

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The cells that are the reasons for each row's score, at most `top`, as a pandas DataFrame, one line per cell.

        Of a table's cells those come first whose expected value was likelier by far than their own; a cell that holds
        what was expected is no reason. Where the reconstructor cannot be asked about single cells, and in texts, those
        come first that add most to the score.

        Columns: row (its place in X), column, value, contribution (what the cell adds to the score, in its unit),
        share (of the row's score), surprise (nats), expected (the likeliest value given the rest of the row),
        expected_probability, contradicts (the other one of two cells that are only odd together, such as "seats = 2",
        if one of them is the row's first reason), oddity (what makes the row odd: it is "rare in itself", "odd in
        context" or "far from everything"; the same for all cells of a row) and note (what else there is to say, such as
        "largest seen 6517"; mostly nothing). The index holds the label of each cell's row, so that
        `X.join(explanation)` finds it: the index of X in pandas, positions otherwise. Hand in what `judge(X)` returned
        to save scoring the rows again.
        """
        if top < 1:
            raise SettingError(f"top must be at least 1; got {top}.")
        verdicts = verdicts or self.judge(X)
        if verdicts.judges is not None:
            return labelled(verdicts.judges.explain(self._read(X), top), verdicts.labels)
        cells = odd_cells(verdicts.contributions, top, None if verdicts.cells is None else verdicts.cells.log_odds)
        values, notes = (texts(X, cells.row, cells.field) for texts in (self.encoder_.display, self.encoder_.notes))
        contradicts = self._contradicts(X, cells, verdicts)
        table = self._explanation(cells, verdicts.surprise, verdicts.codes, values, notes, contradicts)
        table["oddity"] = "" if verdicts.oddity is None else verdicts.oddity[cells.row]
        return labelled(table, verdicts.labels)

    def _contradicts(self, X: Any, cells: OddCells, verdicts: Verdicts) -> list[str]:
        """The cell that each of these contradicts, as a text; empty where there is none."""
        codes, of_cells = verdicts.codes, verdicts.cells
        reasons = odd_cells(verdicts.contributions, MOST_COMPARED, None if of_cells is None else of_cells.log_odds)
        odd = np.ones(codes.values.shape, np.bool_)
        if of_cells is not None and of_cells.oddness.any():  # without calibration it is not known what is odd
            odd = of_cells.p_value <= RARELY_AS_ODD
        hides: dict[str, Any] = {"mask_rate": self._mask_rate, "device": self.torch_device()}
        other = contradicted(cells, contradictions(self.reconstructor_, codes, reasons, odd, **hides))
        found, names = np.flatnonzero(other >= 0), codes.schema.names
        texts = [""] * len(other)
        for at, value in zip(found, self.encoder_.display(X, cells.row[found], other[found]), strict=True):
            texts[at] = f"{names[other[at]]} = {value}"
        return texts

    @property
    def _mask_rate(self) -> float:
        """The share of hidden cells that reconstructors are given where one or two are."""
        return float(as_schedule(self.schedule).mask_rate(torch.tensor(self.probes_.levels[0])))

    def _explanation(
        self,
        cells: OddCells,
        surprise: FloatArray,
        codes: Codes,
        values: Sequence[str],
        notes: Sequence[str] | None = None,
        contradicts: Sequence[str] | None = None,
    ) -> Any:
        """These cells as a table, with what was expected in their places."""
        expected, probability = self.expected_codes(codes, cells)
        says = self._says_something(codes, expected, probability)
        return explanation_table(cells, surprise, expected, probability, codes, values, notes, contradicts, says)

    def _says_something(self, codes: Codes, expected: NDArray[np.int64], probability: FloatArray) -> BoolArray | None:
        """Which of these expected values are worth naming; None: all."""
        return None

    def expected_codes(self, codes: Codes, cells: CellPlaces) -> tuple[NDArray[np.int64], FloatArray]:
        """The code expected in each of these cells, given the rest of its row, and that code's probability."""
        hides: dict[str, Any] = {"mask_rate": self._mask_rate, "device": self.torch_device()}
        return expected_codes(self.reconstructor_, codes, cells, **hides)

    def shaded(self, X: Any, *, verdicts: Verdicts | None = None) -> list[list[Piece]]:
        """Every row as a text whose pieces say how odd they are; none where rows are no texts."""
        return []

    def _scored(self, X: Any) -> tuple[Codes, CellEvidence]:
        check_is_fitted(self)
        codes = self.encoder_.encode(X)
        with listening(self.progress) as callback:
            return codes, self.evidence_.weigh(codes, callback=callback)

    # Notebooks -------------------------------------------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        """scikit-learn's display of the settings, and above it what was learned."""
        settings: str = super()._repr_html_inner()
        return summary_html(self) + settings if hasattr(self, "calibration_") else settings

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | ({"text/html": self._repr_html_inner()} if "text/html" in shown else {})

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """Everything that was set and learned, as plain values and tensors; see `maskdiff.save`."""
        if not hasattr(self, "calibration_"):
            raise SettingError(f"{self!r} has learned nothing yet: fit it before saving it.")
        evidence, tensors = self.evidence_.to_state()
        fingerprint, hashes = self.fingerprint_.to_state()
        cells, of_cells = self._cells_to_state()
        plain = {
            "settings": arguments_to_plain(self, without=_NOT_STORED),
            "probes": to_plain(self.probes_),
            "encoder": self.encoder_.to_state(),
            "evidence": evidence,
            "fingerprint": fingerprint,
            "dismissals": self.dismissals_.to_state(),
            "cells": cells,
        }
        parts = named(tensors, "evidence") | named(hashes, "fingerprint") | named(of_cells, "cells")
        return plain, parts | {"calibration": torch.from_numpy(self.calibration_.scores.copy())}

    def _cells_to_state(self) -> State:
        """What was learned about single cells: here nothing."""
        return {}, {}

    def _cells_from_state(self, plain: Any, tensors: Tensors) -> None:
        """Take up what `_cells_to_state` gave."""
        check(plain == {} and not tensors, "it holds alarms of cells, which a row of tokens cannot have")

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors) -> Self:
        """The detector that `to_state` described; everything is checked, nothing is taken on trust."""
        wanted = {"settings", "probes", "encoder", "evidence", "fingerprint", "dismissals", "cells"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a detector completely")
        parts, hashes, of_cells = (under(tensors, name) for name in ("evidence", "fingerprint", "cells"))
        inside = (*named(parts, "evidence"), *named(hashes, "fingerprint"), *named(of_cells, "cells"))
        check_names(tensors, "calibration", *inside)
        detector = cls(**arguments_from_plain(cls, plain["settings"], without=_NOT_STORED))
        detector._check_settings()
        detector.encoder_ = cls._encoder.from_state(plain["encoder"])
        detector.probes_ = from_plain(plain["probes"], ProbeGrid)
        detector.fingerprint_ = Fingerprint.from_state(plain["fingerprint"], hashes)
        device, schema = detector.torch_device(), check_schema(detector.encoder_.schema_)
        of_tokens = detector.encoder_.parts != "columns"
        detector.dismissals_ = Dismissals.from_state(plain["dismissals"], schema, of_tokens=of_tokens)
        detector.evidence_ = Evidence.from_state(plain["evidence"], parts, schema=schema, device=device)
        main = detector.evidence_.sources.get(MAIN)
        check(isinstance(main, MaskedSurprise), f"its evidence lacks a masked surprise called {MAIN}")
        assert isinstance(main, MaskedSurprise)
        detector.reconstructor_ = main.reconstructor
        detector._check_learned()
        detector._cells_from_state(plain["cells"], of_cells)
        detector.adopt_calibration(Calibration.from_state(tensors["calibration"]))
        return detector

    # scikit-learn's names and signs: lower = more anomalous ----------------------------------------------------------

    def score_samples(self, X: Any) -> FloatArray:
        """The opposite of what is compared with the threshold, `judge(X).alarm_score`, shape (n,). Lower = odder.

        Where only the order of rows matters, as in a ROC curve, `anomaly_score` is the better one: it is about the
        whole row.
        """
        return -self.judge(X).alarm_score

    def decision_function(self, X: Any) -> FloatArray:
        """`score_samples` above the threshold, shape (n,). Negative = anomaly."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """+1 for normal rows and those that a rule dismisses, -1 for anomalies, shape (n,)."""
        return np.where(self.is_anomaly(X), -1, 1)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[np.int64]:
        """+1 for the normal rows of X, -1 for those found odd, shape (n,): see `fit_find`; `y` is ignored.

        With a `contamination` that is a share, so many rows are -1. `fit(X).predict(X)` says less: it asks a model
        about rows that it has learned.

        >>> from maskdiff import TableDetector
        >>> rows = [["cat", "meow"], ["dog", "woof"]] * 100 + [["cat", "woof"]]
        >>> TableDetector("kernel").fit_predict(rows)[-3:]
        array([ 1,  1, -1])
        """
        findings = self.fit_find(X)
        is_share = isinstance(self.contamination, float) and self.contamination > 0
        odd = findings.left_out if is_share and findings.left_out is not None else findings.is_anomaly
        return np.where(odd, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
