"""What detectors of texts and sequences find, and how they explain it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from maskdiff.detectors import SequenceDetector, TextDetector
from maskdiff.errors import UnknownColumnError
from maskdiff.probes import ProbeGrid

from .token_rows import (
    PROBES,
    SESSIONS,
    TEXTS,
    TIMES,
    tiny,
)

# Odd and normal rows ------------------------------------------------------------------------------------------------


def test_odd_rows_are_alarms_and_normal_ones_mostly_not(case):
    detector, normal, odd = case
    assert detector.is_anomaly(odd, 0.05).all()
    assert detector.is_anomaly(normal, 0.05).mean() <= 0.3
    assert detector.anomaly_score(odd).min() > np.median(detector.anomaly_score(normal))


def test_p_values_of_normal_rows_are_spread_and_those_of_odd_rows_small(case):
    detector, normal, odd = case
    assert (detector.p_value(odd) < 0.05).all()
    assert np.median(detector.p_value(normal)) > 0.15
    assert detector.select([*normal, *odd], 0.2)[-len(odd) :].any()


def test_a_column_of_a_table_is_read_by_its_name(case):
    detector, _, odd = case
    table = pd.DataFrame({"id": range(len(odd)), "body": odd})
    rows = TEXTS if isinstance(detector, TextDetector) else SESSIONS
    unnamed = clone(detector).set_params(reconstructor=tiny(10)).fit(rows)
    named = clone(unnamed).set_params(column="body").fit(pd.DataFrame({"body": rows}))
    assert named.feature_names_in_.tolist() == ["body"]
    np.testing.assert_allclose(named.anomaly_score(table), unnamed.anomaly_score(odd), rtol=1e-5)
    assert set(named.explain(table)["column"]) == {"body"}
    with pytest.raises(UnknownColumnError, match="no column 'body'"):
        named.anomaly_score(table.rename(columns={"body": "text"}))


# Explanations --------------------------------------------------------------------------------------------------------


def test_an_odd_symbol_is_named_by_its_position_with_what_was_expected(sequence_detector):
    odd = sequence_detector.explain([["open", "read", "delete", "close"]], top=1).iloc[0]
    assert (odd["row"], odd["position"], odd["value"], odd["expected"]) == (0, 2, "delete", "write")
    assert odd["expected_probability"] > 0.3
    assert list(odd.index[:4]) == ["row", "column", "position", "value"]


def test_an_odd_word_is_named_by_its_characters(text_detector):
    text = "call me at midnight, ok?"
    explained = text_detector.explain(["see you at ten, ok?", text], top=1)
    odd = explained[explained["row"] == 1].iloc[0]
    assert text[odd["start"] : odd["end"]] == odd["value"] == "midnight"
    assert odd["expected"] in TIMES
    assert list(explained.columns[:5]) == ["row", "column", "start", "end", "value"]


def test_spans_fit_the_text_as_it_was_handed_in(text_detector):
    text = "  see you 😀😀 at\t你好吗  noon "
    explained = text_detector.explain([text], top=20)
    for start, end, value in zip(explained["start"], explained["end"], explained["value"], strict=True):
        assert text[start:end] == value
        assert value == value.strip()
    assert {"😀😀", "你好吗"} <= set(explained["value"])


def test_shaded_pieces_put_together_are_the_text(text_detector):
    texts = ["see you at zanzibar, ok?", "see you at ten, ok?", "see \ud83d you"]
    shaded = text_detector.shaded(texts)
    assert ["".join(piece.text for piece in pieces) for pieces in shaded] == [*texts[:2], "see \ufffd you"]
    strongest = max(shaded[0], key=lambda piece: piece.strength)
    assert strongest.text in "zanzibar"
    assert strongest.strength == 1


def test_what_was_expected_is_left_out_where_it_says_nothing(text_detector, monkeypatch):
    field = text_detector.encoder_.schema_.fields[0]
    odd = ["see you at zoo, ok?"]
    named = text_detector.explain(odd, top=1).iloc[0]
    assert named["expected"]
    asked = text_detector.expected_codes
    monkeypatch.setattr(text_detector, "expected_codes", lambda *cells: (asked(*cells)[0], np.full(1, 0.1)))
    assert text_detector.explain(odd, top=1)["expected"].tolist() == [""]
    comma = next(code for code, label in enumerate(field.labels) if not any(map(str.isalnum, label)))
    monkeypatch.setattr(text_detector, "expected_codes", lambda *cells: (np.full(1, comma), np.full(1, 0.9)))
    assert text_detector.explain(odd, top=1)["expected"].tolist() == [""]


# Long rows -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short_sighted():
    """A detector that sees eight symbols at a time."""
    rows = [["a", "b", "c"] * int(n) for n in np.random.default_rng(0).integers(1, 12, 150)]
    return SequenceDetector(tiny(), probes=PROBES, max_length=8, overlap=4).fit(rows)


def test_an_odd_symbol_is_found_wherever_a_long_row_holds_it(short_sighted):
    for position in (0, 5, 17, 40, 59):
        row = ["a", "b", "c"] * 20
        row[position] = "c" if row[position] != "c" else "a"
        explained = short_sighted.explain([row], top=1).iloc[0]
        assert abs(explained["position"] - position) <= 1


def test_every_symbol_of_a_long_row_counts_about_alike(short_sighted):
    row = ["a", "b", "c"] * 20
    unseen = [short_sighted.contributions([[*row[:at], "x", *row[at + 1 :]]])[0, at] for at in (3, 11, 30, 58)]
    assert max(unseen) < 2.5 * min(unseen)
    assert (short_sighted.contributions([row])[0] > 0).all()


def test_a_long_normal_row_is_no_alarm_for_its_length(short_sighted):
    assert not short_sighted.is_anomaly([["a", "b", "c"] * 60])[0]


def test_a_megabyte_of_text_is_scored_beside_short_ones():
    detector = TextDetector(tiny(5), probes=ProbeGrid((0.5,), 1)).fit(TEXTS)
    texts = [TEXTS[0], " ".join(TEXTS * 200), TEXTS[1]]
    assert len(texts[1]) > 1_000_000
    verdicts = detector.judge(texts)
    assert np.isfinite(verdicts.anomaly_score).all()
    assert verdicts.codes.row_lengths[1] > 300_000
