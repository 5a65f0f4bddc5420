from __future__ import annotations

import numpy as np
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.studies.learned_rows import LearnedRows
from maskdiff.datasets import make_claims
from maskdiff.errors import SettingError


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=600, seed=0))
    sets.load_set.cache_clear()
    yield "tiny"
    sets.load_set.cache_clear()


def test_more_rows_are_learned_from_and_the_rows_to_score_stay_the_same(tiny: str) -> None:
    few, many = (LearnedRows().split(Run(f"{tiny}@{number}", "default", 1)) for number in ("50", "all"))
    assert (len(few.normal), len(many.normal) > 200) == (50, True)
    np.testing.assert_array_equal(few.y, many.y)
    assert few.unlabelled.equals(many.unlabelled)


def test_sets_are_tables_with_or_without_a_number() -> None:
    task = LearnedRows()
    assert task.set_names(["census@1000", "claims-large"])[:2] == ["census@1000", "claims-large@1000"]
    assert len(task.set_names(["all"])) == 18
    with pytest.raises(SettingError):
        task.set_names(["nothing@5"])
