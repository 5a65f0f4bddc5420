"""tools/screenshot_report.py: the page it takes a picture of is a report with anomalies."""

from __future__ import annotations

import runpy
from pathlib import Path

import maskdiff

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "screenshot_report.py"))


def test_the_page_is_a_report_on_claims(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    TOOL["write_page"](page, maskdiff.TableDetector("kernel", progress=False), rows=600)
    text = page.read_text()
    assert "claims.csv" in text
    assert "repair_cost" in text
