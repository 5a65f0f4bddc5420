"""Field: what the codes of one column stand for."""

from __future__ import annotations

import pytest

from maskdiff.codes import Field

BINS = ("[0, 9]", "(9, 50]", "(50, 99]")


@pytest.mark.parametrize(
    ("labels", "n_ordered"),
    [(BINS, 3), ((*BINS, "missing"), 3), ((*BINS, "rare"), 3), ((*BINS, "rare", "missing"), 3), (("missing",), 0)],
    ids=str,
)
def test_rare_and_missing_have_no_place_in_the_order(labels: tuple[str, ...], n_ordered: int) -> None:
    assert Field("a", "number", labels, (1,) * len(labels), ordered=True).n_ordered == n_ordered
    assert Field("a", "number", labels, (1,) * len(labels)).n_ordered == 0


def test_a_value_called_missing_stays_in_the_order() -> None:
    assert Field("a", "size", ("'missing'", "'rare'"), (1, 1), ordered=True).n_ordered == 2


def test_a_code_beyond_the_labels_is_unseen() -> None:
    field = Field("a", "category", ("x", "y"), (3, 1))
    assert [field.label(code) for code in (0, 1, 2)] == ["x", "y", "unseen"]
