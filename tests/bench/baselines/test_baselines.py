"""Promises every baseline keeps, whatever it computes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from maskdiff.bench.baselines import deep_svdd, drl, dte, goad, icl, isotree, mcm, neighbours, networks, numbers, pyod
from maskdiff.bench.baselines.encoded import Encoded
from maskdiff.bench.runs.methods import METHODS
from maskdiff.errors import MissingExtraError, SettingError

from ...warm_processes import run_warm


def short(fitting: Any, epochs: int, **changes: Any) -> Any:
    return replace(fitting, epochs=epochs, **changes)


def one_hot(build: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[[int], Encoded]:
    return lambda seed: Encoded(build(*arguments, **settings, seed=seed, device="cpu"), "one-hot")


# Fewer epochs, maps and trees than in the paper: enough for an outlier as clear as this one.
QUICK: dict[str, Callable[[int], Any]] = {
    "copod": lambda seed: Encoded(pyod.copod(), "ordinal", whole_batch=True),
    "ecod": lambda seed: Encoded(pyod.ecod(), "ordinal", whole_batch=True),
    "iforest": lambda seed: Encoded(pyod.isolation_forest(trees=50, seed=seed), "one-hot"),
    "deep-svdd": one_hot(deep_svdd.hypersphere, fitting=short(deep_svdd.FITTING, 10)),
    "hamming-knn": lambda seed: Encoded(neighbours.HammingNeighbours(25, device="cpu"), "ordinal"),
    "dte-categorical": one_hot(dte.diffusion_time, "categorical", fitting=short(dte.FITTING, 100, learning_rate=1e-3)),
    "dte-inverse-gamma": one_hot(
        dte.diffusion_time, "inverse-gamma", fitting=short(dte.FITTING, 300, learning_rate=1e-3)
    ),
    "dte-gaussian": one_hot(dte.diffusion_time, "gaussian", fitting=short(dte.FITTING, 100, learning_rate=1e-3)),
    "goad": one_hot(goad.transformation_classifier, n_maps=16, fitting=short(goad.FITTING, 20)),
    "icl": one_hot(icl.internal_contrast, fitting=short(icl.FITTING, 40)),
    "mcm": one_hot(mcm.masked_cells, n_masks=4, fitting=short(mcm.FITTING, 30)),
    "drl": one_hot(drl.decomposition, fitting=short(drl.FITTING, 30)),
    "isotree": lambda seed: isotree.CategoricalForest(trees=50, seed=seed),
    "lof": lambda seed: numbers.NumbersLof(seed=seed),
}
NEEDS = {"copod": "pyod", "ecod": "pyod", "iforest": "pyod", "isotree": "isotree"}
# PyOD looks at the rows to score and the normal ones together: a row's score depends on its batch.
BY_BATCH = ("copod", "ecod")

every_baseline = pytest.mark.parametrize("name", QUICK)
row_by_row = pytest.mark.parametrize("name", [name for name in QUICK if name not in BY_BATCH])


KEPT: dict[str, Any] = {}
LEFT_ALONE: dict[str, bool] = {}


def fitted(name: str, rows: pd.DataFrame) -> Any:
    """The baseline fitted on the cluster: scoring leaves it as it is, so one will do for all tests."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name not in KEPT:
        before = generators()
        KEPT[name] = QUICK[name](0).fit(rows)
        KEPT[name].anomaly_score(rows.head())
        LEFT_ALONE[name] = generators() == before
    return KEPT[name]


def generators() -> tuple[bytes, bytes]:
    """The states of the global generators."""
    return torch.get_rng_state().numpy().tobytes(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]  # noqa: NPY002


def test_every_baseline_is_tested_here() -> None:
    assert set(QUICK) == {name for name, method in METHODS.items() if method.group != "ours"}


@every_baseline
def test_a_clear_outlier_gets_the_top_score(
    name: str, cluster: pd.DataFrame, cluster_and_outlier: pd.DataFrame
) -> None:
    scores = fitted(name, cluster).anomaly_score(cluster_and_outlier)
    assert scores.shape == (21,)
    assert scores.dtype == np.float64
    assert scores[-1] > scores[:-1].max()


@every_baseline
def test_equal_seeds_give_equal_scores(
    name: str, cluster: pd.DataFrame, cluster_and_outlier: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    # What is drawn differs from the first steps on: a few show it.
    train = networks._train
    monkeypatch.setattr(
        networks, "_train", lambda net, rows, fitting, *more: train(net, rows, short(fitting, 3), *more)
    )
    first, second = (QUICK[name](0).fit(cluster).anomaly_score(cluster_and_outlier) for _ in range(2))
    assert_array_equal(first, second)


@every_baseline
def test_scoring_changes_nothing(name: str, cluster: pd.DataFrame, cluster_and_outlier: pd.DataFrame) -> None:
    detector = fitted(name, cluster)
    before = cluster_and_outlier.copy()
    first = detector.anomaly_score(cluster_and_outlier)
    detector.anomaly_score(cluster.tail(7))
    assert_array_equal(detector.anomaly_score(cluster_and_outlier), first)
    pd.testing.assert_frame_equal(cluster_and_outlier, before)


@row_by_row
def test_a_score_depends_on_its_own_row_alone(
    name: str, cluster: pd.DataFrame, cluster_and_outlier: pd.DataFrame
) -> None:
    detector = fitted(name, cluster)
    together = detector.anomaly_score(cluster_and_outlier)
    assert_allclose(detector.anomaly_score(cluster_and_outlier[::-1]), together[::-1], rtol=1e-4)
    alone = [detector.anomaly_score(cluster_and_outlier.iloc[[row]])[0] for row in (0, 5, 20)]
    assert_allclose(alone, together[[0, 5, 20]], rtol=1e-4)


@row_by_row
def test_equal_rows_get_equal_scores(name: str, cluster: pd.DataFrame) -> None:
    scores = fitted(name, cluster).anomaly_score(cluster)
    assert len(np.unique(scores)) <= len(cluster.drop_duplicates())


@pytest.mark.parametrize("name", BY_BATCH)
def test_the_two_listed_ones_do_depend_on_their_batch(
    name: str, cluster: pd.DataFrame, cluster_and_outlier: pd.DataFrame
) -> None:
    detector = fitted(name, cluster)
    alone = detector.anomaly_score(cluster_and_outlier.tail(1))
    beside_others_like_it = detector.anomaly_score(pd.concat([cluster_and_outlier.tail(1)] * 50))
    assert beside_others_like_it[0] < alone[0]


@every_baseline
def test_the_global_generators_are_left_alone(name: str, cluster: pd.DataFrame) -> None:
    fitted(name, cluster)
    assert LEFT_ALONE[name]


@every_baseline
def test_unseen_values_and_missing_cells_are_scored(name: str, cluster: pd.DataFrame) -> None:
    strange = cluster.head(2).astype(object)
    strange.iloc[0, 0], strange.iloc[1, 1] = "never seen", None
    assert np.isfinite(fitted(name, cluster).anomaly_score(strange)).all()


def test_an_unknown_representation_is_refused() -> None:
    with pytest.raises(SettingError, match="one-hot"):
        Encoded(neighbours.HammingNeighbours(), "binary")


@pytest.mark.parametrize(("library", "name"), [("pyod", "copod"), ("pyod.models.iforest", "iforest")])
def test_without_pyod_the_error_says_how_to_get_it(
    library: str, name: str, cluster: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyod.models.copod", None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"maskdiff\[baselines\]"):
        QUICK[name](0).fit(cluster)


def test_without_isotree_the_error_says_how_to_get_it(cluster: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isotree", None)
    with pytest.raises(MissingExtraError, match=r"maskdiff\[isotree\]"):
        isotree.CategoricalForest().fit(cluster)


def test_the_bench_imports_without_the_extras() -> None:
    code = "import sys; sys.modules.update(pyod=None, isotree=None); import maskdiff.bench.runs.runner"
    code += "; assert maskdiff.bench.runs.runner.run_all"
    done = run_warm(code=code)
    assert done.returncode == 0, done.stderr


def test_categories_are_numbered_as_the_normal_rows_first_show_them() -> None:
    rows = pd.DataFrame({"word": ["c", "a", "c", "b"], "size": [4, 3, 2, 1]})
    encoded = Encoded(neighbours.HammingNeighbours(1, device="cpu"), "ordinal").fit(rows)
    assert encoded.detector.rows_[:, 0].tolist() == [0, 0, 1, 2]  # type: ignore[attr-defined]
    assert [numbers.tolist() for numbers in encoded.numbers_] == [[1, 2, 0, 3], [3, 2, 1, 0, 4]]


def test_bins_keep_their_order() -> None:
    rows = pd.DataFrame({"size": np.arange(100)[::-1] / 7})
    encoded = Encoded(neighbours.HammingNeighbours(1, device="cpu"), "ordinal").fit(rows)
    assert encoded.numbers_[0].tolist() == list(range(11))


def test_isotree_is_handed_numbers_and_the_categories_of_the_normal_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[pd.DataFrame] = []

    class Forest:
        def __init__(self, **settings: Any) -> None: ...

        def fit(self, X: pd.DataFrame) -> Forest:
            handed.append(X)
            return self

        def predict(self, X: pd.DataFrame) -> Any:
            handed.append(X)
            return np.zeros(len(X))

    monkeypatch.setitem(sys.modules, "isotree", SimpleNamespace(IsolationForest=Forest))
    normal = pd.DataFrame({"pet": ["cat", "dog", None], "kind": pd.Categorical(["b", "a", "b"]), "age": [1, 2, 3]})
    strange = pd.DataFrame({"pet": ["cow", "dog", None], "kind": pd.Categorical(["b", "c", "a"]), "age": [1, None, 3]})
    isotree.CategoricalForest().fit(normal).anomaly_score(strange)
    assert [str(dtype) for dtype in handed[0].dtypes] == ["category", "category", "float64"]
    assert handed[1]["pet"].cat.codes.tolist() == [-1, 1, -1]
    assert handed[1]["kind"].cat.codes.tolist() == [0, -1, 1]
    assert list(handed[1]["kind"].cat.categories) == list(handed[0]["kind"].cat.categories) == ["b", "a"]
