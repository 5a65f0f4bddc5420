"""The network baselines: what they learn on a case whose answer is known, and the parts whose values are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Generator, Tensor

from maskdiff.bench.baselines import drl, dte, goad, icl, mcm, networks, pyod
from maskdiff.bench.baselines.networks import Fitting, NormalRows, Scorer
from maskdiff.errors import InputError, SettingError
from maskdiff.progress import Progress
from maskdiff.training.cuda_graphs import ReplayedStep

from ...handmade import recorded_on_cpu

# Fewer epochs, maps and masks than in the paper, and a learning rate for the few steps there are.
LEARNERS: dict[str, Callable[[float], Any]] = {
    "dte-categorical": lambda rate: dte.diffusion_time("categorical", fitting=quick(dte.FITTING, 30, rate)),
    "dte-inverse-gamma": lambda rate: dte.diffusion_time("inverse-gamma", fitting=quick(dte.FITTING, 30, rate)),
    "dte-gaussian": lambda rate: dte.diffusion_time("gaussian", fitting=quick(dte.FITTING, 30, rate)),
    "goad": lambda rate: goad.transformation_classifier(n_maps=32, fitting=quick(goad.FITTING, 40, rate)),
    "icl": lambda rate: icl.internal_contrast(fitting=quick(icl.FITTING, 3, rate)),
    "mcm": lambda rate: mcm.masked_cells(n_masks=4, fitting=quick(mcm.FITTING, 60, 10 * rate)),
    "drl": lambda rate: drl.decomposition(fitting=quick(drl.FITTING, 60, 10 * rate)),
    "deep-svdd": lambda rate: pyod.deep_svdd(epochs=30, learning_rate=rate),
}


UNTRAINED = 1e-9


def quick(fitting: Fitting, epochs: int, rate: float) -> Fitting:
    return replace(fitting, epochs=1 if rate < 1e-6 else epochs, learning_rate=rate)


def copied_fields(n: int, *, wrong: bool, seed: int) -> NDArray[np.float32]:
    """One-hot rows of three fields of three values and a copy of each, which never agrees if it is `wrong`."""
    rng = np.random.default_rng(seed)
    fields = rng.integers(3, size=(n, 3))
    copies = (fields + wrong * rng.integers(1, 3, size=(n, 3))) % 3
    return np.eye(3, dtype=np.float32)[np.hstack([fields, copies])].reshape(n, 18)


def found(detector: Any) -> float:
    """The share of pairs of a right and a wrong row that are ordered rightly."""
    detector.device = "cpu"
    detector.fit(copied_fields(320, wrong=False, seed=0))
    rows = np.vstack([copied_fields(100, wrong=wrong, seed=1) for wrong in (False, True)])
    return float(roc_auc_score(np.repeat([0, 1], 100), detector.anomaly_score(rows)))


@pytest.mark.parametrize("name", LEARNERS)
def test_wrong_copies_are_found_after_training_and_not_without(name: str) -> None:
    if name == "deep-svdd":
        pytest.importorskip("pyod")
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
    "icl": lambda: icl.InternalContrast(20, 6),
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


def even(n: int) -> Tensor:
    return torch.full((n,), 1 / n)


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


# Diffusion time ------------------------------------------------------------------------------------------------------


def test_noise_grows_from_almost_none_towards_one() -> None:
    variance = dte.noise_variance()
    assert variance[0] == pytest.approx(1e-4, rel=1e-3)
    assert (variance.diff() > 0).all()
    assert 0.8 < variance[-1] < 1


def test_time_bins_are_equally_wide_and_cover_all_steps() -> None:
    counts = torch.bincount(dte.time_bin(torch.arange(dte.STEPS)))
    assert len(counts) == dte.BINS
    assert counts.max() - counts.min() <= 1


def test_the_inverse_gamma_loss_is_least_where_the_scale_is_shape_times_variance() -> None:
    variance, columns = torch.tensor([0.3]), 12
    best = (columns / 2 - 1) * variance
    losses = [float(dte.scale_loss(best * factor, variance, columns)) for factor in (0.9, 1.0, 1.1)]
    assert losses[1] == min(losses)


@pytest.mark.parametrize("variant", list(dte.VARIANTS))
def test_a_row_diffused_for_longer_is_said_to_be(variant: str) -> None:
    normal = np.zeros((256, 20), dtype=np.float32)
    fitting = replace(dte.FITTING, epochs=60, learning_rate=1e-3)
    detector = dte.diffusion_time(variant, fitting=fitting, device="cpu").fit(normal)
    noise = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    means = [detector.anomaly_score(noise * size).mean() for size in (0.05, 0.4, 0.9)]
    assert means == sorted(means)


@pytest.mark.parametrize("variant", list(dte.VARIANTS))
def test_the_scale_of_a_column_means_nothing_to_diffusion_time(variant: str) -> None:
    rows = copied_fields(40, wrong=True, seed=0)
    rows[:, 5] = 0.0  # a constant column has no scale, and is left at its own
    stretched = rows.copy()
    stretched[:, :5] = 8 * stretched[:, :5] + 4
    detector = dte.diffusion_time(variant, fitting=Fitting(epochs=2), device="cpu")
    scores = detector.fit(rows).anomaly_score(rows)
    assert scores.std() > 0
    np.testing.assert_allclose(detector.fit(stretched).anomaly_score(stretched), scores, rtol=1e-4)


def test_even_a_network_sure_of_the_right_bin_loses_something() -> None:
    logits = 100 * torch.eye(dte.BINS)[[0]]
    loss = dte.TimeBins(4).time_loss(logits, torch.tensor([0]), 4)
    assert float(loss) == pytest.approx(math.log(math.e + dte.BINS - 1) - 1)


def test_least_squares_finds_the_time_of_rows_whose_noise_is_known() -> None:
    normal = np.zeros((256, 50), dtype=np.float32)
    fitting = replace(dte.FITTING, epochs=200, learning_rate=1e-3)
    detector = dte.diffusion_time("gaussian", fitting=fitting, device="cpu").fit(normal)
    time = 200
    noise = np.random.default_rng(0).normal(size=(300, 50)) * float(dte.noise_variance()[time]) ** 0.5
    assert detector.anomaly_score(noise).mean() == pytest.approx(time, abs=30)


# GOAD ----------------------------------------------------------------------------------------------------------------


def test_centre_loss_is_zero_for_centres_that_are_far_apart() -> None:
    features = torch.tensor([[10.0, 0.0], [0.0, 10.0]]).expand(4, 2, 2)
    assert goad.centre_loss(features, even(4)).tolist() == [[0, 0]] * 4


def test_centre_loss_is_the_margin_where_all_features_are_the_same() -> None:
    assert goad.centre_loss(torch.ones(4, 3, 2), even(4)).tolist() == [[goad.MARGIN] * 3] * 4


def test_centre_loss_is_the_margin_less_what_the_nearest_other_centre_is_farther_away() -> None:
    features = torch.tensor([[[0.0], [0.5], [2.0]], [[0.2], [0.5], [2.0]]])
    # The centres are 0.1, 0.5 and 2; seen from the first row, 0.5 is the nearest other one of 0, and 0.1 that of 0.5.
    expected = [[0.1**2 + 1 - 0.5**2, 1 - 0.4**2, 0], [0.1**2 + 1 - 0.3**2, 1 - 0.4**2, 0]]
    torch.testing.assert_close(goad.centre_loss(features, even(2)), torch.tensor(expected))


def test_the_gradient_of_the_centre_loss_is_that_of_all_distances() -> None:
    features = torch.rand(5, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: goad.centre_loss(given, even(5).double()), features)


def test_the_goad_score_is_the_surprise_of_finding_each_map_by_its_centre() -> None:
    torch.manual_seed(0)
    network = goad.MapClassifier(5, n_maps=3)
    rows = torch.rand(4, 5)
    with torch.no_grad():
        network.settle([(rows[:3], even(4)[:3]), (rows[3:], even(4)[3:])])
        features = network.look(rows)
        centres = features.mean(dim=0)
        expected = []
        for row in features:
            distance = torch.tensor([[float((f - c).square().sum()) for c in centres] for f in row])
            expected.append(-sum(float((-distance[m]).softmax(dim=0)[m].log()) for m in range(3)))
        torch.testing.assert_close(network.score(rows), torch.tensor(expected), rtol=1e-3, atol=1e-4)


# ICL -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [4, 39, 41, 161, 400])
def test_every_run_and_its_rest_are_the_whole_row(n_columns: int) -> None:
    order = torch.randperm(n_columns, generator=Generator().manual_seed(0))
    matcher = icl.RunMatcher(order)
    both = torch.cat([matcher.runs_SK, matcher.rests_SR], dim=1).sort(dim=1).values
    assert (both == torch.arange(n_columns)).all()
    assert (matcher.runs_SK[0] == order[: matcher.runs_SK.shape[1]]).all()
    assert len(both) <= 151


def test_runs_that_cannot_be_separated_lose_as_much_as_guessing() -> None:
    matcher = icl.RunMatcher(torch.arange(6)).eval()
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.zero_()
    assert matcher(torch.rand(2, 6)).tolist() == pytest.approx([math.log(5)] * 2)


def test_icl_refuses_a_row_without_parts() -> None:
    with pytest.raises(InputError, match="at least 4 columns"):
        icl.internal_contrast(device="cpu").fit(np.eye(3, dtype=np.float32))


# MCM -----------------------------------------------------------------------------------------------------------------


def test_masks_at_right_angles_are_less_alike_than_equal_ones() -> None:
    apart = mcm.likeness(torch.eye(4)[None])
    equal = mcm.likeness(torch.ones(1, 4, 4))
    assert float(apart) == pytest.approx(4 / 3)
    assert float(equal) == pytest.approx(4 / 3 + 4 / mcm.TEMPERATURE / (3 * math.log(3)))


def test_the_mcm_score_is_the_mean_distance_of_the_restored_rows() -> None:
    network = mcm.MaskedCells(4, n_masks=3)
    with torch.no_grad():
        for layer in network.decode.parameters():
            layer.zero_()  # every restored row is zero
        rows = torch.tensor([[3.0, 4.0, 0.0, 0.0]])
        assert network.score(rows).tolist() == [5.0]


def test_all_mask_networks_at_once_are_the_networks_one_by_one() -> None:
    torch.manual_seed(0)
    network, rows = mcm.MaskedCells(5, n_masks=3), torch.rand(2, 5)
    first, second, third = network.mask_layers
    one_by_one = [((rows @ first[m]).relu() @ second[m]).relu() @ third[m] for m in range(3)]
    torch.testing.assert_close(network.masks(rows), torch.stack(one_by_one, dim=1))


# DRL -----------------------------------------------------------------------------------------------------------------


def test_directions_are_unit_vectors_at_right_angles() -> None:
    directions = drl.orthogonal(5, 128)
    torch.testing.assert_close(directions @ directions.T, torch.eye(5), atol=1e-5, rtol=0)


def test_directions_are_not_trained() -> None:
    rows = np.eye(8, dtype=np.float32)
    early, late = (
        drl.decomposition(fitting=Fitting(epochs=epochs), device="cpu").fit(rows).network_ for epochs in (1, 9)
    )
    assert torch.equal(early.directions_DZ, late.directions_DZ)


def test_crowding_is_the_mean_cosine_of_two_rows() -> None:
    assert float(drl.crowding(torch.ones(10, 5), even(10))) == pytest.approx(1)
    assert float(drl.crowding(torch.eye(5), even(5))) == pytest.approx(1 / 5)  # each row is like itself alone
