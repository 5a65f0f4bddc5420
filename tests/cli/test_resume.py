"""Ctrl-C leaves a checkpoint, and the command says how to go on from there."""

from __future__ import annotations

import json
import subprocess
import sys

from .messages import QUICK, sessions, write_lines
from .running import call, environment, same_model

# The command, with a Ctrl-C that comes as soon as a checkpoint has been written.
INTERRUPTED = """
import signal, sys
from maskdiff.cli import main
from maskdiff.jobs import checkpoint

write = checkpoint.Checkpoint.save

def write_and_interrupt(*arguments):
    write(*arguments)
    signal.raise_signal(signal.SIGINT)

checkpoint.Checkpoint.save = write_and_interrupt
sys.exit(main(sys.argv[1:]))
"""


def test_fit_is_interrupted_by_ctrl_c_and_resumed_to_the_same_model(tmp_path):
    # So few that training is short, and enough for the first look, after 50 steps.
    source, out = write_lines(tmp_path / "logs.jsonl", [{"events": each} for each in sessions(60, 1)]), tmp_path / "m"
    fit = ["fit", source, "-o", out, "--sequence", "events", *QUICK, "--checkpoint-seconds", "0"]
    command = [sys.executable, "-c", INTERRUPTED, *map(str, fit)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    checkpoint = tmp_path / "m.checkpoint"
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
