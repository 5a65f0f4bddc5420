"""A network that grows by new codes keeps what it knew, and takes a new code for as likely as it is frequent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.codes import Codes, Field, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor
from maskdiff.training import Steps, StopPart, Training

from ..handmade import views_of

QUICK = Training(Steps(20), batch_size=32, learning_rate=3e-3)
HOW = {"objective": Reconstruction((0.3, 0.6)), "schedule": Linear(), "device": torch.device("cpu")}
NETWORKS = {
    "one-hot": MLPReconstructor(16, training=QUICK),
    "paper": MLPReconstructor(16, embedding=4, uses_level=True, training=QUICK),
    "transformer": TransformerReconstructor(width=16, heads=2, feed_forward=16, training=QUICK),
    "transformer, groups": TransformerReconstructor(width=16, heads=2, feed_forward=16, cutoffs=(1,), training=QUICK),
}


def fields(*counts):
    labels = [tuple(f"v{code}" for code in range(len(one))) for one in counts]
    return Schema(tuple(Field(f"x{at}", "category", labels[at], one) for at, one in enumerate(counts)))


def change_of(name):
    """The first field of a table gets codes before and behind its own; an alphabet gets one behind them."""
    if name.startswith("transformer"):
        return SchemaChange(fields((90, 110)), fields((90, 110, 50)), (np.array([0, 1, 3]),))
    before, after = fields((60, 40), (30, 30, 40)), fields((10, 60, 40, 10), (30, 30, 60))
    return SchemaChange(before, after, (np.array([1, 2, 4]), np.array([0, 1, 2, 3])))


def rows_of(name, n=100):
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=n)
    values = np.stack(
        [first, first + rng.integers(2, size=n)] + ([first] if name.startswith("transformer") else []), axis=1
    )
    return values % 2 if name.startswith("transformer") else values


@pytest.mark.parametrize("name", NETWORKS)
def test_old_codes_keep_their_odds_and_new_ones_begin_with_their_share(name):
    change, values = change_of(name), rows_of(name)
    fitted = NETWORKS[name].fit(Codes(values, change.before), seed=0, **HOW)
    moved = Codes(change.moved(values) if not name.startswith("transformer") else values, change.after)
    grown = fitted.train_on(moved, change, part=StopPart(100, 0.0), seed=1, **HOW)
    hidden = np.zeros((100, 1, values.shape[1]), dtype=bool)
    hidden[:, :, 0] = True
    before, after = (
        one.log_prob(views_of(codes, torch.from_numpy(hidden)))[:, 0, 0].exp().numpy()
        for one, codes in ((fitted, Codes(values, change.before)), (grown, moved))
    )
    left = after / before  # what new codes leave to the old ones
    assert (left < 1).all()
    other = Codes(moved.values.copy(), change.after)
    other.values[:, 0] = change.kept_codes(0)[1 - values[:, 0]]
    both = after + grown.log_prob(views_of(other, torch.from_numpy(hidden)))[:, 0, 0].exp().numpy()
    np.testing.assert_allclose(after / both, before, atol=1e-5)
    new_share = np.array(change.after.fields[0].counts)[change.new_codes(0)].sum() / sum(change.after.fields[0].counts)
    assert abs((1 - both).mean() - new_share) < 0.5 * new_share


@pytest.mark.parametrize("name", NETWORKS)
def test_training_on_learns_the_new_code(name):
    change, values = change_of(name), rows_of(name)
    fitted = NETWORKS[name].fit(Codes(values, change.before), seed=0, **HOW)
    new = np.full((60, values.shape[1]), change.new_codes(0)[-1] if name.startswith("transformer") else 0)
    new[:, 0] = change.new_codes(0)[-1]
    rows = Codes(
        np.concatenate([values if name.startswith("transformer") else change.moved(values), new]), change.after
    )
    hidden = torch.zeros(1, 1, values.shape[1], dtype=torch.bool)
    hidden[..., 0] = True
    parts = [fitted.train_on(rows, change, part=StopPart(160, share), seed=1, **HOW) for share in (0.0, 1.0)]
    asked = views_of(Codes(new[:1], change.after), hidden)
    before, after = (float(one.log_prob(asked)[0, 0, 0]) for one in parts)
    assert after > before + 0.1


def test_a_part_of_a_training_takes_that_part_of_its_steps():
    part = StopPart(n_rows=4000, share=0.1).of(Steps(1000, most_epochs=10))
    assert part.steps(77, 40) == 100
    assert not part.ends_early
