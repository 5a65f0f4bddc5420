from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff.bench.runs.measure import Run, Split, measure, metrics
from maskdiff.bench.runs.methods import METHODS, Detector, Method, chosen
from maskdiff.bench.runs.sets import ON_DEMAND, cut_table, table_names, text_names
from maskdiff.errors import InputError, SettingError

Labelled = tuple[pd.DataFrame, NDArray[np.int8]]


class Spy:
    """Keeps what it is given; the score of a row is the number of its "b"s."""

    def __init__(self, seed: int, device: str) -> None:
        self.seed = seed
        self.seen: dict[str, Any] = {}

    def fit(self, X: pd.DataFrame) -> Spy:
        self.seen["fit"] = X
        return self

    def anomaly_score(self, X: pd.DataFrame) -> NDArray[np.float64]:
        self.seen["score"] = X
        return (X == "b").sum(axis=1).to_numpy(dtype=np.float64)


def spied(labelled: Labelled, seed: int = 0) -> tuple[dict[str, Any], Spy]:
    spies: list[Spy] = []

    def build(seed: int, device: str) -> Detector:
        spies.append(Spy(seed, device))
        return spies[-1]

    split = cut_table(labelled, seed)
    record = measure(Run("cluster", "spy", seed), split, Method(build, "ours"), device="cpu")
    return record, spies[0]


def test_only_normal_rows_are_fitted_on_and_no_label_is_handed_over(labelled: Labelled) -> None:
    _, spy = spied(labelled)
    assert list(spy.seen["fit"].columns) == list(labelled[0].columns)
    assert not (spy.seen["fit"] == "b").all(axis=1).any()
    assert list(spy.seen["fit"].index) == list(range(84))


def test_the_split_is_seventy_to_thirty_and_stratified(labelled: Labelled) -> None:
    record, spy = spied(labelled)
    assert (record["n_train"], record["n_test"], record["n_features"]) == (84, 45, 8)
    assert (spy.seen["score"] == "b").all(axis=1).sum() == 9


def test_another_seed_is_another_split_and_the_same_seed_the_same(labelled: Labelled) -> None:
    first, again, other = (spied(labelled, seed)[1].seen["fit"] for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_a_record_says_what_was_measured_and_where(labelled: Labelled) -> None:
    record, _ = spied(labelled, seed=4)
    assert {key: record[key] for key in ("set", "method", "seed", "status")} == {
        "set": "cluster",
        "method": "spy",
        "seed": 4,
        "status": "ok",
    }
    assert record["roc_auc"] == 1.0
    assert record["pr_auc"] == 1.0
    assert record["fit_seconds"] >= 0 <= record["score_seconds"]
    assert record["peak_memory_mb"] is None or record["peak_memory_mb"] > 10
    assert {"python", "maskdiff", "torch", "numpy"} <= set(record["versions"])
    assert record["device"].startswith("cpu")


@pytest.mark.usefixtures("hardly_trained")
def test_a_record_of_ours_tells_false_alarms_and_what_each_kind_of_evidence_adds(labelled: Labelled) -> None:
    split = cut_table(labelled, 0)
    record = measure(Run("cluster", "default", 0), split, METHODS["default"], device="cpu")
    assert record["n_normal"] == (split.y == 0).sum()
    assert 0 <= record["false_alarms"]["0.05"] <= record["n_normal"]
    names = ["reconstructor mean", "reconstructor log_mean_exp", "kernel mean", "neighbours mean"]
    assert list(record["kinds"]) == list(record["added_up"]) == names
    assert record["added_up"][names[0]] == record["kinds"][names[0]]
    assert record["added_up"][names[-1]] == pytest.approx([record["roc_auc"], record["pr_auc"]])


def test_what_is_warmed_up_is_another_detector_and_sees_few_normal_rows(labelled: Labelled) -> None:
    fitted: list[int] = []

    class Counting(Spy):
        def fit(self, X: pd.DataFrame) -> Spy:
            fitted.append(len(X))
            return super().fit(X)

    split = cut_table(labelled, 0)
    measure(Run("cluster", "spy", 0), split, Method(Counting, "ours"), device="cpu", warm_up=10)
    assert fitted == [10, 84]


def test_rows_that_are_no_table_have_no_number_of_features() -> None:
    class Lengths(Spy):
        def anomaly_score(self, X: Any) -> NDArray[np.float64]:
            return np.array([len(text) for text in X], dtype=np.float64)

    split = Split(["a", "b"], ["a", "long"], np.array([0, 1], dtype=np.int8))
    record = measure(Run("texts", "spy", 0), split, Method(Lengths, "ours"), device="cpu")
    assert (record["n_train"], record["n_test"], record["n_features"], record["roc_auc"]) == (2, 2, None, 1.0)


def test_warnings_of_a_method_are_kept_in_the_record(cluster: pd.DataFrame) -> None:
    table = cluster.assign(key=[f"row {number}" for number in range(len(cluster))])
    y = np.repeat([0, 1], [100, 20]).astype(np.int8)
    record = measure(Run("cluster", "hamming-knn", 0), cut_table((table, y), 0), METHODS["hamming-knn"], device="cpu")
    assert ["'key'" in warning for warning in record["warnings"]] == [True]


scored = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=4, max_size=40).filter(
    lambda pairs: 0 < sum(label for label, _ in pairs) < len(pairs)
)


@given(scored)
def test_metrics_are_scikit_learns_and_those_of_the_definition_with_ties(pairs: list[tuple[int, int]]) -> None:
    y, scores = (np.array(each) for each in zip(*pairs, strict=True))
    found = metrics(y, scores)
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, scores))
    assert found["pr_auc"] == pytest.approx(average_precision_score(y, scores))
    difference = scores[y == 1][:, None] - scores[y == 0]
    assert found["roc_auc"] == pytest.approx(((difference > 0) + 0.5 * (difference == 0)).mean())
    steps, recall_before = 0.0, 0.0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        flagged = scores >= threshold
        recall = y[flagged].sum() / y.sum()
        steps += (recall - recall_before) * y[flagged].mean()
        recall_before = recall
    assert found["pr_auc"] == pytest.approx(steps)


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="1 are not"):
        metrics([0, 1], [0.5, np.nan])


def test_words_for_several_methods_are_spelled_out_once_each() -> None:
    names = chosen(["kernel", "ours", "baselines"])
    assert names[0] == "kernel"
    assert len(names) == len(set(names)) == 18
    assert set(chosen(["all"])) == {*names, "isotree", "lof"}


@pytest.mark.parametrize("names", [chosen, table_names, text_names])
def test_an_unknown_name_is_refused_with_the_known_ones(names: Any) -> None:
    with pytest.raises(SettingError, match=r"'nonsense'.*; known are all"):
        names(["nonsense"])


def test_a_set_on_demand_is_not_one_of_all() -> None:
    assert not set(ON_DEMAND) & set(table_names(["all"]))
    assert table_names(list(ON_DEMAND)) == list(ON_DEMAND)
