"""Jobs in a SQLite file: what is to be done, where it stands, how it ended. Several processes may read and write it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
STATES = (WAITING, RUNNING, DONE, FAILED, CANCELLED)
ENDED = (DONE, FAILED, CANCELLED)
# Jobs that ended are remembered, up to this number.
_MOST_ENDED = 1000

_SCHEMA = """
create table if not exists jobs (
    id text primary key, task text not null, settings text not null, state text not null,
    stage text not null default '', done integer not null default 0, total integer not null default 0,
    loss real, notes text not null default '[]', result text, error text, attempts integer not null default 0,
    created real not null, changed real not null
);
create index if not exists by_state on jobs (state, created);
"""


@dataclass(frozen=True)
class Job:
    """A job: its task and settings, its state, its progress in the current stage, and what came out."""

    id: str
    task: str
    settings: dict[str, Any]
    state: str = WAITING
    stage: str = ""
    done: int = 0
    total: int = 0
    loss: float | None = None
    notes: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None
    error: str | None = None
    attempts: int = 0
    created: float = 0.0
    changed: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


class JobStore:
    """The jobs of a folder. Each call is a transaction of its own, so that a kill leaves no half of one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as database:
            database.executescript(_SCHEMA)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.path, timeout=30)
        try:
            # No write-ahead log: a full disk would have no room for its index, and jobs could not even be read.
            database.execute("pragma journal_mode = delete")
            database.execute("pragma synchronous = normal")
            with database:
                yield database
        finally:
            database.close()

    def add(self, job: Job, most_waiting: int) -> bool:
        """A new job that waits; False where too many do."""
        now = time.time()
        values = (job.id, job.task, json.dumps(job.settings), now, now)
        with self._connected() as database:
            database.execute("begin immediate")
            (waiting,) = database.execute("select count(*) from jobs where state = ?", (WAITING,)).fetchone()
            if waiting >= most_waiting:
                return False
            database.execute(
                "insert into jobs (id, task, settings, state, created, changed) values (?, ?, ?, 'waiting', ?, ?)",
                values,
            )
            ended = "select id from jobs where state in ('done', 'failed', 'cancelled') order by changed desc"
            database.execute(f"delete from jobs where id in ({ended} limit -1 offset ?)", (_MOST_ENDED,))
        return True

    def get(self, id: str) -> Job | None:
        found = self._select("where id = ?", id)
        return found[0] if found else None

    def all(self) -> list[Job]:
        """All jobs, the newest first."""
        return self._select("order by created desc")

    def in_state(self, state: str) -> list[Job]:
        """The jobs in this state, the oldest first."""
        return self._select("where state = ? order by created", state)

    def _select(self, rest: str, *values: object) -> list[Job]:
        with self._connected() as database:
            database.row_factory = sqlite3.Row
            rows = database.execute(f"select * from jobs {rest}", values).fetchall()
        return [_job(row) for row in rows]

    def begin(self, id: str) -> bool:
        """Mark a job that waits, or one whose process is gone, as running; False where it is neither any more."""
        return self._change(
            "update jobs set state = 'running', attempts = attempts + 1, stage = 'starting', done = 0, total = 0, "
            "changed = ? where id = ? and state in ('waiting', 'running')",
            time.time(),
            id,
        )

    def wait_again(self, id: str) -> bool:
        """A running job that was interrupted waits for its turn; that was no attempt of its own."""
        return self._change(
            "update jobs set state = 'waiting', attempts = attempts - 1, changed = ? "
            "where id = ? and state = 'running'",
            *(time.time(), id),
        )

    def progress(self, id: str, stage: str, done: int, total: int, loss: float | None) -> bool:
        """Where a running job stands; False where it is no longer to run."""
        return self._change(
            "update jobs set stage = ?, done = ?, total = ?, loss = ?, changed = ? where id = ? and state = 'running'",
            *(stage, done, total, loss, time.time(), id),
        )

    def end(
        self,
        id: str,
        state: str,
        *,
        result: dict[str, Any] | None = None,
        error: str | None = None,
        notes: list[str] | None = None,
    ) -> bool:
        """How a job ended; False where it had ended before."""
        return self._change(
            "update jobs set state = ?, result = ?, error = ?, notes = ?, changed = ? "
            "where id = ? and state in ('waiting', 'running')",
            *(state, None if result is None else json.dumps(result), error, json.dumps(notes or []), time.time(), id),
        )

    def _change(self, statement: str, *values: object) -> bool:
        with self._connected() as database:
            return database.execute(statement, values).rowcount == 1


def _job(row: sqlite3.Row) -> Job:
    values = dict(row)
    for name in ("settings", "notes", "result"):
        values[name] = None if values[name] is None else json.loads(values[name])
    return Job(**values)
