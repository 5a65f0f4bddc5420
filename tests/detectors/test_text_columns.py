"""A column of sentences in a table is read as text: what it says is part of the score, and of the reasons."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, Training, load, save
from maskdiff.datasets.claim_notes import FAULTS, claim_notes, odd_notes
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import EmptyTableError, LeftOutWarning, TextColumnWarning

ISSUES = ("Flat Tyres", "Windscreen Crack", "Radiator Leaking", "Brake Pads Worn")


def claims(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    issue = rng.choice(ISSUES, n)
    colour = rng.choice(["red", "blue", "grey"], n)
    return pd.DataFrame({"issue": issue, "colour": colour, "note": claim_notes(issue.tolist(), rng)})


def quietly(detector: TableDetector, rows: pd.DataFrame) -> TableDetector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnWarning)
        return detector.fit(rows)


@pytest.fixture(scope="module")
def fitted() -> TableDetector:
    return quietly(TableDetector("kernel"), claims(500, 0))


@pytest.fixture(scope="module")
def odd() -> pd.DataFrame:
    """One claim for each fault of its note, in the order of FAULTS."""
    rows = claims(len(FAULTS), 2)
    rng = np.random.default_rng(2)
    rows["note"] = [odd_notes(fault, [issue], rng)[0] for fault, issue in zip(FAULTS, rows["issue"], strict=True)]
    return rows


def test_a_notice_says_that_the_column_is_read_as_text() -> None:
    with pytest.warns(TextColumnWarning, match="read as text: 'note'.*drop"):
        detector = TableDetector("kernel").fit(claims(60, 0))
    assert detector.encoder_.schema_.names == ["issue", "colour", "note"]
    assert detector.encoder_.left_out_ == {}


def test_every_fault_of_a_note_is_found(fitted: TableDetector, odd: pd.DataFrame) -> None:
    assert fitted.is_anomaly(odd).all()
    assert fitted.is_anomaly(claims(300, 1)).mean() < 0.05


def test_without_the_column_none_is_found(odd: pd.DataFrame) -> None:
    dropped = TableDetector("kernel", columns={"note": "drop"}).fit(claims(500, 0))
    assert not dropped.is_anomaly(odd).any()


def test_the_contributions_of_all_cells_add_up_to_the_score(fitted: TableDetector, odd: pd.DataFrame) -> None:
    assert np.allclose(fitted.contributions(odd).sum(axis=1), fitted.anomaly_score(odd))
    assert (fitted.contributions(odd).argmax(axis=1) == 2).all()


def test_the_note_is_the_reason_with_its_odd_parts_in_brackets(fitted: TableDetector, odd: pd.DataFrame) -> None:
    rows = odd.assign(note=["Customer called on Monday, qzxv wwkjq. photos were sent."] * len(odd))
    first = fitted.explain(rows[:1], top=1).iloc[0]
    assert first["column"] == "note"
    assert "[[qzxv]] [[wwkjq]]" in first["value"]
    assert "[[Customer]]" not in first["value"]
    assert first["expected"] == ""


def test_a_note_that_contradicts_another_cell_says_so(fitted: TableDetector) -> None:
    row = pd.DataFrame(
        {"issue": ["Flat Tyres"], "colour": ["red"], "note": ["Stone hit the windscreen, photos were sent."]}
    )
    first = fitted.explain(row, top=1).iloc[0]
    assert first["contradicts"] == "issue = Flat Tyres"
    assert "[[windscreen]]" in first["value"]


def test_an_odd_note_is_among_the_odd_cells(fitted: TableDetector, odd: pd.DataFrame) -> None:
    rows = pd.concat([claims(60, 5), odd], ignore_index=True)
    cells = fitted.odd_cells(rows)
    assert set(cells.loc[cells["column"] == "note", "row"]) >= {60 + list(FAULTS).index("gibberish")}


def test_an_odd_note_is_never_replaced(fitted: TableDetector, odd: pd.DataFrame) -> None:
    rows = pd.concat([claims(60, 5), odd], ignore_index=True)
    repair = fitted.repair(rows)
    assert (repair.rows["note"] == rows["note"]).all()
    assert "some text is expected" in set(repair.changes["kept_because"])


NOTES = [
    *("", None, "   ", "!!! ???", "🚗💥 🚗", "x" * 100_000, "<b>Flat</b> tyre &amp; so on", "\x00\x1b[31m"),
    *("車が動かない。修理をお願いします", "הרכב לא נוסע", "\u0130stanbul\u2019da ara\u00e7"),
    " ".join(["tyre is flat"] * 3334),
]


def test_any_text_is_judged_and_explained(fitted: TableDetector) -> None:
    rows = pd.DataFrame({"issue": "Flat Tyres", "colour": "red", "note": pd.Series(NOTES, dtype=object)})
    verdicts = fitted.judge(rows)
    assert np.isfinite(verdicts.anomaly_score).all()
    shown = fitted.explain(rows, top=3, verdicts=verdicts)
    assert shown["value"].str.len().max() < 2000


def test_a_score_does_not_depend_on_the_rows_beside_it(fitted: TableDetector, odd: pd.DataFrame) -> None:
    whole = fitted.anomaly_score(odd)
    one_by_one = [fitted.anomaly_score(odd[i : i + 1])[0] for i in range(len(odd))]
    assert np.allclose(whole, one_by_one, rtol=1e-12)


def test_a_stored_model_gives_the_same_scores(fitted: TableDetector, odd: pd.DataFrame, tmp_path) -> None:
    save(fitted, tmp_path / "m.maskdiff")
    loaded = load(tmp_path / "m.maskdiff")
    assert np.array_equal(loaded.anomaly_score(odd), fitted.anomaly_score(odd))
    assert loaded.explain(odd).equals(fitted.explain(odd))


def test_how_rows_are_cut_into_batches_does_not_matter(fitted: TableDetector, odd: pd.DataFrame) -> None:
    rows = claims(500, 0)
    parts = [rows[:130], rows[130:137], rows[137:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnWarning)
        cut = TableDetector("kernel").fit_batches(lambda: iter(parts))
    assert np.allclose(cut.anomaly_score(odd), fitted.anomaly_score(odd), rtol=1e-12)


@pytest.mark.parametrize("how", ["category", "drop"])
def test_the_column_can_be_read_otherwise(how: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector = TableDetector("kernel", columns={"note": how}).fit(claims(60, 0))
    assert len(detector.evidence_.terms) == 1


def test_a_short_column_can_be_read_as_text() -> None:
    rows = claims(100, 0).assign(note=lambda all: all["note"].str.split(",").str[0])
    detector = TableDetector("kernel", columns={"note": "text"}).fit(rows)
    assert detector.text_columns() is not None


def test_the_papers_settings_leave_texts_out() -> None:
    with pytest.warns(LeftOutWarning, match="note"):
        TableDetector("kernel", preset="paper").fit(claims(60, 0))


def test_texts_that_say_nothing_about_new_ones_are_not_used() -> None:
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    noise = [" ".join("".join(rng.choice(letters, 8)) for _ in range(6)) for _ in range(200)]
    detector = quietly(TableDetector("kernel"), claims(200, 0).assign(note=noise))
    assert detector.text_columns() is None
    assert len(detector.evidence_.terms) == 1


def test_a_small_table_is_cross_fitted_with_its_texts(odd: pd.DataFrame) -> None:
    network = MLPReconstructor(8, 1, training=Training(Steps(2), batch_size=32))
    detector = quietly(TableDetector(network, probes=ProbeGrid((0.3,), 1)), claims(120, 0))
    assert [term.source for term in detector.evidence_.terms] == ["reconstructor", "texts"]
    assert len(detector.calibration_) == 120
    assert (detector.contributions(odd)[1:].argmax(axis=1) == 2).all()


def test_texts_count_as_much_as_the_other_sources_on_average() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnWarning)
        detector = TableDetector(probes=ProbeGrid((0.5,), 1)).fit(claims(40, 0))
    weights: dict[str, float] = {}
    for term in detector.evidence_.terms:
        weights[term.source] = weights.get(term.source, 0.0) + term.weight
    text = weights.pop("texts")
    assert set(weights) == {"reconstructor", "kernel", "neighbours"}
    assert text == pytest.approx(sum(weights.values()) / 3)


def test_odd_notes_are_found_in_a_file_nobody_labelled(odd: pd.DataFrame) -> None:
    odd = odd[1:]  # of few rows nobody can tell what contradicts what
    rows = pd.concat([claims(200, 0), odd], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextColumnWarning)
        findings = TableDetector("kernel").fit_find(rows)
    ranked = np.argsort(-findings.anomaly_score)[: len(odd)]
    assert set(ranked.tolist()) == set(range(200, 200 + len(odd)))


def test_normal_rows_raise_alarms_as_rarely_as_promised() -> None:
    rates = []
    for seed in range(6):
        detector = quietly(TableDetector("kernel", seed=seed, false_alarm_rate=0.1), claims(150, seed))
        rates.append(detector.is_anomaly(claims(200, 50 + seed)).mean())
    assert np.mean(rates) < 0.13


def test_tables_without_texts_hold_none() -> None:
    codes = TableEncoder().fit([["cat", 1], ["dog", 2]] * 9).encode([["cat", 1]])
    assert codes.texts is None


def test_texts_alone_are_for_another_detector() -> None:
    with pytest.raises(EmptyTableError, match=r"'note'.*TextDetector"):
        TableDetector("kernel").fit(claims(60, 0)[["note"]])


@pytest.mark.parametrize("effort", ["auto", "alarms"])
def test_a_first_look_reads_texts_too(effort: str, odd: pd.DataFrame) -> None:
    network = MLPReconstructor(8, 1, training=Training(Steps(2), batch_size=32))
    settings = {"probes": ProbeGrid((0.3,), 1), "cross_fit_up_to": 0, "effort": effort}
    detector = quietly(TableDetector(network, **settings), claims(1000, 0))
    assert detector.is_anomaly(odd)[1:].all()


def test_a_detector_of_texts_learns_on(odd: pd.DataFrame) -> None:
    detector = quietly(TableDetector("kernel"), claims(400, 0))
    notes = [f"{note} Replaced by a glorptik." for note in claims(60, 9)["note"]]
    new = claims(60, 9).assign(note=notes)
    before = detector.anomaly_score(new).mean()
    detector.update(new)
    assert detector.anomaly_score(claims(20, 10).assign(note=notes[:20])).mean() < before
    assert detector.is_anomaly(odd)[1:].all()
