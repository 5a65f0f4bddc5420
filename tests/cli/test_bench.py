"""`maskdiff bench`: what its commands write, say and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maskdiff.bench.runs import runner, sets
from maskdiff.bench.runs.records import RecordFile, read_records
from maskdiff.cli import main
from maskdiff.datasets import make_claims

from ..bench.made_records import record


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a set of 300 generated claims."""
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    return "tiny"


def test_tables_are_measured_then_summarised(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, folder = tmp_path / "tables.jsonl", tmp_path / "tables"
    chosen = ["--sets", tiny, "--methods", "hamming-knn,kernel", "--seeds", "2", "--device", "cpu"]
    assert main(["bench", "tables", *chosen, "--out", str(out)]) == 0
    assert "[4/4] tiny kernel seed 1: ROC " in capsys.readouterr().err
    assert [(r["method"], r["seed"]) for r in read_records(out)] == [
        *[("hamming-knn", seed) for seed in range(2)],
        *[("kernel", seed) for seed in range(2)],
    ]
    assert main(["bench", "tables", *chosen, "--out", str(out)]) == 0
    assert "4 of 4 runs were done before" in capsys.readouterr().err
    assert main(["bench", "summary", str(out), "--out", str(folder), "--picture", "none"]) == 0
    assert capsys.readouterr().out == (folder / "summary.md").read_text(encoding="utf-8")
    assert main(["bench", "summary", str(out), "--methods", "kernel"]) == 0
    assert "hamming-knn" not in capsys.readouterr().out


def test_runtimes_are_marked_as_such(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runtime.jsonl"
    chosen = ["--sets", tiny, "--methods", "hamming-knn", "--device", "cpu", "--json"]
    assert main(["bench", "runtime", *chosen, "--out", str(out)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {"command": "bench runtime", "out": str(out), "runs": 1, "failed": 0, "notes": []}
    assert [r["task"] for r in read_records(out)] == ["runtime"]


def test_the_status_shows_failed_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, out = tmp_path / "empty", tmp_path / "out.jsonl"
    empty.mkdir()
    chosen = ["--sets", "solar", "--methods", "hamming-knn", "--seeds", "1", "--device", "cpu"]
    command = ["bench", "tables", *chosen, "--data", str(empty), "--out", str(out)]
    assert main(command) == 1
    assert "failed, DataNotFoundError" in capsys.readouterr().err
    RecordFile(out).add(record("solar", "hamming-knn", 0, 0.8))
    assert main(command) == 0


MISTAKES = {
    "no such method": ("tables --methods nonsense", "there is no method 'nonsense'"),
    "no such set": ("tables --sets nonsense", "there is no data set 'nonsense'"),
    "a table as a text": ("text --sets bank", "there is no data set 'bank'"),
    "an embedder that is not there": ("text --embedder nowhere", "neither a folder with an embedder nor a URL"),
    "a service without a model": ("text --embedder http://localhost:1/v1", "name a model"),
    "nothing to summarise": ("summary", "name files of records to summarise"),
    "no such file": ("summary nothing.jsonl", "there is no file 'nothing.jsonl'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_in_one_line_with_status_2(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, message = MISTAKES[mistake]
    assert main(["bench", *command.split()]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert message in printed
    assert printed.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_says_that_the_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_all", interrupt)
    assert main(["bench", "tables", "--sets", "claims", "--out", str(tmp_path / "out.jsonl")]) == 130
    assert capsys.readouterr().err == (
        "interrupted: the runs that ended are kept; the same command goes on from there\n"
    )
