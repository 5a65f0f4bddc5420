"""What a model file may hold: settings as plain JSON, tensors, and the checks on both when they come from a file.

Whatever is kept says so itself, with `to_state` and `from_state`; this room has what they share. `Parameters` are the
same settings by name, as scikit-learn asks for them.
"""

from maskdiff.state.parameters import Parameters
from maskdiff.state.settings import (
    arguments_from_plain,
    arguments_to_plain,
    from_plain,
    registry,
    storable,
    to_plain,
)
from maskdiff.state.types import check, fits, look_up

__all__ = [
    "Parameters",
    "arguments_from_plain",
    "arguments_to_plain",
    "check",
    "fits",
    "from_plain",
    "look_up",
    "registry",
    "storable",
    "to_plain",
]
