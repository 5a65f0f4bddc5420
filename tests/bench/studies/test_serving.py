from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import serving
from maskdiff.cli import main

from ...service.running import warm


@pytest.fixture(autouse=True)
def started_warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the service starts cold is for tests/service, and takes seconds."""

    def start(command: list[str], **streams: Any) -> Any:
        return warm(command[command.index("maskdiff") + 1 :], tmp_path / "service.log")

    monkeypatch.setattr(serving, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))


def test_the_command_records_throughput_latency_and_memory_and_no_wrong_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["--clients", "5", "--seconds", "1", "--method", "kernel", "--out", str(out)]
    assert main(["bench", "serve", *arguments, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["out"] == str(out)
    (record,) = read_records(out)
    assert (record["errors"], record["wrong"]) == (0, 0)
    assert record["requests"] > 5
    assert 0 < record["idle_p50_ms"] <= record["idle_p99_ms"]
    assert record["memory_mb"]["end"] > 0
