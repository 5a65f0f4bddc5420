"""Hashes of rows: equal rows share one, others do not."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.codes import Codes, Field, Schema, distinct_rows
from maskdiff.codes import hashes as module
from maskdiff.codes.hashes import row_hashes

from ..handmade import codes_of, random_codes, windows_of

TOKENS = Schema((Field("text", "token", tuple("abc"), (5, 5, 5)),))


def test_rows_share_a_hash_exactly_where_they_are_equal() -> None:
    codes = random_codes(5000, (3, 40, 2, 7))
    _, place, _ = distinct_rows(codes.values)
    _, of_hashes = np.unique(row_hashes(codes, salt=3), return_inverse=True)
    assert len(np.unique(np.stack([place, of_hashes]), axis=1).T) == place.max() + 1 == of_hashes.max() + 1


def test_order_type_and_the_size_of_the_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_codes(1000, (3, 40, 2))
    before = row_hashes(codes, salt=3)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 100)
    wider = Codes(codes.values.astype(np.int64)[::-1], codes.schema)
    assert (row_hashes(wider, salt=3)[::-1] == before).all()


def test_another_salt_gives_other_hashes() -> None:
    codes = codes_of([[0, 1], [1, 0], [1, 1]])
    assert not np.isin(row_hashes(codes, salt=1), row_hashes(codes, salt=2)).any()


@pytest.mark.parametrize("length", [3, 4, 20])
def test_a_row_of_tokens_has_one_hash_however_it_is_cut(length: int) -> None:
    rows = [[0, 1, 2, 2, 1, 0, 1], [0], [], [0, 0], [1, 0, 1, 2, 2, 1, 0], [0, 1, 2, 2, 1, 0, 1]]
    hashes = row_hashes(windows_of(rows, TOKENS, max_length=length, overlap=1), salt=5)
    assert hashes.tolist() == row_hashes(windows_of(rows, TOKENS, max_length=7, overlap=0), salt=5).tolist()
    assert hashes[0] == hashes[5]
    assert hashes[2] == 0
    assert len(set(hashes.tolist())) == 5
