"""A cheap first look at every row, and the whole grid of probes for the rows that may matter."""

from maskdiff.cascade.effort import AUTO, EFFORTS, FULL, Effort, check_effort, plan_of
from maskdiff.cascade.first_look import ALARMS, RANKING, FirstLook, LearnedLook
from maskdiff.cascade.looks import SINGLE_CELLS, alarm_look, ranking_look, token_look
from maskdiff.cascade.walk import Cascade, RowAlarms, by_whole_grid, look_at, unseen_rows

__all__ = [
    "ALARMS",
    "AUTO",
    "EFFORTS",
    "FULL",
    "RANKING",
    "SINGLE_CELLS",
    "Cascade",
    "Effort",
    "FirstLook",
    "LearnedLook",
    "RowAlarms",
    "alarm_look",
    "by_whole_grid",
    "check_effort",
    "look_at",
    "plan_of",
    "ranking_look",
    "token_look",
    "unseen_rows",
]
