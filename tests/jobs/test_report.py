"""The report of a file judges the very rows that scoring judges."""

from __future__ import annotations

import pandas as pd
import pytest

from maskdiff import TableDetector, save
from maskdiff.io import ReadOptions
from maskdiff.jobs import ScoreOptions, report_file, score_file


class Recording(TableDetector):
    """Remembers the types of the columns it judges."""

    def judge(self, X, false_alarm_rate=None):
        self.types.append([str(field.type) for field in X.schema])
        return super().judge(X, false_alarm_rate)


@pytest.fixture(scope="module")
def normal() -> pd.DataFrame:
    return pd.DataFrame({"size": [1.5, 2.5, 30.25, 44.0] * 50, "zip": ["007", "012"] * 100})


@pytest.fixture
def path(tmp_path) -> str:
    (tmp_path / "new.csv").write_text("id,size,zip\n1,1.5,007\n2,2.50,012\n3,99,7\n4,NA,012\n")
    return str(tmp_path / "new.csv")


def test_report_and_score_read_rows_the_same_way(normal, path, tmp_path):
    detector = Recording("kernel", columns={"zip": "category"}, progress=False).fit(normal)
    detector.types = []
    score_file(detector, path, str(tmp_path / "scored.csv"))
    report_file(detector, path, str(tmp_path / "report.html"))
    scored, reported = detector.types
    assert scored == reported


def test_the_page_counts_the_alarms_that_scoring_counts(normal, path, tmp_path):
    detector = TableDetector("kernel", columns={"zip": "category"}, progress=False).fit(normal)
    reading = ReadOptions(rows_at_once=3)
    summary = report_file(detector, path, str(tmp_path / "report.html"), false_alarm_rate=0.1, reading=reading)
    scored = score_file(detector, path, str(tmp_path / "s.csv"), ScoreOptions(false_alarm_rate=0.1))
    assert (summary.rows, summary.anomalies) == (scored.rows, scored.anomalies) == (4, 2)
    assert summary.size == (tmp_path / "report.html").stat().st_size


def test_the_page_names_the_model_file_and_shows_cells_as_they_stand_in_the_file(normal, path, tmp_path):
    save(TableDetector("kernel", columns={"zip": "category"}, progress=False).fit(normal), tmp_path / "zip.maskdiff")
    report_file(tmp_path / "zip.maskdiff", path, str(tmp_path / "report.html"), false_alarm_rate=0.3)
    page = (tmp_path / "report.html").read_text()
    assert "zip.maskdiff" in page
    assert "new.csv" in page


def test_a_file_without_rows_gives_a_page(normal, tmp_path):
    (tmp_path / "none.csv").write_text("size,zip\n")
    detector = TableDetector("kernel", columns={"zip": "category"}, progress=False).fit(normal)
    assert report_file(detector, str(tmp_path / "none.csv"), str(tmp_path / "report.html")).rows == 0
