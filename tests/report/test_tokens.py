"""Reports about texts and sequences: their tokens are shown as the columns of a table are."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from maskdiff.drift.tokens import token_drift
from maskdiff.report import ReportBuilder
from maskdiff.report.content.tokens import MAX_TEXT
from maskdiff.report.formatting import percent
from maskdiff.report.periods import BlockCounts

from .pages import WHEN, Page, report_on
from .samples import SPAM, log_detector, some_texts, text_detector


def text_page(*more: str, n: int = 30) -> Page:
    return report_on(some_texts(n, *more), text_detector())


def static_rows(page: Page) -> list[list[str]]:
    return page.table("Rank", "odd tokens shaded")


def test_every_alarm_shows_its_whole_text_and_its_other_columns() -> None:
    X = some_texts(30, *SPAM)
    verdicts = text_detector().judge(X)
    rows = text_page(*SPAM).rows()
    assert {row["number"] for row in rows} == set(np.flatnonzero(verdicts.is_anomaly).tolist()) >= {30, 31, 32, 33}
    for row in rows:
        assert row["values"] == {"text": X["text"][row["number"]]}
        assert row["context"] == {"id": f"T{row['number']}"}


def test_texts_are_counted_over_time_where_their_moments_are_known() -> None:
    X, moments = some_texts(30, *SPAM), np.arange(30.0 + len(SPAM))
    builder = ReportBuilder(text_detector(), order=BlockCounts("no", moments))
    (timeline,) = builder.add(X, moments=moments).timelines()
    assert (timeline.column, sum(period.n_alarms for period in timeline.periods)) == ("no", builder.n_alarms)


def test_explained_tokens_are_those_of_explain() -> None:
    X = some_texts(30, *SPAM)
    explained = text_detector().explain(X, top=8)
    for row in text_page(*SPAM).rows():
        own = explained[explained["row"] == row["number"]]
        assert [cell["value"] for cell in row["cells"]] == own["value"].tolist()
        assert [cell["expected"] for cell in row["cells"]] == own["expected"].tolist()


def test_the_marks_join_to_the_text_and_refer_to_their_cells() -> None:
    page = text_page(*SPAM, "caf\u00e9 \U0001f389 prize")
    for at, row in enumerate(page.rows()):
        flat, units = page.data["marks"][at], row["values"]["text"].encode("utf-16-le")
        begin, found = 0, []
        for length, _, cell in (flat[i : i + 3] for i in range(0, len(flat), 3)):
            found.append((units[2 * begin : 2 * (begin + length)].decode("utf-16-le"), cell))
            begin += length
        assert "".join(text for text, _ in found) == row["values"]["text"]
        odd = {i: cell["value"] for i, cell in enumerate(row["cells"])}
        assert all(odd[cell] == text for text, cell in found if cell >= 0)


def test_without_scripts_texts_are_shaded_and_their_reasons_listed() -> None:
    page = text_page(*SPAM)
    marked = [attributes for tag, attributes in page.elements if tag == "mark"]
    assert len([mark for mark in marked if mark.get("class") == "odd"]) >= len(SPAM)
    *partly_known, all_new = sorted(static_rows(page), key=lambda line: "& more" in line[-1])
    for line in partly_known:
        assert "expected" in line[-1] or "the most likely, but" in line[-1]
    # Between words that are all new the model expects nothing in particular, so the page names nothing.
    assert "new" in all_new[-1]


def test_a_text_that_contains_markup_is_shown_as_text() -> None:
    page = text_page("<script>alert(1)</script>", "</mark></p><img src=x onerror=alert(2)>", SPAM[3])
    assert not {"b", "img"} & {tag for tag, _ in page.elements}
    assert len(page.scripts) == 3
    assert "<script>alert(1)</script>" in page.text


def test_shares_of_tokens_are_their_contributions_to_the_alarms() -> None:
    X = some_texts(30, *SPAM)
    verdicts = text_detector().judge(X)
    codes, labels = verdicts.codes, text_detector().encoder_.schema_.fields[0].labels
    alarm = verdicts.is_anomaly[codes.row][:, None] & codes.counts
    known = {label: verdicts.contributions[alarm & (codes.values == i)].sum() for i, label in enumerate(labels)}
    known["never seen before"] = verdicts.contributions[alarm & ~codes.known].sum()
    total = verdicts.contributions[alarm].sum()
    lines = text_page(*SPAM).table("Token", "Share of the anomalies")
    assert lines[0][0].startswith("never seen before such as claim, ")
    for line in lines:
        name = next(name for name in known if line[0].split(" such as")[0] == name)
        assert line[2] == percent(known[name] / total)


def test_alarms_with_the_same_oddest_token_are_one_group() -> None:
    page = text_page("claim me later", "claim me at ten", "see you at zoo")
    lines = page.table("Oddest token", "Highest score")
    assert [line[0] for line in lines] == ["claim"]
    assert lines[0][2] == "2"


def test_new_tokens_are_listed_as_drift() -> None:
    text = " ".join(text_page(*["claim prize"] * 30).text.split())
    assert "never seen in training, most often claim 30\N{MULTIPLICATION SIGN}" in text
    assert "prize 30\N{MULTIPLICATION SIGN}" in text


def test_token_drift_equals_a_hand_calculation() -> None:
    learned, scored = np.array([500, 500, 0]), np.array([900, 50, 50])
    drift = token_drift(["a", "b"], learned, scored, (("c", 50),))
    # a 50% -> 90%, b 50% -> 5%, new 0% -> 5%: half of 40 + 45 + 5
    assert drift.distance == pytest.approx(0.45)
    assert drift.unseen == pytest.approx(0.05)
    assert [(c.label, c.before, c.now) for c in drift.changes] == [("b", 0.5, 0.05), ("a", 0.5, 0.9)]
    assert drift.strong
    assert token_drift(["a", "b"], learned, np.array([101, 99, 0]), ()).changes == ()


def test_empty_texts_are_counted_and_not_scored() -> None:
    page = text_page("", "   ", n=20)
    text = " ".join(page.text.split())
    assert "2 texts without any token could not be judged" in text
    assert "The bars are the 20 scored rows" in text


def test_long_texts_are_shown_around_their_odd_tokens() -> None:
    long = "see you at ten " * 2000
    page = text_page(long + "zoo " + long)
    (text,) = [row["values"]["text"] for row in page.rows() if row["number"] == 30]
    assert "zoo" in text
    assert "characters) …" in text
    assert len(text) < 2 * MAX_TEXT


def test_sequences_are_explained_by_their_symbols() -> None:
    X = [["open", "read", "close"]] * 20 + [["open", "steal", "close"], ["close", "open", "read"]]
    page = report_on(X, log_detector())
    rows = {row["number"]: row for row in page.rows()}
    assert rows[20]["values"] == {"sequence": "open steal close"}
    assert rows[20]["cells"][0]["value"] == "steal"
    assert "sequences stand out" in page.text.replace("\n", " ") or "of 22 sequences" in page.text
    assert page.table("Symbol", "Share of the anomalies")


def test_lists_columns_and_tables_of_texts_give_the_same_rows() -> None:
    X = some_texts(30, *SPAM)
    scores = [
        report_on(rows, text_detector()).data["score"]
        for rows in (X, X["text"], X["text"].tolist(), [X[:20], X[20:]], iter([X[:7], X[7:]]))
    ]
    assert all(one == scores[0] for one in scores)


def test_beyond_the_limit_texts_keep_only_their_explained_tokens() -> None:
    builder = ReportBuilder(text_detector())
    builder.highest_alarms.max_cells = 40
    builder.add(some_texts(0, *SPAM))
    kept = [alarm.marks is not None for alarm in builder.highest_alarms.alarms]
    assert kept[0]
    assert not kept[-1]
    assert all(alarm.cells for alarm in builder.highest_alarms.alarms)
    assert builder.html(when=WHEN)


def test_a_page_without_texts_or_anomalies_says_so() -> None:
    assert "No texts were scored" in text_page(n=0).text
    assert "No text scored above the threshold" in text_page(n=8).text


def test_tokens_that_are_odd_equally_often_keep_the_order_of_the_alarms() -> None:
    page = text_page(*SPAM)
    cells = [cell["value"] for row in page.rows() for cell in row["cells"] if cell["odd"]]
    once = [value for value in cells if cells.count(value) == 1]
    options = re.findall(r'<option value="\d+" data-name="[^"]*">(.*?) \(1\)</option>', page.html)
    assert len(once) > 2
    assert [html.unescape(option) for option in options] == once
