"""Model folders that transformers can read: such as BERT, RoBERTa and ModernBERT."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maskdiff.errors import InputError, MissingExtraError, ModelFileError
from maskdiff.state import check

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

# A model of a model file has to answer rows of these lengths: neither divides the other.
_TRIED_LENGTHS = (5, 7)


@contextmanager
def reading(what: Any, expected: str = "a masked language model") -> Iterator[Any]:
    """transformers, without its progress bars and load reports; a model it cannot read is an InputError."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("pretrained", needs="transformers") from error
    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield transformers
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"{what} cannot be read as {expected}: {reason}") from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def model_from(config: str, tensors: Mapping[str, Tensor], what: str, head: str = "AutoModel") -> Any:
    """The model that a model file describes, with the weights it holds; `head` is the class of transformers.

    Configurations are checked by other people's code, which fails in many ways. So the model is first made without
    memory and compared with the weights, and at last tried.
    """
    with reading(what) as transformers:
        try:
            described = transformers.AutoConfig.for_model(**json.loads(config))
            make = getattr(transformers, head).from_config
            _check_weights(lambda: make(described), tensors)
            model = make(described)
            model.load_state_dict(tensors, strict=False)
            model.tie_weights()
            model = model.float().eval().requires_grad_(False)
            _try(model)
        except ModelFileError:
            raise
        except Exception as error:
            raise ModelFileError(f"the model file cannot be used: {what} cannot be made ({error!r})."[:300]) from error
    return model


def _check_weights(make: Callable[[], Any], tensors: Mapping[str, Tensor]) -> None:
    """Refuse weights that are not those of the model."""
    from maskdiff.state.tensors import check_finite, without_memory

    with without_memory(tensors):
        wanted = make().state_dict(keep_vars=True)
    held = {id(wanted[name]) for name in tensors if name in wanted}
    wrong = [name for name, weight in wanted.items() if name not in tensors and id(weight) not in held]
    wrong += [name for name in tensors if name not in wanted or tensors[name].shape != wanted[name].shape]
    check(not wrong, f"these weights are not of the model that is described: {', '.join(wrong[:3])}")
    for name, weight in tensors.items():
        check(weight.is_floating_point() == wanted[name].is_floating_point(), f"the weight {name} holds {weight.dtype}")
        check_finite(name, weight)


def _try(model: Any) -> None:
    """Refuse a model that gives no numbers."""
    import torch

    n_tokens = model.get_input_embeddings().num_embeddings
    for length in _TRIED_LENGTHS:
        ids = torch.arange(length)[None] % n_tokens
        with torch.inference_mode():
            found = model(ids, attention_mask=torch.ones_like(ids))[0]
        check(found.shape[:2] == ids.shape and found.isfinite().all(), "its language model gives no finite numbers")


def tokenizer_of(folder: Any) -> Tokenizer:
    """The tokenizer that cuts text into the tokens of the model in this folder."""
    from tokenizers import Tokenizer

    with reading(folder) as transformers:
        found = transformers.AutoTokenizer.from_pretrained(folder)
    own = getattr(found, "backend_tokenizer", None)
    if not isinstance(own, Tokenizer):
        raise InputError(f"{folder} has no tokenizer.json; hand one in with tokenizer=FILE.")
    return own


def special_tokens(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that the tokenizer puts before and after a text."""
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    wrapped = tokenizer.encode("a", add_special_tokens=True).ids
    extra = len(wrapped) - len(plain)
    at = next((i for i in range(extra + 1) if wrapped[i : i + len(plain)] == plain), 0)
    return tuple(wrapped[:at]), tuple(wrapped[at + len(plain) :])


def most_tokens(config: Any, n_special: int) -> int | None:
    """How many tokens of a text the model can see at once beside the special ones; None: no limit is known."""
    limit = getattr(config, "max_position_embeddings", None)
    return None if limit is None else int(limit) - _first_position(config) - n_special


def _first_position(config: Any) -> int:
    """Where the model begins to count positions: RoBERTa and models like it begin behind the padding id."""
    behind_padding = ("roberta", "camembert", "xlm-roberta", "longformer", "mpnet", "esm", "data2vec-text")
    return (getattr(config, "pad_token_id", 0) or 0) + 1 if getattr(config, "model_type", "") in behind_padding else 0
