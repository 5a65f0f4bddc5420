from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maskdiff.codes import Codes, Field, Schema
from maskdiff.explanations import OddCells, expected_codes, explanation_table, odd_cells
from maskdiff.explanations.odd_cells import without_usual_news
from maskdiff.reconstructors import KernelReconstructor

from ..handmade import codes_of, random_codes
from ..slow_equations import kernel_probability

CPU = torch.device("cpu")


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 5)),
    st.integers(1, 8),
)
def test_the_cells_that_carry_most_are_named_the_strongest_first(contributions, top):
    cells = odd_cells(contributions, top)
    for i, row in enumerate(contributions):
        named = cells.row == i
        carried = sorted((value for value in row if value > 0), reverse=True)[:top]
        assert cells.contribution[named].tolist() == carried
        assert contributions[i, cells.field[named]].tolist() == carried
        assert len(set(cells.field[named])) == len(carried)
        np.testing.assert_allclose(cells.share[named], np.array(carried) / max(row.sum(), 1e-300))
    assert (np.diff(cells.row) >= 0).all()


def test_shares_of_all_cells_add_up_to_one():
    cells = odd_cells(np.array([[1.0, 3.0, 0.5], [0.2, 0.2, 0.2]]), top=3)
    np.testing.assert_allclose(np.bincount(cells.row, cells.share), [1, 1])


def test_a_row_that_adds_nothing_has_no_cells_to_name():
    cells = odd_cells(np.zeros((2, 3)), top=2)
    assert len(cells.row) == len(cells.share) == 0


@pytest.fixture
def normal():
    return random_codes(50, [2, 3, 4])


def every_cell(n, width):
    row, field = np.divmod(np.arange(n * width), width)
    return OddCells(row, field, np.ones(n * width), np.ones(n * width))


@pytest.mark.parametrize("at_once", [1 << 22, 1])
def test_what_is_expected_is_the_likeliest_code_given_the_rest_of_the_row(normal, at_once):
    kernel = KernelReconstructor().fit(normal, device=CPU)
    codes, cells = normal.take(slice(0, 6)), every_cell(6, 3)
    expected, probability = expected_codes(kernel, codes, cells, mask_rate=0.1, device="cpu", cells_at_once=at_once)
    references = normal.values.tolist()
    for i, j, code, p in zip(cells.row, cells.field, expected, probability, strict=True):
        visible = [r != j for r in range(3)]
        row = codes.values[i].tolist()
        votes = [kernel_probability(references, row, j, v, visible, 1.0) for v in range((2, 3, 4)[j])]
        assert votes[code] == pytest.approx(max(votes), rel=1e-5)
        assert p == pytest.approx(max(votes), rel=1e-5)


def test_an_unseen_value_is_expected_to_be_something_seen(normal):
    kernel = KernelReconstructor().fit(normal, device=CPU)
    unseen = codes_of([[2, 3, 4]], normal.schema)
    expected, probability = expected_codes(kernel, unseen, every_cell(1, 3), mask_rate=0.1, device="cpu")
    # Nothing of the row is known, so the most frequent value of each column it is.
    counts = [np.array(field.counts) for field in normal.schema]
    assert expected.tolist() == [int(each.argmax()) for each in counts]
    np.testing.assert_allclose(probability, [each.max() / 50 for each in counts], rtol=1e-5)


def test_a_new_name_is_a_reason_only_where_there_is_no_other():
    flag = Field("flag", "category", ("no", "yes"), (5, 5))
    name = Field("name", "category", tuple("abcd"), (1,) * 4, singletons=4)
    codes = Codes(np.array([[1, 4], [1, 4], [1, 0]]), Schema((flag, name)))
    strength = np.array([[0.1, 0.9], [0.0, 0.9], [0.1, 0.9]])
    assert without_usual_news(strength, codes).tolist() == [[0.1, 0.0], [0.0, 0.9], [0.1, 0.9]]


def test_no_cells_need_no_answers(normal):
    empty = odd_cells(np.zeros((2, 3)), top=2)
    expected, probability = expected_codes(None, normal.take([0, 1]), empty, mask_rate=0.1, device="cpu")
    assert len(expected) == len(probability) == 0


def test_the_table_has_one_line_per_cell_with_everything_there_is_to_say(normal):
    contributions = np.array([[0.0, 2.0, 1.0], [0.5, 0.0, 0.0]])
    surprise = np.array([[0.0, 4.0, 3.0], [1.0, 0.0, 0.0]])
    cells = odd_cells(contributions, top=2)
    codes = normal.take([0, 1])
    table = explanation_table(
        cells,
        surprise,
        np.array([1, 0, 1]),
        np.array([0.9, 0.8, 0.7]),
        codes,
        [f"{i}/{j}" for i, j in zip(cells.row, cells.field, strict=True)],
        ["", "largest seen 9", ""],
    )
    assert table.to_dict("list") == {
        "row": [0, 0, 1],
        "column": ["f1", "f2", "f0"],
        "value": ["0/1", "0/2", "1/0"],
        "contribution": [2.0, 1.0, 0.5],
        "share": [pytest.approx(2 / 3), pytest.approx(1 / 3), 1.0],
        "surprise": [4.0, 3.0, 1.0],
        "expected": ["v1", "v0", "v1"],
        "expected_probability": [0.9, 0.8, 0.7],
        "contradicts": ["", "", ""],
        "oddity": ["", "", ""],
        "note": ["", "largest seen 9", ""],
    }
