"""The network baselines: what they learn on a case whose answer is known, and the parts whose values are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Generator, Tensor

from maskdiff.bench.baselines import deep_svdd, drl, dte, goad, icl, mcm, networks
from maskdiff.bench.baselines.networks import Fitting, NormalRows, Scorer
from maskdiff.errors import InputError, SettingError
from maskdiff.progress import Progress
from maskdiff.training.cuda_graphs import ReplayedStep

from ...handmade import recorded_on_cpu
from .network_rows import copied_fields

# Fewer epochs, maps and masks than in the paper, and a learning rate for the few steps there are.
LEARNERS: dict[str, Callable[[float], Any]] = {
    "dte-categorical": lambda rate: dte.diffusion_time("categorical", fitting=quick(dte.FITTING, 30, rate)),
    "dte-inverse-gamma": lambda rate: dte.diffusion_time("inverse-gamma", fitting=quick(dte.FITTING, 30, rate)),
    "dte-gaussian": lambda rate: dte.diffusion_time("gaussian", fitting=quick(dte.FITTING, 30, rate)),
    "goad": lambda rate: goad.transformation_classifier(n_maps=32, fitting=quick(goad.FITTING, 40, rate)),
    "icl": lambda rate: icl.internal_contrast(fitting=quick(icl.FITTING, 10, rate)),
    "mcm": lambda rate: mcm.masked_cells(n_masks=4, fitting=quick(mcm.FITTING, 60, 10 * rate)),
    "drl": lambda rate: drl.decomposition(fitting=quick(drl.FITTING, 60, 10 * rate)),
    "deep-svdd": lambda rate: deep_svdd.hypersphere(fitting=quick(deep_svdd.FITTING, 30, rate)),
}


UNTRAINED = 1e-9


def quick(fitting: Fitting, epochs: int, rate: float) -> Fitting:
    return replace(fitting, epochs=1 if rate < 1e-6 else epochs, learning_rate=rate)


def found(detector: Any) -> float:
    """The share of pairs of a right and a wrong row that are ordered rightly."""
    detector.device = "cpu"
    detector.fit(copied_fields(320, wrong=False, seed=0))
    rows = np.vstack([copied_fields(100, wrong=wrong, seed=1) for wrong in (False, True)])
    return float(roc_auc_score(np.repeat([0, 1], 100), detector.anomaly_score(rows)))


@pytest.mark.parametrize("name", LEARNERS)
def test_wrong_copies_are_found_after_training_and_not_without(name: str) -> None:
    # No value is rare by itself: who has not learned that the fields are copies can only guess.
    assert found(LEARNERS[name](1e-3)) > 0.85
    assert 0.2 < found(LEARNERS[name](UNTRAINED)) < 0.8


@pytest.mark.parametrize(
    "network", [goad.MapClassifier(6, n_maps=3), mcm.MaskedCells(6, n_masks=3), drl.Decomposition(6)]
)
def test_equal_rows_computed_once_count_as_often_as_they_come(network: Scorer) -> None:
    rows = torch.rand(3, 6, generator=Generator().manual_seed(0))
    times = torch.tensor([4, 1, 2])
    repeated, equal_shares = rows.repeat_interleave(times, dim=0), torch.full((7,), 1 / 7)
    generator = Generator()
    once = network.loss(rows, times / 7, generator=generator)
    torch.testing.assert_close(once, network.loss(repeated, equal_shares, generator=generator))
    network.settle([(rows, times / 7)])
    scores = network.score(rows)
    network.settle([(repeated[:5], equal_shares[:5]), (repeated[5:], equal_shares[5:])])
    torch.testing.assert_close(network.score(rows), scores)


@pytest.mark.parametrize("merge", [True, False])
def test_a_batch_holds_its_rows_with_their_shares(merge: bool) -> None:
    X = np.array([[1, 0], [0, 1], [1, 0], [1, 0]])
    rows = NormalRows.of(X, torch.device("cpu"), merge=merge)
    taken, share = rows.take(torch.tensor([0, 1, 2, 3]))
    assert len(taken) == (2 if merge else 4)
    assert (share @ taken).tolist() == [0.75, 0.25]
    one_by_one, equal_shares = rows.each(torch.tensor([2, 1, 0, 3]))
    assert one_by_one.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]
    assert equal_shares.tolist() == [0.25] * 4
    ((everything, shares),) = rows.batches(10)
    assert (shares @ everything).tolist() == [0.75, 0.25]


def test_a_network_too_large_for_the_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 1000, raising=False)  # 1,000 pages of 1,000 bytes
    with pytest.raises(InputError, match=r"MaskedCells has 0 million weights .* more memory"):
        mcm.masked_cells(device="cpu").fit(np.eye(10, dtype=np.float32))


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "deep-svdd"])
def test_a_score_does_not_depend_on_how_many_rows_are_scored_at_once(name: str) -> None:
    detector = LEARNERS[name](UNTRAINED)
    detector.device = "cpu"
    rows = copied_fields(40, wrong=True, seed=0)
    scores = detector.fit(rows).anomaly_score(rows)
    detector.fewest_at_once = 7
    np.testing.assert_allclose(detector.fit(rows).anomaly_score(rows), scores, rtol=1e-4)


def test_a_gpu_scores_many_rows_at_once_unless_they_are_wide() -> None:
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert [networks.scored_at_once(gpu, width) for width in (10, 512, 1024, 10**6)] == [2048, 2048, 1024, 256]
    assert networks.scored_at_once(cpu, 10) == 256


# Replayed steps ------------------------------------------------------------------------------------------------------

NETWORKS: dict[str, Callable[[], Scorer]] = {
    "dte-categorical": lambda: dte.TimeBins(6),
    "dte-inverse-gamma": lambda: dte.TimeScale(6),
    "dte-gaussian": lambda: dte.TimeMean(6),
    "goad": lambda: goad.MapClassifier(6, n_maps=3),
    "icl": lambda: icl.InternalContrast(6),
    "mcm": lambda: mcm.MaskedCells(6, n_masks=3),
    "drl": lambda: drl.Decomposition(6),
}


def trained(name: str, *, replayed: bool = False, recordable: bool = True) -> tuple[list[float], Tensor, list[int]]:
    """Losses, weights and recorded sizes of batch after 6 epochs of batches of 8, 8 and 4 rows, the rate decaying."""
    torch.manual_seed(0)
    network, generator = NETWORKS[name](), Generator().manual_seed(0)
    rows = NormalRows.of(np.random.default_rng(0).integers(2, size=(20, 6)), torch.device("cpu"), merge=True)
    fitting = Fitting(learning_rate=0.01)
    optimiser = networks._adam(network, fitting, torch.device("cpu"), recordable=recordable)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.5)
    plain = networks._Step(network, rows.each, optimiser, generator)
    step = ReplayedStep(plain, recorded_on_cpu)
    losses = []
    for _ in range(6):
        for chosen in torch.randperm(20, generator=generator).split(8):
            losses.append(float((step if replayed else plain)(chosen)))
        schedule.step()
    weights = torch.cat([part.flatten() for part in network.parameters()])
    return losses, weights, [size for ((size,),) in step.recorded]


@pytest.mark.parametrize("name", NETWORKS)
def test_replayed_steps_are_the_steps_themselves(name: str) -> None:
    losses, weights, recorded = trained(name, replayed=True)
    expected_losses, expected_weights, _ = trained(name)
    assert recorded == [8, 4]
    assert losses == expected_losses
    assert torch.equal(weights, expected_weights)


def test_a_rate_that_can_be_recorded_trains_like_a_plain_number() -> None:
    losses, _, _ = trained("drl")
    assert losses == pytest.approx(trained("drl", recordable=False)[0], rel=1e-4)


def test_the_schedule_changes_the_rate_where_a_recorded_step_reads_it() -> None:
    optimiser = networks._adam(drl.Decomposition(4), Fitting(learning_rate=0.8), torch.device("cpu"), recordable=True)
    rate = optimiser.param_groups[0]["lr"]
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.5)
    optimiser.step()
    schedule.step()
    assert optimiser.param_groups[0]["lr"] is rate
    assert float(rate) == pytest.approx(0.4)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_can_be_recorded_because_it_never_looks_at_values(name: str) -> None:
    network = NETWORKS[name]().to("meta")  # where tensors have shapes and nothing else
    rows = NormalRows(torch.empty(20, 6, device="meta"), torch.arange(20, device="meta"))
    network.loss(*rows.each(torch.arange(8, device="meta")), generator=Generator()).backward()
    assert all(weights.grad is not None for weights in network.parameters())
    with pytest.raises(NotImplementedError):  # merging does look
        rows.take(torch.arange(8, device="meta"))


@pytest.mark.parametrize("name", ["goad", "mcm", "drl"])
def test_rows_one_by_one_lose_what_merged_rows_lose(name: str) -> None:
    torch.manual_seed(0)
    network, generator = NETWORKS[name](), Generator()
    X = np.random.default_rng(0).integers(2, size=(5, 6))[[0, 1, 1, 2, 0, 3, 0, 4]]
    rows, chosen = NormalRows.of(X, torch.device("cpu"), merge=True), torch.arange(8)
    merged = network.loss(*rows.take(chosen), generator=generator)
    torch.testing.assert_close(network.loss(*rows.each(chosen), generator=generator), merged)


def test_progress_is_reported_after_every_epoch() -> None:
    reports: list[Progress] = []
    rows = np.eye(6, dtype=np.float32)
    drl.decomposition(fitting=Fitting(epochs=3), device="cpu", callback=reports.append).fit(rows)
    assert [(progress.done, progress.total) for progress in reports] == [(1, 3), (2, 3), (3, 3)]
    assert all(progress.loss is not None for progress in reports)


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}])
def test_fitting_without_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingError):
        Fitting(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "detector",
    [
        dte.diffusion_time("gaussian", fitting=Fitting(epochs=1, batch_size=4), device="cpu"),
        goad.transformation_classifier(n_maps=3, fitting=Fitting(epochs=1, batch_size=4), device="cpu"),
        icl.internal_contrast(fitting=Fitting(epochs=1, batch_size=4), device="cpu"),
        mcm.masked_cells(n_masks=3, fitting=Fitting(epochs=1, batch_size=4), device="cpu"),
        drl.decomposition(fitting=Fitting(epochs=1, batch_size=4), device="cpu"),
    ],
)
def test_a_last_batch_of_one_row_is_no_trouble(detector) -> None:  # type: ignore[no-untyped-def]
    rows = np.eye(5, 6, dtype=np.float32)
    assert np.isfinite(detector.fit(rows).anomaly_score(rows)).all()
