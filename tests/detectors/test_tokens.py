from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import maskdiff
from maskdiff.detectors import SequenceDetector, TextDetector
from maskdiff.errors import EmptyTableError, InputError, NoEvidenceWarning, SettingError, UnknownColumnError
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor, TransformerReconstructor
from maskdiff.score import AGGREGATES
from maskdiff.storage import load, save
from maskdiff.training import Steps, Training

GREETINGS, TIMES = ("see you", "call me", "meet us"), ("nine", "ten", "noon", "six")


def make_texts(n, seed):
    rng = np.random.default_rng(seed)
    return [f"{rng.choice(GREETINGS)} at {rng.choice(TIMES)}, ok?" for _ in range(n)]


def make_sessions(n, seed):
    rng = np.random.default_rng(seed)
    return [["open", *["read", "write"] * int(rng.integers(1, 5)), "close"] for _ in range(n)]


def tiny(steps=80):
    training = Training(Steps(steps), batch_size=32, learning_rate=0.01, warmup=0.1)
    return TransformerReconstructor(width=16, heads=2, feed_forward=32, dropout=0.0, training=training)


PROBES = ProbeGrid((0.2, 0.5, 0.8), 3)
TEXTS, SESSIONS = make_texts(300, 0), make_sessions(300, 0)
ODD_TEXTS = ["see you at you, ok?", "win cash at noon, ok?", "ok ok ok"]
ODD_SESSIONS = [["close", "read", "write", "open"], ["open", "read", "delete", "close"]]


@pytest.fixture(scope="module")
def text_detector():
    return TextDetector(tiny(240), probes=PROBES).fit(TEXTS)


@pytest.fixture(scope="module")
def sequence_detector():
    return SequenceDetector(tiny(), probes=PROBES).fit(SESSIONS)


@pytest.fixture(params=["text", "sequence"])
def case(request, text_detector, sequence_detector):
    """A fitted detector, normal rows it has not seen, and odd ones."""
    return {
        "text": (text_detector, make_texts(20, 1), ODD_TEXTS),
        "sequence": (sequence_detector, make_sessions(20, 1), ODD_SESSIONS),
    }[request.param]


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
    named = clone(detector).set_params(column="body")
    training = pd.DataFrame({"body": TEXTS if isinstance(detector, TextDetector) else SESSIONS})
    named.fit(training)
    assert named.feature_names_in_.tolist() == ["body"]
    np.testing.assert_allclose(named.anomaly_score(table), detector.anomaly_score(odd), rtol=1e-5)
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


# Rows without tokens, and other bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("empty", ["", "  \n", None, float("nan")])
def test_an_empty_text_holds_no_evidence_and_is_named(text_detector, empty):
    texts = ["see you at ten, ok?", empty, ODD_TEXTS[1]]
    with pytest.warns(NoEvidenceWarning, match=r"1 row holds no tokens.*Rows 1\."):
        verdicts = text_detector.judge(texts)
    assert np.isnan(verdicts.anomaly_score).tolist() == [False, True, False]
    assert verdicts.p_value[1] == 1
    assert verdicts.is_anomaly.tolist() == [False, False, True]
    with pytest.warns(NoEvidenceWarning):
        assert np.isnan(text_detector.contributions(texts)[1]).all()
    with pytest.warns(NoEvidenceWarning):
        assert text_detector.predict(texts).tolist() == [1, 1, -1]
    assert 1 not in set(text_detector.explain(texts, verdicts=verdicts)["row"])


@pytest.mark.filterwarnings("ignore::maskdiff.errors.NoEvidenceWarning")
def test_an_empty_row_is_never_an_alarm(case):
    detector, normal, odd = case
    rows = [*normal, None, *odd]
    assert not detector.is_anomaly(rows, 0.99)[len(normal)]
    assert not detector.select(rows, 0.99)[len(normal)]
    assert detector.p_value(rows)[len(normal)] == 1


def test_an_empty_sequence_holds_no_evidence_either(sequence_detector):
    with pytest.warns(NoEvidenceWarning, match=r"2 rows hold no tokens.*Rows 0, 2\."):
        scores = sequence_detector.anomaly_score([[], SESSIONS[0], None])
    assert np.isnan(scores).tolist() == [True, False, True]


def test_rows_that_are_all_empty_can_be_scored(text_detector):
    with pytest.warns(NoEvidenceWarning, match=r"7 rows.*Rows 0, 1, 2, 3, 4, \.\.\."):
        assert text_detector.p_value([""] * 7).tolist() == [1.0] * 7


def test_empty_texts_among_normal_ones_are_left_out_of_learning():
    texts = [text for pair in zip(TEXTS[:90], [""] * 90, strict=True) for text in pair]
    with pytest.warns(NoEvidenceWarning, match="90 rows hold no tokens, so no evidence: they are left out"):
        detector = TextDetector(tiny(20), probes=PROBES).fit(texts)
    assert not np.isnan(detector.calibration_.scores).any()
    assert len(detector.calibration_) < 60


@pytest.mark.parametrize("texts", [["", "", ""], [None, " ", None]])
def test_normal_texts_that_are_all_empty_are_refused(texts):
    with pytest.raises(EmptyTableError, match="holds a single token"):
        TextDetector(tiny(2)).fit(texts)


def test_one_normal_text_is_not_enough():
    with pytest.raises(InputError, match="at least 3 normal rows"):
        TextDetector(tiny(2)).fit(["see you"])


def test_no_texts_at_all_give_no_scores(text_detector):
    assert text_detector.anomaly_score([]).shape == (0,)
    assert len(text_detector.explain([])) == 0


def test_a_text_with_no_known_token_is_an_alarm(text_detector):
    assert text_detector.is_anomaly(["ωψχ Ж12 %$ 你好"]).all()


HARD = [
    "\x00\x07 ok",
    "\ud800 at ten",
    "שלום at nine, ok?",
    "😀👩\u200d👩\u200d👧",
    "\u202esee you",
    "x" * 5000,
    12,
    2.5,
    True,
]


def test_one_token_is_judged_and_named(text_detector):
    scores = text_detector.anomaly_score(["nine", "zanzibar", "?"])
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]
    odd = text_detector.explain(["nine"]).iloc[0]
    assert (odd["start"], odd["end"], odd["value"], odd["share"]) == (0, 4, "nine", pytest.approx(1))


def test_hard_texts_can_be_explained_and_their_spans_are_inside_them(text_detector):
    texts = [text if isinstance(text, str) else str(text) for text in HARD]
    explained = text_detector.explain(HARD, top=2)
    assert set(explained["row"]) == set(range(len(HARD)))
    for row, start, end in zip(explained["row"], explained["start"], explained["end"], strict=True):
        assert 0 <= start < end <= len(texts[row])


def test_hard_texts_have_scores_that_are_numbers(text_detector):
    scores = text_detector.anomaly_score(HARD)
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


@pytest.mark.parametrize(
    ("detector", "rows", "error", "message"),
    [
        (SequenceDetector, "abc", InputError, "got one str"),
        (SequenceDetector, [["a"], "a b"], InputError, "plain string"),
        (TextDetector, "see you", InputError, "got one str"),
        (TextDetector, ["see", ["you"], "then"], InputError, "row 1 is no text"),
        (TextDetector, pd.DataFrame({"a": ["x"], "b": ["y"]}), UnknownColumnError, "say which one"),
    ],
)
def test_what_cannot_be_read_is_refused_at_fit(detector, rows, error, message):
    with pytest.raises(error, match=message):
        detector(tiny(2)).fit(rows)


# Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["reconstruction", "diffusion"])
@pytest.mark.parametrize("design", ["balanced", "independent"])
def test_both_objectives_and_designs_find_odd_texts(objective, design):
    probes = ProbeGrid((0.2, 0.5, 0.8), 3, design)
    detector = TextDetector(tiny(60), probes=probes, objective=objective).fit(TEXTS)
    assert detector.anomaly_score(ODD_TEXTS).min() > np.median(detector.anomaly_score(make_texts(20, 1)))


@pytest.mark.parametrize("aggregate", [*AGGREGATES, "auto"])
def test_every_aggregate_shares_its_score_out(text_detector, aggregate):
    detector = TextDetector(tiny(5), probes=PROBES, aggregate=aggregate).fit(TEXTS)
    np.testing.assert_allclose(detector.contributions(ODD_TEXTS).sum(axis=1), detector.anomaly_score(ODD_TEXTS))


def test_auto_steadies_short_texts(text_detector):
    """The same odd word weighs less in a text of two words than "rms" alone would let it."""
    plain = TextDetector(tiny(), probes=PROBES, aggregate="rms").fit(TEXTS)
    short, long = "ok zanzibar", "see you at zanzibar, ok?"
    for of_short, of_long in [plain.anomaly_score([short, long])]:
        assert of_short > of_long
    steadied = text_detector.anomaly_score([short, long])
    assert steadied[0] / steadied[1] < of_short / of_long


@pytest.mark.parametrize("reconstructor", [MLPReconstructor(), KernelReconstructor()])
def test_reconstructors_of_tables_are_refused(reconstructor):
    with pytest.raises(SettingError, match="reads tables"):
        TextDetector(reconstructor).fit(TEXTS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reconstructor": "mlp"}, "choose one of transformer"),
        ({"preset": "large"}, "preset must be None"),
        ({"aggregate": "median"}, "no aggregate is called 'median'"),
        ({"max_length": 4, "overlap": 4}, "max_length must be at least 1"),
        ({"tokenizer": "words"}, "no tokenizer is called"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_fit(settings, message):
    with pytest.raises(SettingError, match=message):
        TextDetector(**settings).fit(TEXTS)


def test_the_papers_preset_has_the_papers_size_probes_and_tokenizer():
    detector = TextDetector(preset="paper")
    reconstructor, probes = detector._resolve()
    assert (reconstructor.layers, reconstructor.width) == (8, 512)
    assert (probes.views_per_level, probes.design, probes.empty_views) == (24, "independent", "zero")
    assert detector._new_encoder().tokenizer == "gpt2"


def test_own_reconstructors_serve_tokens_too():
    class Even:
        """Every token is as likely as any other."""

        def log_prob(self, views):
            return -2.0 * views.hidden.expand(views.n_rows, -1, -1)

        def most_likely(self, views):
            shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])
            return views.codes_BF.unsqueeze(1).expand(shape), self.log_prob(views)

    detector = SequenceDetector(Even()).fit(SESSIONS)
    assert detector.anomaly_score(SESSIONS[:2]) == pytest.approx([2.0, 2.0])


# A pre-trained model -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    """A small masked language model, trained a few steps on other texts than the detector sees, and saved."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [*make_texts(50, 9), "win cash now"]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special, show_progress=False))
    wrapped = {"single": "[CLS] $A [SEP]", "special_tokens": [("[CLS]", 2), ("[SEP]", 3)]}
    tokenizer.post_processor = processors.TemplateProcessing(**wrapped)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=24, **shape)
    folder = tmp_path_factory.mktemp("bert")
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    return folder


def pretrained(folder, **settings):
    training = Training(Steps(120), batch_size=32, learning_rate=0.01)
    return maskdiff.reconstructors.pretrained.PretrainedReconstructor(str(folder), training=training, **settings)


def test_a_pretrained_model_fine_tuned_on_normal_text_finds_and_explains_odd_texts(bert_folder, tmp_path):
    detector = TextDetector(pretrained(bert_folder, fine_tune=True), probes=PROBES).fit(TEXTS)
    assert detector.is_anomaly(["win cash now, ok?"], 0.05).all()
    explained = detector.explain(["see you at cash, ok?"], top=1).iloc[0]
    assert (explained["value"], explained["start"], explained["end"]) == ("cash", 11, 15)
    assert explained["expected"] in TIMES
    save(detector, tmp_path / "model.maskdiff")
    again = load(tmp_path / "model.maskdiff")
    np.testing.assert_allclose(again.anomaly_score(ODD_TEXTS), detector.anomaly_score(ODD_TEXTS), rtol=1e-5)


def test_a_pretrained_model_serves_as_it_comes(bert_folder):
    detector = TextDetector(pretrained(bert_folder), probes=PROBES).fit(TEXTS)
    assert np.isfinite(detector.anomaly_score(ODD_TEXTS)).all()
    assert detector.encoder_.max_length == 22


def test_texts_longer_than_the_model_can_see_are_cut_into_windows(bert_folder):
    detector = TextDetector(pretrained(bert_folder), probes=PROBES).fit(TEXTS)
    assert detector.contributions([" ".join(TEXTS[:10])]).shape[1] > 22
    with pytest.raises(SettingError, match="sees at most 22 tokens"):
        TextDetector(pretrained(bert_folder), max_length=40).fit(TEXTS)


def test_a_pretrained_model_keeps_its_own_tokenizer(bert_folder):
    with pytest.raises(SettingError, match="brings its own tokenizer"):
        TextDetector(pretrained(bert_folder), tokenizer="bpe").fit(TEXTS)


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
