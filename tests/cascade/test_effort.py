"""The setting `effort`."""

import pytest

from maskdiff.cascade import check_effort, plan_of
from maskdiff.errors import SettingError


@pytest.mark.parametrize("effort", ["auto", "alarms", "full", 0.05, 1, 1.0])
def test_names_and_shares_are_efforts(effort):
    check_effort(effort)


@pytest.mark.parametrize("effort", ["fast", 0, -0.1, 1.5, True, None, float("nan")])
def test_anything_else_is_refused_with_what_is_known(effort):
    with pytest.raises(SettingError, match='effort must be one of "auto", "alarms", "full", or the share'):
        check_effort(effort)


def test_the_whole_grid_judges_more_rows_where_more_false_alarms_are_allowed():
    assert plan_of("alarms", 0.01) == ("alarms", 0.03)
    assert plan_of("alarms", 0.1)[1] == pytest.approx(0.3)
    assert plan_of("auto", 0.4) is None
    assert plan_of(1.0, None) is None
