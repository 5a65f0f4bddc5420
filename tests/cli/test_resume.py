"""Ctrl-C leaves a checkpoint, and the command says how to go on from there."""

from __future__ import annotations

import json
import signal
import subprocess

from ..warm_processes import run_warm
from .messages import QUICK, sessions, write_lines
from .running import call, same_model

# The command; as soon as it has written the checkpoint of this name, it gets this signal.
SIGNALLED = """
import os, sys
from maskdiff.cli import main
from maskdiff.jobs.checkpoint import Checkpoint

save, (name, number) = Checkpoint.save, sys.argv[1:3]

def save_and_signal(checkpoint, *state):
    save(checkpoint, *state)
    if checkpoint.path.name == name:
        os.kill(os.getpid(), int(number))

Checkpoint.save = save_and_signal
sys.exit(main(sys.argv[3:]))
"""


def signalled(number: signal.Signals, checkpoint: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_warm(checkpoint, int(number), *arguments, code=SIGNALLED)


def test_fit_is_interrupted_by_ctrl_c_and_resumed_to_the_same_model(tmp_path):
    # So few that training is short, and enough for the first look, after 50 steps.
    source, out = write_lines(tmp_path / "logs.jsonl", [{"events": each} for each in sessions(60, 1)]), tmp_path / "m"
    fit = ["fit", source, "-o", out, "--sequence", "events", *QUICK, "--checkpoint-seconds", "0"]
    checkpoint = tmp_path / "m.checkpoint"
    done = signalled(signal.SIGINT, checkpoint.name, *fit)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines() == [
        f"note: the training so far is kept in {checkpoint}; the same command with --resume goes on from there",
        f"interrupted: {checkpoint} was written; {out} was not written",
    ]
    assert sorted(tmp_path.iterdir()) == [source, checkpoint]
    said = call(*fit, "--resume", "--json")
    assert said.status == 0, said.err
    assert json.loads(said.out)["resumed_at"] >= 50
    assert sorted(tmp_path.iterdir()) == [source, out]
    resumed = out.rename(tmp_path / "resumed")
    assert call(*fit).status == 0
    assert same_model(resumed, out)


def test_find_is_killed_in_its_second_round_and_goes_on_to_the_same_rows(home, tmp_path):
    source, out = home / "few.csv", tmp_path / "found.csv"
    lines = (home / "normal.csv").read_text().splitlines(keepends=True)[:61]
    source.write_text("".join(",".join(line.split(",")[1:4]) + "\n" for line in lines))
    settings = ["--reconstructor", "mlp", "--steps", "50", "--checkpoint-seconds", "0", "--contamination", "0.1"]
    killed = signalled(signal.SIGKILL, "found.csv.checkpoint.2-1", "find", source, "-o", out, *settings)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    assert len(list(tmp_path.glob("found.csv.checkpoint.1-*"))) > 1
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
