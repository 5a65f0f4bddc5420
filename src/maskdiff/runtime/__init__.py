"""Scores rows with an exported model, without torch: numpy and onnxruntime are all it needs, and tokenizers for texts.

`maskdiff export` puts a copy of this folder beside the model, as `maskdiff_runtime`; nothing here imports the rest of
maskdiff. Higher score = more anomalous.
"""

from pathlib import Path

from .exported import RowVerdicts, read_description
from .scorer import Scorer
from .token_scorer import TokenScorer

__all__ = ["RowVerdicts", "Scorer", "TokenScorer", "load"]

_SCORERS: dict[str, type[Scorer] | type[TokenScorer]] = {one.rows_are: one for one in (Scorer, TokenScorer)}


def load(folder: str | Path) -> Scorer | TokenScorer:
    """The exported model in this folder: of a table, of texts or of sequences."""
    return _SCORERS[read_description(Path(folder))["rows"]](folder)
