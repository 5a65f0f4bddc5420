"""Ctrl-C leaves a checkpoint, and the command says how to go on from there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from subprocess import PIPE

from .running import call, environment, same_model


def test_fit_is_interrupted_by_ctrl_c_and_resumed_to_the_same_model(home, tmp_path):
    source, out = home / "some.csv", tmp_path / "m.maskdiff"
    # So few that training is short, and enough for the first look, after 50 steps.
    source.write_text("".join((home / "normal.csv").read_text().splitlines(keepends=True)[:201]))
    settings = ["--reconstructor", "mlp", "--steps", "3000", "--checkpoint-seconds", "0"]
    command: list[object] = [sys.executable, "-m", "maskdiff", "fit", source, "-o", out, *settings]
    process = subprocess.Popen(command, env=environment(), stdout=PIPE, stderr=PIPE, text=True)
    checkpoint = tmp_path / "m.maskdiff.checkpoint"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert err.splitlines() == [
        f"note: the training so far is kept in {checkpoint}; the same command with --resume goes on from there",
        f"interrupted: {checkpoint} was written; {out} was not written",
    ]
    assert list(tmp_path.iterdir()) == [checkpoint]
    said = call("fit", source, "-o", out, *settings, "--resume", "--json")
    assert said.status == 0, said.err
    assert json.loads(said.out)["resumed_at"] >= 50
    assert list(tmp_path.iterdir()) == [out]
    call("fit", source, "-o", tmp_path / "whole.maskdiff", *settings)
    assert same_model(out, tmp_path / "whole.maskdiff")


def test_find_is_killed_in_its_second_round_and_goes_on_to_the_same_rows(home, tmp_path):
    source, out = home / "few.csv", tmp_path / "found.csv"
    lines = (home / "normal.csv").read_text().splitlines(keepends=True)[:61]
    source.write_text("".join(",".join(line.split(",")[1:4]) + "\n" for line in lines))
    settings = ["--reconstructor", "mlp", "--steps", "50", "--checkpoint-seconds", "0", "--contamination", "0.1"]
    command: list[object] = [sys.executable, "-m", "maskdiff", "find", source, "-o", out, *settings]
    process = subprocess.Popen(command, env=environment(), stdout=PIPE, stderr=PIPE, text=True)
    while not (tmp_path / "found.csv.checkpoint.2-1").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    assert len(list(tmp_path.glob("found.csv.checkpoint.1-*"))) == 5
    said = call("find", source, "-o", out, *settings, "--resume", "--json")
    assert said.status == 0, said.err
    assert "note" not in said.err
    assert call("find", source, "-o", tmp_path / "whole.csv", *settings).status == 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.csv", "whole.csv"]


def test_nothing_to_resume_is_noted_and_no_obstacle(home, tmp_path):
    said = call("fit", home / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "kernel", "--resume")
    assert said.status == 0
    assert said.err.startswith("note: there is no checkpoint")
