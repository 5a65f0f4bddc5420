"""Measure the text and sequence detectors on the published sets: one JSON line per set and seed.

    PYTHONPATH=src python tools/text_results.py --data DATA --sets sms hdfs --seeds 0 1 2 3 4 --out results/text.jsonl

Learns from normal texts only; see `maskdiff.datasets.text.split_text` for how the sets are cut. Besides the detector's
own score each line holds what the other aggregates would have said of the same surprises.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from maskdiff.datasets.text import split_text
from maskdiff.detectors import MAIN, SequenceDetector, TextDetector, TokenDetector
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import PretrainedReconstructor, TransformerReconstructor
from maskdiff.score import AGGREGATES, CellScores, Typical
from maskdiff.training import Epochs, Steps

SETS = ("sms", "email", "agnews", "hdfs")


def main() -> None:
    arguments = read_arguments()
    for name in arguments.sets:
        for seed in arguments.seeds:
            line = json.dumps(measure(name, seed, arguments))
            print(line, flush=True)
            if arguments.out:
                arguments.out.parent.mkdir(parents=True, exist_ok=True)
                with arguments.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the sets (default: the one MASKDIFF_DATA names)")
    parser.add_argument("--sets", nargs="+", default=["sms"], choices=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, help="append the lines to this file too")
    parser.add_argument("--preset", choices=["paper"], help="the paper's size, probes and tokenizer")
    parser.add_argument("--tokenizer", help="bpe, gpt2 or a tokenizer.json file")
    parser.add_argument("--objective", default="reconstruction", choices=["reconstruction", "diffusion"])
    parser.add_argument("--aggregate", help="instead of the detector's default")
    parser.add_argument("--views", type=int, help="views per level, instead of the default")
    parser.add_argument("--max-length", type=int, dest="max_length", help="tokens in a window")
    parser.add_argument("--pretrained", help="a masked language model's folder, as the reconstructor")
    parser.add_argument("--fine-tune", action="store_true", dest="fine_tune", help="train it on the normal texts")
    for size in ("layers", "width", "heads", "steps", "epochs", "batch-size"):
        parser.add_argument(f"--{size}", type=int, dest=size.replace("-", "_"))
    parser.add_argument("--learning-rate", type=float, dest="learning_rate")
    parser.add_argument("--positions", choices=["rotary", "learned"])
    return parser.parse_args()


def measure(name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    train, test, y = split_text(name, arguments.data, seed=seed)
    detector = make_detector(name, seed, arguments)
    started = clock(detector)
    detector.fit(train)
    trained = clock(detector)
    codes = detector.encoder_.encode(test)
    source = detector.evidence_.sources[MAIN]
    cells = source.cells(codes, stage="scoring")
    scored = clock(detector)
    (kind,) = detector.evidence_.kinds
    score = row_scores(cells, kind.aggregate, kind.typical)
    alarm = score > detector.threshold()
    tokens = int(detector.encoder_.encode(train).row_lengths.sum())
    return {
        "set": name,
        "seed": seed,
        "roc": percent(roc_auc_score(y, score)),
        "pr": percent(average_precision_score(y, score)),
        "f1": percent(f1_score(y, alarm)),
        "false_alarms": percent(alarm[y == 0].mean()),
        "false_alarm_rate": detector.calibration_.rate_or_default(None),
        "aggregate": kind.aggregate,
        "typical_cells": None if kind.typical is None else round(kind.typical.cells, 2),
        "others": others(cells, detector, y),
        "train_s": round(trained - started, 1),
        "score_s": round(scored - trained, 1),
        "train_rows": len(train),
        "train_tokens": tokens,
        "test_rows": len(test),
        "anomalies": int(y.sum()),
        "test_tokens": int(codes.row_lengths.sum()),
        "views": len(source.probes.levels) * source.probes.views_per_level,
        "alphabet": int(codes.schema.sizes[0]),
        "device": device_name(detector),
        "settings": {k: v for k, v in vars(arguments).items() if v not in (None, False) and k not in ("out", "data")}
        | {"sets": name, "seeds": seed},
    }


def make_detector(name: str, seed: int, arguments: argparse.Namespace) -> TokenDetector:
    settings: dict[str, Any] = {"seed": seed, "device": arguments.device, "preset": arguments.preset}
    settings |= {"objective": arguments.objective, "progress": False, "max_length": arguments.max_length}
    if arguments.aggregate:
        settings["aggregate"] = arguments.aggregate
    if arguments.views:
        settings["probes"] = ProbeGrid(views_per_level=arguments.views)
    if arguments.pretrained:
        settings["reconstructor"] = PretrainedReconstructor(arguments.pretrained, arguments.fine_tune)
    else:
        settings["reconstructor"] = make_transformer(arguments)
    return SequenceDetector(**settings) if name == "hdfs" else TextDetector(tokenizer=arguments.tokenizer, **settings)


def make_transformer(arguments: argparse.Namespace) -> TransformerReconstructor:
    base = TransformerReconstructor.paper() if arguments.preset else TransformerReconstructor()
    told = vars(arguments)
    training = {k: told[k] for k in ("batch_size", "learning_rate") if told[k] is not None}
    if arguments.steps:
        training["stop"] = Steps(arguments.steps, most_epochs=10**6)
    if arguments.epochs:
        training["stop"] = Epochs(arguments.epochs)
    size = {k: told[k] for k in ("layers", "width", "heads", "positions") if told[k] is not None}
    if arguments.width:
        size["feed_forward"] = 4 * arguments.width
    return replace(base, **size, training=replace(base.training, **training))


def others(cells: CellScores, detector: TokenDetector, y: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    """ROC and PR of every aggregate, as it is and steadied with some numbers of typical tokens."""
    ways: dict[str, tuple[str, Typical | None]] = {name: (name, None) for name in AGGREGATES}
    (kind,) = detector.evidence_.kinds
    if kind.typical is not None:
        for n in (2, 5, 10, 20, 40, 80):
            ways[f"{kind.aggregate}+{n}"] = (kind.aggregate, replace(kind.typical, cells=float(n)))
    scores = {name: row_scores(cells, *way) for name, way in ways.items()}
    return {name: [percent(roc_auc_score(y, s)), percent(average_precision_score(y, s))] for name, s in scores.items()}


def row_scores(cells: CellScores, aggregate: str, typical: Typical | None) -> np.ndarray[Any, Any]:
    """One score per row; a row without tokens, which has none, stands in the middle."""
    assert cells.row is not None
    scores = np.bincount(cells.row, weights=cells.contributions(aggregate, typical).sum(axis=1))
    return np.nan_to_num(scores, nan=float(np.nanmedian(scores)))


def clock(detector: TokenDetector) -> float:
    if detector.torch_device().type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def device_name(detector: TokenDetector) -> str:
    device = detector.torch_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"


def percent(share: float) -> float:
    return round(100 * float(share), 2)


if __name__ == "__main__":
    sys.exit(main())
