"""What a detector says about rows: scores, p-values, alarms, and each cell's part in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.explanations.odd_cells import reason_strength


@dataclass(frozen=True, eq=False)
class Verdicts:
    """All there is to say about N rows: score, p-value and alarm (N,); each cell's part in the score (N, F).

    A row is an alarm if its `alarm_score` is above the threshold: its score, raised where one of its cells alone is
    odder than that. `times_learned` (N,) is how often each row was among the rows of `fit`, as the model reads them: 0,
    1, 2 for more than once, -1 where it is not known, for of very many rows a share is remembered. `index` is that of
    the rows where they came from pandas; None: rows are labelled by their positions. `raised` (N,) is whether the alarm
    score is above the threshold, and `rule` (N,) the number of the rule that dismisses alarms of such rows, 0 for none
    (None: there are no rules); see `Detector.dismiss`. `cells` says how odd single cells of tables are for their
    columns (None for tokens), and `by_term` (N, T) what each term of the evidence adds to the score. `oddity` (N,) says
    what makes a row of a table odd: it is "rare in itself", "odd in context" or "far from everything"; empty for rows
    that are not odd, None for tokens. See `explanations.oddities`. `looks` (N,) is how many looks each row got: 1 for
    one that a first look found so usual that it got no other, 2 for one that got the whole grid of probes besides; the
    score and contributions of the former are estimates (None: the whole grid judged every row). See `effort`.
    """

    anomaly_score: FloatArray
    alarm_score: FloatArray
    p_value: FloatArray
    is_anomaly: BoolArray
    times_learned: NDArray[np.int8]
    contributions: FloatArray
    surprise: FloatArray
    codes: Codes
    index: Any
    raised: BoolArray
    rule: NDArray[np.int64] | None = None
    cells: CellVerdicts | None = None
    by_term: FloatArray | None = None
    oddity: NDArray[Any] | None = None
    looks: NDArray[np.int8] | None = None

    @property
    def strength(self) -> FloatArray:
        """What cells are ranked by as reasons, shape (N, F): how much likelier another value was, or contributions."""
        return reason_strength(self.contributions, None if self.cells is None else self.cells.log_odds)

    @property
    def judges(self) -> Any:
        """The models that judged the rows where the detector that explains them did not; None where it did."""
        return None

    @property
    def dismissed_by(self) -> NDArray[np.int64]:
        """The rule that made a row no alarm which scores above the threshold, 0 for all other rows, shape (N,)."""
        none = np.zeros(len(self.raised), dtype=np.int64)
        return none if self.rule is None else np.where(self.raised, self.rule, none)

    @property
    def listed(self) -> BoolArray:
        """Which rows no rule is about, shape (N,): alarms at some false-alarm rate."""
        return np.ones(len(self.raised), dtype=np.bool_) if self.rule is None else self.rule == 0

    def with_raised(self, raised: BoolArray) -> Self:
        """The same rows with other scores taken for alarms, such as those above another threshold."""
        return replace(self, raised=raised, is_anomaly=raised & self.listed)

    @property
    def seen(self) -> BoolArray:
        """Which rows equal a row that was learned from, shape (N,): their scores say little about new rows.

        Numbers of one bin are equal, as they are to the model. Where rows repeat, new ones are seen by right.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> detector.judge([["cat", "woof"], ["cat", "meow"]]).seen
        array([False,  True])
        """
        return self.times_learned > 0

    @property
    def labels(self) -> Any:
        """What each row is called, shape (N,): its label in the index, or its position."""
        return np.arange(len(self.anomaly_score)) if self.index is None else self.index

    def take(self, rows: IntArray | BoolArray) -> Verdicts:
        """The verdicts on these rows, which keep their labels."""
        parts: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        parts["index"] = self.labels
        for name, part in parts.items():
            if part is not None:
                parts[name] = part.take(rows) if name in ("codes", "cells") else part[rows]
        return Verdicts(**parts)

    def to_frame(self) -> Any:
        """anomaly_score, p_value and is_anomaly as a pandas DataFrame with the labels of the rows as its index.

        With rules that dismiss alarms, `dismissed_by` is a fourth column.

        >>> import pandas as pd
        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> rows = pd.DataFrame({"pet": ["cat", "cat"], "says": ["woof", "meow"]}, index=["Tom", "Kitty"])
        >>> detector.judge(rows).to_frame()["is_anomaly"].to_dict()
        {'Tom': True, 'Kitty': False}
        """
        import pandas as pd

        columns = {"anomaly_score": self.anomaly_score, "p_value": self.p_value, "is_anomaly": self.is_anomaly}
        if self.rule is not None:
            columns["dismissed_by"] = self.dismissed_by
        return pd.DataFrame(columns, index=self.index)

    def to_records(self, explanation: Any = None) -> list[dict[str, Any]]:
        """One dict of plain values per row, as JSON holds them: anomaly_score, p_value and is_anomaly.

        With rules that dismiss alarms, `dismissed_by` is the number of the rule that did, None for other rows. The
        score is None for a row without evidence; rows of tables have their `oddity`. Given what `explain` returned
        about the same rows, each record has its `cells` too, the strongest first.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> rows = [["cat", "woof"], ["cat", "meow"]]
        >>> verdicts = detector.judge(rows)
        >>> [record["is_anomaly"] for record in verdicts.to_records()]
        [True, False]
        >>> reason = verdicts.to_records(detector.explain(rows, top=1, verdicts=verdicts))[0]["cells"][0]
        >>> {name: reason[name] for name in ("column", "value", "expected", "contradicts")}
        {'column': 'x0', 'value': 'cat', 'expected': 'dog', 'contradicts': 'x1 = woof'}
        """
        values = zip(self.anomaly_score.tolist(), self.p_value.tolist(), self.is_anomaly.tolist(), strict=True)
        records: list[dict[str, Any]] = [
            {"anomaly_score": None if math.isnan(score) else score, "p_value": p_value, "is_anomaly": alarm}
            for score, p_value, alarm in values
        ]
        if self.oddity is not None:
            for record, oddity in zip(records, self.oddity.tolist(), strict=True):
                record["oddity"] = oddity
        if self.rule is not None:
            for record, number in zip(records, self.dismissed_by.tolist(), strict=True):
                record["dismissed_by"] = number or None
        if explanation is not None:
            for record in records:
                record["cells"] = []
            for row, cell in zip(explanation["row"], explanation.drop(columns="row").to_dict("records"), strict=True):
                records[row]["cells"].append(cell)
        return records


@dataclass(frozen=True, eq=False)
class TokenVerdicts(Verdicts):
    """Verdicts on N rows of tokens; contributions and surprise (L, F) are those of the rows' windows, `codes`.

    The codes bring the rows' tokens along, so that nothing is cut into tokens again to explain or shade the rows.
    """

    codes: TokenWindows

    def take(self, rows: IntArray | BoolArray) -> TokenVerdicts:
        """The verdicts on these rows, which keep their labels."""
        chosen = np.arange(len(self.anomaly_score))[rows]
        lines = self.codes.lines_of(chosen)
        scores = (self.anomaly_score[chosen], self.alarm_score[chosen])
        of_rows = (*scores, self.p_value[chosen], self.is_anomaly[chosen])
        of_lines = (self.contributions[lines], self.surprise[lines], self.codes.take_rows(chosen))
        rules = (self.raised[chosen], None if self.rule is None else self.rule[chosen])
        by_term = None if self.by_term is None else self.by_term[chosen]
        looks = None if self.looks is None else self.looks[chosen]
        of_looks: dict[str, Any] = {"by_term": by_term, "looks": looks}
        return TokenVerdicts(*of_rows, self.times_learned[chosen], *of_lines, self.labels[chosen], *rules, **of_looks)
