"""The version: the only place that says it. A room of its own, so that every other may name it."""

__version__ = "0.2.0"
