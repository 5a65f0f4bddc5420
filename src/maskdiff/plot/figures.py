"""One way to start a picture with matplotlib, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskdiff.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches. No window is ever opened; notebooks show it as a picture."""
    try:
        from maskdiff.plot.notebook_figure import NotebookFigure
    except ImportError as error:
        raise MissingExtraError("figures", needs="matplotlib") from error
    return NotebookFigure(figsize=size, layout="constrained")
