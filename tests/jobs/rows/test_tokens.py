"""Texts and sequences of a file: long ones are judged few at once, and that changes nothing."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from maskdiff.io import ReadOptions, open_rows
from maskdiff.jobs import DetectorSettings, ScoreOptions, report_file, rows_for, score_file

TEXTS = ["see you soon at nine", "call me later at ten", "see me at noon then"]
FEW = ReadOptions(characters_at_once=60)


@pytest.fixture(scope="module")
def detector():
    settings = DetectorSettings(text="t", steps=5, levels=(0.2, 0.6), views_per_level=2, others={"progress": False})
    return settings.build().fit(pd.DataFrame({"t": TEXTS * 60}))


@pytest.fixture
def path(tmp_path) -> str:
    texts = [*TEXTS, "", "see the zoo at ten", None, "call me " * 30]
    lines = (json.dumps({"id": at, "t": text}) + "\n" for at, text in enumerate(texts))
    (tmp_path / "new.jsonl").write_text("".join(lines))
    return str(tmp_path / "new.jsonl")


def test_long_texts_are_judged_few_at_once(detector, path):
    sizes = []
    for reading in (ReadOptions(), FEW):
        with open_rows(path, reading) as rows:
            sizes.append([batch.num_rows for batch in rows_for(rows, detector).batches()])
    assert sizes[0] == [7]
    assert sum(sizes[1]) == 7
    assert len(sizes[1]) > 3


@pytest.mark.parametrize("options", [ScoreOptions(explain=1), ScoreOptions(explain=1, top=3, false_discovery_rate=0.4)])
def test_how_texts_are_cut_into_batches_does_not_matter(options, detector, path, tmp_path):
    tables = []
    for reading in (ReadOptions(), FEW):
        summary = score_file(detector, path, str(tmp_path / "s.csv"), options, reading=reading)
        assert (summary.rows, summary.empty) == (7, 2)
        tables.append(pd.read_csv(tmp_path / "s.csv"))
    pd.testing.assert_frame_equal(tables[1], tables[0], rtol=1e-5)


def test_empty_texts_have_no_score_a_p_value_of_1_and_are_never_alarms(detector, path, tmp_path):
    score_file(detector, path, str(tmp_path / "s.csv"), ScoreOptions(false_alarm_rate=0.9))
    table = pd.read_csv(tmp_path / "s.csv").iloc[[3, 5]]
    assert table["anomaly_score"].isna().all()
    assert table["p_value"].tolist() == [1.0, 1.0]
    assert not table["is_anomaly"].any()


def test_a_report_on_texts_counts_what_scoring_counts(detector, path, tmp_path):
    summary = report_file(detector, path, str(tmp_path / "r.html"), false_alarm_rate=0.3, reading=FEW)
    scored = score_file(detector, path, str(tmp_path / "s.csv"), ScoreOptions(false_alarm_rate=0.3))
    assert (summary.rows, summary.anomalies) == (scored.rows, scored.anomalies)
