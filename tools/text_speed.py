"""Measure training and scoring of texts at the paper's size beside a plain implementation, on one device in one run.

    PYTHONPATH=src python tools/text_speed.py --data DATA --set sms --epochs 3 --device cuda --out speed.jsonl

The plain one is what most would write: stock torch layers in float32, every text cut or padded to 128 tokens, the
tokenizer's whole vocabulary, logits at all positions, fresh masks for every batch, one pass for each view. Size, batch,
optimiser, learning rate, levels and number of views are the same. Each trains a pass to warm up, then the timed ones.
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
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import torch_device
from maskdiff.bench.measure import Run, identity, metrics
from maskdiff.bench.records import RecordFile
from maskdiff.codes import Codes, FloatArray
from maskdiff.datasets.text import split_text
from maskdiff.encoders.text import TextEncoder
from maskdiff.encoders.windows import Windows
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.score import score_cells
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
    by_line = cells.contributions("mean").sum(axis=1)
    scores = by_line if cells.row is None else np.bincount(cells.row, weights=by_line)
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
    network = same.build(texts.schema).to(device)
    network.load_state_dict(state)
    return same.with_network(network.requires_grad_(False))


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


def work(texts: Codes, size: TransformerReconstructor) -> float:
    """Operations of one pass forward over all tokens, with half of them hidden; see above."""
    assert texts.real is not None
    length = texts.real.sum(axis=1).astype(float)
    attention, feed = 4 * size.width**2, 2 * size.width * size.feed_forward
    everywhere = size.layers * attention + (size.layers - 1) * feed
    at_hidden = feed + size.width * int(texts.schema.sizes[0])
    weights = 2 * length.sum() * (everywhere + 0.5 * at_hidden)
    return float(weights + 4 * size.width * size.layers * (length**2).sum())


def told(seconds: float, tokens: float, operations: float, clock: Clock) -> dict[str, float]:
    share = operations / seconds / clock.peak
    return {"seconds": seconds, "tokens_per_second": tokens / seconds, "share_of_peak": share}


def main() -> None:
    arguments = read_arguments()
    device, seed, epochs = torch_device(arguments.device), arguments.seed, arguments.epochs
    clock = Clock.on(device)
    train, test, y = split_text(arguments.set, arguments.data, seed=seed)
    if arguments.rows:
        kept = np.random.default_rng(seed).permutation(len(test))[: arguments.rows]
        train, test, y = train[: arguments.rows], [test[i] for i in kept], y[kept]
    settings, probes = chosen_size(arguments), ProbeGrid(PAPER_LEVELS, arguments.views, "independent", "zero", seed)

    encoder = TextEncoder(arguments.tokenizer).fit(train)
    whole = TextEncoder(arguments.tokenizer, whole_vocabulary=True, max_length=PADDED_TO, overlap=0).fit(train)
    ours = encoder.encode(train), encoder.encode(test)
    plain = first_windows(whole.encode(train)), first_windows(whole.encode(test))
    # What is common to both; the few tokens beyond the 128th, and the larger vocabulary, are not counted for either.
    tokens = [float(part.real.sum()) for part in plain if part.real is not None]
    operations = [work(replace(part, schema=encoder.schema_), settings) for part in plain]

    print(f"{arguments.set}: {len(train)} texts to train on ({tokens[0]:,.0f} tokens), {len(test)} to score", end=" ")
    print(f"({tokens[1]:,.0f} tokens); tokenizer {arguments.tokenizer}: ours has {encoder.schema_.sizes[0]:,}", end=" ")
    print(f"tokens, plain {whole.schema_.sizes[0]:,}; bf16 peak {clock.peak / 1e12:.1f} TFLOP/s", flush=True)

    def trained(how: Callable[..., Any], texts: Codes) -> tuple[Any, dict[str, float]]:
        brief = replace(settings, training=replace(settings.training, stop=Epochs(1)))
        how(texts, brief, seed, device)
        network, seconds = clock.seconds(lambda: how(texts, settings, seed, device))
        return network, told(seconds / epochs, tokens[0], 3 * operations[0], clock)

    def scored(how: Callable[..., FloatArray], network: Any, texts: Codes) -> dict[str, float]:
        how(network, texts.take(slice(0, 100)), replace(probes, views_per_level=1), device)
        scores, seconds = clock.seconds(lambda: how(network, texts, probes, device))
        views = probes.n_views
        return told(seconds, views * tokens[1], views * operations[1], clock) | metrics(y, scores)

    network, our_training = trained(our_train, ours[0])
    say("our training", our_training)
    say("our scoring", our_scoring := scored(our_score, network, ours[1]))
    network, plain_training = trained(plain_train, plain[0])
    say("plain training", plain_training)
    moved = as_ours(network, plain[1], settings, device)
    say("plain weights, our scoring", moved_scoring := scored(our_score, moved, plain[1]))
    say("plain weights, plain scoring", plain_scoring := scored(plain_score, network, plain[1]))

    print(f"\n| {arguments.set}, {epochs} timed epochs | ours | plain | ratio |\n|---|---|---|---|")
    show("seconds per epoch", "seconds", "{:.3f}", our_training, plain_training)
    at_20 = [{"seconds": PAPER_EPOCHS * one["seconds"]} for one in (our_training, plain_training)]
    show(f"seconds for {PAPER_EPOCHS} epochs, extrapolated", "seconds", "{:.1f}", *at_20)
    show("training, tokens per second", "tokens_per_second", "{:,.0f}", our_training, plain_training)
    show("training, share of bf16 peak", "share_of_peak", "{:.2%}", our_training, plain_training)
    show(f"seconds to score {len(test)} texts, {probes.n_views} views", "seconds", "{:.2f}", our_scoring, plain_scoring)
    show("scoring, tokens in views per second", "tokens_per_second", "{:,.0f}", our_scoring, plain_scoring)
    show("scoring, share of bf16 peak", "share_of_peak", "{:.2%}", our_scoring, plain_scoring)
    show("ROC, each its own weights", "roc_auc", "{:.4f}", our_scoring, plain_scoring)
    show("PR, each its own weights", "pr_auc", "{:.4f}", our_scoring, plain_scoring)
    show("plain weights: seconds to score", "seconds", "{:.2f}", moved_scoring, plain_scoring)
    show("plain weights: ROC", "roc_auc", "{:.4f}", moved_scoring, plain_scoring)
    show("plain weights: PR", "pr_auc", "{:.4f}", moved_scoring, plain_scoring)
    if arguments.out:
        RecordFile(arguments.out).add(
            {"task": "text_speed", **identity(Run(arguments.set, "paper", seed), arguments.device), "status": "ok"}
            | {"epochs": epochs, "tokenizer": arguments.tokenizer, "views": probes.n_views, "bf16_peak": clock.peak}
            | {"our_training": our_training, "plain_training": plain_training, "our_scoring": our_scoring}
            | {"plain_scoring": plain_scoring, "plain_weights_our_scoring": moved_scoring}
        )


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


def say(what: str, record: dict[str, float]) -> None:
    print(what, json.dumps({name: float(f"{value:.5g}") for name, value in record.items()}), flush=True)


def show(what: str, name: str, form: str, ours: dict[str, float], plain: dict[str, float]) -> None:
    # How many times better: less time, or more of everything else.
    ratio = plain[name] / ours[name] if name == "seconds" else ours[name] / plain[name]
    print(f"| {what} | {form.format(ours[name])} | {form.format(plain[name])} | {ratio:.2f} |")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the sets (default: the one MASKDIFF_DATA names)")
    parser.add_argument("--set", default="sms", choices=["sms", "email", "agnews"])
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs of each, behind one to warm up")
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
