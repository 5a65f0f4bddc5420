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

    def place(self, pattern: Key) -> int:
        """Where a pattern is listed, -1 if it is not."""
        return next((at for at, (listed, _) in enumerate(self.patterns) if listed == pattern), -1)


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


def group_alarms(alarms: Sequence[Alarm], group_key: GroupKey, below: Sequence[Alarm] = ()) -> Grouping:
    """Two or more alarms make a group. The largest come first; of equal size, the one with the highest score.

    The rows `below` the threshold make no groups; they are placed in those of the alarms, after them.
    """
    keys = [group_key(alarm) for alarm in (*alarms, *below)]
    members: dict[Key, list[int]] = defaultdict(list)
    for at, (shared, _) in enumerate(keys[: len(alarms)]):
        members[shared].append(at)
    n_alone = sum(len(rows) == 1 for rows in members.values())
    together = [key for key, rows in members.items() if len(rows) > 1]
    ranked = sorted(together, key=lambda key: (-len(members[key]), -alarms[members[key][0]].score))
    groups = tuple(
        _group(key, [alarms[at].score for at in members[key]], [keys[at][1] for at in members[key]])
        for key in ranked[:MAX_GROUPS]
    )
    places = {group.shared: place for place, group in enumerate(groups)}
    group_of = tuple(places.get(shared, -1) for shared, _ in keys)
    pattern_of = tuple(
        -1 if at < 0 else groups[at].place(pattern) for at, (_, pattern) in zip(group_of, keys, strict=True)
    )
    return Grouping(groups, group_of, pattern_of, len(ranked), n_alone)


def _group(shared: Key, scores: Sequence[float], patterns: Sequence[Key]) -> Group:
    frequent = Counter(patterns).most_common(MAX_PATTERNS)
    return Group(shared, len(scores), max(scores), tuple((pattern, n) for pattern, n in frequent if pattern and n > 1))
