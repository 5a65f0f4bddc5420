"""Alarms that look alike: the same columns are odd in them, often with the same values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from maskdiff.report.alarms import Alarm

# More odd cells than this, and no few cells explain the row.
MOST_TOGETHER = 4
MOST_GROUPS = 20
MOST_PATTERNS = 3

Pattern = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Group:
    """Alarms with the same odd columns (none: spread over many), and the values that occur most in them."""

    fields: tuple[int, ...]
    size: int
    highest: float
    patterns: tuple[tuple[Pattern, int], ...]


@dataclass(frozen=True)
class Grouping:
    """The largest groups, and for each alarm its group and its pattern there, -1 for none of those listed.

    `n_groups` counts all groups, `n_alone` the alarms that are like no other.
    """

    groups: tuple[Group, ...]
    group_of: tuple[int, ...]
    pattern_of: tuple[int, ...]
    n_groups: int
    n_alone: int

    @property
    def n_listed(self) -> int:
        """How many alarms the listed groups hold."""
        return sum(group.size for group in self.groups)


def odd_fields(alarm: Alarm) -> tuple[int, ...]:
    """The odd columns of an alarm, in order; none where there are too many to name."""
    return tuple(field for field, _ in odd_pattern(alarm))


def odd_pattern(alarm: Alarm) -> Pattern:
    """The odd columns of an alarm with their values."""
    if alarm.n_odd > MOST_TOGETHER:
        return ()
    return tuple(sorted((cell.field, cell.pattern) for cell in alarm.odd_cells))


def group_alarms(alarms: Sequence[Alarm]) -> Grouping:
    """Two or more alarms make a group. The largest come first; of equal size, the one with the highest score."""
    members: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for at, alarm in enumerate(alarms):
        members[odd_fields(alarm)].append(at)
    n_alone = sum(len(rows) == 1 for rows in members.values())
    together = [key for key, rows in members.items() if len(rows) > 1]
    ranked = sorted(together, key=lambda key: (-len(members[key]), -alarms[members[key][0]].score))
    group_of, pattern_of = [-1] * len(alarms), [-1] * len(alarms)
    groups = []
    for place, key in enumerate(ranked[:MOST_GROUPS]):
        group = _group(key, [alarms[at] for at in members[key]])
        listed = {pattern: i for i, (pattern, _) in enumerate(group.patterns)}
        for at in members[key]:
            group_of[at], pattern_of[at] = place, listed.get(odd_pattern(alarms[at]), -1)
        groups.append(group)
    return Grouping(tuple(groups), tuple(group_of), tuple(pattern_of), len(ranked), n_alone)


def _group(fields: tuple[int, ...], alarms: Sequence[Alarm]) -> Group:
    often = Counter(odd_pattern(alarm) for alarm in alarms).most_common(MOST_PATTERNS)
    patterns = tuple((pattern, n) for pattern, n in often if pattern and n > 1)
    return Group(fields, len(alarms), max(alarm.score for alarm in alarms), patterns)
