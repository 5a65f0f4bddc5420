"""The setting `effort`: which first look every row gets, and what share of normal rows gets the whole grid besides."""

from __future__ import annotations

from maskdiff.errors import SettingError

Effort = str | float

RANKING, ALARMS = "ranking", "alarms"
AUTO, FULL = "auto", "full"
# The first look, and the share of normal rows that gets the whole grid. Both were chosen by how well they agree with
# the whole grid on normal rows and on rows with one to three cells replaced; see docs/method.md.
_PLANS = {AUTO: (RANKING, 0.1), ALARMS: (ALARMS, 0.03)}
EFFORTS = (AUTO, ALARMS, FULL)
# Of the rows that get the whole grid at most one in so many is meant to be a false alarm.
_PER_FALSE_ALARM = 3


def check_effort(effort: Effort) -> None:
    """Refuse what is no effort."""
    is_share = isinstance(effort, int | float) and not isinstance(effort, bool) and 0 < effort <= 1
    if effort not in EFFORTS and not is_share:
        known = ", ".join(f'"{name}"' for name in EFFORTS)
        raise SettingError(
            f"effort must be one of {known}, or the share of normal rows that gets the whole grid, above 0 and at "
            f"most 1; got {effort!r}."
        )


def plan_of(effort: Effort, false_alarm_rate: float | None) -> tuple[str, float] | None:
    """The name of the first look and the share of normal rows that gets the whole grid; None: all rows get it.

    Where a high `false_alarm_rate` is set, the share is higher too: alarms are to be judged by the whole grid.

    >>> plan_of("auto", None), plan_of("alarms", 0.04), plan_of(0.3, 0.01), plan_of("full", None)
    (('ranking', 0.1), ('alarms', 0.12), ('ranking', 0.3), None)
    """
    if effort == FULL:
        return None
    look, share = _PLANS[effort] if isinstance(effort, str) else (RANKING, float(effort))
    share = max(share, _PER_FALSE_ALARM * (false_alarm_rate or 0.0))
    return None if share >= 1 else (look, share)
