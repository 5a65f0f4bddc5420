"""Measure the text and sequence detectors with settings of your own, on the published sets and the HDFS sessions.

    PYTHONPATH=src python tools/text_results.py --data DATA --sets sms hdfs --seeds 0 1 2 3 4 --out results/text.jsonl

`maskdiff bench text` measures the default beside other methods; here it can be changed, and HDFS is a set too. Records
have the same form, one line per set and seed, with the alarms at the calibrated threshold, and, where the score is
masked surprise alone, what the other aggregates would have said of the same surprises. See
`maskdiff.datasets.text.split_text` for how the sets are cut.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from maskdiff.bench.runs.measure import Run, Split, measure, metrics
from maskdiff.bench.runs.methods import Method
from maskdiff.bench.runs.records import RecordFile
from maskdiff.codes import FloatArray
from maskdiff.datasets.text import split_text
from maskdiff.detectors import MAIN, SequenceDetector, TextDetector, TokenDetector
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import PretrainedReconstructor, TransformerReconstructor
from maskdiff.score import AGGREGATES, CellScores, Typical, row_sums
from maskdiff.training import Epochs, Steps

SETS = ("sms", "email", "agnews", "hdfs")
NOT_SETTINGS = ("out", "data", "sets", "seeds", "name", "device")


class Looked:
    """A detector that remembers what it said of the rows it scored last; a row without tokens is the calmest."""

    def __init__(self, detector: TokenDetector) -> None:
        self.detector = detector
        self.cells: CellScores | None = None
        self.scores: FloatArray = np.empty(0)

    def fit(self, X: Sequence[Any]) -> Self:
        self.detector.fit(X)
        return self

    def anomaly_score(self, X: Sequence[Any]) -> FloatArray:
        evidence = self.detector.evidence_
        if len(evidence.terms) > 1:
            self.scores = filled(self.detector.anomaly_score(X))
        else:
            (term,) = evidence.terms
            self.cells = evidence.sources[MAIN].cells(self.detector.encoder_.encode(X), stage="scoring")
            self.scores = row_scores(self.cells, term.aggregate, term.typical)
        return self.scores

    def others(self, y: NDArray[Any]) -> dict[str, dict[str, float]]:
        """What each aggregate would have given, as it is and steadied with some numbers of typical tokens."""
        if self.cells is None:
            return {}
        ways: dict[str, tuple[str, Typical | None]] = {name: (name, None) for name in AGGREGATES}
        (term,) = self.detector.evidence_.terms
        if term.typical is not None:
            for n in (5, 10, 20, 40, 80):
                ways[f"{term.aggregate}+{n}"] = (term.aggregate, replace(term.typical, cells=float(n)))
        return {name: metrics(y, row_scores(self.cells, *way)) for name, way in ways.items()}


def row_scores(cells: CellScores, aggregate: str, typical: Typical | None) -> FloatArray:
    return filled(row_sums(cells.contributions(aggregate, typical), cells.row))


def filled(scores: FloatArray) -> FloatArray:
    return np.where(np.isnan(scores), np.nanmin(scores), scores)


def main() -> None:
    arguments = read_arguments()
    file = RecordFile(arguments.out) if arguments.out else None
    for name in arguments.sets:
        for seed in arguments.seeds:
            record = one_run(name, seed, arguments)
            print(json.dumps(record), flush=True)
            if file is not None:
                file.add(record)


def one_run(name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    split = Split(*split_text(name, arguments.data, seed=seed))
    looked = Looked(make_detector(name, seed, arguments))
    method = Method(lambda seed, device: looked, "ours")
    record = measure(Run(name, arguments.name, seed), split, method, device=arguments.device)
    alarm = looked.scores > looked.detector.threshold()
    return {
        "task": "text",
        **record,
        "false_alarm_rate": looked.detector.calibration_.rate_or_default(None),
        "alarms_among_normal": float(alarm[split.y == 0].mean()),
        "anomalies_found": float(alarm[split.y == 1].mean()),
        "f1": float(f1_score(split.y, alarm)),
        "other_aggregates": looked.others(split.y),
        "settings": {k: v for k, v in vars(arguments).items() if v not in (None, False) and k not in NOT_SETTINGS},
    }


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the sets (default: the one MASKDIFF_DATA names)")
    parser.add_argument("--sets", nargs="+", default=["sms"], choices=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, help="append the records to this file too")
    parser.add_argument("--name", default="default", help="the name of the method in the records")
    parser.add_argument("--preset", choices=["paper"], help="the paper's size, probes and tokenizer")
    parser.add_argument("--tokenizer", help="bpe, gpt2 or a tokenizer.json file")
    parser.add_argument("--embedder", help="the folder of a pre-trained text embedder, as a second kind of evidence")
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
    if name == "hdfs":
        return SequenceDetector(**settings)
    return TextDetector(tokenizer=arguments.tokenizer, embedder=arguments.embedder, **settings)


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


if __name__ == "__main__":
    sys.exit(main())
