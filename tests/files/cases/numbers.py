"""Numbers as spreadsheets, banks and instruments write them."""

from __future__ import annotations

from ..case import Case, Cells
from ..cells import HARD_SPACE, N, amounts, brackets, counts, french, german, grouped, indian, pick, swiss, us, written

NUMBER = "number"
REGION = Cells(pick(["North", "South", "West"], seed=9), "category", "North")
SIGNS = [1, -1, 1, 1, -1, 1] * (N // 6)
SIGNED = [abs(number) * sign for number, sign in zip(amounts(1234.56), SIGNS, strict=True)]
SMALL = [12.5, *(round(number % 100, 1) for number in amounts(seed=2)[1:])]


def case(name: str, delimiter: str = ",", **columns: Cells) -> Case:
    return Case(f"numbers_{name}", {**columns, "region": REGION}, delimiter=delimiter)


def number(texts: list[str], first: float) -> Cells:
    return Cells(texts, NUMBER, first)


# One cell in forty has a letter in place of a digit, all of them different.
DAMAGED = [f"{x:.2f}".replace(".", "x") if at % 40 == 39 else f"{x:.2f}" for at, x in enumerate(amounts())]

CASES = [
    case("damaged", amount=number(DAMAGED, 1234.56)),
    case("us_dollars", amount=number([f"${us(x)}" for x in amounts()], 1234.56)),
    case("us_accounting", amount=number([brackets(f"${us(abs(x))}", x < 0) for x in SIGNED], 1234.56)),
    case("us_thousands", units=number([f"{x:,}" for x in counts(1234567, most=9_000_000)], 1234567)),
    case("us_minus_before_currency", amount=number([f"{'-' * (x < 0)}${us(abs(x))}" for x in SIGNED], 1234.56)),
    case("british_pounds", amount=number([f"£{us(x)}" for x in amounts()], 1234.56)),
    case("german", ";", betrag=number(written(amounts(), german), 1234.56)),
    case("german_euro", ";", betrag=number([f"{german(x)} €" for x in amounts()], 1234.56)),
    case("german_without_groups", ";", betrag=number([f"{x:.2f}".replace(".", ",") for x in amounts()], 1234.56)),
    case(
        "german_thousands",
        ";",
        stueck=number([grouped(x, ".", ",", 0) for x in counts(1234567, most=9_000_000)], 1234567),
    ),
    case("german_percent", ";", anteil=number([f"{x:.1f} %".replace(".", ",") for x in SMALL], 12.5)),
    case("french_narrow_space", ";", montant=number([f"{french(x)} €" for x in amounts()], 1234.56)),
    case("french_hard_space", ";", montant=number([grouped(x, HARD_SPACE, ",") for x in amounts()], 1234.56)),
    case("french_plain_space", ";", montant=number([grouped(x, " ", ",") for x in amounts()], 1234.56)),
    case("swiss", ";", betrag=number(written(amounts(), swiss), 1234.56)),
    case(
        "swiss_typographic", ";", betrag=number([f"CHF {swiss(x)}".replace("'", "\u2019") for x in amounts()], 1234.56)
    ),
    case("indian_rupees", amount=number([f"₹{indian(x)}" for x in amounts(123456.5, scale=90_000)], 123456.5)),
    case("indian_lakhs", amount=number(written(amounts(123456.5, scale=900_000), indian), 123456.5)),
    case("currency_codes", amount=number([f"{x:.2f} USD" for x in amounts()], 1234.56)),
    case("currency_code_before", ";", betrag=number([f"EUR {german(x)}" for x in amounts()], 1234.56)),
    case("trailing_minus", ";", saldo=number([german(abs(x)) + "-" * (x < 0) for x in SIGNED], 1234.56)),
    case("brackets", balance=number([brackets(us(abs(x)), x < 0) for x in SIGNED], 1234.56)),
    case("unicode_minus", balance=number([f"{x:.2f}".replace("-", "\u2212") for x in SIGNED], 1234.56)),
    case("scientific", reading=number([f"{x:.3E}" for x in amounts(120000.0)], 120000.0)),
    case("scientific_comma", ";", messwert=number([f"{x:.3e}".replace(".", ",") for x in amounts(120000.0)], 120000.0)),
    case("leading_apostrophe", amount=number([f"'{x:.2f}" for x in amounts()], 1234.56)),
    case("padded", amount=number([f"{x:12.2f}" for x in amounts()], 1234.56)),
    case("plus_signs", change=number([f"{x:+.2f}" for x in SIGNED], 1234.56)),
    case("plain_percent", share=number([f"{x}%" for x in SMALL], 12.5)),
    case("no_leading_zero", share=number([f"{x / 1000:.3f}"[1:] for x in [125.0, *SMALL[1:]]], 0.125)),
]
