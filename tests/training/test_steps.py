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
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor, tokens
from maskdiff.score import score_cells
from maskdiff.training import Steps, Training, batches, steps
from maskdiff.training.batches import Masked, masked, packed, unpacked

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

    monkeypatch.setitem(steps.RECORDERS, "cpu", lambda: record)
    return made


def drawn(codes, seed=0):
    return masked(as_rows(narrowed(codes)), OBJECTIVES[0], Linear(), Generator().manual_seed(seed))


# Packing -------------------------------------------------------------------------------------------------------------


def test_a_table_comes_out_of_the_pack_as_it_went_in():
    given = drawn(random_codes(30, [2, 5, 3]))
    told, shape = packed(given, widest=None)
    got = unpacked(told, shape)
    assert told.dtype == torch.uint8
    assert torch.equal(got.time_B, given.time_B)
    for name in ("codes_BF", "hidden", "visible", "mask_rate"):
        assert torch.equal(getattr(got.views, name), getattr(given.views, name))
    assert got.views.places_M is None


def test_token_rows_come_out_of_the_pack_with_padding_that_is_neither_seen_nor_asked_for(texts):
    given = drawn(texts)
    width = given.views.codes_BF.shape[1]
    got = unpacked(*packed(given, widest=100)).views
    assert got.codes_BF.shape[1] % 8 == 0
    for name in ("codes_BF", "hidden", "visible"):
        assert torch.equal(getattr(got, name)[..., :width], getattr(given.views, name))
        assert not getattr(got, name)[..., width:].any()
    assert torch.equal(got.real_BF[:, 1:width], given.views.real_BF[:, 1:])
    assert not got.real_BF[:, width:].any()
    assert got.real_BF.any(dim=1).all()  # a text without tokens too


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_every_hidden_place_is_asked_for_once_whatever_fills_up_the_number(texts, share):
    given = drawn(texts)
    hidden = (torch.rand(given.views.hidden.shape) < share) & given.views.real_BF.unsqueeze(1)
    told, shape = packed(Masked(replace(given.views, hidden=hidden), given.time_B), widest=100)
    got = unpacked(told, shape).views
    n = int(hidden.sum())
    assert torch.equal(got.places_M[:n], got.hidden.flatten().nonzero()[:, 0])
    assert len(got.places_M.unique()) == len(got.places_M) == shape.n_asked >= max(n, 1)


def test_token_rows_come_in_few_widths_and_little_of_them_is_padding():
    rounded = {width: batches._rounded(width, 512) for width in range(1, 513)}
    assert len(set(rounded.values())) <= 20
    assert all(width <= up < width + max(8, width / 4) for width, up in rounded.items())
    assert batches._rounded(200, 210) == 210


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
def test_replayed_steps_on_tokens_learn_what_steps_as_they_are_learn(
    monkeypatch, recordings, texts, device, objective, positions
):
    replayed = surprise(small(positions), texts, objective, device)
    assert device != "cpu" or recordings
    monkeypatch.setattr(steps, "RECORDERS", {})
    expected = surprise(small(positions), texts, objective, device)
    # The weights themselves may differ: attention does not see the bias of its keys, whose gradient is rounding alone.
    np.testing.assert_allclose(replayed, expected, atol=1e-4 if device == "cpu" else 0.1)
    untrained = surprise(small(positions, n_steps=1), texts, objective, device)
    assert np.nanmax(np.abs(untrained - expected)) > 0.2


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mlp", [MLPReconstructor(16), replace(MLPReconstructor.paper(), width=16, embedding=4)])
@pytest.mark.parametrize("sizes", [[3, 4, 3], [3, 200, 90]])  # the first layer as a product, and as a sum of rows
def test_replayed_steps_on_tables_learn_what_steps_as_they_are_learn(monkeypatch, recordings, device, mlp, sizes):
    codes = random_codes(300, sizes)
    how = Training(Steps(30), batch_size=64, average=0.9)
    settings = replace(mlp, dropout=0.1 if device == "cpu" else 0.0, training=how)
    replayed = surprise(settings, codes, device=device)
    assert device != "cpu" or len(recordings) == 1
    monkeypatch.setattr(steps, "RECORDERS", {})
    np.testing.assert_allclose(
        replayed, surprise(settings, codes, device=device), rtol=1e-3 if device == "cpu" else 0.1
    )


class Own(Schedule):
    def alpha(self, time):
        return 1 - time


def test_only_what_is_known_never_to_look_at_values_is_recorded(recordings, texts):
    network = small().build(texts.schema)
    asked = (network, OBJECTIVES[0], Linear(), CPU)
    assert steps.recorder(*asked) is not None
    assert steps.recorder(torch.nn.Linear(1, 1), *asked[1:]) is None
    assert steps.recorder(network, OBJECTIVES[0], Own(), CPU) is None
    assert steps.recorder(network, object(), Linear(), CPU) is None
    assert steps.recorder(*asked[:3], torch.device("meta")) is None


class Interrupting:
    """Keeps the state at one step."""

    def __init__(self, state=None):
        self.state, self.kept = state, []

    def load(self, run):
        return self.state

    def keep(self, run, state):
        self.kept.append({name: part.clone() for name, part in state().items()})


def test_a_replayed_run_that_goes_on_ends_like_one_that_was_never_interrupted(recordings, texts):
    settings = small(dropout=0.1)
    settings = replace(settings, training=replace(settings.training, look_every=15))
    how = {"seed": 0, "objective": OBJECTIVES[0], "schedule": Linear(), "device": CPU}
    first = Interrupting()
    whole = settings.fit(texts, keeper=first, **how).network_
    resumed = settings.fit(texts, keeper=Interrupting(first.kept[0]), **how).network_
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
    told, shape = packed(drawn(texts), widest=texts.values.shape[1])
    steps.objective_on(network, unpacked(told.to("meta"), shape), objective, Linear()).backward()
    assert all(weights.grad is not None for weights in network.parameters())


@pytest.mark.parametrize("mlp", [MLPReconstructor(16), replace(MLPReconstructor.paper(), width=16, embedding=4)])
def test_a_step_on_tables_never_looks_at_values(mlp):
    codes = random_codes(64, [3, 4, 3])
    network = mlp.build(codes.schema).to("meta")
    told, shape = packed(drawn(codes), widest=None)
    steps.objective_on(network, unpacked(told.to("meta"), shape), OBJECTIVES[0], Linear()).backward()
    assert all(weights.grad is not None for weights in network.parameters())
