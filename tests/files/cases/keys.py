"""Numbers and texts that name a row, nearly name it, or only look like numbers."""

from __future__ import annotations

import numpy as np

from ..case import LEFT_OUT, Case, Cells
from ..cells import amounts, pick

N = 300
AMOUNT = Cells([f"{x:.2f}" for x in amounts(n=N)], "number", 1234.56)
PERIL = Cells(pick(["fire", "water", "theft"], N, seed=8), "category", "fire")


def drawn(most: int, seed: int, least: int = 0) -> list[int]:
    """Different numbers, in no order."""
    numbers = np.random.default_rng(seed).choice(most - least, N, replace=False) + least
    return [int(number) for number in numbers]


def case(name: str, **columns: Cells) -> Case:
    return Case(f"keys_{name}", {**columns, "amount": AMOUNT, "peril": PERIL})


def left_out(texts: list[str]) -> Cells:
    return Cells(texts, LEFT_OUT)


def repeated(texts: list[str], times: int = 1) -> list[str]:
    """The same, the last so many of them replaced by the first."""
    return [*texts[:-times], *texts[:times]]


ZIPS = [f"{z:05d}" for z in (1067, 4103, 10115, 20095, 50667, 80331, 99084)]

CASES = [
    case("row_numbers", id=left_out([str(at + 1) for at in range(N)])),
    case("sparse_claim_numbers", claim_no=left_out([str(x) for x in drawn(99_999_999, 1, 10_000_000)])),
    case("prefixed_claim_numbers", claim_no=left_out([f"CL-2024-{x:06d}" for x in drawn(999_999, 2)])),
    case("phone_numbers", phone=left_out([f"+49 30 {x:07d}" for x in drawn(9_999_999, 3)])),
    case("phone_digits", phone=left_out([f"0{x}" for x in drawn(1_799_999_999, 4, 1_500_000_000)])),
    case("uuids", uid=left_out([f"{x:08x}-0000-4000-8000-{x:012x}" for x in drawn(1 << 31, 5)])),
    case("emails", email=left_out([f"person{x}@example.org" for x in drawn(99_999, 6)])),
    case("invoice_numbers_one_twice", invoice=left_out(repeated([f"INV/2024/{x:05d}" for x in drawn(99_999, 10)]))),
    case("references_one_twice", reference=left_out(repeated([f"RE-{x}" for x in drawn(9_999_999, 11, 1_000_000)]))),
    case("ibans_some_twice", iban=left_out(repeated([f"DE89 3704 {x:012d}" for x in drawn(10**7, 12)], 5))),
    case("german_zip_codes", plz=Cells(pick(ZIPS, N, seed=7), "category", "01067")),
    case("us_zip_codes", zip=Cells(pick(["02134", "00501", "90210", "60601-1234"], N, seed=7), "category", "02134")),
    case("padded_store_numbers", store=Cells(pick(["007", "012", "120", "345"], N, seed=7), "category", "007")),
    case("versions", version=Cells(pick(["1.2.3", "1.10.0", "2.0.1"], N, seed=7), "category", "1.2.3")),
    case("ip_addresses", ip=Cells(pick(["10.0.0.1", "10.0.0.2", "192.168.1.7"], N, seed=7), "category", "10.0.0.1")),
    case("sizes", size=Cells(pick(["10-20", "20-30", "30+"], N, seed=7), "category", "10-20")),
]
