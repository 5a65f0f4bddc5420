"""Measure training and scoring of texts at the paper's size beside a plain implementation, on one device in one run.

    PYTHONPATH=src python tools/text_speed.py --data DATA --set sms --device cuda --out speed.jsonl

The plain one is what most would write: stock torch layers in float32, every text cut or padded to 128 tokens, the
tokenizer's whole vocabulary, logits at all positions, fresh masks for every batch, one pass for each view. Size, batch,
optimiser, learning rate, levels and number of views are the same. Each trains a pass to warm up, then the timed ones;
what recording its steps takes counts, at every training anew. Each scores half of the texts to warm up, then all.
The plain one's weights are then scored both ways: up to rounding and the luck of the masks the ROC has to be the same.
The paper's tokenizer has 50,257 tokens, few of them in use; the default "bpe" has fewer, which helps the plain one.

Tokens are real ones, no padding. Work counted per token, for both: 2 operations for each weight of the layers and 4 x
length x width for each layer's attention; behind the last attention and for the logits at hidden tokens only, half of
all. Training is three times that. The peak is that of a bfloat16 product of square matrices, in the same run.

N texts, F positions, H width, V tokens of the vocabulary.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import torch_device
from maskdiff.bench.runs.measure import Run, identity, metrics
from maskdiff.bench.runs.records import RecordFile
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

PADDED_TO, SCORED_AT_ONCE, PAPER_EPOCHS = 128, 256, 20


# The plain implementation --------------------------------------------------------------------------------------------


class Plain(nn.Module):
    """The same network in stock layers, all positions in, all logits out."""

    def __init__(self, n_codes: int, size: TransformerReconstructor) -> None:
        super().__init__()
        self.n_codes = n_codes  # also the token that stands where nothing is seen
        self.tokens = nn.Embedding(n_codes + 1, size.width)
        self.places = nn.Embedding(PADDED_TO, size.width)
        self.level = nn.Sequential(nn.Linear(1, size.width), nn.SiLU(), nn.Linear(size.width, size.width))
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, size.feed_forward, size.dropout, "gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(size.width)
        self.encoder = nn.TransformerEncoder(layer, size.layers, norm, enable_nested_tensor=False)
        self.head = nn.Linear(size.width, n_codes)
        self.dropout = nn.Dropout(size.dropout)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, codes_NF: Tensor, hidden_NF: Tensor, real_NF: Tensor, rate_N: Tensor) -> Tensor:
        shown_NF = codes_NF.masked_fill(hidden_NF | ~real_NF, self.n_codes)
        x_NFH = self.tokens(shown_NF) + self.places.weight + self.level(rate_N[:, None])[:, None]
        padding_NF = ~real_NF
        padding_NF[:, 0] = False  # attention over nothing would be NaN
        x_NFH = self.encoder(self.dropout(x_NFH), src_key_padding_mask=padding_NF)
        logits_NFV: Tensor = self.head(x_NFH)
        return logits_NFV

    def surprise(self, codes_NF: Tensor, real_NF: Tensor, rate_N: Tensor) -> Tensor:
        """The mean surprise of the tokens that a fresh mask hides, (N,)."""
        hidden_NF = (torch.rand(codes_NF.shape, device=codes_NF.device) < rate_N[:, None]) & real_NF
        logits_NFV = self(codes_NF, hidden_NF, real_NF, rate_N)
        surprise = functional.cross_entropy(logits_NFV.flatten(0, 1), codes_NF.flatten(), reduction="none")
        surprise_NF = surprise.view(codes_NF.shape)
        return (surprise_NF * hidden_NF).sum(dim=1) / hidden_NF.sum(dim=1).clamp_min(1)


def plain_train(texts: Codes, settings: TransformerReconstructor, seed: int, device: torch.device) -> Plain:
    torch.manual_seed(seed)
    network = Plain(int(texts.schema.sizes[0]), settings).to(device).train()
    how = settings.training
    optimiser = torch.optim.AdamW(network.parameters(), how.learning_rate, weight_decay=how.weight_decay, fused=True)
    codes_NF, real_NF = on_device(texts, device)
    levels = torch.tensor(PAPER_LEVELS, device=device)
    steps, step = how.stop.steps(len(texts), how.batch_size), 0
    while step < steps:
        for batch in torch.randperm(len(texts), device=device).split(how.batch_size):
            step += 1
            rate_N = levels[torch.randint(len(levels), (len(batch),), device=device)]
            loss = network.surprise(codes_NF[batch], real_NF[batch], rate_N).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.param_groups[0]["lr"] = how.rate(step, steps)
            optimiser.step()
    return network.eval()


@torch.inference_mode()
def plain_score(network: Plain, texts: Codes, probes: ProbeGrid, device: torch.device) -> FloatArray:
    codes_NF, real_NF = on_device(texts, device)
    scores = []
    for codes, real in zip(codes_NF.split(SCORED_AT_ONCE), real_NF.split(SCORED_AT_ONCE), strict=True):
        total = torch.zeros(len(codes), device=device)
        for level in probes.levels:
            rate = torch.full((len(codes),), level, device=device)
            for _ in range(probes.views_per_level):
                total += network.surprise(codes, real, rate)
        scores.append(total / probes.n_views)
    return torch.cat(scores).double().cpu().numpy()


def on_device(texts: Codes, device: torch.device) -> tuple[Tensor, Tensor]:
    """Codes and which of them are real; padding holds code 0."""
    assert texts.real is not None
    short = PADDED_TO - texts.values.shape[1]
    real = np.pad(texts.real, ((0, 0), (0, short)))
    codes = np.pad(np.where(texts.real, texts.values, 0).astype(np.int64), ((0, 0), (0, short)))
    return torch.from_numpy(codes).to(device), torch.from_numpy(real).to(device)


# Ours ----------------------------------------------------------------------------------------------------------------


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


# Measuring -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clock:
    """Times calls on a device, and knows the most it can do."""

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
class Bench:
    """One set of texts, as ours and the plain one read them: each a training and a test set."""

    ours: tuple[Codes, Codes]
    plain: tuple[Codes, Codes]
    y: Any
    settings: TransformerReconstructor
    probes: ProbeGrid
    seed: int
    clock: Clock

    def measured(self) -> Iterator[tuple[str, dict[str, float]]]:
        """What was measured, one after the other."""
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
        return network, self._told(seconds / epochs, 0, 3)

    def _score(self, how: Callable[..., FloatArray], network: Any, texts: Codes) -> dict[str, float]:
        # All views where shapes depend on them: libraries choose what to run by the shape.
        probes = self.probes if how is our_score else replace(self.probes, views_per_level=1)
        how(network, texts.take(slice(0, None, 2)), probes, self.clock.device)
        scores, seconds = self.clock.seconds(lambda: how(network, texts, self.probes, self.clock.device))
        return self._told(seconds, 1, self.probes.n_views) | metrics(self.y, scores)

    def _told(self, seconds: float, part: int, passes: int) -> dict[str, float]:
        # The same work for both: our vocabulary, and no token beyond the 128th.
        texts = replace(self.plain[part], schema=self.ours[part].schema)
        share = passes * work(texts, self.settings) / seconds / self.clock.peak
        views = passes if part else 1
        return {"seconds": seconds, "tokens_per_second": views * n_tokens(texts) / seconds, "share_of_peak": share}


# What is shown: its name, what of ours and of the plain one is compared, and how it is written.
ROWS = (
    ("seconds per epoch", "training", "seconds", "{:.3f}"),
    ("training, tokens per second", "training", "tokens_per_second", "{:,.0f}"),
    ("training, share of bf16 peak", "training", "share_of_peak", "{:.2%}"),
    ("seconds to score", "scoring", "seconds", "{:.2f}"),
    ("scoring, tokens of all views per second", "scoring", "tokens_per_second", "{:,.0f}"),
    ("scoring, share of bf16 peak", "scoring", "share_of_peak", "{:.2%}"),
    ("ROC, own weights", "scoring", "roc_auc", "{:.4f}"),
    ("PR, own weights", "scoring", "pr_auc", "{:.4f}"),
    ("plain weights, seconds to score", "moved", "seconds", "{:.2f}"),
    ("plain weights, ROC", "moved", "roc_auc", "{:.4f}"),
    ("plain weights, PR", "moved", "pr_auc", "{:.4f}"),
)
COMPARED = {
    "training": ("our_training", "plain_training"),
    "scoring": ("our_scoring", "plain_scoring"),
    "moved": ("moved_scoring", "plain_scoring"),
}


def main() -> None:
    arguments = read_arguments()
    bench = prepared(arguments)
    (train, test), (whole, _) = bench.ours, bench.plain
    print(
        f"{arguments.set}: {n_tokens(train):,} tokens in {len(train)} texts to train on, "
        f"{n_tokens(test):,} in {len(bench.y)} to score with "
        f"{bench.probes.n_views} views; tokenizer {arguments.tokenizer}: {train.schema.sizes[0]:,} tokens, plain "
        f"{whole.schema.sizes[0]:,}; bf16 peak {bench.clock.peak / 1e12:.1f} TFLOP/s",
        flush=True,
    )
    measured = {}
    for what, record in bench.measured():
        measured[what] = record
        print(what, json.dumps({name: float(f"{value:.5g}") for name, value in record.items()}), flush=True)
    show(measured, arguments)
    if arguments.out:
        told = {k: v for k, v in vars(arguments).items() if v is not None and k not in ("out", "data", "device")}
        run = identity(Run(arguments.set, "paper", arguments.seed), arguments.device)
        record = {"task": "text_speed", **run, "status": "ok", "bf16_peak": bench.clock.peak, "settings": told}
        RecordFile(arguments.out).add(record | measured)


def show(measured: dict[str, dict[str, float]], arguments: argparse.Namespace) -> None:
    print(f"\n| {arguments.set}, {arguments.epochs} timed epochs | ours | plain | ratio |\n|---|---|---|---|")
    for what, kind, name, form in ROWS:
        ours, plain = (measured[key][name] for key in COMPARED[kind])
        # How many times better: less time, or more of everything else.
        ratio = plain / ours if name == "seconds" else ours / plain
        print(f"| {what} | {form.format(ours)} | {form.format(plain)} | {ratio:.2f} |")


def prepared(arguments: argparse.Namespace) -> Bench:
    """The texts in codes, and how they are to be trained on and scored."""
    clock = Clock.on(torch_device(arguments.device))
    train, test, y = split_text(arguments.set, arguments.data, seed=arguments.seed)
    if arguments.rows:
        kept = np.random.default_rng(arguments.seed).permutation(len(test))[: arguments.rows]
        train, test, y = train[: arguments.rows], [test[i] for i in kept], y[kept]
    encoder = TextEncoder(arguments.tokenizer).fit(train)
    whole = TextEncoder(arguments.tokenizer, whole_vocabulary=True, max_length=PADDED_TO, overlap=0).fit(train)
    plain = first_windows(whole.encode(train)), first_windows(whole.encode(test))
    probes = ProbeGrid(PAPER_LEVELS, arguments.views, "independent", "zero", arguments.seed)
    ours = encoder.encode(train), encoder.encode(test)
    return Bench(ours, plain, y, chosen_size(arguments), probes, arguments.seed, clock)


def first_windows(texts: Windows) -> Codes:
    """Texts cut off behind their first window."""
    first = texts.take(np.flatnonzero(texts.start == 0))
    return Codes(first.values, first.schema, first.real)


def chosen_size(arguments: argparse.Namespace) -> TransformerReconstructor:
    """The paper's size, or a smaller one to try this tool with."""
    paper = TransformerReconstructor.paper()
    size = {"layers": arguments.layers, "width": arguments.width, "heads": arguments.heads}
    chosen = {name: value for name, value in size.items() if value is not None}
    feed_forward = 4 * arguments.width if arguments.width else paper.feed_forward
    training = replace(paper.training, stop=Epochs(arguments.epochs))
    return replace(paper, **chosen, feed_forward=feed_forward, training=training)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the sets (default: the one MASKDIFF_DATA names)")
    parser.add_argument("--set", default="sms", choices=["sms", "email", "agnews"])
    parser.add_argument("--epochs", type=int, default=PAPER_EPOCHS, help="timed epochs of each, behind one to warm up")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, help="append the record to this file")
    parser.add_argument("--tokenizer", default="bpe", help="bpe, or gpt2 as in the paper: the plain one is slower yet")
    parser.add_argument("--views", type=int, default=24, help="views per level")
    parser.add_argument("--rows", type=int, help="train and score this many texts only")
    for size in ("layers", "width", "heads"):
        parser.add_argument(f"--{size}", type=int, help="instead of the paper's")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
