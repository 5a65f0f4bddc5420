"""Yes and no in several languages: two values, whatever they are called."""

from __future__ import annotations

from ..case import Case, Cells
from ..cells import amounts, pick

AMOUNT = Cells([f"{x:.2f}" for x in amounts()], "number", 1234.56)


def case(name: str, yes: str, no: str, type: str, first: object) -> Case:
    return Case(f"booleans_{name}", {"paid": Cells(pick([yes, no], seed=3), type, first), "amount": AMOUNT})


CASES = [
    case("python", "True", "False", "boolean", True),
    case("json", "true", "false", "boolean", True),
    case("excel_us", "TRUE", "FALSE", "boolean", True),
    case("excel_german", "WAHR", "FALSCH", "category", "WAHR"),
    case("yes_no", "yes", "no", "category", "yes"),
    case("letters", "Y", "N", "category", "Y"),
    case("digits", "1", "0", "number", 1),
]
