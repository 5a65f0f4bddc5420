"""Model folders that transformers can read: BERT, RoBERTa, ModernBERT and their kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maskdiff.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@contextmanager
def reading(what: Any, kind: str = "a masked language model") -> Iterator[Any]:
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
        raise InputError(f"{what} cannot be read as {kind}: {reason}") from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


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
    """Where the model begins to count positions: RoBERTa and its kin begin behind the padding id."""
    kin = ("roberta", "camembert", "xlm-roberta", "longformer", "mpnet", "esm", "data2vec-text")
    return (getattr(config, "pad_token_id", 0) or 0) + 1 if getattr(config, "model_type", "") in kin else 0
