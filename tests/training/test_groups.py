"""Several workers that train one network: the steps of one, whatever each of them is given."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch

from maskdiff.errors import SettingError
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor, half_products
from maskdiff.training import Steps, Training, WorkerGroup, seeded, train, train_network, trained_by

from ..handmade import random_codes, schema_of, windows_of

CPU = torch.device("cpu")
N_STEPS = 20


class Meeting:
    """Threads of this process in place of machines."""

    def __init__(self, size: int) -> None:
        self.barrier, self.given = Barrier(size), [None] * size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self.given[rank] = value
        self.barrier.wait(timeout=60)
        values = list(self.given)
        self.barrier.wait(timeout=60)
        return values


class ThreadGroup(WorkerGroup):
    """A worker group whose messages go through a meeting."""

    def __init__(self, rank: int, size: int, meeting: Meeting) -> None:
        super().__init__(rank, size)
        object.__setattr__(self, "meeting", meeting)

    def add(self, values):
        values.copy_(torch.stack(self.meeting.exchange(self.rank, values.clone())).sum(dim=0))

    def send(self, value):
        return self.meeting.exchange(self.rank, value)[0]


class MemoryStore:
    """Keeps the state of the run after the step given, and goes on from it."""

    def __init__(self, at: int = 0, kept: dict[str, torch.Tensor] | None = None) -> None:
        self.at, self.kept, self.n_saved = at, kept, 0

    def load(self, run):
        return self.kept

    def save(self, run, state):
        self.n_saved += 1
        if int(state()["step"]) == self.at:
            self.kept = {name: part.clone() for name, part in state().items()}


@pytest.fixture(scope="module")
def tokens():
    """Rows of 2 to 9 tokens, where a token says what the next one is."""
    rng = np.random.default_rng(0)
    rows = [[(first + at) % 12 for at in range(rng.integers(2, 10))] for first in rng.integers(0, 12, 90)]
    return windows_of(rows, schema_of([[at] for row in rows for at in row]))


@pytest.fixture(scope="module")
def cells():
    """Rows of a table, whose network draws its dropout from a generator of its own: threads share torch's."""
    return random_codes(90, [4] * 5)


TRANSFORMER = TransformerReconstructor(16, 2, 2, 32, dropout=0.0, cutoffs=(4, 8))
DROPPING = MLPReconstructor(16, dropout=0.3)


SETTINGS = Training(Steps(N_STEPS), batch_size=3, look_every=5)


def run(shape, rows, size=1, *, stores=None):
    """The weights and the losses of each worker."""
    meeting, stores = Meeting(size), stores or [None] * size
    networks = [seeded(0, lambda: shape.build(rows.schema)) for _ in range(size)]

    def work(rank):
        looks = []
        group = {} if size == 1 else {"group": ThreadGroup(rank, size, meeting)}
        how = {"objective": Reconstruction((0.2, 0.5)), "schedule": Linear(), "seed": 3, "device": CPU}
        held_out = rows if rank == 0 else rows.take(slice(0, 10))  # all go by the loss of the first
        given = {"held_out": held_out, "callback": looks.append, "checkpoint": stores[rank]}
        trained = train(networks[rank], rows, settings=SETTINGS, **how, **given, **group)
        return trained.state_dict(), [(look.loss, look.held_out_loss) for look in looks]

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, range(size)))


@pytest.mark.parametrize("size", [2, 4])
def test_workers_together_take_the_steps_of_one(monkeypatch, tokens, size):
    """Batches of 3 rows: shares of different sizes, and with four workers one without a row."""
    monkeypatch.setattr(half_products, "has_half_products", lambda: False)  # sums of rounded products differ more
    ((_, expected),) = run(TRANSFORMER, tokens)
    for _, losses in run(TRANSFORMER, tokens, size):
        np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_all_workers_hold_the_same_weights(cells):
    (first, losses), (second, others) = run(DROPPING, cells, size=2)
    assert losses == others
    assert all(first[name].equal(second[name]) for name in first)


def test_with_dropout_the_loss_falls_as_with_one_worker(cells):
    """They drop other cells, so the curves differ as they do between two seeds."""
    ((_, alone),) = run(DROPPING, cells)
    ((_, together), _) = run(DROPPING, cells, size=2)
    np.testing.assert_allclose([held_out for _, held_out in together], [held_out for _, held_out in alone], rtol=0.02)


def test_a_resumed_group_ends_with_the_same_weights(cells):
    stores = [MemoryStore(at=10), MemoryStore(at=10)]
    (expected, _), _ = run(DROPPING, cells, size=2, stores=stores)
    assert stores[0].kept is not None
    assert stores[1].n_saved == 0
    resumed, _ = run(DROPPING, cells, size=2, stores=[MemoryStore(kept=stores[0].kept), MemoryStore()])
    assert all(resumed[0][name].equal(expected[name]) for name in expected)


def test_an_error_of_the_first_worker_is_one_of_all():
    class Refusing(MemoryStore):
        def load(self, run):
            raise SettingError("of another training")

    meeting = Meeting(2)

    def work(rank):
        store = ThreadGroup(rank, 2, meeting).stored(Refusing() if rank == 0 else MemoryStore())
        with pytest.raises(SettingError, match="another training"):
            store.load("run")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))


def test_another_trainer_is_in_charge_within_its_block_only():
    def other(network, codes, **how):
        return network, codes, how

    with trained_by(other):
        assert train_network("network", "codes", seed=1) == ("network", "codes", {"seed": 1})
    with pytest.raises(TypeError):
        train_network("network", "codes", seed=1)
