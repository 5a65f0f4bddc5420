"""tools/draw_odd_cells.py, which draws the picture of the guide's first page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import maskdiff

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "draw_odd_cells.py"))
SPOILED = ["NOK", "crad", "99999.00"]


def values(picture: str) -> list[str]:
    """The texts of the picture that are cells, without scores and reasons, which depend on the machine."""
    return re.findall(r'<text x="\d+" y="\d+">([^<]+)</text>', picture)


def test_the_picture_shows_the_rows_and_shades_the_spoiled_cells() -> None:
    rows = TOOL["spoiled_orders"]()
    detector = maskdiff.TableDetector("kernel", progress=False).fit(TOOL["make_orders"](300, seed=0))
    picture = TOOL["draw"](rows, detector)
    shown = (ROOT / "docs" / "images" / "odd-cells.svg").read_text()
    assert values(picture) == values(shown)
    assert re.findall(r'class="odd".*\n<text[^>]*>([^<]+)<', shown) == SPOILED
