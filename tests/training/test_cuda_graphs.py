"""What packed batches and replayed training promise; a recording that calls the step again stands in for the GPU's."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Generator

from maskdiff.codes.windows import narrowed
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.masking import Linear, Schedule, as_rows
from maskdiff.objectives import Diffusion, Reconstruction
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor, half_products, tokens
from maskdiff.score import score_cells
from maskdiff.training import Steps, Training
from maskdiff.training.batches import MaskedBatch, mask_rows, round_width
from maskdiff.training.cuda_graphs import RECORDERS, ReplayedStep, choose_recorder, pack, unpack
from maskdiff.training.loop import batch_loss

from ..handmade import random_codes, recorded_on_cpu

CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
TEXTS = ["see you at nine", "call me at ten then", "ok", "are you there now or later or not at all tonight", ""] * 20
OBJECTIVES = [Reconstruction((0.1, 0.5, 0.9)), Diffusion()]


@pytest.fixture(scope="module")
def texts():
    return TextEncoder().fit(TEXTS).encode(TEXTS)


@pytest.fixture
def recordings(monkeypatch):
    """Switches recording on for the CPU; lists a loss for each recording."""
    made = []

    def record(step):
        made.append(recorded_on_cpu(step))
        return made[-1]

    monkeypatch.setitem(RECORDERS, "cpu", lambda: record)
    return made


def drawn(codes, seed=0):
    return mask_rows(as_rows(narrowed(codes)), OBJECTIVES[0], Linear(), Generator().manual_seed(seed))


# Replayed steps ------------------------------------------------------------------------------------------------------


class Noting:
    """A step that notes the address of its first tensor."""

    def __init__(self):
        self.seen = []

    def __call__(self, first, second, *, power=1):
        self.seen.append(first.data_ptr())
        return (first.sum() + second.sum()) ** power


def test_a_step_is_replayed_on_the_newest_tensors_at_the_place_it_was_recorded_with():
    noting = Noting()
    step = ReplayedStep(noting, recorded_on_cpu)
    given = [torch.full((3,), float(n)) for n in range(6)]
    assert [float(step(one, torch.ones(2))) for one in given] == [2, 5, 8, 11, 14, 17]
    assert noting.seen[:2] == [given[0].data_ptr(), given[1].data_ptr()]
    assert len(set(noting.seen[2:])) == 1
    assert noting.seen[2] not in [one.data_ptr() for one in given]


def test_every_shape_of_every_tensor_and_every_other_value_has_a_recording_of_its_own():
    step = ReplayedStep(Noting(), recorded_on_cpu)
    for _ in range(4):
        assert float(step(torch.ones(3), torch.ones(2))) == 5
        assert float(step(torch.ones(3), torch.ones(4))) == 7
        assert float(step(torch.ones(3), torch.ones(2), power=2)) == 25
    assert len(step.recorded) == 3


def test_a_shape_that_comes_up_twice_is_not_recorded():
    step = ReplayedStep(Noting(), recorded_on_cpu)
    for size in (1, 2, 3, 1, 2, 3, 3):
        step(torch.ones(size), torch.ones(1))
    assert [shape for shape, _ in step.recorded] == [torch.Size([3])]


def test_the_tensors_of_a_step_are_not_changed():
    step = ReplayedStep(Noting(), recorded_on_cpu)
    given = [torch.full((2,), float(n)) for n in range(5)]
    for one in given:
        step(one, one)
    assert [one.tolist() for one in given] == [[n, n] for n in range(5)]


# Packing -------------------------------------------------------------------------------------------------------------


def test_a_table_comes_out_of_the_pack_as_it_went_in():
    given = drawn(random_codes(30, [2, 5, 3]))
    packed, shape = pack(given, widest=None)
    got = unpack(packed, shape)
    assert packed.dtype == torch.uint8
    assert torch.equal(got.time_B, given.time_B)
    for name in ("codes_BF", "hidden", "visible", "mask_rate"):
        assert torch.equal(getattr(got.views, name), getattr(given.views, name))
    assert got.views.places_M is None


def test_token_rows_come_out_of_the_pack_with_padding_that_is_neither_visible_nor_hidden(texts):
    given = drawn(texts)
    width = given.views.codes_BF.shape[1]
    got = unpack(*pack(given, widest=100)).views
    assert got.codes_BF.shape[1] % 8 == 0
    for name in ("codes_BF", "hidden", "visible"):
        assert torch.equal(getattr(got, name)[..., :width], getattr(given.views, name))
        assert not getattr(got, name)[..., width:].any()
    assert torch.equal(got.real_BF[:, 1:width], given.views.real_BF[:, 1:])
    assert not got.real_BF[:, width:].any()
    assert got.real_BF.any(dim=1).all()  # a text without tokens too


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_every_hidden_place_is_predicted_once_whatever_fills_up_the_number(texts, share):
    given = drawn(texts)
    hidden = (torch.rand(given.views.hidden.shape) < share) & given.views.real_BF.unsqueeze(1)
    packed, shape = pack(MaskedBatch(replace(given.views, hidden=hidden), given.time_B), widest=100)
    got = unpack(packed, shape).views
    n = int(hidden.sum())
    assert torch.equal(got.places_M[:n], got.hidden.flatten().nonzero()[:, 0])
    assert len(got.places_M.unique()) == len(got.places_M) == shape.n_places >= max(n, 1)


def test_token_rows_come_in_few_widths_and_little_of_them_is_padding():
    rounded = {width: round_width(width, 512) for width in range(1, 513)}
    assert len(set(rounded.values())) <= 20
    assert all(width <= up < width + max(8, width / 4) for width, up in rounded.items())
    assert round_width(200, 210) == 210


# Training ------------------------------------------------------------------------------------------------------------


def surprise(settings, codes, objective=OBJECTIVES[0], device="cpu"):
    fitted = settings.fit(codes, seed=0, objective=objective, schedule=Linear(), device=torch.device(device))
    probes = ProbeGrid((0.2, 0.6), 2)
    return score_cells(fitted, codes.take(slice(0, 4)), probes=probes, schedule=Linear(), device=device).surprise


def small(positions="rotary", dropout=0.0, n_steps=40):
    how = Training(Steps(n_steps), batch_size=8, learning_rate=1e-3, warmup=0.1)
    return TransformerReconstructor(16, 2, 2, 32, dropout, True, positions, training=how)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_replayed_steps_on_tokens_learn_what_eager_steps_learn(
    monkeypatch, recordings, texts, device, objective, positions
):
    # What is rounded differs with the padding of packed rows; both are compared in single precision.
    monkeypatch.setattr(half_products, "has_half_products", lambda: False)
    replayed = surprise(small(positions), texts, objective, device)
    assert device != "cpu" or recordings
    monkeypatch.delitem(RECORDERS, device)
    expected = surprise(small(positions), texts, objective, device)
    # The weights themselves may differ: attention does not see the bias of its keys, whose gradient is rounding alone.
    np.testing.assert_allclose(replayed, expected, atol=1e-4 if device == "cpu" else 0.1)
    untrained = surprise(small(positions, n_steps=1), texts, objective, device)
    assert np.nanmax(np.abs(untrained - expected)) > 0.2


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mlp", [MLPReconstructor(16), replace(MLPReconstructor.paper(), width=16, embedding=4)])
@pytest.mark.parametrize("sizes", [[3, 4, 3], [3, 200, 90]])  # the first layer as a product, and as a sum of rows
def test_replayed_steps_on_tables_learn_what_eager_steps_learn(monkeypatch, recordings, device, mlp, sizes):
    codes = random_codes(300, sizes)
    how = Training(Steps(30), batch_size=64, average=0.9)
    settings = replace(mlp, dropout=0.1 if device == "cpu" else 0.0, training=how)
    replayed = surprise(settings, codes, device=device)
    assert device != "cpu" or len(recordings) == 1
    monkeypatch.delitem(RECORDERS, device)
    np.testing.assert_allclose(
        replayed, surprise(settings, codes, device=device), rtol=1e-3 if device == "cpu" else 0.1
    )


class Own(Schedule):
    def alpha(self, time):
        return 1 - time


class OwnLinear(Linear):
    """Inherits the promise of a class whose `alpha` it replaces."""

    def alpha(self, time):
        return 1 - time if (time < 1).all() else torch.zeros_like(time)


def test_only_what_is_known_never_to_look_at_values_is_recorded(recordings, texts):
    network = small().build(texts.schema)
    objective = OBJECTIVES[0]
    assert choose_recorder(CPU, network, objective, Linear()) is not None
    assert choose_recorder(CPU, torch.nn.Linear(1, 1), objective, Linear()) is None
    assert choose_recorder(CPU, network, objective, Own()) is None
    assert choose_recorder(CPU, network, objective, OwnLinear()) is None
    assert choose_recorder(CPU, network, object(), Linear()) is None
    assert choose_recorder(torch.device("meta"), network, objective, Linear()) is None


class Interrupting:
    """Keeps the state at one step."""

    def __init__(self, state=None):
        self.state, self.kept = state, []

    def load(self, run):
        return self.state

    def save(self, run, state):
        self.kept.append({name: part.clone() for name, part in state().items()})


def test_a_replayed_run_that_goes_on_ends_like_one_that_was_never_interrupted(recordings, texts):
    settings = small(dropout=0.1)
    settings = replace(settings, training=replace(settings.training, look_every=15))
    how = {"seed": 0, "objective": OBJECTIVES[0], "schedule": Linear(), "device": CPU}
    first = Interrupting()
    whole = settings.fit(texts, checkpoint=first, **how).network_
    resumed = settings.fit(texts, checkpoint=Interrupting(first.kept[0]), **how).network_
    assert recordings
    for part, expected in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(part, expected)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("logits_at_once", [1 << 24, 1 << 11])
@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_step_on_tokens_never_looks_at_values(monkeypatch, texts, objective, logits_at_once, positions):
    monkeypatch.setattr(tokens, "precision", lambda device: nullcontext())
    network = small(positions, dropout=0.1).build(texts.schema).to("meta")  # tensors have shapes there, nothing else
    network.logits_at_once = (logits_at_once, logits_at_once)
    packed, shape = pack(drawn(texts), widest=texts.values.shape[1])
    batch_loss(network, unpack(packed.to("meta"), shape), objective, Linear()).backward()
    assert all(weights.grad is not None for weights in network.parameters())


@pytest.mark.parametrize("mlp", [MLPReconstructor(16), replace(MLPReconstructor.paper(), width=16, embedding=4)])
def test_a_step_on_tables_never_looks_at_values(mlp):
    codes = random_codes(64, [3, 4, 3])
    network = mlp.build(codes.schema).to("meta")
    packed, shape = pack(drawn(codes), widest=None)
    batch_loss(network, unpack(packed.to("meta"), shape), OBJECTIVES[0], Linear()).backward()
    assert all(weights.grad is not None for weights in network.parameters())
