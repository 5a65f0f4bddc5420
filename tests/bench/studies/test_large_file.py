from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies.large_file import make_file
from maskdiff.cli import main


def test_the_command_records_time_and_memory_of_both_steps(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, folder = tmp_path / "out.jsonl", tmp_path / "large"
    arguments = ["--rows", "400", "--score-rows", "50", "--folder", str(folder), "--out", str(out), "--device", "cpu"]
    assert main(["bench", "large-file", *arguments, "--json", "--", "--reconstructor", "kernel"]) == 0
    assert json.loads(capfd.readouterr().out)["runs"] == 2
    fit, score = read_records(out)
    assert (fit["method"], fit["rows"], score["method"], score["rows"]) == ("fit", 400, "score", 50)
    assert fit["settings"]["fit_options"] == ["--reconstructor", "kernel"]
    assert min(fit["processor_seconds"], score["processor_seconds"], score["peak_memory_mb"]) > 0
    assert pq.read_metadata(folder / "scored.parquet").num_rows == 50


def test_a_narrow_file_is_searched_in_one_step(tmp_path: Path) -> None:
    out, folder = tmp_path / "out.jsonl", tmp_path / "large"
    arguments = ["--rows", "300", "--find", "--narrow", "--folder", str(folder), "--out", str(out), "--device", "cpu"]
    assert main(["bench", "large-file", *arguments, "--quiet", "--", "--reconstructor", "kernel"]) == 0
    (found,) = read_records(out)
    assert found["set"] == "300 rows of 3 columns --reconstructor kernel"  # a run beside that of the default
    assert (found["method"], found["rows"], found["settings"]["columns"]) == ("find", 300, 3)
    assert found["peak_memory_mb"] > 0
    assert pq.read_metadata(folder / "found.parquet").num_rows >= 100


def test_a_file_that_is_there_is_kept_and_one_of_another_size_made_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    make_file(path, 20)
    before = path.read_bytes()
    make_file(path, 20)
    assert path.read_bytes() == before
    make_file(path, 21)
    assert pq.read_metadata(path).num_rows == 21
