"""tools/write_commands.py: the command reference is what the commands say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from ..cli.running import call

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "write_commands.py"))
PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text()


def test_the_page_is_what_the_commands_say() -> None:
    assert TOOL["page"]() == PAGE, "run: python tools/write_commands.py"


def test_every_flag_of_the_help_is_on_the_page() -> None:
    section = PAGE.partition("## maskdiff fit\n")[2].partition("\n## ")[0]
    shown = set(re.findall(r"--[a-z][a-z-]+", call("fit", "--help").out)) - {"--help"}
    assert shown
    assert {flag for flag in shown if flag not in section} == set()
