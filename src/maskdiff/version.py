"""The version, in a room of its own so that every other may name it."""

__version__ = "0.1.0"
