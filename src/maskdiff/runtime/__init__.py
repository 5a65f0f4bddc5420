"""Scores rows with an exported model, without torch: numpy and onnxruntime are all it needs.

`maskdiff export` puts a copy of this folder beside the model, as `maskdiff_runtime`; nothing here imports the rest of
maskdiff. Higher score = more anomalous.
"""

from .scorer import RowVerdicts, Scorer

__all__ = ["RowVerdicts", "Scorer"]
