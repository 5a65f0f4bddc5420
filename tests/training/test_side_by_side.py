"""Trainings at the same time: the same weights as one after the other, and progress that is told in order."""

import copy
import threading
import time

import numpy as np
import pytest
import torch

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.progress import Progress
from maskdiff.training.side_by_side import TrainingGivenUp, check_wanted, side_by_side
from maskdiff.written_files import record_complete, recording_written_files


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def rows_of(n: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, n)
    return [[f"a{k}", f"b{(k + rng.integers(0, 2)) % 4}", f"c{k % 2}", f"d{rng.integers(0, 3)}"] for k in kind]


def test_folds_learn_the_same_side_by_side_as_one_after_the_other(two_threads):
    network = MLPReconstructor(16, 2, dropout=0.2, training=Training(Steps(40)))
    state = torch.get_rng_state()
    together = TableDetector(copy.copy(network)).fit(rows_of(120))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    alone = TableDetector(copy.copy(network)).fit(rows_of(120))
    np.testing.assert_array_equal(together.calibration_.scores, alone.calibration_.scores)
    for one, other in zip(
        together.reconstructor_.network_.parameters(), alone.reconstructor_.network_.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_progress_is_that_of_one_at_a_time_and_nothing_of_the_last_is_lost(two_threads):
    told: list[tuple[int, int]] = []

    def learn(number, report):
        for step in range(3):
            report(Progress("training", step + 1, 3))
            time.sleep(0.002 * (number == 0))

    side_by_side(learn, [lambda p, n=n: told.append((n, p.done)) for n in range(4)], threads=True)
    assert told == sorted(told)
    assert {number for number, done in told if done == 3} == {0, 1, 2, 3}


def test_an_error_ends_the_others(two_threads):
    def learn(number, report):
        if number == 0:
            raise ZeroDivisionError
        return number

    with pytest.raises(ZeroDivisionError):
        side_by_side(learn, [None] * 3, threads=True)
    assert torch.get_num_threads() == 2


def test_trainings_beside_one_that_fails_end_soon(two_threads):
    begun, n_steps = threading.Event(), []

    def learn(number, report):
        if number == 0:
            begun.wait(10)
            raise ZeroDivisionError
        for step in range(10_000):
            begun.set()
            n_steps.append(step)
            check_wanted()
            time.sleep(0.001)

    with pytest.raises(ZeroDivisionError):
        side_by_side(learn, [None] * 2, threads=True)
    assert len(n_steps) < 10_000


def test_a_training_of_a_network_asks_whether_it_is_still_wanted(two_threads):
    begun, given_up = threading.Event(), []

    def learn(number, report):
        if number == 0:
            begun.wait(10)
            raise ZeroDivisionError
        begun.set()
        try:
            while True:
                TableDetector(MLPReconstructor(4, 2, training=Training(Steps(1)))).fit(rows_of(30))
        except TrainingGivenUp:
            given_up.append(number)
            raise

    with pytest.raises(ZeroDivisionError):
        side_by_side(learn, [None] * 2, threads=True)
    assert given_up == [1]


def test_files_that_trainings_write_are_recorded(two_threads):
    with recording_written_files() as written:
        side_by_side(lambda number, report: record_complete(f"{number}"), [None] * 2, threads=True)
    assert sorted(written.complete) == ["0", "1"]
