"""What the paper states about its baselines is what they are run with, and no defining part of them is switched off."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Generator

from maskdiff.bench.baselines import deep_svdd, drl, dte, goad, icl, mcm, neighbours, pyod
from maskdiff.bench.baselines.encoded import Encoded
from maskdiff.bench.baselines.networks import Scorer
from maskdiff.bench.runs.methods import METHODS

ROWS = torch.as_tensor(np.random.default_rng(0).random((8, 12)), dtype=torch.float32)
SHARE = torch.full((8,), 1 / 8)


@pytest.mark.parametrize(
    ("module", "epochs", "batch_size", "learning_rate", "decay"),
    [
        (goad, 100, 64, 1e-3, 1.0),
        (icl, 100, 64, 1e-3, 1.0),
        (deep_svdd, 100, 64, 1e-3, 1.0),
        (dte, 100, 128, 1e-4, 1.0),
        (mcm, 200, 512, 0.05, 0.98),
        (drl, 200, 512, 0.05, 0.98),
    ],
    ids=lambda value: value.__name__.rpartition(".")[2] if isinstance(value, ModuleType) else "",
)
def test_networks_are_trained_as_the_paper_states(
    module: Any, epochs: int, batch_size: int, learning_rate: float, decay: float
) -> None:
    fitting = module.FITTING
    assert (fitting.epochs, fitting.batch_size, fitting.learning_rate) == (epochs, batch_size, learning_rate)
    assert fitting.decay == decay


def test_sizes_are_those_the_paper_states() -> None:
    assert goad.MAPS == 256
    assert icl.HIDDEN == deep_svdd.HIDDEN == (100, 50)
    assert icl.TEMPERATURE == 0.01
    assert dte.HIDDEN == (256, 512, 256)
    assert pyod.TREES == 300
    assert inspect.signature(neighbours.hamming_neighbours).parameters["k"].default == 25


@pytest.mark.parametrize(
    ("module", "weight", "build"),
    [
        (goad, "CENTRE_WEIGHT", lambda: goad.MapClassifier(12, 6)),
        (mcm, "DIVERSITY", lambda: mcm.MaskedCells(12, 4)),
        (drl, "SEPARATION", lambda: drl.Decomposition(12)),
        (drl, "ALIGNMENT", lambda: drl.Decomposition(12)),
    ],
)
def test_the_part_that_makes_the_method_is_in_its_loss(
    module: Any, weight: str, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    network: Scorer = build()
    with_it = network.loss(ROWS, SHARE, generator=Generator().manual_seed(0)).item()
    monkeypatch.setattr(module, weight, 0.0)
    without = network.loss(ROWS, SHARE, generator=Generator().manual_seed(0)).item()
    assert with_it > without + 1e-4


def test_a_lower_temperature_makes_internal_contrast_surer(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    network = icl.InternalContrast(12).eval()
    spread = []
    for temperature in (1.0, icl.TEMPERATURE):
        monkeypatch.setattr(icl, "TEMPERATURE", temperature)
        spread.append(network.score(ROWS).std().item())
    assert spread[1] > 2 * spread[0]


def test_time_is_diffused_by_the_schedule_of_its_authors() -> None:
    assert (dte.STEPS, dte.BINS, dte.TimeScale.steps) == (400, 7, 300)
    variance = dte.noise_variance()
    assert float(variance[0]) == pytest.approx(1e-4, rel=1e-3)
    assert float(variance[-1]) == pytest.approx(1 - np.prod(1 - np.linspace(1e-4, 1e-2, 400)), rel=1e-4)


@pytest.mark.parametrize(
    ("representation", "names"),
    [
        ("ordinal", ["copod", "ecod", "hamming-knn"]),
        ("one-hot", ["iforest", "deep-svdd", "drl", "goad", "icl", "mcm", *(f"dte-{name}" for name in dte.VARIANTS)]),
    ],
)
def test_every_method_is_given_what_the_paper_gives_it(representation: str, names: list[str]) -> None:
    pytest.importorskip("pyod")
    for name in names:
        built: Any = METHODS[name].build(0, "cpu")
        assert built.representation == representation, name


def test_the_forest_draws_its_samples_as_the_paper_states() -> None:
    pytest.importorskip("pyod")
    forest: Any = pyod.isolation_forest(seed=0).build(3)
    assert (forest.n_estimators, forest.max_samples) == (300, "auto")


def test_baselines_see_ten_bins_of_numbers_with_more_than_twenty_values_and_a_bucket_for_unseen_ones() -> None:
    rows = pd.DataFrame({"many": np.linspace(0, 1, 400), "few": np.arange(400) % 20, "word": ["a", "b"] * 200})
    encoded = Encoded(neighbours.hamming_neighbours(device="cpu"), "one-hot").fit(rows)
    assert encoded.encoder_.schema_.sizes.tolist() == [10, 20, 2]
    codes = encoded.encoder_.encode(pd.DataFrame({"many": [2.0], "few": [3], "word": ["c"]}))
    assert codes.values.tolist() == [[9, 3, 2]]
