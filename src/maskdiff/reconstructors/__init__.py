"""Whatever answers p(x_j | visible cells)."""

from maskdiff.reconstructors.base import Abilities, Reconstructor, abilities
from maskdiff.reconstructors.kernel import KernelReconstructor
from maskdiff.reconstructors.mlp import MLPReconstructor
from maskdiff.reconstructors.pretrained import PretrainedReconstructor
from maskdiff.reconstructors.transformer import TransformerReconstructor
from maskdiff.state import registry

# Those that model files may hold, by the names of their classes.
RECONSTRUCTORS: dict[str, type] = registry(
    {
        "KernelReconstructor": KernelReconstructor,
        "MLPReconstructor": MLPReconstructor,
        "PretrainedReconstructor": PretrainedReconstructor,
        "TransformerReconstructor": TransformerReconstructor,
    }
)

__all__ = [
    "RECONSTRUCTORS",
    "Abilities",
    "KernelReconstructor",
    "MLPReconstructor",
    "PretrainedReconstructor",
    "Reconstructor",
    "TransformerReconstructor",
    "abilities",
]
