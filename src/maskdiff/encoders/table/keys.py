"""Which columns only name a row or what it belongs to: row ids, claim, phone and customer numbers, zip codes.

A row id, whose values are nearly all different, is left out. Where values are few rows each, and many were seen once,
a new one is nothing odd: only the values that repeat keep codes of their own, and all others, new ones too, are *rare*.

All rows handed to fit decide, also those that tune and calibrate, so that every reconstructor drops the same columns.
Nothing but how often values repeat is used, alike for all rows and in no order: no row is treated otherwise than
another, and one row more or less moves the shares below by one part in the number of rows.
"""

from __future__ import annotations

import re

import numpy as np

from maskdiff.encoders.table.key_watch import KeyWatch

# With fewer rows than this, values that all differ do not make a row id.
FEWEST_IDS = 20
# Values that differ in at least this share of the rows are nearly all different.
DISTINCT_SHARE = 0.95
# In fewer rows most values of any column with many of them were seen once or twice.
FEWEST_NEAR_IDS = 100
# A near-id has fewer rows than this for each value, and a value that keeps its code at least as many.
FEWEST_ROWS = 5
# It also has more rows than the mean of all values by so many deviations of a Poisson number: one that is frequent by
# chance in the rows at hand is not frequent in new ones, and rows that calibrate would be odder than new rows are.
DEVIATIONS = 4
# A near-id holds a new value in at least this share of the rows.
NEW_SHARE = 0.05
# Integers fill their range if it holds fewer than this many of them for each row.
LOOSEST_KEY = 10
# Integers of fewer digits may well be measured.
FEWEST_DIGITS = 6
# Kolmogorov and Smirnov's distance, times the root of the number of values, that even values exceed in 1% of cases.
EVEN = 1.63
# The last word in the name of a column that holds numbers which were assigned, not measured.
KEY_NAMES = {
    *(
        "account",
        "barcode",
        "code",
        "ean",
        "fax",
        "guid",
        "iban",
        "id",
        "ids",
        "isbn",
        "kennung",
        "key",
        "mobile",
        "nbr",
    ),
    *("no", "nr", "num", "number", "nummer", "phone", "plz", "postcode", "ref", "reference", "serial", "ssn"),
    *("tel", "telefon", "telephone", "uuid", "vin", "zip", "zipcode"),
}


def is_id(watch: KeyWatch) -> bool:
    """Whether nearly all values are different."""
    return watch.seen >= FEWEST_IDS and watch.n_distinct >= DISTINCT_SHARE * watch.seen


def is_near_id(watch: KeyWatch) -> bool:
    """Whether there are few rows for each value, and new ones are normal (as many rows as hold a value seen once)."""
    few_rows = watch.n_distinct * FEWEST_ROWS > watch.seen >= FEWEST_NEAR_IDS
    return few_rows and watch.n_once >= NEW_SHARE * watch.seen


def enough_rows(watch: KeyWatch) -> int:
    """How many rows a value of a near-id has at least that keeps a code of its own."""
    mean = watch.seen / max(watch.n_distinct, 1)
    return max(FEWEST_ROWS, int(np.ceil(mean + DEVIATIONS * np.sqrt(mean))))


def repeats(watch: KeyWatch) -> bool:
    """Whether some value has enough rows to be worth a code of its own."""
    return bool(
        watch.zeros or (watch.counts >= enough_rows(watch)).any()
    )  # of so many values that not all are kept, surely


def nearly_all(watch: KeyWatch) -> str:
    return "all" if watch.n_distinct == watch.seen else "nearly all"


def near_row_id(watch: KeyWatch) -> str:
    """Why a near-id in which nothing repeats is left out."""
    return f"nearly a row id: {watch.n_distinct:,} values in {watch.seen:,} rows, none of them in {enough_rows(watch)}"


def is_assigned(name: str, watch: KeyWatch) -> bool:
    """Whether integers look assigned, not measured: by their name, or all of one length, 6 digits or more, and even."""
    return named_like_a_key(name) or (_same_digits(watch) and _is_even(watch))


def fills_range(watch: KeyWatch) -> bool:
    """Whether integers count something: close together, and repeated far less often than numbers drawn at random.

    Numbers that are all multiples of some step, from the smallest on, are as close as without it.
    """
    low, high = watch.bounds
    step = int(np.gcd.reduce(watch.values - watch.values[0])) if len(watch.values) > 1 else 1
    room = (high - low) // step + 1
    by_chance = watch.seen - room * -np.expm1(watch.seen * np.log1p(-1 / room)) if room > 1 else watch.seen
    return bool(room <= LOOSEST_KEY * watch.seen and watch.seen - watch.n_distinct <= by_chance / 4)


def named_like_a_key(name: str) -> bool:
    """
    >>> [name for name in ("claim_no", "PolicyNumber", "Phone", "no_of_doors", "amount") if named_like_a_key(name)]
    ['claim_no', 'PolicyNumber', 'Phone']
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return bool(parts) and parts[-1].lower() in KEY_NAMES


def _same_digits(watch: KeyWatch) -> bool:
    low, high = watch.bounds
    return low > 0 and FEWEST_DIGITS <= len(str(low)) == len(str(high))


def _is_even(watch: KeyWatch) -> bool:
    """Whether the distinct values could have been drawn with equal chances from their range."""
    values = watch.values.astype(np.float64)
    share = (values - values[0]) / max(values[-1] - values[0], 1.0)
    ranks = np.arange(len(values))
    distance = max((share - ranks / len(values)).max(), ((ranks + 1) / len(values) - share).max())
    return bool(distance * np.sqrt(len(values)) < EVEN)
