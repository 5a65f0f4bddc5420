"""Batches of token rows: similar lengths together, no more tokens than a batch may hold, every row once in a pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.codes import Field, Schema
from maskdiff.training.batches import ShuffledBatches

from ..handmade import random_codes, windows_of

SIZES = (3, 40, 41, 64, 7, 18)
SCHEMA = Schema((Field("text", "token", tuple(map(str, range(500))), (1,) * 500),))


def rows_of(n=300, longest=64):
    """Each row holds its own number again and again."""
    lengths = np.random.default_rng(0).choice([length for length in SIZES if length <= longest], n)
    return windows_of([[number] * length for number, length in enumerate(lengths)], SCHEMA)


def batches_of(codes, size=32, tokens=None, seed=0):
    return ShuffledBatches(codes, size, torch.device("cpu"), torch.Generator().manual_seed(seed), tokens=tokens)


@pytest.mark.parametrize("tokens", [None, 256, 10])
def test_a_batch_holds_at_most_so_many_tokens_and_at_least_one_row(tokens):
    batches = batches_of(rows_of(), tokens=tokens)
    for _ in range(60):
        n, width = batches.next().codes_BF.shape
        assert n == 1 or tokens is None or n * width <= tokens
        assert n <= 32


@pytest.mark.parametrize("tokens", [None, 256, 10])
def test_no_row_is_shown_much_more_often_than_another(tokens):
    codes, shown = rows_of(), np.zeros(300, int)
    batches = batches_of(codes, tokens=tokens)
    while shown.sum() < 10 * 300:
        np.add.at(shown, batches.next().codes_BF[:, 0].numpy(), 1)
    assert shown.min() >= 8
    assert shown.max() <= 12


def test_rows_of_one_batch_have_similar_lengths():
    batches = batches_of(rows_of(), tokens=256)
    spread = []
    for _ in range(60):
        real = batches.next().real_BF
        spread.append(0 if real is None else int(np.ptp(real.sum(dim=1).numpy())))
    assert np.mean(np.array(spread) <= 8) > 0.7


def test_the_mean_size_says_how_many_batches_a_pass_takes():
    codes = rows_of()
    batches, n = batches_of(codes, tokens=256), 0
    for _ in range(200):
        n += len(batches.next().codes_BF)
    assert batches.mean_size == pytest.approx(n / 200, rel=0.15)
    assert batches_of(codes).mean_size == 32


def test_a_pass_shows_one_window_of_each_long_row():
    codes = windows_of([[number] * 150 for number in range(40)] + [[40 + number] * 9 for number in range(20)], SCHEMA)
    batches = batches_of(codes, size=8, tokens=512)
    assert (len(codes), batches.n_rows) == (40 * 3 + 20, 60)
    starts = set()
    for _ in range(20):
        chosen = batches._pass()
        assert sorted(codes.row[chosen]) == list(range(60))
        starts |= set(codes.start[chosen][codes.row[chosen] == 3].tolist())
    assert len(starts) == 3
    assert batches_of(codes, size=8).n_rows == len(codes)


def test_tables_know_no_tokens():
    batches = batches_of(random_codes(50, [3, 4]), size=20, tokens=8)
    assert batches.mean_size == 20
    assert [len(batches.next().codes_BF) for _ in range(4)] == [20] * 4


def test_fewer_rows_than_a_batch_are_one_batch():
    batches = batches_of(rows_of(10, longest=18), tokens=4096)
    assert [len(batches.next().codes_BF) for _ in range(3)] == [10] * 3
