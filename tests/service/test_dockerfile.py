"""The image: its recipe passes the linter, and starts the command as the command is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.running import call

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "Dockerfile"


def test_the_linter_finds_nothing() -> None:
    linter = shutil.which("hadolint") or shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, str(RECIPE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_starts_the_service_with_a_token_and_without_rights() -> None:
    lines = RECIPE.read_text().splitlines()
    command = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith(("ENTRYPOINT", "CMD"))]
    program, verb, _, *options = [part for one in command for part in one]
    assert (program, verb) == ("maskdiff", "serve")
    known = call("serve", "--help").out
    assert all(option in known for option in options if option.startswith("--"))
    assert "--token-file" in options
    assert "USER 10001" in lines
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY")]
    assert all((ROOT / name).exists() for names in copied for name in names)
