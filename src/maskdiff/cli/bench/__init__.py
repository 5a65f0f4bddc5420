"""`maskdiff bench`: the commands that measure."""

from maskdiff.cli.bench.commands import bench

__all__ = ["bench"]
