"""What to know before the anomalies are believed comes first, in words, and follows the counts of the page."""

from __future__ import annotations

import re

from maskdiff.report import ReportBuilder

from .pages import WHEN, Page
from .samples import SAYS, builder_with_checks, text_detector


def page_with_checks() -> Page:
    return Page(builder_with_checks().html(when=WHEN))


def test_checks_have_titles_and_come_before_the_scores() -> None:
    page = page_with_checks()
    text = " ".join(page.text.split())
    found = [text.index(title) for title in ("Before you look", "Unknown columns", "One column", "More alarms than")]
    assert found == sorted(found)
    assert found[-1] < text.index("The scores The bars")
    assert "<b>notes</b>" in text
    assert not re.search(r"\w+=\{|\{'", text)


def test_checks_count_the_rows_and_anomalies_of_the_page() -> None:
    page = page_with_checks()
    counted = re.search(r"([\d,]+) of ([\d,]+) rows are alarms", page.text)
    assert counted is not None
    assert (int(counted[1]), int(counted[2])) == (len(page.rows()), 120)


def test_a_word_behind_nearly_all_anomalies_of_texts_is_named() -> None:
    texts = [f"Zyzzogeton {text}" for text in SAYS * 5] + list(SAYS * 10)
    page = Page(ReportBuilder(text_detector()).add(texts).html(when=WHEN))
    assert "One token" in page.text
    assert "mostly due to the token 'Zyzzogeton'" in page.text
