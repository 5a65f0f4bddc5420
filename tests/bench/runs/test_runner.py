from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Record, Run, failure, identity
from maskdiff.bench.runs.records import RecordFile, latest, of_task, read_records
from maskdiff.bench.runs.runner import run_all, run_bench
from maskdiff.bench.runs.tasks import Tables
from maskdiff.bench.runs.timing import TimeLeft
from maskdiff.datasets import make_claims
from maskdiff.errors import BadLineError, SettingError

RUNS = [Run("one", "fast", seed) for seed in range(3)]


def succeed(run: Run) -> Record:
    return {
        **identity(run, "cpu"),
        "status": "ok",
        **{"roc_auc": 0.75, "pr_auc": 0.5, "fit_seconds": 1.0, "score_seconds": 0.5},
    }


def counting(execute: Callable[[Run], Record]) -> tuple[list[Run], Callable[[Run], Record]]:
    called: list[Run] = []

    def counted(run: Run) -> Record:
        called.append(run)
        return execute(run)

    return called, counted


def quiet(line: str) -> None:
    pass


def test_a_run_that_is_in_the_file_is_not_repeated(tmp_path: Path) -> None:
    run_all(RUNS[:2], tmp_path / "out.jsonl", succeed, say=quiet)
    called, execute = counting(succeed)
    records = run_all(RUNS, tmp_path / "out.jsonl", execute, say=quiet)
    assert called == RUNS[2:]
    assert len(records) == len(read_records(tmp_path / "out.jsonl")) == 3


def test_after_a_kill_in_the_middle_of_a_line_only_that_run_is_repeated(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run_all(RUNS, out, succeed, say=quiet)
    out.write_bytes(out.read_bytes()[:-30])
    assert len(read_records(out)) == 2
    called, execute = counting(succeed)
    run_all(RUNS, out, execute, say=quiet)
    assert called == RUNS[2:]
    assert [json.loads(line)["seed"] for line in out.read_text().splitlines()] == [0, 1, 2]


def test_a_failed_run_is_recorded_and_tried_again_next_time(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def fail_once(run: Run) -> Record:
        return failure(run, "cpu", ValueError("no luck")) if run.seed == 1 else succeed(run)

    records = run_all(RUNS, out, fail_once, say=quiet)
    assert [record["status"] for record in records] == ["ok", "failed", "ok"]
    assert records[1]["error"] == "ValueError: no luck"
    called, execute = counting(succeed)
    again = run_all(RUNS, out, execute, say=quiet)
    assert called == [RUNS[1]]
    assert {record["status"] for record in again} == {"ok"}


def test_the_latest_success_counts_more_than_a_later_failure() -> None:
    good, bad = succeed(RUNS[0]), failure(RUNS[0], "cpu", "no luck")
    assert latest([bad, good, bad]) == [good]
    assert latest([bad, bad]) == [bad]


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"set": "one"}\n' + json.dumps(succeed(RUNS[0])) + "\n")
    with pytest.raises(BadLineError, match="line 1"):
        read_records(tmp_path / "out.jsonl")


def test_a_file_that_does_not_exist_holds_no_records_and_is_made_with_its_folder(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.jsonl"
    assert read_records(out) == []
    RecordFile(out).add(succeed(RUNS[0]))
    assert len(read_records(out)) == 1


def test_every_run_is_told_with_the_time_left(tmp_path: Path) -> None:
    lines: list[str] = []
    run_all(RUNS[:1], tmp_path / "out.jsonl", succeed, say=quiet)
    run_all(RUNS, tmp_path / "out.jsonl", succeed, say=lines.append)
    assert lines[0] == "1 of 3 runs were done before"
    assert lines[1].startswith("[2/3] one fast seed 1: ROC 75.00, PR 50.00 in 1.5 s; about ")
    assert lines[1].endswith("about 2 s left")
    assert lines[2].endswith("about 0 s left")


def test_the_time_left_is_judged_by_the_runs_most_alike() -> None:
    def took(set_name: str, method: str, seconds: float) -> Record:
        return {**succeed(Run(set_name, method, 0)), "fit_seconds": seconds, "score_seconds": 0.0}

    before = [took("large", "slow", 100.0), took("large", "fast", 10.0), took("small", "fast", 1.0)]
    assert TimeLeft([Run("large", "slow", 1)], before).seconds() == 100
    assert TimeLeft([Run("large", "new", 1)], before).seconds() == 55
    assert TimeLeft([Run("new", "slow", 1)], before).seconds() == 37
    assert TimeLeft([Run("large", "slow", seed) for seed in range(1, 5)], before, jobs=2).seconds() == 200
    assert TimeLeft([Run("large", "slow", 1)], []).seconds() == 0


def test_records_name_their_task(tmp_path: Path) -> None:
    run_all(RUNS[:1], tmp_path / "out.jsonl", succeed, task="text", say=quiet)
    (record,) = read_records(tmp_path / "out.jsonl")
    assert record["task"] == "text"
    assert of_task([record, succeed(RUNS[0])], "text") == [record]
    assert of_task([record, succeed(RUNS[0])], "tables") == [succeed(RUNS[0])]


def test_measuring_goes_on_after_a_set_and_a_method_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    monkeypatch.setitem(sets.GENERATED, "broken", partial(make_claims, n=-1))
    records = run_bench(
        Tables(),
        tmp_path / "out.jsonl",
        sets=["broken", "tiny"],
        methods=["hamming-knn", "kernel"],
        seeds=[0],
        device="cpu",
        say=quiet,
    )
    assert [(record["set"], record["status"]) for record in records] == [
        *[("broken", "failed")] * 2,
        *[("tiny", "ok")] * 2,
    ]
    assert all(record["error"] for record in records[:2])
    assert all(0.5 < record["roc_auc"] <= 1 for record in records[2:])


def test_fewer_than_one_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="jobs"):
        run_all(RUNS, tmp_path / "out.jsonl", succeed, jobs=0)


class EndsItsProcess:
    """Reading it in another process ends that process, as running out of memory would."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)

    def __call__(self, run: Run) -> Record:
        raise AssertionError("never in this process")


def test_in_parallel_a_process_that_dies_takes_only_its_own_run_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    records = run_all(RUNS[:2], out, EndsItsProcess(), jobs=2, device="cpu", say=quiet)
    assert [record["status"] for record in records] == ["failed"] * 2
    assert all("process ended" in record["error"] for record in records)


def test_in_parallel_every_run_is_recorded_once(tmp_path: Path) -> None:
    execute = partial(failure, device="cpu", error="not this time")
    records = run_all(RUNS, tmp_path / "out.jsonl", execute, jobs=2, device="cpu", say=quiet)
    assert sorted(record["seed"] for record in records) == [0, 1, 2]
    assert {record["error"] for record in records} == {"not this time"}


def never_ends(run: Run) -> Record:
    time.sleep(600)
    raise AssertionError("it should have been stopped")


def test_a_run_over_the_limit_is_stopped_and_recorded_as_such(tmp_path: Path) -> None:
    (record,) = run_all(RUNS[:1], tmp_path / "out.jsonl", never_ends, limit=0.5, device="cpu", say=quiet)
    assert (record["status"], record["error"], record["stopped_after"]) == ("failed", "stopped after 0.5 s", 0.5)


def test_a_limit_that_is_no_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="limit must be above 0"):
        run_all(RUNS, tmp_path / "out.jsonl", succeed, limit=0)
