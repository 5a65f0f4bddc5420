from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from torch import nn

from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import InputError, MissingExtraError, SettingError
from maskdiff.masking import Linear, as_rows
from maskdiff.objectives import Diffusion, Reconstruction
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import PretrainedReconstructor, Reconstructor
from maskdiff.score import score_cells
from maskdiff.training import Steps, Training

transformers = pytest.importorskip("transformers")

CPU = torch.device("cpu")
NORMAL = ["see you at nine", "see you at ten", "call me at ten please", "are you home"] * 15
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SHAPES = {
    "bert": SMALL | {"max_position_embeddings": 32},
    "roberta": SMALL | {"max_position_embeddings": 32, "pad_token_id": 0},
    "modernbert": SMALL | {"max_position_embeddings": 32, "pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 32},
}


@pytest.fixture(scope="module")
def tokenizer():
    """Words, wrapped as BERT wraps them."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(NORMAL, trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False))
    wrapped = {"single": "[CLS] $A [SEP]", "special_tokens": [("[CLS]", 2), ("[SEP]", 3)]}
    tokenizer.post_processor = processors.TemplateProcessing(**wrapped)
    return tokenizer


@pytest.fixture(scope="module")
def folder_of(tokenizer, tmp_path_factory):
    """Makes a folder with a small model of a type, with or without its masked-language head."""

    def make(model_type, head=True):
        folder = tmp_path_factory.mktemp(model_type)
        config = transformers.AutoConfig.for_model(
            model_type, vocab_size=tokenizer.get_vocab_size(), **SHAPES[model_type]
        )
        family = transformers.AutoModelForMaskedLM if head else transformers.AutoModel
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = family.from_config(config).eval()
        for weight in model.parameters():  # away from the even answers of a fresh model
            weight.data.mul_(4 if weight.ndim == 2 else 1)
        model.save_pretrained(folder)
        named = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
        tokens = {f"{name}_token": token for name, token in named.items()}
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)
        return str(folder)

    return make


@pytest.fixture(scope="module")
def bert(folder_of):
    return folder_of("bert")


def encoder_for(reconstructor, texts=NORMAL):
    return TextEncoder(reconstructor.load_tokenizer(), whole_vocabulary=True, max_length=12, overlap=3).fit(texts)


def fit(reconstructor, codes, objective=None):
    objective = objective or Reconstruction((0.3, 0.7))
    return reconstructor.fit(codes, objective=objective, schedule=Linear(), seed=0, device=CPU)


def random_views(codes, n_views=3):
    hidden = torch.rand(len(codes), n_views, codes.values.shape[1], generator=torch.Generator().manual_seed(1)) < 0.4
    return as_rows(codes).views(hidden, torch.full((1, n_views), 0.4))


def plain_log_prob(model, tokenizer, text, hidden, at):
    """What the model says about one hidden token, asked as its own library asks it."""
    ids = tokenizer.encode(text).ids
    shown = [4 if 1 <= i <= len(hidden) and hidden[i - 1] else token for i, token in enumerate(ids)]
    with torch.no_grad():
        logits = model(torch.tensor([shown])).logits[0, at + 1].clone()
    logits[[0, 2, 3, 4]] = -torch.inf
    return float(logits.log_softmax(0)[ids[at + 1]])


@pytest.mark.parametrize("model_type", SHAPES)
def test_zero_shot_answers_are_the_models_own(folder_of, tokenizer, model_type):
    reconstructor = PretrainedReconstructor(folder_of(model_type))
    texts = ["see you at ten please", "call you"]
    codes = encoder_for(reconstructor).encode(texts)
    fitted = fit(reconstructor, codes)
    views = random_views(codes)
    found = fitted.log_prob(views)
    model = transformers.AutoModelForMaskedLM.from_pretrained(reconstructor.model).eval()
    for row, view, at in views.hidden.nonzero().tolist():
        hidden = views.hidden[row, view, : codes.row_lengths[row]].tolist()
        expected = plain_log_prob(model, tokenizer, texts[row], hidden, at)
        assert float(found[row, view, at]) == pytest.approx(expected, abs=1e-3)


def test_it_is_a_reconstructor_and_needs_no_training_rows_beyond_the_alphabet(bert):
    reconstructor = PretrainedReconstructor(bert)
    assert isinstance(reconstructor, Reconstructor)
    codes = encoder_for(reconstructor).encode(["see you"])
    assert not any(w.requires_grad for w in fit(reconstructor, codes).network_.parameters())


@pytest.mark.parametrize(("tokens", "logits"), [(1, 1), (1 << 20, 1 << 24)])
def test_how_much_is_computed_at_once_does_not_matter(bert, tokens, logits):
    reconstructor = PretrainedReconstructor(bert)
    codes = encoder_for(reconstructor).encode(NORMAL[:4])
    fitted = fit(reconstructor, codes)
    views = random_views(codes)
    usual = fitted.log_prob(views), *fitted.most_likely(views)
    fitted.network_.tokens_at_once, fitted.network_.logits_at_once = (tokens, tokens), (logits, logits)
    for before, now in zip(usual, (fitted.log_prob(views), *fitted.most_likely(views)), strict=True):
        np.testing.assert_allclose(before, now, atol=1e-5)


def test_the_likeliest_token_is_never_a_special_one(bert, tokenizer):
    reconstructor = PretrainedReconstructor(bert)
    encoder = encoder_for(reconstructor)
    codes = encoder.encode(NORMAL[:4])
    guess, log_prob = fit(reconstructor, codes).most_likely(random_views(codes))
    assert {encoder.symbols_[code] for code in guess.unique().tolist()}.isdisjoint({0, 2, 3, 4})
    assert (log_prob <= 0).all()


def training(steps):
    return Training(Steps(steps), batch_size=16, learning_rate=0.01, average=0.0)


def mean_surprise(fitted, codes):
    cells = score_cells(fitted, codes, probes=ProbeGrid((0.3, 0.7), 4), schedule=Linear())
    return float(cells.contributions("mean").sum(axis=1).mean())


def body_and_head(fitted):
    weights = dict(fitted.network_.model.named_parameters())
    body = [w.flatten() for name, w in weights.items() if name.startswith("bert.")]
    return torch.cat(body), torch.cat([w.flatten() for name, w in weights.items() if not name.startswith("bert.")])


@pytest.mark.parametrize("objective", [Reconstruction((0.3, 0.7)), Diffusion()], ids=["reconstruction", "diffusion"])
def test_fine_tuning_lowers_the_surprise_of_normal_text(bert, objective):
    as_it_is = PretrainedReconstructor(bert)
    codes = encoder_for(as_it_is).encode(NORMAL)
    tuned = fit(PretrainedReconstructor(bert, fine_tune=True, training=training(30)), codes, objective)
    before = fit(as_it_is, codes)
    assert mean_surprise(tuned, codes) < 0.7 * mean_surprise(before, codes)
    assert not body_and_head(tuned)[0].equal(body_and_head(before)[0])


def test_an_encoder_without_a_head_gets_one_and_only_that_is_trained(folder_of):
    folder = folder_of("bert", head=False)
    codes = encoder_for(PretrainedReconstructor(folder)).encode(NORMAL)
    one, more = (fit(PretrainedReconstructor(folder, training=training(n)), codes) for n in (1, 40))
    assert body_and_head(one)[0].equal(body_and_head(more)[0])
    assert not body_and_head(one)[1].equal(body_and_head(more)[1])
    assert mean_surprise(more, codes) < mean_surprise(one, codes)


def test_the_same_seed_gives_the_same_head(folder_of):
    folder = folder_of("bert", head=False)
    codes = encoder_for(PretrainedReconstructor(folder)).encode(NORMAL)
    first, second = (fit(PretrainedReconstructor(folder, training=training(2)), codes) for _ in range(2))
    assert body_and_head(first)[1].equal(body_and_head(second)[1])


@pytest.mark.parametrize(("model_type", "most"), [("bert", 30), ("roberta", 29)])
def test_it_says_how_many_tokens_the_model_can_see(folder_of, model_type, most):
    assert PretrainedReconstructor(folder_of(model_type)).most_tokens() == most


class DiffusionModel(nn.Module):
    """Answers with logits alone, and takes the mask rate, as absorbing-state diffusion language models do."""

    def __init__(self, n_tokens, *, answer=lambda logits: logits):
        super().__init__()
        self.table = nn.Embedding(n_tokens, n_tokens)
        self.answer = answer
        self.rates, self.given = [], []

    def forward(self, input_ids, timesteps):
        self.rates.append(timesteps)
        self.given.append(input_ids)
        context = self.table(input_ids).mean(dim=1, keepdim=True)
        return self.answer(context * timesteps[:, None, None] + torch.zeros(*input_ids.shape, 1))


def test_a_diffusion_model_is_handed_in_as_a_module_and_told_the_mask_rate(tokenizer):
    model = DiffusionModel(tokenizer.get_vocab_size())
    reconstructor = PretrainedReconstructor(model, tokenizer=tokenizer)
    encoder = encoder_for(reconstructor)
    codes = encoder.encode(["see you at ten"])
    fitted = fit(reconstructor, codes)
    assert fitted.uses_level
    views = as_rows(codes).views(torch.tensor([[[False, True, False, True]]]), torch.full((1, 1), 0.25))
    found = fitted.log_prob(views)[0, 0, 1]
    given = fitted.network_.model.given[-1][0].tolist()
    see, at = (tokenizer.token_to_id(word) for word in ("see", "at"))
    assert given == [2, see, 4, at, 4, 3]
    logits = 0.25 * model.table.weight.detach()[given].mean(dim=0)
    logits = logits[[1, *range(5, len(logits))]]
    assert float(found) == pytest.approx(float(logits.log_softmax(0)[encoder.encode(["you"]).values[0, 0]]), abs=1e-5)


@pytest.mark.parametrize("answer", [lambda logits: (logits,), lambda logits: type("Output", (), {"logits": logits})()])
def test_logits_may_come_in_a_tuple_or_as_an_attribute(tokenizer, answer):
    model = DiffusionModel(tokenizer.get_vocab_size())
    codes = encoder_for(PretrainedReconstructor(model, tokenizer=tokenizer)).encode(NORMAL[:2])
    plain = fit(PretrainedReconstructor(model, tokenizer=tokenizer), codes)
    model.answer = answer
    wrapped = fit(PretrainedReconstructor(model, tokenizer=tokenizer), codes)
    assert plain.log_prob(random_views(codes)).equal(wrapped.log_prob(random_views(codes)))


def test_a_model_that_answers_without_logits_is_refused(tokenizer):
    model = DiffusionModel(tokenizer.get_vocab_size(), answer=lambda logits: {"hidden": logits})
    reconstructor = PretrainedReconstructor(model, tokenizer=tokenizer)
    codes = encoder_for(reconstructor).encode(NORMAL[:2])
    with pytest.raises(SettingError, match="without logits over its tokens"):
        fit(reconstructor, codes).log_prob(random_views(codes))


def test_a_module_needs_its_tokenizer(tokenizer):
    with pytest.raises(SettingError, match="needs its tokenizer"):
        PretrainedReconstructor(DiffusionModel(20)).load_tokenizer()


def test_a_tokenizer_file_serves_where_the_folder_has_none(tokenizer, tmp_path):
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = PretrainedReconstructor("no folder", tokenizer=tmp_path / "tokenizer.json").load_tokenizer()
    assert found.get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize(("mask", "wanted"), [("[UNK]", 1), (7, 7)])
def test_another_mask_token_can_be_named(bert, mask, wanted):
    reconstructor = PretrainedReconstructor(bert, mask_token=mask)
    codes = encoder_for(reconstructor).encode(NORMAL[:2])
    assert fit(reconstructor, codes).facts.mask == wanted


def test_a_mask_token_that_the_tokenizer_does_not_have_is_refused(bert):
    reconstructor = PretrainedReconstructor(bert, mask_token="<gap>")
    with pytest.raises(SettingError, match="no token called <gap>"):
        reconstructor.most_tokens()


def test_rows_of_another_alphabet_are_refused(bert):
    codes = TextEncoder().fit(NORMAL).encode(NORMAL)
    with pytest.raises(SettingError, match="leave its tokenizer to the model"):
        fit(PretrainedReconstructor(bert), codes)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read as a masked language model"):
        PretrainedReconstructor(tmp_path / "nowhere").load_tokenizer()


def test_without_its_extra_it_says_how_to_get_it(monkeypatch, bert):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r'transformers: pip install "maskdiff\[pretrained\]"'):
        PretrainedReconstructor(bert).load_tokenizer()
