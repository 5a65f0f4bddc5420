"""tools/draw_gallery.py: every example that draws has its picture and its place on the page."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "draw_gallery.py"))


def test_the_page_is_what_the_examples_say() -> None:
    assert (ROOT / "docs" / "gallery.md").read_text() == TOOL["page"](), "run: python tools/draw_gallery.py"


def test_every_drawing_example_has_a_picture_and_no_picture_is_left_over() -> None:
    names = {path.stem for path in TOOL["drawing"]()}
    assert len(names) >= 8
    assert {path.stem for path in (ROOT / "docs" / "gallery").glob("*.svg")} == names
