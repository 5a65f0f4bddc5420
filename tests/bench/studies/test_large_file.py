from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from resource import struct_rusage

import pyarrow.parquet as pq
import pytest

from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import large_file
from maskdiff.bench.studies.large_file import make_file, run_command
from maskdiff.cli import main

from ...warm_processes import WarmProcess


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in copies of a process that has loaded the libraries."""

    def run_warm(arguments: Sequence[str]) -> tuple[int | None, struct_rusage | None]:
        process = WarmProcess(arguments, "", *[io.FileIO(place, closefd=False) for place in range(3)])
        return process.wait(), process.usage

    monkeypatch.setattr(large_file, "run_command", run_warm)


def test_a_command_runs_in_a_process_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    status, usage = run_command(["--version"])
    assert capfd.readouterr().out.startswith("maskdiff ")
    assert status == 0
    assert usage.ru_maxrss > 0
    assert run_command(["score"])[0] == 2


@pytest.mark.usefixtures("warm")
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


@pytest.mark.usefixtures("warm")
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
