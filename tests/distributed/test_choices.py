"""Files scored on a cluster: each as on one machine, and choices about all rows as if they were one table."""

from __future__ import annotations

import copy
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from maskdiff.distributed import ClusterOptions, score_files
from maskdiff.jobs import ScoreOptions, score_file

CHOICES = {
    "discoveries": ScoreOptions(false_discovery_rate=0.5),
    "only discoveries": ScoreOptions(explain=1, false_discovery_rate=0.5, only_anomalies=True),
    "highest": ScoreOptions(explain=1, top=7),
    "highest discoveries": ScoreOptions(false_discovery_rate=0.5, only_anomalies=True, top=4),
    "highest anomalies": ScoreOptions(top=9, only_anomalies=True),
}
IN_PARTS = ClusterOptions(part_bytes=2000)


def rows_of(folder: Path) -> pd.DataFrame:
    """All rows that were written, file after file."""
    return pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], ignore_index=True)


@pytest.mark.parametrize("only_anomalies", [False, True])
def test_each_file_is_scored_as_on_one_machine(without_ray, model, inputs, tmp_path, only_anomalies) -> None:
    options = ScoreOptions(explain=2, only_anomalies=only_anomalies)
    summary = score_files(model, f"{inputs}/*.parquet", tmp_path / "out", options, cluster=IN_PARTS)
    for path in inputs.glob("*.parquet"):
        alone = score_file(model, str(path), str(tmp_path / "alone.parquet"), options)
        expected, found = (pq.read_table(one) for one in (tmp_path / "alone.parquet", tmp_path / "out" / path.name))
        assert found.schema.equals(expected.schema)
        pd.testing.assert_frame_equal(found.to_pandas(), expected.to_pandas(), rtol=1e-6)
        assert alone.rows == 120
    assert (summary.files, summary.rows, summary.kept) == (5, 600, 0)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("cluster", [ClusterOptions(), IN_PARTS], ids=["whole", "in parts"])
def test_choices_are_about_all_rows(without_ray, model, inputs, tmp_path, choice, cluster) -> None:
    expected = score_file(model, str(inputs), str(tmp_path / "expected.parquet"), CHOICES[choice])
    summary = score_files(model, str(inputs), tmp_path / "out", CHOICES[choice], cluster=cluster)
    found = rows_of(tmp_path / "out")
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "expected.parquet"), rtol=1e-6)
    for name in ("rows", "anomalies", "written", "empty", "dismissed", "threshold", "false_discovery_rate"):
        assert getattr(summary, name) == getattr(expected, name), name
    assert [path.name for path in (tmp_path / "out" / ".maskdiff").rglob("*") if path.is_file()] == ["manifest.json"]


def test_the_checks_are_those_of_all_rows(without_ray, model, inputs, tmp_path) -> None:
    expected = score_file(model, str(inputs), str(tmp_path / "expected.parquet"))
    summary = score_files(model, str(inputs), tmp_path / "out")
    assert summary.checks == expected.checks
    assert summary.ignored == ["id"]


def test_dismissed_alarms_are_counted(without_ray, detector, inputs, tmp_path) -> None:
    rules = copy.copy(detector)
    rows = pd.read_parquet(inputs / "rows0.parquet").drop(columns="id")
    rules.dismiss(rows[detector.is_anomaly(rows)])
    for options in (ScoreOptions(), ScoreOptions(false_discovery_rate=0.5)):
        name = f"{options.false_discovery_rate}"
        expected = score_file(rules, str(inputs), str(tmp_path / f"{name}.parquet"), options)
        summary = score_files(rules, str(inputs), tmp_path / name, options)
        assert summary.dismissed == expected.dismissed > 0
        assert summary.anomalies == expected.anomalies
        pd.testing.assert_frame_equal(rows_of(tmp_path / name), pd.read_parquet(tmp_path / f"{name}.parquet"))
