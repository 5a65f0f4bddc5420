"""Jobs are copies of a process that has the libraries loaded: the service itself, or one that is started for them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from maskdiff.client import Client

from ...conftest import make_connections
from ...warm_processes import run_warm
from ..running import PATIENCE, serving

COPY = """
import threading
from pathlib import Path
from maskdiff.service.background.launcher import copied_launcher

with copied_launcher(Path(sys.argv[1])) as launcher:
    print(launcher.shares_memory, launcher.is_alive())
print(launcher.is_alive())
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
with copied_launcher(Path(sys.argv[1])) as launcher:
    print(launcher)
done.set()
"""


def test_a_process_is_copied_while_it_has_one_thread(tmp_path: Path) -> None:
    done = run_warm(tmp_path, code=COPY)
    assert done.stdout.split("\n") == ["True True", "False", "None", ""], done.stderr


def test_jobs_run_though_the_copy_was_killed(folder: Path, tmp_path: Path) -> None:
    make_connections(60, seed=1).to_csv(tmp_path / "a.csv", index=False)
    with serving(folder) as running, Client(running.url, seconds=PATIENCE) as client:
        service = running.process.pid
        (copy,) = map(int, Path(f"/proc/{service}/task/{service}/children").read_text().split())
        os.kill(copy, signal.SIGKILL)
        client.learn(tmp_path / "a.csv", "kept", reconstructor="kernel")
        assert [one["name"] for one in client.models()] == ["connections", "kept"]
    assert "Traceback" not in running.logged()
