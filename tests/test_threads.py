from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from maskdiff import threads
from maskdiff.errors import SettingError

from .cli.running import call, environment

V2 = "0::/box/inner\n"
V1 = "3:memory:/box\n2:cpu,cpuacct:/box\n1:name=systemd:/\n"


def machine(root: Path, group: str, files: dict[str, str]) -> Path:
    """A file system in which this process belongs to this control group, with these files of groups."""
    placed = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in ({"proc/self/cgroup": group} | placed).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("group", "files", "limit"),
    [
        (V2, {"box/inner/cpu.max": "150000 100000\n"}, 1.5),
        (V2, {"box/inner/cpu.max": "max 100000\n", "box/cpu.max": "200000 100000\n"}, 2),
        (V2, {"cpu.max": "50000 100000\n"}, 0.5),  # inside a container its own group is the top
        (V2, {"box/inner/cpu.max": "max 100000\n"}, float("inf")),
        (V2, {"box/inner/cpu.max": ""}, float("inf")),
        (V1, {"cpu,cpuacct/box/cpu.cfs_quota_us": "300000", "cpu,cpuacct/box/cpu.cfs_period_us": "100000"}, 3),
        (V1, {"cpu,cpuacct/cpu.cfs_quota_us": "100000", "cpu,cpuacct/cpu.cfs_period_us": "50000"}, 2),
        (V1, {"cpu,cpuacct/box/cpu.cfs_quota_us": "-1", "cpu,cpuacct/box/cpu.cfs_period_us": "100000"}, float("inf")),
    ],
)
def test_the_limit_of_a_container_is_found(group: str, files: dict[str, str], limit: float, tmp_path: Path) -> None:
    assert threads.container_limit(machine(tmp_path, group, files)) == limit


@pytest.mark.parametrize(("quota", "processors"), [("250000 100000", 2), ("50000 100000", 1), ("max 100000", 8)])
def test_processors_are_those_bound_to_within_the_limit(
    quota: str, processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert threads.available(machine(tmp_path, V2, {"cpu.max": quota})) == processors


def test_libraries_that_are_loaded_and_processes_to_come_use_as_many_as_asked_for() -> None:
    before = os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads(), pa.cpu_count()
    with threads.restored():
        threads.use(3)
        assert (os.environ["OMP_NUM_THREADS"], torch.get_num_threads(), pa.cpu_count()) == ("3", 3, 3)
    assert (os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads(), pa.cpu_count()) == before


def test_no_thread_is_too_few() -> None:
    with pytest.raises(SettingError, match="at least 1 thread"):
        threads.use(0)


@pytest.mark.parametrize(("given", "used"), [(None, "2"), ("5", "5")])
def test_a_container_bounds_the_threads_unless_the_environment_says_how_many(
    given: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "available", lambda: 2)
    monkeypatch.setattr(threads, "_bound", lambda: 8)
    with threads.restored():
        monkeypatch.delenv("OMP_NUM_THREADS") if given is None else monkeypatch.setenv("OMP_NUM_THREADS", given)
        threads.respect_container()
        assert os.environ["OMP_NUM_THREADS"] == used


@pytest.mark.parametrize(("given", "found"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_sleep_while_they_wait_unless_the_environment_says_otherwise(given: dict[str, str], found: str) -> None:
    env = {name: value for name, value in environment().items() if name != "OMP_WAIT_POLICY"} | given
    code = "import maskdiff, os, sys; assert 'torch' not in sys.modules; print(os.environ['OMP_WAIT_POLICY'])"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == found


def test_the_command_takes_a_number_of_threads_and_leaves_this_process_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []

    def use(number: int) -> None:
        real(number)
        used.append(torch.get_num_threads())

    real, before = threads.use, torch.get_num_threads()
    monkeypatch.setattr(threads, "use", use)
    assert call("score", tmp_path / "m", tmp_path / "rows.csv", "--threads", "3").is_refusal
    assert used == [3]
    assert torch.get_num_threads() == before
    assert "--threads" in call("score", tmp_path / "m", tmp_path / "rows.csv", "--threads", "0").err
