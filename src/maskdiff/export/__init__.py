"""A fitted detector as files that numpy and onnxruntime can score with; see `maskdiff.runtime`."""

from maskdiff.export.folder import export_model

__all__ = ["export_model"]
