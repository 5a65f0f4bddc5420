"""The report within a notebook."""

from __future__ import annotations

from html import unescape

import pandas as pd

from maskdiff import TableDetector
from maskdiff.report import InlineReport, show


def test_the_frame_holds_the_whole_page_and_nothing_gets_out_of_it(normal_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    odd = pd.DataFrame([['"></iframe><b>', "http", "SF", 1]], columns=normal_rows.columns)
    inline = show(detector, odd, height=300, title='a "title"')
    frame = inline._repr_html_()
    before, _, rest = frame.partition('srcdoc="')
    page, _, after = rest.partition('"')
    assert unescape(page) == inline.html
    assert "<" not in page
    assert before == "<iframe "
    assert after.endswith('style="width:100%;height:300px;border:0" title="report"></iframe>')


def test_half_a_character_can_be_sent_to_a_browser():
    frame = InlineReport("a \ud83d b")._repr_html_()
    assert "\\ud83d" in frame.encode("utf-8").decode()


def test_the_page_is_not_printed():
    assert len(repr(InlineReport("x" * 10_000))) < 100
