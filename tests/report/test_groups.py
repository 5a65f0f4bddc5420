"""Groups: alarms with the same odd columns, compared with hand counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.explanations.odd_mask import odd_mask
from maskdiff.report.alarms import Alarm, ExplainedCell
from maskdiff.report.content.columns import MAX_SHARED, ColumnContent
from maskdiff.report.groups import Grouping, group_alarms

from .samples import connections_detector

GROUP_KEY = ColumnContent(connections_detector()).group_key


def alarm(score: float, odd: dict[int, str], calm: tuple[int, ...] = (), more_odd: tuple[int, ...] = ()) -> Alarm:
    cells = [
        ExplainedCell(field, value, value, 0.1, "normal", 0.9, field not in calm, False, False)
        for field, value in [*odd.items(), *((field, "calm") for field in calm)]
    ]
    return Alarm(0, score, 0.01, True, tuple(cells), more_odd)


def groups_of(grouping: Grouping) -> list[tuple[tuple[int, ...], int]]:
    return [(group.shared, group.size) for group in grouping.groups]


def test_alarms_with_the_same_odd_columns_are_one_group() -> None:
    alarms = [
        alarm(9.0, {2: "a"}),
        alarm(8.0, {1: "x", 0: "y"}),
        alarm(7.0, {2: "b"}, calm=(0,)),
        alarm(6.0, {0: "y", 1: "x"}),
        alarm(5.0, {2: "a"}),
        alarm(4.0, {3: "z"}),
    ]
    grouping = group_alarms(alarms, GROUP_KEY)
    assert groups_of(grouping) == [((2,), 3), ((0, 1), 2)]
    assert grouping.group_of == (0, 1, 0, 1, 0, -1)
    assert grouping.n_alone == 1
    assert grouping.groups[0].patterns == ((((2, "a"),), 2),)
    assert grouping.groups[1].patterns == ((((0, "y"), (1, "x")), 2),)
    assert grouping.pattern_of == (0, 0, -1, 0, 0, -1)
    assert [group.highest for group in grouping.groups] == [9.0, 8.0]


def test_alarms_with_many_odd_cells_are_spread_over_many_columns() -> None:
    many = {field: "v" for field in range(MAX_SHARED + 1)}
    grouping = group_alarms([alarm(3.0, many), alarm(2.0, {0: "v"}, more_odd=tuple(range(1, 40)))], GROUP_KEY)
    assert groups_of(grouping) == [((), 2)]
    assert grouping.groups[0].patterns == ()


def test_rows_below_the_threshold_join_groups_and_make_none() -> None:
    alarms = [alarm(9.0, {2: "a"}), alarm(8.0, {2: "a"}), alarm(7.0, {1: "x"})]
    below = [alarm(3.0, {2: "a"}), alarm(2.0, {1: "x"}), alarm(1.0, {2: "b"})]
    grouping = group_alarms(alarms, GROUP_KEY, below)
    assert groups_of(grouping) == [((2,), 2)]
    assert grouping.group_of == (0, 0, -1, 0, -1, 0)
    assert grouping.pattern_of == (0, 0, -1, 0, -1, -1)


def test_no_alarms_make_no_groups() -> None:
    assert group_alarms([], GROUP_KEY).groups == ()


@given(st.lists(st.dictionaries(st.integers(0, 3), st.sampled_from("ab"), min_size=1, max_size=3), max_size=30))
def test_every_alarm_is_in_the_group_of_its_columns_or_alone(rows: list[dict[int, str]]) -> None:
    alarms = [alarm(float(len(rows) - at), odd) for at, odd in enumerate(rows)]
    grouping = group_alarms(alarms, GROUP_KEY)
    assert grouping.n_listed + grouping.n_alone == len(alarms)
    for at, group in enumerate(grouping.group_of):
        if group >= 0:
            assert grouping.groups[group].shared == GROUP_KEY(alarms[at])[0]


def test_a_cell_is_odd_from_half_the_largest_contribution_on() -> None:
    is_new = np.zeros((1, 4), dtype=bool)
    assert odd_mask(np.array([[0.4, 0.2, 0.19, 0.0]]), is_new).tolist() == [[True, True, False, False]]


def test_a_new_value_is_odd_however_little_it_adds() -> None:
    is_new = np.array([[False, False, True, True]])
    assert odd_mask(np.array([[0.4, 0.1, 0.01, 0.0]]), is_new).tolist() == [[True, False, True, True]]


def test_a_row_without_contributions_has_no_odd_cell() -> None:
    assert not odd_mask(np.zeros((2, 3)), np.zeros((2, 3), dtype=bool)).any()
