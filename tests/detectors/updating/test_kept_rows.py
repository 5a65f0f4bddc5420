"""What a model keeps of its rows: small, coded, and enough to score rows kept apart as if they were new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.codes import Codes
from maskdiff.detectors.updating.kept_rows import KeptRows, sample_of
from maskdiff.detectors.updating.references import counts_without
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.errors import ModelFileError

from ...handmade import random_codes

NUMBERS = np.arange(60.0)
LEARNED = pd.DataFrame({"pet": ["cat", "dog"] * 30, "age": NUMBERS})
APART = pd.DataFrame({"pet": ["cow", "cat", None, "emu"], "age": [3.0, 75.0, -9.0, 500.0]})


@pytest.fixture
def encoder():
    return TableEncoder().fit(LEARNED)


def stored(encoder, rows):
    codes = encoder.encode(rows)
    return StoredRows.of(codes, encoder.unseen_values(rows, codes))


def test_rows_kept_apart_are_scored_as_if_they_were_encoded_now(encoder):
    kept = stored(encoder, APART)
    more = pd.DataFrame({"pet": ["cow", None, "cat"] * 4, "age": np.linspace(60, 90, 12)})
    wider, extension = encoder.extended(more)
    codes, wanted = kept.moved(extension.change, wider).codes(wider), wider.encode(APART)
    np.testing.assert_array_equal(codes.values, wanted.values)
    np.testing.assert_allclose(codes.excess, wanted.excess)
    assert codes.known.tolist() == [[True, True], [True, True], [True, False], [False, False]]


def test_rows_of_tokens_are_kept_whole_and_cut_into_windows_again():
    encoder = SequenceEncoder(max_length=4, overlap=2).fit([list("abcabcabc"), list("ab")])
    rows = [list("abzcabyac"), [], list("ca")]
    codes = encoder.encode(rows)
    kept = StoredRows.of(codes, encoder.unseen_values(rows, codes))
    assert kept.lengths.tolist() == [9, 2]
    assert kept.unseen == (("z",), ("y",))
    assert kept.is_known.tolist() == [False, True]
    wider, extension = encoder.extended([list("zz")])
    again, wanted = kept.moved(extension.change, wider).codes(wider), wider.encode([rows[0], rows[2]])
    for name in ("values", "row", "start", "counted"):
        np.testing.assert_array_equal(getattr(again, name), getattr(wanted, name))


def test_rows_come_back_from_their_state_and_other_states_are_refused(encoder):
    kept = stored(encoder, APART)
    plain, tensors = kept.to_state()
    again = StoredRows.from_state(plain, tensors, encoder.schema_, of_tokens=False)
    np.testing.assert_array_equal(again.values, kept.values)
    assert again.unseen == kept.unseen == (("cow",), (75.0,), (None,), (-9.0,), ("emu",), (500.0,))
    for change in ({"unseen": plain["unseen"][1:]}, {"texts": [[0, ["a"]]]}, {"unseen": None}):
        with pytest.raises(ModelFileError):
            StoredRows.from_state(plain | change, tensors, encoder.schema_, of_tokens=False)
    with pytest.raises(ModelFileError):
        StoredRows.from_state(plain, tensors | {"codes": tensors["codes"] + 9}, encoder.schema_, of_tokens=False)


def test_a_sample_is_bounded_in_rows_and_cells():
    narrow, schema = random_codes(6000, [3, 2]), random_codes(9, [2] * 1024).schema
    wide = Codes(np.zeros((4000, 1024), np.uint8), schema)
    assert len(sample_of(StoredRows.of(narrow), 0)) == 5000
    assert len(sample_of(StoredRows.of(wide), 0)) == 2048
    few = StoredRows.of(narrow.take(slice(0, 10)))
    assert sample_of(few, 0) is few


@pytest.mark.parametrize("n", [3, 30, 300, 3000])
def test_old_and_new_rows_are_dealt_so_that_both_are_kept_apart_alike(n):
    rows = StoredRows.of(random_codes(1000, [3, 2]))
    parts = [rows.take(np.arange(*ends)) for ends in ((0, 850), (850, 900), (900, 1000))]
    kept = KeptRows(*parts, n_rows=1000, n_learned=850)
    deal = kept.deal(n, seed=0)
    new = (deal.train, deal.tuning, deal.calibration)
    assert np.sort(np.concatenate(new)).tolist() == list(range(n))
    total = (1000 + n) // 10
    assert len(deal.calibration) + len(deal.calibration_kept) == pytest.approx(total, abs=1)
    assert len(deal.calibration) == pytest.approx(n / 10, abs=1)
    assert len(deal.calibration_kept) + len(deal.calibration_freed) == 100
    assert len(deal.tuning_kept) + len(deal.tuning_freed) == 50
    again = kept.deal(n, seed=0)
    np.testing.assert_array_equal(again.train, deal.train)


def test_rows_that_tune_are_taken_out_of_the_references():
    values, counts = np.array([[0, 1], [1, 1], [2, 0]]), np.array([3, 1, 2])
    left = counts_without(values, counts, np.array([[1, 1], [0, 1], [7, 7]]))
    assert left.tolist() == [2, 0, 2]
