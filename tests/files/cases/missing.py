"""What people write where there is no value."""

from __future__ import annotations

from ..case import Case, Cells
from ..cells import amounts, dates, german, pick, with_marks, written

AMOUNTS = [f"{x:.2f}" for x in amounts()]
COLOURS = pick(["red", "green", "blue"], seed=4)


def case(name: str, marks: list[str], delimiter: str = ",", texts: list[str] = AMOUNTS) -> Case:
    columns = {
        "amount": Cells(with_marks(texts, marks), "number", 1234.56),
        "colour": Cells(COLOURS, "category", "red"),
    }
    return Case(f"missing_{name}", columns, delimiter=delimiter)


CASES = [
    case("empty", [""]),
    case("na_and_null", ["NA", "NULL", "n/a", "", "NaN", "None", "null", "#N/A"]),
    case("dash", ["-"]),
    case("question_mark", ["?"]),
    case("unknown", ["unknown"]),
    case("several_marks", ["-", "?", "unknown", "n/a"]),
    case("german_dash", ["-", "k.A."], ";", written(amounts(), german)),
    case("blanks_only", [" ", "   "]),
    Case(
        "missing_in_every_type",
        {
            "amount": Cells(with_marks(AMOUNTS, ["NA", "NULL"]), "number", 1234.56),
            "colour": Cells(with_marks(COLOURS, ["", "n/a"]), "category", "red"),
            "day": Cells(with_marks(dates("%Y-%m-%d"), ["NULL", ""]), "date"),
            "paid": Cells(with_marks(pick(["true", "false"], seed=5), [""]), "boolean", True),
        },
    ),
]
