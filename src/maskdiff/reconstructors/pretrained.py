"""A masked language model from elsewhere as the reconstructor, as it comes or trained further on the normal text.

Codes are the model's own tokens, all but the special ones; what it says about those is left out and the rest brought
to one. R masked rows, F positions, M hidden positions, V codes, T tokens of the model.
"""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from maskdiff.codes import Codes, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.encoders.tokens.model_folder import model_from, most_tokens, reading, special_tokens, tokenizer_of
from maskdiff.encoders.tokens.tokenizers import ordinary_ids, unrestricted
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.reconstructors.base import State
from maskdiff.reconstructors.tokens import MaskedTokens, TokenNetwork, TokenReconstructor, check_alphabet
from maskdiff.state import arguments_from_plain, arguments_to_plain, check, storable
from maskdiff.state.tensors import Tensors
from maskdiff.training import Epochs, StopPart, Training, seeded, train_network

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Names under which models take the time, and what those that use the name expect.
_TIME_ARGUMENTS = {"timesteps": "rate", "timestep": "rate", "sigma": "sigma"}
# Diffusion models are trained up to this mask rate: where all is hidden, sigma has no value.
_HIGHEST_RATE = 0.999
# Name -> what a model is given for a mask rate 1 - alpha: the rate itself, or the total noise -log alpha.
TIME_INPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rate": lambda rate_R: rate_R,
    "sigma": lambda rate_R: -torch.log1p(-rate_R.clamp_max(_HIGHEST_RATE)),
}


@storable
@dataclass(frozen=True)
class ModelFacts:
    """What has to be known about a model to ask it: its token ids, the special ones around a text, its mask, its limit.

    `config` is the model's configuration as its library wrote it, None for a module that was handed in.
    """

    ids: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    mask: int
    pad: int
    most_tokens: int | None = None
    config: str | None = None


class PretrainedNetwork(TokenNetwork):
    """Lays tokens out as the model expects them, and reads its logits at hidden positions."""

    ids_V: Tensor
    tokens_at_once = (1 << 11, 1 << 16)
    logits_at_once = (1 << 26, 1 << 28)

    def __init__(self, model: nn.Module, facts: ModelFacts, time_input: str | None = None) -> None:
        super().__init__()
        self.model, self.facts, self.n_codes = model, facts, len(facts.ids)
        self.register_buffer("ids_V", torch.tensor(facts.ids), persistent=False)
        self.takes = frozenset(inspect.signature(model.forward).parameters)
        self.times = {name: time_input or usual for name, usual in _TIME_ARGUMENTS.items() if name in self.takes}

    def states(self, tokens: MaskedTokens) -> Tensor:
        """The model's logits of its codes at hidden positions, (M, V)."""
        shown_RF = torch.where(tokens.visible_RF, self.ids_V[tokens.codes_RF], self.facts.mask)
        real_RF = torch.ones_like(shown_RF, dtype=torch.bool) if tokens.real_RF is None else tokens.real_RF
        hidden = _surrounded(tokens.hidden_RF, self.facts, before=False, after=False, beyond=False)
        given: dict[str, Any] = {}
        if "attention_mask" in self.takes:
            given["attention_mask"] = _surrounded(real_RF, self.facts, before=True, after=True, beyond=False).long()
        given |= {name: TIME_INPUTS[time](tokens.rate_R) for name, time in self.times.items()}
        input_ids = self._with_special_tokens(shown_RF, real_RF)
        with _asked_only(self.model, hidden) as narrowed:
            logits = _logits(self.model(input_ids, **given))
        logits_MT = logits.reshape(-1, logits.shape[-1]) if narrowed else logits[hidden]
        return logits_MT.index_select(1, self.ids_V)

    def logits(self, states_MH: Tensor) -> Tensor:
        return states_MH

    def _with_special_tokens(self, shown_RF: Tensor, real_RF: Tensor) -> Tensor:
        """Special tokens before and after each text; those after it stand right behind its last token."""
        facts, n = self.facts, len(shown_RF)
        first = shown_RF.new_tensor(facts.before).expand(n, -1)
        room = shown_RF.new_full((n, len(facts.after)), facts.pad)
        laid_out = torch.cat([first, torch.where(real_RF, shown_RF, facts.pad), room], dim=1)
        end_R = real_RF.sum(dim=1) + len(facts.before)
        place = end_R[:, None] + torch.arange(len(facts.after), device=end_R.device)
        return laid_out.scatter(1, place, shown_RF.new_tensor(facts.after).expand(n, -1))


def _surrounded(values_RF: Tensor, facts: ModelFacts, *, before: bool, after: bool, beyond: bool) -> Tensor:
    """Values per token, with values for special tokens and padding around them."""
    n = len(values_RF)
    first = values_RF.new_full((n, len(facts.before)), before)
    room = values_RF.new_full((n, len(facts.after)), beyond)
    wide = torch.cat([first, values_RF, room], dim=1)
    if not after:
        return wide
    end_R = values_RF.sum(dim=1) + len(facts.before)
    place = end_R[:, None] + torch.arange(len(facts.after), device=end_R.device)
    return wide.scatter(1, place, True)


@contextmanager
def _asked_only(model: nn.Module, hidden: Tensor) -> Iterator[bool]:
    """Hand only hidden positions from the model's body to its head: a vocabulary of logits each is the larger part.

    Yields whether the model has a body and a head to do so.
    """
    body = getattr(model, "base_model", None)
    if not isinstance(body, nn.Module) or body is model:
        yield False
        return

    def narrow(module: nn.Module, inputs: Any, output: Any) -> Any:
        output["last_hidden_state"] = output["last_hidden_state"][hidden].unsqueeze(0)
        return output

    handle = body.register_forward_hook(narrow)
    try:
        yield True
    finally:
        handle.remove()


def _logits(output: Any) -> Tensor:
    """Logits over tokens, whichever way a model hands them back."""
    found = getattr(output, "logits", output[0] if isinstance(output, tuple) else output)
    if not isinstance(found, Tensor):
        raise SettingError(
            f"the model answers with {type(output).__name__}, without logits over its tokens. It needs a "
            "masked-language head, or a forward that returns logits."
        )
    return found


@dataclass(eq=False)
class PretrainedReconstructor(TokenReconstructor):
    """Any masked language model in a folder that transformers can read: BERT, RoBERTa, ModernBERT and their kind.

    Parameters
    ----------
    model : a folder, a name transformers knows, or a module whose forward takes token ids and returns logits over
        tokens, as absorbing-state diffusion language models do (then hand in `tokenizer` too).
    fine_tune : whether the whole model is trained further on the normal text; otherwise it is used as it is. An
        encoder without a masked-language head gets one, and that alone is trained.
    tokenizer : a tokenizer.json file or `tokenizers.Tokenizer`, where the folder holds none.
    mask_token : the token, or its id, that stands for a hidden one, where the tokenizer does not say.
    time_input : what a diffusion model that takes the time is given: "sigma" (-log alpha, as in MDLM) or "rate" (the
        mask rate 1 - alpha). None: "sigma" where its argument has that name, "rate" for `timesteps` and `timestep`.
    training : how it is trained, if it is.
    """

    model: Any
    fine_tune: bool = False
    tokenizer: Any = None
    mask_token: str | int | None = None
    time_input: str | None = None
    training: Training = field(
        default_factory=lambda: Training(
            Epochs(6), batch_size=32, learning_rate=1e-4, weight_decay=0.01, look_every=100, warmup=0.1
        )
    )
    facts: ModelFacts | None = field(default=None, repr=False)

    network_: PretrainedNetwork = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.time_input is not None and self.time_input not in TIME_INPUTS:
            raise SettingError(f"time_input must be None or one of {', '.join(TIME_INPUTS)}; got {self.time_input!r}.")

    @property
    def uses_level(self) -> bool:
        """Whether the model takes the mask rate."""
        return hasattr(self, "network_") and bool(self.network_.times)

    # The model's own tokenizer ---------------------------------------------------------------------------------------

    def load_tokenizer(self) -> Tokenizer:
        """The tokenizer that cuts text into the model's tokens."""
        from tokenizers import Tokenizer

        if isinstance(self.tokenizer, Tokenizer):
            return self.tokenizer
        if self.tokenizer is not None or not isinstance(self.model, str | os.PathLike):
            return _tokenizer_file(self.tokenizer)
        return tokenizer_of(self.model)

    def most_tokens(self) -> int | None:
        """How many tokens of a text the model can see at once; None: no limit is known."""
        return self._facts(self._config()).most_tokens

    def _config(self) -> Any:
        if isinstance(self.model, nn.Module):
            return getattr(self.model, "config", None)
        with reading(self.model) as transformers:
            return transformers.AutoConfig.from_pretrained(self.model)

    def _facts(self, config: Any) -> ModelFacts:
        tokenizer = self.load_tokenizer()
        before, after = special_tokens(tokenizer)
        return ModelFacts(
            ids=tuple(ordinary_ids(unrestricted(tokenizer))),
            before=before,
            after=after,
            mask=self._mask(tokenizer, config),
            pad=getattr(config, "pad_token_id", None) or 0,
            most_tokens=most_tokens(config, len(before) + len(after)),
            config=None if isinstance(self.model, nn.Module) or config is None else config.to_json_string(),
        )

    def _mask(self, tokenizer: Tokenizer, config: Any) -> int:
        if isinstance(self.mask_token, int):
            return self.mask_token
        names = [self.mask_token] if self.mask_token else ["[MASK]", "<mask>", "<|mask|>", "<|mdm_mask|>"]
        found = [*map(tokenizer.token_to_id, names), getattr(config, "mask_token_id", None)]
        known = [int(i) for i in found if i is not None]
        if not known:
            raise SettingError(
                f"the tokenizer of {self.model} has no token called {' or '.join(names)}; name its mask token with "
                "mask_token=..., a token or its id."
            )
        return known[0]

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, codes: Codes, *, seed: int, device: torch.device, **how: Any) -> Self:
        """Load the model; train it on these rows with `fine_tune`, or its head if it has none.

        `how` is what `training.train` takes.
        """
        model, missing = seeded(seed, self._load)  # a head that is missing starts at random
        facts = self._facts(getattr(model, "config", None))
        if check_alphabet(codes.schema) != len(facts.ids):
            raise SettingError(
                f"the rows have an alphabet of {codes.schema.sizes[0]} tokens, the model one of {len(facts.ids)}: use "
                "TextDetector, and leave its tokenizer to the model."
            )
        network = PretrainedNetwork(model, facts, self.time_input).to(device)
        fitted = replace(self, facts=facts)
        if self.fine_tune or missing:
            for name, weight in model.named_parameters():
                weight.requires_grad_(self.fine_tune or name in missing)
            return fitted._answering(
                train_network(network, codes, settings=self.training, seed=seed, device=device, **how)
            )
        return fitted._answering(network.requires_grad_(False))

    def train_on(
        self, codes: Codes, change: SchemaChange, *, part: StopPart, seed: int, device: torch.device, **how: Any
    ) -> Self:
        """With `fine_tune` a copy trained further on these rows; its alphabet is the model's own and never changes."""
        if not self.fine_tune:
            return self
        network = copy.deepcopy(self.network_).requires_grad_(True)
        settings = replace(self.training, stop=part.of(self.training.stop))
        return self._answering(train_network(network, codes, settings=settings, seed=seed, device=device, **how))

    def _load(self) -> tuple[nn.Module, set[str]]:
        """The model, and the names of its weights that are not in its folder."""
        if isinstance(self.model, nn.Module):
            return copy.deepcopy(self.model), set()
        with reading(self.model) as transformers:
            load = transformers.AutoModelForMaskedLM.from_pretrained
            model, report = load(self.model, output_loading_info=True)
        return model.float(), set(report["missing_keys"])

    # Keeping ---------------------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """What it is, in words."""
        return f"a pre-trained masked language model: {self!r}"

    def to_state(self) -> State:
        """The settings, what has to be known about the model, and all weights, those that share memory once."""
        if self.facts is None or self.facts.config is None:
            raise SettingError("a detector with a model that was handed in as a module cannot be saved; name a folder.")
        kept: dict[int, tuple[str, Tensor]] = {}
        for name, part in self.network_.model.state_dict().items():
            kept.setdefault(part.data_ptr(), (name, part))
        return arguments_to_plain(self), dict(kept.values())

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The reconstructor that `to_state` described."""
        bare = cls(**arguments_from_plain(cls, plain))
        facts = bare.facts
        if facts is None or facts.config is None:
            raise ModelFileError("the model file cannot be used: it does not describe its language model.")
        check(check_alphabet(schema) == len(facts.ids), "its language model has another alphabet than its tokenizer")
        model = model_from(facts.config, tensors, "its language model", "AutoModelForMaskedLM")
        n_tokens = model.get_input_embeddings().num_embeddings
        ids = (*facts.ids, *facts.before, *facts.after, facts.mask, facts.pad)
        check(all(0 <= one < n_tokens for one in ids), "its language model lacks tokens of its tokenizer")
        return bare._answering(PretrainedNetwork(model, facts, bare.time_input).requires_grad_(False).to(device))


def _tokenizer_file(named: Any) -> Tokenizer:
    from tokenizers import Tokenizer

    if named is None:
        raise SettingError("a model that is handed in as a module needs its tokenizer: tokenizer=FILE.")
    return Tokenizer.from_file(str(Path(named)))
