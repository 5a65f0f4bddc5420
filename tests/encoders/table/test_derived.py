"""Fields computed from dates: which there are, what they hold, and what is said about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector, TableEncoder
from maskdiff.errors import ModelFileError
from maskdiff.jobs import ScoreOptions, fit_file, score_file

N = 600


def claims(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Losses on working days, reported some days later, and an unrelated date."""
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2023-01-02", "2024-12-31")
    loss = pd.Series(rng.choice(days, n))
    return pd.DataFrame(
        {
            "loss_date": loss,
            "reported": loss + pd.to_timedelta(rng.integers(0, 15, n), unit="D"),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20000, n), unit="D"),
            "region": rng.choice(["North", "South"], n),
        }
    )


def early(rows: pd.DataFrame) -> pd.DataFrame:
    """The same, reported 30 days before the loss."""
    return rows.assign(reported=rows["loss_date"] - pd.Timedelta(days=30))


def test_only_what_says_something_is_derived() -> None:
    assert list(TableEncoder().fit(claims()).derived_) == ["loss_date weekday", "reported - loss_date"]
    assert TableEncoder(derive_dates=False).fit(claims()).schema_.names == list(claims().columns)
    assert list(TableEncoder({"reported": "drop"}).fit(claims()).derived_) == ["loss_date weekday"]


def test_the_later_date_comes_first_in_the_name_whatever_the_order_of_the_columns() -> None:
    turned = claims()[["reported", "loss_date", "region"]]
    assert "reported - loss_date" in TableEncoder().fit(turned).derived_


def test_a_table_without_dates_has_the_same_fields_as_before() -> None:
    frame = claims()[["region"]]
    assert TableEncoder().fit(frame).schema_ == TableEncoder(derive_dates=False).fit(frame).schema_


def test_hours_count_where_times_are_given() -> None:
    rng = np.random.default_rng(0)
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, N) * 24 + rng.integers(9, 17, N), unit="h")
    encoder = TableEncoder().fit(pd.DataFrame({"at": at}))
    assert "at hour" in encoder.derived_
    night = pd.DataFrame({"at": [pd.Timestamp("2024-02-01T03:20")]})
    assert encoder.display(night, [0], ["at hour"]) == ["03:00 to 03:59"]
    place = encoder.schema_.names.index("at hour")
    assert encoder.encode(night).values[0, place] == encoder.schema_.fields[place].size


def test_a_report_before_the_loss_is_an_anomaly_and_is_said_in_words(tmp_path) -> None:
    claims().to_csv(tmp_path / "normal.csv", index=False)
    early(claims(40, seed=1)).to_csv(tmp_path / "new.csv", index=False)
    detector = fit_file(str(tmp_path / "normal.csv"), detector=TableDetector("kernel"))
    score_file(detector, str(tmp_path / "new.csv"), str(tmp_path / "scored.csv"), options=ScoreOptions(explain=1))
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert scored["is_anomaly"].mean() > 0.9
    assert scored["reason_1_column"].eq("reported - loss_date").all()
    assert scored["reason_1_value"].eq("30 days before").all()
    assert scored["reason_1"].str.startswith("reported 30 days before loss_date; usually 0 to 14 days after").all()
    plain = TableDetector("kernel", encoder=TableEncoder(derive_dates=False)).fit(claims())
    assert plain.is_anomaly(early(claims(40, seed=1))).mean() < 0.2


def test_contributions_of_derived_fields_add_up_to_the_score() -> None:
    detector = TableDetector("kernel").fit(claims())
    rows = early(claims(20, seed=2))
    contributions = detector.contributions(rows)
    assert contributions.shape[1] == len(detector.encoder_.schema_)
    np.testing.assert_allclose(contributions.sum(axis=1), detector.anomaly_score(rows), rtol=1e-5)


def test_a_missing_date_is_odd_in_its_own_column_only() -> None:
    encoder = TableEncoder().fit(claims())
    rows = claims(3).assign(reported=pd.NaT)
    unseen = encoder.encode(rows).values[0] == encoder.schema_.sizes
    assert [name for name, odd in zip(encoder.schema_.names, unseen, strict=True) if odd] == ["reported"]
    assert encoder.display(rows, [0], ["reported - loss_date"]) == ["missing"]


def test_a_column_that_has_the_name_of_a_derived_field_keeps_it() -> None:
    encoder = TableEncoder().fit(claims().assign(**{"loss_date weekday": "x"}))
    assert "loss_date weekday (derived)" in encoder.derived_


def test_batches_and_merged_statistics_derive_the_same() -> None:
    frame, encoder = claims(), TableEncoder()
    whole = TableEncoder().fit(frame).schema_
    first, second = encoder.statistics(), encoder.statistics()
    first.add(encoder.read(frame[:200]))
    second.add(encoder.read(frame[200:]))
    first.merge(second)
    assert encoder.fit_statistics(first).schema_ == whole


@pytest.mark.parametrize(
    "change",
    [{"rule": "sum"}, {"sources": ["loss_date"]}, {"sources": ["region", "reported"]}, {"usual": None}, {"usual": [1]}],
)
def test_a_state_that_contradicts_itself_is_refused(change) -> None:
    state = TableEncoder().fit(claims()).to_state()
    assert TableEncoder.from_state(state).to_state() == state
    state["derived"][-1] |= change
    with pytest.raises(ModelFileError):
        TableEncoder.from_state(state)
