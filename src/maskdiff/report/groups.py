"""Alarms that look alike: what they share is said by the kind of rows, for tables the columns that are odd in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from maskdiff.report.subject import Alarm

MOST_GROUPS = 20
MOST_PATTERNS = 3

Key = tuple[Hashable, ...]
# Of an alarm: what it shares with all of its group, and with some of it.
Kin = Callable[[Alarm], tuple[Key, Key]]


@dataclass(frozen=True)
class Group:
    """Alarms that share something (nothing: their scores are spread over many cells), and their commonest patterns."""

    shared: Key
    size: int
    highest: float
    patterns: tuple[tuple[Key, int], ...]


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


def group_alarms(alarms: Sequence[Alarm], kin: Kin) -> Grouping:
    """Two or more alarms make a group. The largest come first; of equal size, the one with the highest score."""
    kins = [kin(alarm) for alarm in alarms]
    members: dict[Key, list[int]] = defaultdict(list)
    for at, (shared, _) in enumerate(kins):
        members[shared].append(at)
    n_alone = sum(len(rows) == 1 for rows in members.values())
    together = [key for key, rows in members.items() if len(rows) > 1]
    ranked = sorted(together, key=lambda key: (-len(members[key]), -alarms[members[key][0]].score))
    group_of, pattern_of = [-1] * len(alarms), [-1] * len(alarms)
    groups = []
    for place, key in enumerate(ranked[:MOST_GROUPS]):
        own = members[key]
        group = _group(key, [alarms[at].score for at in own], [kins[at][1] for at in own])
        listed = {pattern: i for i, (pattern, _) in enumerate(group.patterns)}
        for at in own:
            group_of[at], pattern_of[at] = place, listed.get(kins[at][1], -1)
        groups.append(group)
    return Grouping(tuple(groups), tuple(group_of), tuple(pattern_of), len(ranked), n_alone)


def _group(shared: Key, scores: Sequence[float], patterns: Sequence[Key]) -> Group:
    often = Counter(patterns).most_common(MOST_PATTERNS)
    return Group(shared, len(scores), max(scores), tuple((pattern, n) for pattern, n in often if pattern and n > 1))
