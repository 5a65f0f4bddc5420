"""Times of day and durations: the same whether they come as texts or as cells of their type."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableEncoder
from maskdiff.encoders.table.cells import parse_time

RNG = np.random.default_rng(0)
SECONDS = RNG.choice(86_400, 200, replace=False).tolist()
TIMES = [time(at // 3600, at // 60 % 60, at % 60) for at in SECONDS]
DURATIONS = pd.Series(pd.to_timedelta(RNG.choice(np.arange(-100_000, 1_000_000), 200, replace=False), unit="s"))


def fitted(cells: Any) -> TableEncoder:
    return TableEncoder().fit(pd.DataFrame({"at": cells}))


@pytest.mark.parametrize("written", ["%H:%M:%S", "%I:%M:%S %p", "%H:%M:%S.000", "%I:%M:%S%p"])
def test_times_of_day_in_texts_are_times(written: str) -> None:
    texts = [at.strftime(written) for at in TIMES]
    encoder, of_texts = fitted(TIMES), fitted(texts)
    assert of_texts.column_types_["at"].name == "time"
    assert of_texts.schema_ == encoder.schema_
    for one in (encoder, of_texts):
        for cells in (texts, TIMES):
            assert (
                one.encode(pd.DataFrame({"at": cells})).values.tolist()
                == encoder.encode([[at] for at in TIMES]).values.tolist()
            )


def test_durations_in_texts_are_durations() -> None:
    encoder, of_texts = fitted(DURATIONS), fitted(DURATIONS.astype(str))
    assert of_texts.column_types_["at"].name == "duration"
    assert of_texts.schema_ == encoder.schema_
    python = [str(timedelta(days=int(at), seconds=5)) for at in range(2, 60)]
    assert fitted(python).column_types_["at"].name == "duration"


@pytest.mark.parametrize("texts", [["3:1", "10:2"], ["10:15", "61:20"], ["8:15", "late"], ["13:30 PM", "01:00 PM"]])
def test_other_texts_with_colons_stay_categories(texts: list[str]) -> None:
    assert fitted(texts * 30).column_types_["at"].name == "category"


def test_marks_and_missing_values_stand_among_times() -> None:
    texts = [*(f"{at:%H:%M}" for at in TIMES), "-", ""]
    encoder = fitted(texts)
    assert encoder.column_types_["at"].name == "time"
    assert encoder.schema_.fields[0].labels[-2:] == ("-", "missing")


def test_a_time_that_cannot_be_is_unseen() -> None:
    encoder = fitted(TIMES)
    new = pd.DataFrame({"at": ["25:00:00", "noon", "00:00 AM", "12:00 AM"]})
    assert (encoder.encode(new).values[:, 0] == encoder.schema_.fields[0].size).tolist() == [True, True, True, False]
    assert parse_time("12:00 AM") == 0
