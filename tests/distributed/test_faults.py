"""Processes that are really killed, and a disk that is really full: the output is complete in the end, or says why."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from maskdiff.distributed import ClusterOptions, score_files
from maskdiff.distributed.file_scoring import ScoreFiles
from maskdiff.distributed.manifest import FOLDER
from maskdiff.distributed.places import Place
from maskdiff.errors import MaskdiffError
from maskdiff.jobs import ScoreOptions
from maskdiff.progress import Progress

from ..cli.running import environment
from .conftest import N_FILES, odd_connections
from .killing import killing_who_begins, processes

ROWS, MANY = 4000, 10
REASONS = ScoreOptions(explain=3)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Ten files that take a moment each."""
    folder = tmp_path / "in"
    folder.mkdir()
    odd_connections(ROWS, seed=0).to_parquet(folder / "rows0.parquet")
    repeat_file(folder, range(1, MANY))
    return folder


def repeat_file(folder: Path, numbers: range) -> None:
    """The first file once more under each of these numbers."""
    for number in numbers:
        os.link(folder / "rows0.parquet", folder / f"rows{number}.parquet")


def check_complete(out: Path, n_files: int = MANY) -> None:
    """Every file once, with all its rows in order."""
    expected = [f"0-{at}" for at in range(ROWS)]
    assert {path.name for path in out.iterdir() if path.is_file()} == {f"rows{at}.parquet" for at in range(n_files)}
    for path in out.glob("*.parquet"):
        assert pd.read_parquet(path, columns=["id"])["id"].tolist() == expected


def test_a_killed_worker_loses_nothing(cluster, model, many, tmp_path) -> None:
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if not killed:
            killed.extend(processes("ray::MapWorker(MapBatches(FileScorer))"))
            os.kill(killed[0], signal.SIGKILL)

    one = ClusterOptions(workers=1)
    summary = score_files(model, str(many), tmp_path / "out", REASONS, cluster=one, callback=kill)
    assert killed
    assert summary.rows == summary.written == ROWS * MANY
    check_complete(tmp_path / "out")


def test_a_file_that_ends_every_worker_is_given_up(cluster, model, many, tmp_path) -> None:
    """Two files in two bundles; whoever begins the first one is killed."""
    out = Place.of(tmp_path / "out")
    one = ClusterOptions(workers=1)
    job = ScoreFiles(model, f"{many}/rows[01].parquet", out.path, REASONS, one, None, None)
    job.job = replace(job.job, attempts=1)
    with (
        killing_who_begins("rows0.parquet", out / FOLDER, "ray::MapWorker(MapBatches(FileScorer))") as noted,
        pytest.raises(MaskdiffError, match=r"1 of 2 files.*rows0\.parquet: one worker after the other died"),
    ):
        job.run()
    assert noted == ["{}", '{"rows0.parquet": 1}']  # the first worker notes that it began, the second what
    assert [path.name for path in (tmp_path / "out").glob("*.parquet")] == ["rows1.parquet"]


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process of its own, which is killed at the end if it still runs."""
    command = [sys.executable, "-m", "maskdiff", *map(str, arguments)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(out: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many files are known to be finished."""
    manifest = out / ".maskdiff" / "manifest.json"
    while not manifest.exists() or len(json.loads(manifest.read_text())["finished"]) < number:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.05)


def test_a_killed_driver_goes_on_where_it_stopped(cluster, model, many, tmp_path) -> None:
    out, n_files = tmp_path / "out", 4 * MANY  # workers are ahead of what the driver knows to be finished
    repeat_file(many, range(MANY, n_files))
    flags = ("--engine", "ray", "--address", cluster, "--workers", 1, "--explain", 3)
    with started("score", model, many, "-o", out, *flags) as process:
        wait_for(out, 2, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(before) < n_files
    summary = score_files(model, str(many), out, REASONS, cluster=ClusterOptions(workers=1))
    check_complete(out, n_files)
    after = {name: (out / name).stat().st_mtime_ns for name in before}
    assert summary.kept >= 2
    assert sum(after[name] == before[name] for name in before) == summary.kept
    assert summary.rows == ROWS * n_files


@pytest.fixture
def second_node(cluster) -> Iterator[tuple[Any, Any]]:
    """Ray's own cluster utility with a node of its own in the cluster, which a test may lose."""
    from ray.cluster_utils import Cluster

    nodes = Cluster()
    nodes.head_node, nodes.redis_address = SimpleNamespace(gcs_address=cluster), cluster
    node = nodes.add_node(num_cpus=2)
    yield nodes, node
    if node in nodes.worker_nodes:
        nodes.remove_node(node, allow_graceful=False)


def test_a_lost_node_loses_nothing(second_node, model, many, tmp_path) -> None:
    nodes, node = second_node

    def lose(progress: Progress) -> None:
        if node in nodes.worker_nodes and progress.done >= 3:
            nodes.remove_node(node, allow_graceful=False)

    one_each = ClusterOptions(workers=2, cpus=2)  # a node has room for one
    summary = score_files(model, str(many), tmp_path / "out", REASONS, cluster=one_each, callback=lose)
    assert node not in nodes.worker_nodes
    assert summary.rows == summary.written == ROWS * MANY
    check_complete(tmp_path / "out")


@contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """Every file is as if the disk ended after so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# With so little room not even the list of finished files can be written.
@pytest.mark.parametrize(("room", "kept"), [(50_000, 3), (100, 0)])
def test_a_full_disk_stops_the_job_and_it_goes_on_when_there_is_room(
    without_ray, model, inputs, tmp_path, room, kept
) -> None:
    out = tmp_path / "out"
    odd_connections(5000, seed=0).to_parquet(inputs / "rows3.parquet")
    with room_for(room), pytest.raises(MaskdiffError, match=r"[Tt]oo large.*run the same again"):
        score_files(model, str(inputs), out)
    assert not (out / "rows3.parquet").exists()
    assert not list(out.rglob(".maskdiff-*"))
    summary = score_files(model, str(inputs), out)
    assert (summary.files, summary.kept) == (N_FILES, kept)
    assert len(pd.read_parquet(out / "rows3.parquet")) == 5000


def test_the_highest_rows_on_a_full_disk_say_what_to_do(without_ray, model, inputs, tmp_path) -> None:
    highest = ScoreOptions(top=N_FILES * 120, explain=3)  # larger than what is kept of a file
    with room_for(25_000), pytest.raises(MaskdiffError, match=r"[Tt]oo large.*run the same again"):
        score_files(model, str(inputs), tmp_path / "out", highest)
    assert not (tmp_path / "out" / "top.parquet").exists()
    summary = score_files(model, str(inputs), tmp_path / "out", highest)
    assert summary.written == N_FILES * 120
