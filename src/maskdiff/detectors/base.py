"""What every detector can do.

Higher score = more anomalous, everywhere but in the four methods that carry scikit-learn's names and signs
(`score_samples`, `decision_function`, `predict`, `fit_predict`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.detectors.display import summary_html
from maskdiff.detectors.explaining import Explaining
from maskdiff.detectors.feedback import Feedback
from maskdiff.detectors.labels import pandas_index
from maskdiff.detectors.learning import Batches
from maskdiff.detectors.model_state import ModelState
from maskdiff.detectors.verdicts import Verdicts
from maskdiff.evidence import CellEvidence
from maskdiff.explanations.shading import Piece
from maskdiff.progress import Callback, listening

if TYPE_CHECKING:
    from maskdiff.detectors.finding.findings import Findings
    from maskdiff.detectors.finding.search import Found


class Detector(OutlierMixin, Explaining, Feedback, ModelState):  # type: ignore[misc]
    """What every detector can do once it has learned: score, judge, explain, be stored."""

    _verdicts: type[Verdicts] = Verdicts
    # Whether single cells are judged by themselves.
    judges_cells = False

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
            looks=found.looks,
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

    def _found_cells(self, found: Found, batches: Batches, callback: Callback | None) -> CellVerdicts | None:
        """What there is to say about all cells of the rows that were searched: of tokens nothing."""
        return None

    def shaded(self, X: Any, *, verdicts: Verdicts | None = None) -> list[list[Piece]]:
        """Every row as a text whose pieces say how odd they are; none where rows are no texts."""
        return []

    def warm_up(self) -> Self:
        """Load what the first row would wait for, so that it takes no longer than the next; the detector itself."""
        check_is_fitted(self)
        return self

    def _scored(self, X: Any) -> tuple[Codes, CellEvidence]:
        check_is_fitted(self)
        codes = self.encoder_.encode(X)
        with listening(self.progress) as callback:
            return codes, self._weigh(codes, callback=callback)

    # Notebooks -------------------------------------------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        """scikit-learn's display of the settings, and above it what was learned."""
        settings: str = super()._repr_html_inner()
        return summary_html(self) + settings if hasattr(self, "calibration_") else settings

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | ({"text/html": self._repr_html_inner()} if "text/html" in shown else {})

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
