"""The command-line door: arguments in, library calls, words out."""

from maskdiff.cli.app import main

__all__ = ["main"]
