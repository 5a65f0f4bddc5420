"""Two threads that share each training step of a network for tokens."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch

from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import TransformerReconstructor, half_products
from maskdiff.training import Steps, Training, loop, seeded, train
from maskdiff.training.groups import ALONE, WorkerGroup
from maskdiff.training.halves import Halves, in_halves

from ..handmade import schema_of, windows_of
from .test_groups import MemoryStore

CPU = torch.device("cpu")
OBJECTIVE = Reconstruction((0.2, 0.5))


def network_of(rows, dropout=0.0):
    shape = TransformerReconstructor(16, 2, 2, 32, dropout=dropout, cutoffs=(4, 8))
    return seeded(0, lambda: shape.build(rows.schema))


def trained(rows, *, dropout=0.0, batch_size=5, objective=OBJECTIVE, **how):
    settings = Training(Steps(12), batch_size=batch_size, look_every=6)
    given = {"settings": settings, "objective": objective, "schedule": Linear(), "seed": 3, "device": CPU}
    return train(network_of(rows, dropout), rows, **given, **how).state_dict()


@pytest.fixture(scope="module")
def rows():
    """Rows of 2 to 9 tokens, where a token says what the next one is."""
    rng = np.random.default_rng(0)
    rows = [[(first + at) % 12 for at in range(rng.integers(2, 10))] for first in rng.integers(0, 12, 60)]
    return windows_of(rows, schema_of([[at] for row in rows for at in row]))


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def assert_same(found, wanted, **within):
    for name, weight in wanted.items():
        torch.testing.assert_close(found[name], weight, **within)


@pytest.mark.parametrize("batch_size", [1, 5])
def test_two_halves_take_the_steps_of_the_whole(monkeypatch, rows, batch_size):
    monkeypatch.setattr(half_products, "has_half_products", lambda: False)  # sums of rounded products differ more
    found = trained(rows, batch_size=batch_size)
    monkeypatch.setattr(loop, "in_halves", lambda group, *others: nullcontext(group))
    assert_same(found, trained(rows, batch_size=batch_size), rtol=1e-4, atol=1e-5)


def test_what_is_learned_does_not_depend_on_the_number_of_threads(threads, rows):
    threads(1)
    with_one = trained(rows, dropout=0.3)
    threads(2)
    assert_same(trained(rows, dropout=0.3), with_one, rtol=0, atol=0)
    assert torch.get_num_threads() == 2


def test_the_halves_drop_different_cells(rows):
    network = network_of(rows, 0.5)
    with in_halves(ALONE, network, OBJECTIVE, CPU) as group:
        assert isinstance(group, Halves)
        group.start_step(None, 3, 1)
        one, other = (copy.blocks[0].dropout(torch.ones(50)) for copy in group.copies)
        group.start_step(None, 3, 1)
        again = group.copies[0].blocks[0].dropout(torch.ones(50))
    assert not one.equal(other)
    assert one.equal(again)


def test_a_resumed_run_ends_with_the_same_weights(rows):
    store = MemoryStore(at=6)
    whole = trained(rows, dropout=0.3, checkpoint=store)
    assert_same(trained(rows, dropout=0.3, checkpoint=MemoryStore(kept=store.kept)), whole, rtol=0, atol=0)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_either_half_ends_the_training(threads, rows, failing):
    threads(2)
    network, running = network_of(rows), threading.active_count()
    batch = loop.mask_rows(loop.as_rows(rows), OBJECTIVE, Linear(), torch.Generator())

    def step():
        with in_halves(ALONE, network, OBJECTIVE, CPU) as group:
            group.backward(network, partial(loss, group.copies[failing]), batch)

    def loss(ends, one, batch):
        if one is ends:
            raise ValueError("no more")
        return sum(weight.sum() for weight in one.parameters())

    with pytest.raises(ValueError, match="no more"):
        step()
    assert threading.active_count() == running
    assert torch.get_num_threads() == 2


@dataclass(frozen=True)
class Summed(Reconstruction):
    """A loss that is not a mean over rows."""

    is_mean_of_rows = False


def test_only_a_mean_over_rows_is_shared(rows):
    network = network_of(rows)
    for group, objective in ((ALONE, Summed((0.5,))), (WorkerGroup(0, 2), OBJECTIVE)):
        with in_halves(group, network, objective, CPU) as chosen:
            assert chosen is group
