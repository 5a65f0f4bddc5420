"""How rows walk: a first look at all of them, the whole grid for those above a cutoff.

Which rows get the whole grid depends on each row alone and on a cutoff that was set before, so the score is a fixed
function of the row, and calibration rows that walk the same way promise its false-alarm rate exactly.
N rows, L lines (windows of token rows; a line is a row in tables), F fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskdiff.cascade.first_look import marked, passes
from maskdiff.cascade.looks import SINGLE_CELLS
from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.codes.windows import Windows
from maskdiff.evidence import CellEvidence, Evidence
from maskdiff.progress import Callback
from maskdiff.score import CellScores


@dataclass(frozen=True, eq=False)
class RowAlarms:
    """What makes a row an alarm besides its score: the log odds of its single cells, (N, F), where they are asked."""

    alarm_score: Callable[[FloatArray], FloatArray]
    log_odds: FloatArray | None = None

    @property
    def known(self) -> dict[str, CellScores]:
        """The cells of the sources that a first look need not ask."""
        if self.log_odds is None:
            return {}
        weight = np.full_like(self.log_odds, 1 / max(self.log_odds.shape[1], 1))
        return {SINGLE_CELLS: CellScores(self.log_odds, weight)}


@dataclass(frozen=True, eq=False)
class Cascade:
    """A first look, and the cutoff above which rows get the whole grid."""

    look: Evidence
    cutoff: float

    def weigh(
        self,
        codes: Codes,
        evidence: Evidence,
        alarms: RowAlarms,
        *,
        stage: str = "scoring",
        callback: Callback | None = None,
    ) -> CellEvidence:
        """Each cell's part in its row's score, by the whole grid or, for rows below the cutoff, by the first look."""
        found, first = look_at(self.look, codes, alarms, stage=stage, callback=callback)
        passing = passes(first, self.cutoff)
        looks: NDArray[np.int8] = 1 + passing.astype(np.int8)
        by_term = np.full((len(first), len(evidence.terms)), np.nan)
        found = replace(found, by_term=by_term, looks=looks)
        return by_whole_grid(found, codes, evidence, np.flatnonzero(passing), stage=stage, callback=callback)


def by_whole_grid(
    found: CellEvidence,
    codes: Codes,
    evidence: Evidence,
    rows: NDArray[np.int64],
    *,
    stage: str = "scoring",
    callback: Callback | None = None,
) -> CellEvidence:
    """What was found, with these rows judged by the whole grid instead."""
    if not len(rows):
        return found
    tokens = codes if isinstance(codes, Windows) else None
    chosen = codes.take(rows) if tokens is None else tokens.take_rows(rows)
    lines = rows if tokens is None else tokens.lines_of(rows)
    whole = evidence.weigh(chosen, stage=stage, callback=callback)
    assert found.by_term is not None
    contributions, surprise, by_term = (a.copy() for a in (found.contributions, found.surprise, found.by_term))
    contributions[lines], surprise[lines], by_term[rows] = whole.contributions, whole.surprise, whole.by_term
    return replace(found, contributions=contributions, surprise=surprise, by_term=by_term)


def look_at(
    look: Evidence, codes: Codes, alarms: RowAlarms, *, stage: str = "scoring", callback: Callback | None = None
) -> tuple[CellEvidence, FloatArray]:
    """What a first look finds, and what decides whether a row gets the whole grid, (N,)."""
    found = look.weigh(codes, stage=stage, callback=callback, known=alarms.known)
    found = replace(found, log_odds=alarms.log_odds)
    return found, marked(alarms.alarm_score(found.score), unseen_rows(codes))


def unseen_rows(codes: Codes) -> BoolArray:
    """Which rows of a table hold a value that was never seen, (N,); new words in texts are nothing special."""
    if isinstance(codes, Windows):
        return np.zeros(codes.n_rows, dtype=np.bool_)
    return np.asarray(~codes.known.all(axis=1), dtype=np.bool_)
