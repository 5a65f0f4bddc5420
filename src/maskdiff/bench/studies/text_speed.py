"""Training and scoring of texts at the paper's size beside a plain implementation, on one device in one run.

Size, batch, optimiser, learning rate, levels and number of views are the same. Each trains one epoch to warm up, then
the timed ones; recording its steps counts, at every training anew. Each scores half of the texts to warm up, then all.
The plain network's weights are then scored both ways: up to rounding and the chance of the masks the ROC has to be the
same. The paper's tokenizer has 50,257 tokens, few of them in use; "bpe" has fewer, which helps the plain network.

Tokens are real ones, no padding. Operations counted per token, for both: 2 for each weight of the layers and 4 x length
x width for each layer's attention; after the last attention and for the logits at hidden tokens only, half of all.
Training is three times that. The peak is that of a bfloat16 product of square matrices, in the same run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from maskdiff.bench.baselines.networks import torch_device
from maskdiff.bench.runs.measure import Record, Run, identity, metrics
from maskdiff.bench.runs.records import RecordFile
from maskdiff.bench.studies.plain_transformer import PADDED_TO, Plain, plain_score, plain_train
from maskdiff.codes import Codes, FloatArray
from maskdiff.codes.windows import Windows
from maskdiff.datasets.text import split_text
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.score import row_sums, score_cells
from maskdiff.state import arguments_to_plain
from maskdiff.training import Epochs

TASK = "text_speed"


@dataclass(frozen=True)
class SpeedSettings:
    """What is timed: `epochs` after one to warm up; `rows` and the sizes make it smaller than the paper's."""

    set: str = "sms"
    epochs: int = 20
    seed: int = 0
    tokenizer: str = "bpe"
    views: int = 24
    rows: int | None = None
    layers: int | None = None
    width: int | None = None
    heads: int | None = None


def measure_text_speed(
    settings: SpeedSettings, out: str | os.PathLike[str], *, data: str | None = None, device: str = "auto"
) -> Record:
    """Measure once and add the record to `out`."""
    comparison = prepared(settings, data, device)
    run = identity(Run(settings.set, "paper", settings.seed), device)
    given = {name: value for name, value in asdict(settings).items() if value is not None}
    record = {"task": TASK, **run, "status": "ok", "bf16_peak": comparison.clock.peak, "settings": given}
    record |= dict(comparison.measured())
    RecordFile(out).add(record)
    return record


def prepared(settings: SpeedSettings, data: str | None, device: str) -> Comparison:
    """The texts in codes, and how they are to be trained on and scored."""
    train, test, y = split_text(settings.set, data, seed=settings.seed)
    if settings.rows:
        kept = np.random.default_rng(settings.seed).permutation(len(test))[: settings.rows]
        train, test, y = train[: settings.rows], [test[i] for i in kept], y[kept]
    encoder = TextEncoder(settings.tokenizer).fit(train)
    whole = TextEncoder(settings.tokenizer, whole_vocabulary=True, max_length=PADDED_TO, overlap=0).fit(train)
    plain = first_windows(whole.encode(train)), first_windows(whole.encode(test))
    probes = ProbeGrid(PAPER_LEVELS, settings.views, "independent", "zero", settings.seed)
    ours = encoder.encode(train), encoder.encode(test)
    clock = Clock.on(torch_device(device))
    return Comparison(ours, plain, y, chosen_size(settings), probes, settings.seed, clock)


def chosen_size(settings: SpeedSettings) -> TransformerReconstructor:
    """The paper's size, or a smaller one to try this with."""
    paper = TransformerReconstructor.paper()
    size = {name: getattr(settings, name) for name in ("layers", "width", "heads")}
    given = {name: value for name, value in size.items() if value is not None}
    feed_forward = 4 * settings.width if settings.width else paper.feed_forward
    training = replace(paper.training, stop=Epochs(settings.epochs))
    return replace(paper, **given, feed_forward=feed_forward, training=training)


def first_windows(texts: Windows) -> Codes:
    """Texts cut off behind their first window."""
    first = texts.take(np.flatnonzero(texts.start == 0))
    return Codes(first.values, first.schema, first.real)


def our_train(texts: Codes, settings: TransformerReconstructor, seed: int, device: torch.device) -> Any:
    objective = Reconstruction(PAPER_LEVELS)
    return settings.fit(texts, seed=seed, objective=objective, schedule=Linear(), device=device)


def our_score(reconstructor: Any, texts: Codes, probes: ProbeGrid, device: torch.device) -> FloatArray:
    cells = score_cells(reconstructor, texts, probes=probes, schedule=Linear(), device=device)
    scores = row_sums(cells.contributions("mean"), cells.row)
    return np.where(np.isnan(scores), np.nanmin(scores), scores)  # no token, no evidence: the calmest


RENAMED = {
    "encoder.layers.": "blocks.",
    "encoder.norm.": "norm.",
    ".norm1.": ".norm_in.",
    ".norm2.": ".norm_out.",
    ".self_attn.in_proj_": ".mix_in.",
    ".self_attn.out_proj.": ".mix_out.",
    ".linear1.": ".up.",
    ".linear2.": ".down.",
}


def as_ours(plain: Plain, texts: Codes, settings: TransformerReconstructor, device: torch.device) -> Any:
    """Our reconstructor with the plain network's weights."""
    same = replace(settings, longest=PADDED_TO)
    state = plain.state_dict()
    for old, new in RENAMED.items():
        state = {key.replace(old, new): value for key, value in state.items()}
    return same.from_state(arguments_to_plain(same), state, schema=texts.schema, device=device)


@dataclass(frozen=True)
class Clock:
    """Times calls on a device, and holds the most operations it can do."""

    device: torch.device
    peak: float  # operations a second, bfloat16

    @classmethod
    def on(cls, device: torch.device) -> Clock:
        n = 8192 if device.type == "cuda" else 512
        a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
        clock = cls(device, 0.0)
        clock.seconds(lambda: [a @ b for _ in range(10)])
        return cls(device, 20 * n**3 / min(clock.seconds(lambda: [a @ b for _ in range(10)])[1] for _ in range(5)))

    def seconds(self, call: Callable[[], Any]) -> tuple[Any, float]:
        self._wait()
        start = time.perf_counter()
        result = call()
        self._wait()
        return result, time.perf_counter() - start

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def n_tokens(texts: Codes) -> int:
    assert texts.real is not None
    return int(texts.real.sum())


def work(texts: Codes, size: TransformerReconstructor) -> float:
    """Operations of one pass forward over all tokens, with half of them hidden; see above."""
    assert texts.real is not None
    length = texts.real.sum(axis=1).astype(float)
    attention, feed = 4 * size.width**2, 2 * size.width * size.feed_forward
    everywhere = size.layers * attention + (size.layers - 1) * feed
    at_hidden = feed + size.width * int(texts.schema.sizes[0])
    weights = 2 * length.sum() * (everywhere + 0.5 * at_hidden)
    return float(weights + 4 * size.width * size.layers * (length**2).sum())


@dataclass(frozen=True, eq=False)
class Comparison:
    """One set of texts, as ours and the plain network are given them: each a training and a test set."""

    ours: tuple[Codes, Codes]
    plain: tuple[Codes, Codes]
    y: Any
    settings: TransformerReconstructor
    probes: ProbeGrid
    seed: int
    clock: Clock

    def measured(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Names and figures, one measurement after the other."""
        network, seconds = self._train(our_train, self.ours[0])
        yield "our_training", seconds
        yield "our_scoring", self._score(our_score, network, self.ours[1])
        network, seconds = self._train(plain_train, self.plain[0])
        yield "plain_training", seconds
        moved = as_ours(network, self.plain[1], self.settings, self.clock.device)
        yield "moved_scoring", self._score(our_score, moved, self.plain[1])
        yield "plain_scoring", self._score(plain_score, network, self.plain[1])

    def _train(self, how: Callable[..., Any], texts: Codes) -> tuple[Any, dict[str, float]]:
        once = replace(self.settings, training=replace(self.settings.training, stop=Epochs(1)))
        how(texts, once, self.seed, self.clock.device)
        network, seconds = self.clock.seconds(lambda: how(texts, self.settings, self.seed, self.clock.device))
        steps = self.settings.training.stop.steps(len(texts), self.settings.training.batch_size)
        epochs = steps / Epochs(1).steps(len(texts), self.settings.training.batch_size)
        return network, self._rates(seconds / epochs, 0, 3)

    def _score(self, how: Callable[..., FloatArray], network: Any, texts: Codes) -> dict[str, float]:
        # All views where shapes depend on them: libraries choose what to run by the shape.
        probes = self.probes if how is our_score else replace(self.probes, views_per_level=1)
        how(network, texts.take(slice(0, None, 2)), probes, self.clock.device)
        scores, seconds = self.clock.seconds(lambda: how(network, texts, self.probes, self.clock.device))
        return self._rates(seconds, 1, self.probes.n_views) | metrics(self.y, scores)

    def _rates(self, seconds: float, part: int, passes: int) -> dict[str, float]:
        # The same work for both: our vocabulary, and no token beyond the 128th.
        texts = replace(self.plain[part], schema=self.ours[part].schema)
        share = passes * work(texts, self.settings) / seconds / self.clock.peak
        views = passes if part else 1
        return {"seconds": seconds, "tokens_per_second": views * n_tokens(texts) / seconds, "share_of_peak": share}
