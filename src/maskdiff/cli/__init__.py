"""The command-line door: arguments in, one job, text out."""

from maskdiff.cli.app import main

__all__ = ["main"]
