"""Pictures of what a detector says about single rows; they need the extra `figures`."""

from maskdiff.plot.figures import new_figure
from maskdiff.plot.waterfalls import waterfall

__all__ = ["new_figure", "waterfall"]
