"""Row ids and near-ids: found from all rows, in any order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.key_watch import KeyWatch
from maskdiff.errors import LeftOutWarning, NearIdWarning

RNG = np.random.default_rng(0)
N = 900
CLAIM_NO = RNG.choice(np.arange(1_000_000, 9_999_999), N, replace=False)
CUSTOMER = np.concatenate([np.repeat(np.arange(20), 20), np.arange(20, 347), RNG.integers(20, 347, N - 400 - 327)])


def read(values: Any, name: str = "value") -> tuple[str | None, bool]:
    """Why the column was left out, and whether it is a near-id."""
    frame = pd.DataFrame({name: values, "colour": ["red", "blue"] * (len(values) // 2)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = TableEncoder().fit(frame)
    return encoder.left_out_.get(name), any(one.category is NearIdWarning for one in caught)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("reference_of_claim", CLAIM_NO),
        ("claim_no", CLAIM_NO % 77_777),
        ("phone", 15_100_000_000 + RNG.integers(0, 9, N) * 10_000_000 + RNG.integers(0, 99_999, N)),
        ("mail", [f"someone{n}@example.org" for n in range(N)]),
        ("mail", [f"someone{n}@example.org" for n in [*range(N - 40), *range(40)]]),
        ("reference", [f"RE-{n}" for n in [*CLAIM_NO[1:], CLAIM_NO[1]]]),
        ("invoice", [f"INV/2024/{n:05d}" for n in [*range(N - 1), 7]]),
        ("iban", [f"DE{n % 89 + 10} 3704 0044 {n:010d}" for n in [*CLAIM_NO[3:], *CLAIM_NO[3:6]]]),
        ("uuid", [f"{n:08x}-0000-4000-8000-{n:012x}" for n in [*CLAIM_NO[3:], *CLAIM_NO[3:6]]]),
    ],
)
def test_numbers_and_texts_that_name_the_row_are_left_out_in_any_order(name: str, values: Any) -> None:
    for order in (np.arange(N), np.argsort(values), RNG.permutation(N)):
        reason, _ = read(np.asarray(values)[order], name)
        assert reason is not None
        assert reason.startswith("a row id")


@pytest.mark.parametrize(
    "values",
    [
        RNG.lognormal(7.5, 1, N).astype(int),
        RNG.lognormal(12.5, 0.3, N).astype(int),
        RNG.normal(45_000, 9_000, N).astype(int),
        RNG.integers(0, 9_000, N),
        RNG.integers(120, 6517, N),
        RNG.lognormal(14, 2, N).astype(int),
    ],
    ids=["amounts", "prices", "salaries", "even", "claims", "populations"],
)
def test_measured_numbers_are_kept_sorted_or_not(values: Any) -> None:
    assert read(values) == read(np.sort(values)) == (None, False)


def test_of_a_near_id_only_the_values_that_repeat_are_told_apart() -> None:
    for values in (CUSTOMER, [f"C{n:05}" for n in CUSTOMER]):
        frame = pd.DataFrame({"customer_no": values, "x": ["a", "b"] * (N // 2)})
        with pytest.warns(NearIdWarning, match=r"'customer_no' \(347 values\).*columns="):
            encoder = TableEncoder().fit(frame)
        field = encoder.schema_.fields[0]
        assert field.labels[-1] == "rare"
        assert min(field.counts) >= 5
        assert sum(field.counts) == N
        new = pd.DataFrame({"customer_no": [values[0], 99_999 if values is CUSTOMER else "C99999"], "x": "a"})
        assert encoder.encode(new).values[:, 0].tolist() == [0, field.size - 1]
        back = TableEncoder.from_state(encoder.to_state())
        np.testing.assert_array_equal(back.encode(frame).values, encoder.encode(frame).values)


def test_a_near_id_without_a_value_that_repeats_is_left_out() -> None:
    reason, _ = read([f"C{n}" for n in [*range(500), *range(400)]])
    assert reason == "nearly a row id: 500 values in 900 rows, none of them in 8"


def test_the_user_overrules_it() -> None:
    frame = pd.DataFrame({"customer_no": CUSTOMER, "claim_no": CLAIM_NO})
    encoder = TableEncoder({"customer_no": "category", "claim_no": "number"}).fit(frame)
    assert encoder.schema_.fields[0].size == 347
    assert encoder.left_out_ == {}


def test_rows_that_are_not_learned_from_count_too() -> None:
    encoder, names = TableEncoder(), [f"r{n}" for n in range(40)]
    statistics = encoder.statistics()
    statistics.add(encoder.read(pd.DataFrame({"name": names, "x": 1})))
    statistics.watch(encoder.read(pd.DataFrame({"name": names, "x": 1})))
    assert encoder.fit_statistics(statistics).left_out_ == {}
    with pytest.warns(LeftOutWarning):
        assert list(TableEncoder().fit(pd.DataFrame({"name": names, "x": 1})).left_out_) == ["name"]


@given(st.lists(st.lists(st.integers(-9, 300), min_size=1, max_size=60), min_size=1, max_size=4), st.integers(5, 60))
def test_a_watch_depends_neither_on_order_nor_on_batches(parts: list[list[int]], limit: int) -> None:
    whole, merged = KeyWatch(limit), KeyWatch(limit)
    whole.add(np.array([number for part in parts for number in part]))
    for part in reversed(parts):
        other = KeyWatch(limit)
        other.add(np.array(part), learned=False)
        merged.merge(other)
    assert whole.values.tolist() == merged.values.tolist()
    assert whole.counts.tolist() == merged.counts.tolist() == whole.learned.tolist()
    assert not merged.learned.any()
    assert (whole.seen, whole.bounds, whole.zeros) == (merged.seen, merged.bounds, merged.zeros)
    assert len(whole.values) <= limit
    if len({number for part in parts for number in part}) <= limit:
        assert whole.counts.sum() == whole.seen


def test_beyond_the_limit_shares_are_estimated() -> None:
    watch = KeyWatch(1000)
    for start in range(0, 40_000, 4_000):
        watch.add(np.arange(start, start + 4_000))
        watch.add(np.arange(start, start + 2_000))
    assert watch.n_distinct == pytest.approx(40_000, rel=0.15)
    assert watch.n_once == pytest.approx(20_000, rel=0.2)
