"""tools/extra_sizes.py, which says how many MB an extra adds."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "extra_sizes.py"))


def test_what_a_distribution_needs_is_followed_to_its_end() -> None:
    needed = TOOL["needed"](["pandas"])
    assert {"pandas", "numpy", "python-dateutil"} <= needed
    assert needed & {"six", "tzdata"}  # what python-dateutil needs, up to 2.9 and from then on
    assert "torch" not in needed


def test_an_extra_needs_more() -> None:
    assert TOOL["needed"](["mkdocstrings"], "python") > TOOL["needed"](["mkdocstrings"])


def test_sizes_add_up() -> None:
    assert TOOL["megabytes"](["numpy", "pandas"]) > TOOL["megabytes"](["pandas"]) > 10
