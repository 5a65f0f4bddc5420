"""A hundred thousand rows: chosen, sorted and cut into pages."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskdiff.service.kept.results import Choice, Result
from maskdiff.service.requests.problems import Problem

N = 100_000


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("result")
    rng = np.random.default_rng(0)
    names = pa.array(["Anna", "Bert", "Zoë"]).take(pa.array(rng.integers(0, 3, N)))
    p_value = rng.random(N)
    table = pa.table(
        {
            "name": names,
            "amount": pa.array([str(n) for n in rng.integers(0, 10**6, N)]),
            "maskdiff_anomaly_score": 1 - p_value,
            "maskdiff_p_value": p_value,
            "maskdiff_is_anomaly": p_value < 0.01,
        }
    )
    pq.write_table(table, folder / "rows.parquet")
    (folder / "result.json").write_text(json.dumps({"task": "score"}))
    (folder / "sections.json").write_text(json.dumps({"group_rows": [[5, 9]]}))
    (folder / "dismissed.json").write_text("[7]")
    return Result(folder)


def test_the_oddest_come_first_and_every_row_comes_once(result: Result) -> None:
    places = result.choose(Choice())
    assert sorted(places.tolist()) == list(range(N))
    assert (np.diff(result.p_value[places]) >= 0).all()


def test_alarms_follow_the_rate_and_leave_out_what_was_judged_fine(result: Result) -> None:
    few, many = (len(result.choose(Choice(shown="alarms", rate=rate))) for rate in (0.01, 0.2))
    assert few == int(((result.p_value <= 0.01) & ~result.dismissed).sum())
    assert many > 10 * few
    assert result.number[result.choose(Choice(shown="fine"))].tolist() == [7]


def test_texts_are_found_whatever_the_case_and_numbers_are_sorted_as_numbers(result: Result) -> None:
    found = result.choose(Choice(search="zOË"))
    assert 30_000 < len(found) < 37_000
    both = result.choose(Choice(search="zoë", column="amount", contains="42"))
    assert 0 < len(both) < len(found)
    amounts = [
        int(value) for value in result.table["amount"].take(pa.array(result.choose(Choice(sort="amount")))).to_pylist()
    ]
    assert amounts == sorted(amounts)
    assert result.number[result.choose(Choice(search="#77777"))].tolist() == [77777]


def test_groups_are_sets_of_rows(result: Result) -> None:
    assert sorted(result.number[result.choose(Choice(group=0))].tolist()) == [5, 9]
    with pytest.raises(Problem, match="no such group"):
        result.choose(Choice(group=1))


def test_a_column_that_is_not_there_is_refused(result: Result) -> None:
    for choice in (Choice(sort="colour"), Choice(column="colour", contains="x")):
        with pytest.raises(Problem, match="no column 'colour'"):
            result.choose(choice)
