"""The part of a detector that calibrates, and gives every row the effort it needs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.cascade import (
    Cascade,
    Effort,
    FirstLook,
    LearnedLook,
    RowAlarms,
    check_effort,
    look_at,
    plan_of,
    unseen_rows,
)
from maskdiff.codes import Codes, FloatArray
from maskdiff.evidence import CellEvidence, Evidence
from maskdiff.evidence.base import State
from maskdiff.progress import Callback
from maskdiff.state import check
from maskdiff.state.tensors import Tensors, named, under

# First looks by their names, as rows that tune set them.
LearnedLooks = dict[str, LearnedLook]
# Fewer rows say too little about what is usual for a first look.
_FEWEST_TO_TUNE = 50
# The share of rows that must be distinct for a first look to pay.
_DISTINCT = 1 / 3


class Efforts:
    """Judges rows by a first look and the whole grid, with the calibration that goes with it."""

    effort: Effort = "full"
    false_alarm_rate: float | None
    encoder_: Any
    evidence_: Evidence

    def _bare_looks(self, evidence: Evidence) -> dict[str, Evidence]:
        """The first looks that this evidence allows, by name, before anything is learned about them: here none."""
        return {}

    def _row_alarms(
        self, codes: Codes, evidence: Evidence, *, stage: str = "scoring", callback: Callback | None = None
    ) -> RowAlarms:
        """What makes a row an alarm besides its score: here nothing."""
        return RowAlarms(lambda scores: scores)

    def _learn_looks(self, evidence: Evidence, tuning: Codes, scores: FloatArray) -> LearnedLooks:
        """The first looks on the scale of these scores, which the whole grid gave rows that tune.

        There are none where rows repeat so much that the whole grid is cheap: it judges equal rows once.
        """
        possible = self._bare_looks(evidence)
        if not possible or len(scores) < _FEWEST_TO_TUNE or len(tuning.distinct()[0]) < _DISTINCT * len(tuning):
            return {}
        alarms = self._row_alarms(tuning, evidence)

        @cache  # rows of tokens have one look for all efforts
        def learn(look: Evidence) -> LearnedLook:
            term_scores = look.term_scores(tuning, known=alarms.known)
            return LearnedLook.of(look, term_scores, scores, alarms.alarm_score, unseen_rows(tuning))

        return {name: learn(look) for name, look in possible.items()}

    def adopt_calibration(self, calibration: Calibration, looks: Mapping[str, FirstLook] | None = None) -> None:
        """Judge by these calibration scores, which the whole grid gave, from now on; `looks` may come before it."""
        self.whole_grid_calibration_, self.looks_ = calibration, dict(looks or {})
        self._adopt_effort()
        names = self.encoder_.feature_names_in_
        self.n_features_in_ = len(names)
        if self.encoder_.named_:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def _adopt_effort(self, false_alarm_rate: float | None = None) -> None:
        """The cascade and the calibration that go with the effort, for alarms at this rate or the detector's own."""
        rate = self.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        plan, whole = plan_of(self.effort, rate), self.whole_grid_calibration_
        look = None if plan is None else self.looks_.get(plan[0])
        self.cascade_, self.calibration_ = None, whole
        if plan is not None and look is not None:
            bare = self._bare_looks(self.evidence_)[plan[0]]
            self.cascade_ = Cascade(replace(bare, terms=look.learned.terms), look.learned.cutoff(plan[1]))
            self.calibration_ = Calibration.from_scores(look.scores(whole.scores, plan[1]))
        own_rate = self.calibration_.rate_or_default(self.false_alarm_rate)
        self.offset_ = -self.calibration_.threshold(own_rate)

    def with_effort(self, effort: Effort, false_alarm_rate: float | None = None) -> Self:
        """A copy that judges with another effort; nothing is learned again, and the promised rates hold.

        Scores of rows that are looked at once change, and thresholds with them. Where alarms at a high
        `false_alarm_rate` are wanted, more rows get the whole grid. A detector fitted with effort="full", or one
        without a first look (the kernel alone, small or narrow tables), takes the whole grid whatever is set here.
        """
        check_is_fitted(self)
        check_effort(effort)
        other = copy.copy(self)
        other.effort = effort
        other._adopt_effort(false_alarm_rate)
        return other

    def describe_effort(self) -> str:
        """The effort in words: what the first look is, if there is one, and which rows get the whole grid."""
        if self.cascade_ is None:
            return f"{self.effort}: the whole grid for every row"
        sources = ", ".join(dict.fromkeys(term.source for term in self.cascade_.look.terms))
        above = f"rows above {self.cascade_.cutoff:.4g} in it"
        return f"{self.effort}: a first look ({sources}), the whole grid for {above}"

    def _looks_to_state(self) -> State:
        """The first looks, as plain values and tensors."""
        states = {name: look.to_state() for name, look in self.looks_.items()}
        tensors = (named(tensors, name) for name, (_, tensors) in states.items())
        return {name: plain for name, (plain, _) in states.items()}, {k: t for part in tensors for k, t in part.items()}

    def _looks_from_state(self, plain: Any, tensors: Tensors, n_calibration: int) -> dict[str, FirstLook]:
        """What `_looks_to_state` gave, about the evidence of this detector."""
        possible = self._bare_looks(self.evidence_)
        check(isinstance(plain, dict) and set(plain) <= set(possible), "it holds first looks that nothing uses")
        looks = {}
        for name, one in plain.items():
            sources = {term.source for term in possible[name].terms}
            looks[name] = FirstLook.from_state(one, under(tensors, name), n_calibration, sources)
        rest = [key for key in tensors if key.split(".")[0] not in looks]
        check(not rest, f"it holds tensors that nothing uses: {', '.join(sorted(rest)[:3])}")
        return looks

    def _weigh(self, codes: Codes, *, stage: str = "scoring", callback: Callback | None = None) -> CellEvidence:
        """Each cell's part in the score, with the effort of this detector."""
        if self.cascade_ is None:
            return self.evidence_.weigh(codes, stage=stage, callback=callback)
        alarms = self._row_alarms(codes, self.evidence_, stage=stage, callback=callback)
        return self.cascade_.weigh(codes, self.evidence_, alarms, stage=stage, callback=callback)

    def _calibrate_looks(self, learned: LearnedLooks, calibration: Codes, scores: FloatArray) -> dict[str, FirstLook]:
        """The first looks with those at calibration rows, whose scores by the whole grid these are."""
        if not learned:
            return {}
        bare, alarms = self._bare_looks(self.evidence_), self._row_alarms(calibration, self.evidence_)
        order = np.argsort(scores, kind="stable")[: int((~np.isnan(scores)).sum())]
        looks: dict[LearnedLook, FirstLook] = {}
        for name, one in learned.items():
            if one not in looks:
                first = look_at(replace(bare[name], terms=one.terms), calibration, alarms)[1]
                looks[one] = FirstLook(one, first[order])
        return {name: looks[one] for name, one in learned.items()}
