"""Groups of alarms that share something: in tables the columns that are odd in them, otherwise the oddest token."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from maskdiff.report.alarms import Alarm

MAX_GROUPS = 20
MAX_PATTERNS = 3

Key = tuple[Hashable, ...]
# For an alarm: what it shares with all of its group, and what it shares with some of it.
GroupKey = Callable[[Alarm], tuple[Key, Key]]


@dataclass(frozen=True)
class Group:
    """Alarms that share something, and their most frequent patterns; `shared` is empty where many cells are odd."""

    shared: Key
    size: int
    highest: float
    patterns: tuple[tuple[Key, int], ...]


@dataclass(frozen=True)
class Grouping:
    """The largest groups, and for each alarm its group and its pattern there, -1 for none of those listed.

    `n_groups` counts all groups, `n_alone` the alarms that share their key with no other.
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


def group_alarms(alarms: Sequence[Alarm], group_key: GroupKey) -> Grouping:
    """Two or more alarms make a group. The largest come first; of equal size, the one with the highest score."""
    keys = [group_key(alarm) for alarm in alarms]
    members: dict[Key, list[int]] = defaultdict(list)
    for at, (shared, _) in enumerate(keys):
        members[shared].append(at)
    n_alone = sum(len(rows) == 1 for rows in members.values())
    together = [key for key, rows in members.items() if len(rows) > 1]
    ranked = sorted(together, key=lambda key: (-len(members[key]), -alarms[members[key][0]].score))
    group_of, pattern_of = [-1] * len(alarms), [-1] * len(alarms)
    groups = []
    for place, key in enumerate(ranked[:MAX_GROUPS]):
        alarms_of_group = members[key]
        group = _group(key, [alarms[at].score for at in alarms_of_group], [keys[at][1] for at in alarms_of_group])
        listed = {pattern: i for i, (pattern, _) in enumerate(group.patterns)}
        for at in alarms_of_group:
            group_of[at], pattern_of[at] = place, listed.get(keys[at][1], -1)
        groups.append(group)
    return Grouping(tuple(groups), tuple(group_of), tuple(pattern_of), len(ranked), n_alone)


def _group(shared: Key, scores: Sequence[float], patterns: Sequence[Key]) -> Group:
    frequent = Counter(patterns).most_common(MAX_PATTERNS)
    return Group(shared, len(scores), max(scores), tuple((pattern, n) for pattern, n in frequent if pattern and n > 1))
