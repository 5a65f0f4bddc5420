"""Scoring in batches and files: every row is judged once, and how the rows are cut into batches does not matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff import TableDetector
from maskdiff.errors import CalibrationError, SettingError, UnknownColumnError
from maskdiff.io import ReadOptions
from maskdiff.jobs import ScoreOptions, score_batch, score_file

from ..conftest import make_connections

CHOICES = {
    "all rows": ScoreOptions(explain=2),
    "anomalies": ScoreOptions(explain=2, only_anomalies=True),
    "highest": ScoreOptions(explain=2, top=5),
    "highest anomalies": ScoreOptions(explain=2, top=20, only_anomalies=True),
    "discoveries": ScoreOptions(explain=2, false_discovery_rate=0.5),
    "only discoveries": ScoreOptions(explain=2, false_discovery_rate=0.5, only_anomalies=True),
    "highest discoveries": ScoreOptions(explain=2, false_discovery_rate=0.5, only_anomalies=True, top=2),
    "without reasons": ScoreOptions(false_discovery_rate=0.5, top=7),
}


class Counting(TableDetector):
    """Counts the rows it judges and explains."""

    def judge(self, X, false_alarm_rate=None):
        self.counts["judged"] += self.encoder_.read(X).n_rows
        return super().judge(X, false_alarm_rate)

    def explain(self, X, top=3, *, verdicts=None):
        self.counts["explained"] += self.encoder_.read(X).n_rows
        return super().explain(X, top, verdicts=verdicts)


@pytest.fixture(scope="module")
def detector():
    fitted = Counting("kernel", progress=False).fit(make_connections(600, seed=7))
    fitted.counts = {"judged": 0, "explained": 0}
    return fitted


@pytest.fixture(scope="module")
def new() -> pd.DataFrame:
    """60 rows of which the second, and the last two, are odd."""
    rows = make_connections(60, seed=3).assign(id=np.arange(60))
    rows.loc[[1, 58, 59], "service"] = ["gopher", "echo", "dns"]
    rows.loc[[1, 58, 59], "flag"] = ["S0", "REJ", "RSTO"]
    return rows


@pytest.fixture(scope="module")
def path(new, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("rows") / "new.csv"
    new.to_csv(path, index=False)
    return str(path)


def scored(detector, path: str, out: Path, options: ScoreOptions, rows_at_once: int = 65_536) -> pd.DataFrame:
    score_file(detector, path, str(out / "scored.csv"), options, reading=ReadOptions(rows_at_once=rows_at_once))
    return pd.read_csv(out / "scored.csv")


@pytest.mark.parametrize("choice", CHOICES)
def test_every_row_is_judged_once(choice, detector, path, tmp_path):
    detector.counts.update(judged=0, explained=0)
    scored(detector, path, tmp_path, CHOICES[choice], rows_at_once=7)
    assert detector.counts["judged"] == 60


def test_only_rows_that_may_be_written_are_explained(detector, path, tmp_path):
    detector.counts.update(judged=0, explained=0)
    written = scored(detector, path, tmp_path, ScoreOptions(explain=1, only_anomalies=True))
    assert detector.counts["explained"] == len(written) < 60
    detector.counts.update(judged=0, explained=0)
    scored(detector, path, tmp_path, ScoreOptions(explain=1, top=4))
    assert detector.counts["explained"] == 4


@pytest.mark.parametrize("choice", CHOICES)
def test_how_the_rows_are_cut_into_batches_does_not_matter(choice, detector, path, tmp_path):
    whole, cut = (scored(detector, path, tmp_path, CHOICES[choice], size) for size in (60, 7))
    pd.testing.assert_frame_equal(cut, whole, rtol=1e-6)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_batch_is_scored_as_a_file_is(choice, detector, path, new, tmp_path):
    batch = score_batch(detector, pa.RecordBatch.from_pandas(new, preserve_index=False), CHOICES[choice])
    from_file = scored(detector, path, tmp_path, CHOICES[choice])
    assert batch.schema.names == list(from_file.columns)
    pd.testing.assert_frame_equal(batch.to_pandas(), from_file, check_dtype=False, rtol=1e-6)


def test_the_highest_discoveries_are_the_highest_of_the_discoveries(detector, path, new, tmp_path):
    table = scored(detector, path, tmp_path, CHOICES["only discoveries"])
    expected = detector.select(new.drop(columns="id"), 0.5)
    assert table["id"].tolist() == np.flatnonzero(expected).tolist()
    assert 2 < len(table) < 60
    best = table.sort_values("anomaly_score", ascending=False, kind="stable").head(2).reset_index(drop=True)
    pd.testing.assert_frame_equal(scored(detector, path, tmp_path, CHOICES["highest discoveries"]), best)


def test_a_batch_says_what_python_says(detector, new):
    verdicts = detector.judge(new.drop(columns="id"))
    batch = score_batch(detector, pa.RecordBatch.from_pandas(new, preserve_index=False))
    np.testing.assert_allclose(batch.column("anomaly_score"), verdicts.anomaly_score)
    np.testing.assert_allclose(batch.column("p_value"), verdicts.p_value)
    assert batch.column("is_anomaly").to_pylist() == verdicts.is_anomaly.tolist()
    assert batch.column("id").to_pylist() == list(range(60))


@pytest.mark.parametrize("options", [None, *CHOICES.values()])
def test_an_empty_batch_gives_an_empty_batch(options, detector, new):
    batch = pa.RecordBatch.from_pandas(new, preserve_index=False)
    done = score_batch(detector, batch.slice(0, 0), options)
    assert done.num_rows == 0
    assert done.schema == score_batch(detector, batch, options).schema


def test_the_summary_says_what_was_promised(detector, path, tmp_path):
    summary = score_file(detector, path, str(tmp_path / "s.csv"), ScoreOptions(top=4, false_alarm_rate=0.1))
    assert (summary.rows, summary.written, summary.ignored) == (60, 4, ["id"])
    assert (summary.threshold, summary.false_alarm_rate) == (detector.threshold(0.1), 0.1)
    summary = score_file(detector, path, str(tmp_path / "s.csv"), ScoreOptions(top=4, false_discovery_rate=0.5))
    assert (summary.threshold, summary.false_alarm_rate, summary.false_discovery_rate) == (None, None, 0.5)
    table = pd.read_csv(path).drop(columns="id")
    assert summary.anomalies == detector.select(table, 0.5).sum()


def test_scoring_leaves_the_detector_as_it_was(detector, path, tmp_path):
    detector.progress = None
    score_file(detector, path, str(tmp_path / "s.csv"))
    assert detector.progress is None


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.5, 2.0])
def test_a_rate_out_of_range_is_refused(rate, detector, new):
    batch = pa.RecordBatch.from_pandas(new, preserve_index=False)
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        score_batch(detector, batch, ScoreOptions(false_alarm_rate=rate))
    with pytest.raises(SettingError, match="between 0 and 1"):
        ScoreOptions(false_discovery_rate=rate)


def test_a_column_of_the_same_name_is_refused_unless_a_prefix_keeps_them_apart(detector, new):
    batch = pa.RecordBatch.from_pandas(new.assign(p_value=1), preserve_index=False)
    with pytest.raises(UnknownColumnError, match="there is a column 'p_value' already"):
        score_batch(detector, batch)
    assert score_batch(detector, batch, ScoreOptions(prefix="new_")).schema.names[-1] == "new_is_anomaly"
