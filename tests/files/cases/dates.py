"""Dates and moments as programs and people write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..case import Case, Cells
from ..cells import dates, moments, pick, with_marks

DAY, MOMENT = datetime(2024, 9, 25), datetime(2024, 9, 25, 14, 30)
REGION = Cells(pick(["North", "South"], seed=9), "category", "North")
GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
EARLY = [at.replace(day=1 + at.day % 12) for at in moments(datetime(2024, 5, 2), seed=3)]


def case(name: str, texts: list[str], first: datetime = DAY, **more: Any) -> Case:
    return Case(f"dates_{name}", {"day": Cells(texts, "date", first), "region": REGION}, **more)


def epochs(per_second: int) -> list[str]:
    return [str(int((at - datetime(1970, 1, 1)).total_seconds() * per_second)) for at in moments()]


CASES = [
    case("iso", dates("%Y-%m-%d")),
    case("iso_moments", dates("%Y-%m-%dT%H:%M:%S"), MOMENT),
    case("iso_zone", dates("%Y-%m-%dT%H:%M:%S+02:00"), datetime(2024, 9, 25, 12, 30)),
    case("iso_zulu", dates("%Y-%m-%dT%H:%M:%S.000Z"), MOMENT),
    case("german", dates("%d.%m.%Y"), delimiter=";"),
    case("german_moments", dates("%d.%m.%Y %H:%M"), MOMENT, delimiter=";"),
    case("german_short_year", dates("%d.%m.%y"), delimiter=";"),
    case("british", dates("%d/%m/%Y")),
    case("american", dates("%m/%d/%Y")),
    case("american_excel", [f"{at.month}/{at.day}/{at.year} {at:%I:%M %p}" for at in moments()], MOMENT),
    case("dashes", dates("%d-%m-%Y")),
    case("slashes_year_first", dates("%Y/%m/%d")),
    case("month_names", dates("%d %b %Y")),
    case("month_names_dashes", dates("%d-%b-%Y")),
    case("month_names_german", [f"{at.day}. {GERMAN[at.month - 1]} {at.year}" for at in moments()], delimiter=";"),
    case("weekdays_and_zone", dates("%a, %d %b %Y %H:%M:%S GMT"), MOMENT),
    case("month_first_names", dates("%b %d, %Y")),
    case("months_only", dates("%Y-%m"), datetime(2024, 9, 1)),
    case("packed", dates("%Y%m%d")),
    Case("dates_epoch_seconds", {"created_at": Cells(epochs(1), "date", MOMENT), "region": REGION}),
    Case("dates_epoch_milliseconds", {"ts": Cells(epochs(1000), "date", MOMENT), "region": REGION}),
    case("with_marks", with_marks(dates("%d.%m.%Y"), ["-", ""]), delimiter=";", missing=("-",)),
    case("mixed_forms", [at.strftime(form) for at, form in zip(moments(), ["%Y-%m-%d", "%d.%m.%Y"] * 30, strict=True)]),
    Case(
        "dates_both_orders_fit",
        {"day": Cells([f"{at:%d/%m/%Y}" for at in EARLY], "date"), "region": REGION},
        notice="day",
    ),
]
