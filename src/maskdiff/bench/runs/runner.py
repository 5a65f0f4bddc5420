"""Data sets x methods x seeds to a file of records: resumable, in parallel where wanted, a failure stops nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

from maskdiff.bench.runs.measure import Record, Run, failure, stopped_run
from maskdiff.bench.runs.processes import in_processes
from maskdiff.bench.runs.records import RecordFile, latest, run_of
from maskdiff.bench.runs.tasks import Study, execute
from maskdiff.bench.runs.timing import TimeLeft, span
from maskdiff.errors import SettingError

_DIED = "the process ended in the middle of the run; was there too little memory?"

Execute = Callable[[Run], Record]
Outcome = Callable[[Record], str]
Say = Callable[[str], None]


def roc_and_pr(record: Record) -> str:
    """What a run gave, in a few words."""
    return f"ROC {100 * record['roc_auc']:.2f}, PR {100 * record['pr_auc']:.2f}"


def run_bench(
    task: Study,
    out: str | os.PathLike[str],
    *,
    sets: Iterable[str] = ("all",),
    methods: Iterable[str] = ("all",),
    seeds: Iterable[int] = range(5),
    device: str = "auto",
    jobs: int = 1,
    limit: float | None = None,
    say: Say | None = None,
    execute: Callable[..., Record] = execute,
    outcome: Outcome = roc_and_pr,
) -> list[Record]:
    """Measure every method on every data set with every seed; one record a run is added to `out`.

    Runs that `out` already holds a result of are skipped, those that failed are tried again. `say` gets a line for
    every run that ends (standard error unless given). Returns the latest record of each of these runs.

    A run that takes longer than `limit` seconds, the start of its process included, is stopped and recorded as such.

    `execute(run, task=, device=)` does one run, and `outcome` says in a few words what it gave: see `tasks.execute`.
    """
    runs = [Run(*each) for each in product(task.set_names(sets), task.method_names(methods), seeds)]
    executed = partial(execute, task=task, device=device)
    settings = {"task": task.name, "jobs": jobs, "limit": limit, "device": device, "say": say, "outcome": outcome}
    return run_all(runs, out, executed, **settings)  # type: ignore[arg-type]


def run_all(
    runs: list[Run],
    out: str | os.PathLike[str],
    execute: Execute,
    *,
    task: str = "tables",
    jobs: int = 1,
    limit: float | None = None,
    device: str = "auto",
    say: Say | None = None,
    outcome: Outcome = roc_and_pr,
) -> list[Record]:
    """Execute the runs `out` has no result of, `jobs` at a time, none for longer than `limit` seconds."""
    if limit is not None and not limit > 0:
        raise SettingError(f"limit must be above 0 seconds; got {limit}.")
    if jobs < 1:
        raise SettingError(f"jobs must be at least 1; got {jobs}.")
    file = RecordFile(out)
    done = {run_of(record) for record in file.records if record["status"] == "ok"}
    left = [run for run in runs if run not in done]
    progress = _Reports(len(runs), TimeLeft(left, file.records, jobs), say or _to_stderr, outcome)
    died = partial(failure, device=device, error=_DIED)
    stopped = partial(stopped_run, device=device, limit=limit)
    alone = jobs == 1 and limit is None
    results = map(execute, left) if alone else in_processes(left, execute, jobs, died, limit=limit, stopped=stopped)
    for record in results:
        file.add({"task": task, **record})
        progress.report(record)
    wanted = set(runs)
    return [record for record in latest(file.records) if run_of(record) in wanted]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Reports:
    """A line per run: how it went, and how long the rest may take."""

    def __init__(self, total: int, left: TimeLeft, say: Say, outcome: Outcome) -> None:
        self.total, self.left, self.say, self.outcome = total, left, say, outcome
        if len(left) < total:
            say(f"{total - len(left)} of {total} runs were done before")

    def report(self, record: Record) -> None:
        self.left.ended(record)
        name = f"{record['set']} {record['method']} seed {record['seed']}"
        about = f"about {span(self.left.seconds())} left"
        self.say(f"[{self.total - len(self.left)}/{self.total}] {name}: {self._result(record)}; {about}")

    def _result(self, record: Record) -> str:
        if record["status"] != "ok":
            return f"failed, {record['error'].splitlines()[0]}"
        return f"{self.outcome(record)} in {record['fit_seconds'] + record['score_seconds']:.1f} s"
