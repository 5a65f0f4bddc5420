"""How many multiplications and additions the training of a network for texts takes, and how fast products are.

H width, V codes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from maskdiff.codes.windows import Windows
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.training.batches import ShuffledBatches
from maskdiff.training.processor import has_half_products

# Half of the tokens are hidden on average; gradients take twice the operations of the answers.
_HIDDEN, _PASSES = 0.5, 3
# A batch of tokens through the widest layer, and how often that is tried.
_PRODUCT, _TRIES = ((2048, 128), (128, 512)), 200


@dataclass(frozen=True)
class TrainingWork:
    """The steps of a training, the tokens they show, padding left out, and the operations these take."""

    steps: int
    tokens: int
    operations: int

    @classmethod
    def of(cls, fitted: TransformerReconstructor, codes: Windows) -> TrainingWork:
        """What training on these texts takes."""
        training = fitted.training
        cpu, generator = torch.device("cpu"), torch.Generator()
        batches = ShuffledBatches(codes, training.batch_size, cpu, generator, tokens=training.batch_tokens)
        steps = training.stop.steps(batches.n_rows, batches.mean_size)
        length_L = codes.lengths.astype(float)
        # A pass shows one window of each text.
        part_L = 1 / np.bincount(codes.row)[codes.row]
        mean_length, mean_square = ((part_L * power).sum() / batches.n_rows for power in (length_L, length_L**2))
        rows = steps * batches.mean_size
        attention = 4 * fitted.width * fitted.layers * mean_square
        each = rows * (mean_length * _per_token(fitted, np.array(codes.schema.fields[0].counts)) + attention)
        return cls(steps, round(rows * mean_length), round(_PASSES * each))


def _per_token(fitted: TransformerReconstructor, counts_V: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Operations of products with weights, for one token shown, attention left out."""
    attention, feed = 4 * fitted.width**2, 2 * fitted.width * fitted.feed_forward
    everywhere = fitted.layers * attention + (fitted.layers - 1) * feed
    bounds = fitted.network_.head.bounds
    # Every hidden token is looked for among the frequent codes, and in the group that holds it.
    groups = [(counts_V[start:stop].sum() / counts_V.sum(), stop - start) for start, stop in pairwise(bounds[1:])]
    logits = bounds[1] + sum(share * size for share, size in groups)
    return float(2 * (everywhere + _HIDDEN * (feed + fitted.width * logits)))


def product_rate() -> float:
    """Operations a second of the products that training does on a processor, in their precision: the best of some.

    It says nothing about an accelerator, which takes as long to start a product of this size as to compute it.
    """
    kind = torch.bfloat16 if has_half_products() else torch.float32
    a, b = (torch.randn(shape, dtype=kind) for shape in _PRODUCT)
    rates = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        a @ b
        rates.append(2 * len(a) * b.numel() / (time.perf_counter() - began))
    return max(rates)
