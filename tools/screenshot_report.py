"""The picture of the report in README and guide, taken with Chromium.

    python tools/screenshot_report.py docs/images/report.png

Needs playwright and a Chromium; claims are made up, and the default detector learns from normal ones.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.report import write_report

SIZE = {"width": 1180, "height": 760}


def write_page(path: Path, detector: maskdiff.TableDetector, rows: int = 3000) -> None:
    """The report on claims that a detector did not see; it learns from the normal ones of as many others."""
    claims, is_odd = make_claims(2 * rows, seed=0)
    detector.fit(claims[:rows][is_odd[:rows] == 0])
    write_report(detector, claims[rows:], path, source="claims.csv", model="claims.maskdiff")


def take(page: Path, picture: str) -> None:
    """The list of anomalies as a PNG, with the odd cells shaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE)
        tab.goto(page.as_uri())
        tab.get_by_role("link", name="Anomalies", exact=True).first.click()
        tab.wait_for_timeout(500)
        tab.screenshot(path=picture)
        browser.close()


def main(picture: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        write_page(page, maskdiff.TableDetector(progress=False))
        take(page, picture)


if __name__ == "__main__":
    main(sys.argv[1])
