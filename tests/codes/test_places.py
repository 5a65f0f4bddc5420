"""How far apart the codes of a field are."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.codes import Field
from maskdiff.codes.places import field_places

LABELS = ("1", "2", "3", "4")


def number(counts: tuple[int, ...] = (5, 5, 5, 5), middles: tuple[float, ...] = (), *behind: str) -> Field:
    return Field("n", "number", (*LABELS, *behind), counts, ordered=True, middles=middles)


def test_two_normal_rows_differ_by_one_on_average():
    field = number((3, 4, 2, 6, 5), (1.0, 2.0, 9.0, 80.0), "missing")
    places, apart = field_places(field)
    rows = np.repeat(np.arange(5), field.counts)
    lies = np.append(places, np.nan)[rows]
    between = np.abs(lies[:, None] - lies[None])
    between = np.where(np.isnan(between), (rows[:, None] != rows[None]) * apart, between)
    assert (between**2).mean() == pytest.approx(1)


def test_numbers_far_out_lie_further_out_than_their_steps_say():
    plain, far = field_places(number())[0], field_places(number(middles=(1.0, 2.0, 3.0, 50.0)))[0]
    assert np.allclose(np.diff(plain), plain[1])
    assert np.diff(far)[2] > 2 * np.diff(far)[1]
    assert np.diff(far)[0] > 0.2 * plain[1], "common numbers are still told apart by their steps"


def test_the_unit_of_the_numbers_does_not_matter():
    small, large = (
        field_places(number(middles=tuple(unit * n for n in (1.0, 2.0, 4.0, 9.0))))[0] for unit in (1, 1e300)
    )
    np.testing.assert_allclose(small, large)
    np.testing.assert_allclose(field_places(number(middles=(7.0,) * 4))[0], field_places(number())[0])


def test_one_bin_alone_and_one_category_alone_are_finite():
    for field in (Field("n", "number", ("1",), (50,), ordered=True), Field("c", "category", ("a",), (50,))):
        places, apart = field_places(field)
        assert apart == pytest.approx(50**0.5)
        assert np.isfinite(places).all()
