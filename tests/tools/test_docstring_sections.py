"""tools/docstring_sections.py: docstrings written for a terminal, as Markdown."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="the tools of the guide are not installed")
TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "docstring_sections.py"))


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        (
            "Parameters\n----------\nseed : a number\n    or None.",
            "**Parameters**\n\n- **seed**: a number\n    or None.",
        ),
        ("Adds.\n\n>>> 1 + 1\n2", "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```"),
        ("Base\n├── One\n└── Two", "```text\nBase\n├── One\n└── Two\n```"),
        ("A rate : one of many.", "A rate : one of many."),
    ],
    ids=["parameters", "doctest", "tree", "sentence"],
)
def test_what_means_something_else_in_markdown_is_rewritten(docstring: str, markdown: str) -> None:
    assert TOOL["to_markdown"](docstring) == markdown
