"""A slip of the keyboard is still odd, but the reason names the value that was meant."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from maskdiff import TableDetector, TableEncoder
from maskdiff.encoders.table.look_alikes import LookAlikes, one_letter_apart

LETTERS = st.text("abcdefgh", min_size=4, max_size=9)


@settings(max_examples=60, deadline=None)
@given(LETTERS, st.data())
def test_every_slip_of_one_letter_is_recognised(text, data):
    at = data.draw(st.integers(0, len(text) - 1))
    slips = {text[:at] + "z" + text[at + 1 :], text[:at] + text[at + 1 :], text[: at + 1] + text[at:]}
    if at and text[at - 1] != text[at]:
        slips.add(text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :])
    alike = LookAlikes((text,))
    for slip in slips - {text}:
        assert one_letter_apart(slip, text), (slip, text)
        assert len(slip) < 4 or alike.note(slip) == f"one letter away from {text}"


def test_two_slips_short_texts_and_digits_are_not():
    alike = LookAlikes(("Honda", "yes", "AB-1234"))
    assert [alike.note(text) for text in ("Hnodaa", "yet", "AB-1235", "Hyundai")] == [""] * 4


def test_the_reason_names_what_was_meant():
    rng = np.random.default_rng(0)
    normal = pd.DataFrame({"sex": rng.choice(["Female", "Male"], 300), "fault": rng.choice(["Own", "Other"], 300)})
    odd = normal.head(1).assign(sex="Femlae")
    (first, *_) = TableDetector("kernel").fit(normal).explain(odd).itertuples(index=False)
    assert (first.column, first.note) == ("sex", "one letter away from Female")


def test_a_slip_may_stand_for_every_value_that_is_one_character_away():
    alike = LookAlikes(("Mar", "May", "26 to 30", "21 to 30", "North"))
    assert sorted(alike.meant("Ma")) == ["Mar", "May"]
    assert sorted(alike.meant("2 to 30")) == ["21 to 30", "26 to 30"]
    assert alike.meant(" NORTH") == ["North"]
    assert alike.meant("South") == []


def test_rare_values_and_numbers_are_not_suggested():
    table = pd.DataFrame({"town": ["Leeds"] * 50 + ["Leedz", "Oslo"], "age": np.arange(52) % 3})
    encoder = TableEncoder(max_categories=1).fit(table)
    odd = pd.DataFrame({"town": ["Oslu", "Leed"], "age": [11, 22]})
    towns, ages = (encoder.meant(odd, [0, 1], [name] * 2) for name in ("town", "age"))
    assert towns == [(), (0,)]
    assert ages == [(), ()]
