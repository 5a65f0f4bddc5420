"""A pre-trained language model as the reconstructor of a text detector."""

from __future__ import annotations

import numpy as np
import pytest

import maskdiff
from maskdiff.detectors import TextDetector
from maskdiff.errors import SettingError
from maskdiff.storage import load, save
from maskdiff.training import Steps, Training

from .token_rows import (
    ODD_TEXTS,
    PROBES,
    TEXTS,
    TIMES,
    make_texts,
)


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
