"""Uploads and results go when nobody used them for long; what a job needs stays, and so do models."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from maskdiff.service.background.store import Job
from maskdiff.service.kept.files import FolderStore, StoredFile
from maskdiff.service.kept.workspace import Workspace

DAYS = 24 * 3600


@pytest.fixture
def work(folder: Path) -> Workspace:
    return Workspace(folder)


def kept(store: FolderStore, days: float, *, partial: bool = False) -> str:
    """The id of something that was last used so many days ago."""
    with store.making() as (id, made):
        (made / "rows").write_bytes(b"a,b\n1,2\n")
        (made / "file.json").write_text(json.dumps({"id": id, "name": "a.csv", "format": "csv", "bytes": 8}))
    path = store.parent / id
    if partial:
        path = path.rename(path.with_name(f".partial-{id}"))
    before = time.time() - days * DAYS
    os.utime(path, (before, before))
    return id


def test_what_nobody_used_for_so_many_days_is_removed(work: Workspace) -> None:
    for store in (work.files, work.results):
        old, new = kept(store, 8), kept(store, 6)
        work.sweep(7)
        assert [path.name for path in store.parent.iterdir()] == [new]
        assert old != new
    assert (work.folder / "connections.maskdiff").exists()


def test_using_a_file_keeps_it(work: Workspace) -> None:
    id = kept(work.files, 8)
    assert work.files.get(id) == StoredFile(id, "a.csv", "csv", 8)
    work.sweep(7)
    assert work.files.rows(id).exists()


def test_what_a_waiting_job_needs_stays(work: Workspace) -> None:
    file, partial = kept(work.files, 8), kept(work.results, 8, partial=True)
    work.jobs.add(Job(partial, "find", {"file": file}), most_waiting=10)
    work.sweep(7)
    assert work.files.rows(file).exists()
    assert (work.results.parent / f".partial-{partial}").exists()
    work.jobs.end(partial, "cancelled")
    work.sweep(7)
    assert not (work.results.parent / f".partial-{partial}").exists()


def test_locks_of_jobs_that_ended_long_ago_are_removed(work: Workspace) -> None:
    for name, days in (("job-" + "0" * 32, 8), ("job-" + "1" * 32, 1), ("model-connections", 8)):
        path = work.lock(name)
        path.parent.mkdir(exist_ok=True)
        path.touch()
        before = time.time() - days * DAYS
        os.utime(path, (before, before))
    work.sweep(7)
    assert sorted(path.name for path in (work.own / "locks").iterdir()) == ["job-" + "1" * 32, "model-connections"]
