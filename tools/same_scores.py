"""Whether two versions of maskdiff score alike: write the scores of one, then compare those of the other with them.

    PYTHONPATH=old/src python tools/same_scores.py --data DIR --out old.npz
    PYTHONPATH=new/src python tools/same_scores.py --data DIR --out new.npz --against old.npz

Uses public names only, so that it runs with either version. Every case is fitted on normal rows and scores other rows;
the largest difference is relative to the spread of the old scores.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff import SequenceDetector, Steps, TableDetector, TextDetector, Training, TransformerReconstructor, datasets
from maskdiff.datasets.text import load_text

TABLES: dict[str, Callable[[], Any]] = {
    "default": lambda: TableDetector(progress=False, device="cpu"),
    "mlp": lambda: TableDetector("mlp", progress=False, device="cpu"),
    "kernel": lambda: TableDetector("kernel", progress=False, device="cpu"),
    "paper mlp": lambda: TableDetector("mlp", preset="paper", progress=False, device="cpu"),
    "paper kernel": lambda: TableDetector("kernel", preset="paper", progress=False, device="cpu"),
}
LARGEST_DIFFERENCE = 1e-6


def cases(data: str | None, sets: Sequence[str], rows: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, detector, rows to learn from, rows to score."""
    for name in (name for name in sets if name != "sms"):
        table, odd = _table(name, data, rows)
        half = len(table) // 2
        normal, new = table[:half][odd[:half] == 0], table[half:].reset_index(drop=True)
        yield from ((f"{name}, {method}", make(), normal, new) for method, make in TABLES.items())
    if "sms" in sets:
        texts, odd = _texts(data, rows)
        half = len(texts) // 2
        normal = [text for text, is_odd in zip(texts[:half], odd[:half], strict=True) if not is_odd]
        quick = Training(Steps(60), batch_size=16, learning_rate=1e-3)
        yield "sms, default", TextDetector(progress=False, device="cpu"), normal, texts[half:][:400]
        small = TransformerReconstructor(512, 2, 16, 512, 0.1, True, "learned", training=quick)
        yield (
            "sms, paper",
            TextDetector(small, preset="paper", progress=False, device="cpu"),
            normal[:300],
            texts[half:][:40],
        )
        words = [text.split() for text in normal], [text.split() for text in texts[half:][:400]]
        yield (
            "sms, words",
            SequenceDetector(TransformerReconstructor(training=quick), progress=False, device="cpu"),
            *words,
        )


def _table(name: str, data: str | None, rows: int) -> tuple[Any, NDArray[Any]]:
    if name == "claims":
        return datasets.make_claims(rows, 0)
    table, odd = datasets.load(name, data)
    chosen = np.random.default_rng(0).permutation(len(table))[:rows]
    return table.iloc[chosen].reset_index(drop=True), np.asarray(odd)[chosen]


def _texts(data: str | None, rows: int) -> tuple[list[str], NDArray[Any]]:
    texts, odd = load_text("sms", data)
    chosen = np.random.default_rng(0).permutation(len(texts))[:rows]
    return [str(texts[i]) for i in chosen], np.asarray(odd)[chosen]


def main(arguments: Sequence[str] | None = None) -> int:
    """Score, write, compare; 1 where a score differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="the folder with the data sets")
    parser.add_argument("--sets", default="solar,bank,claims,sms", help="with commas between")
    parser.add_argument("--rows", type=int, default=6000, help="at most so many rows of each set")
    parser.add_argument("--out", required=True, help="where to write the scores (.npz)")
    parser.add_argument("--against", help="scores of another version")
    given = parser.parse_args(arguments)
    found: dict[str, NDArray[Any]] = {}
    other = dict(np.load(given.against)) if given.against else {}
    differ = 0
    for name, detector, normal, new in cases(given.data, given.sets.split(","), given.rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = detector.fit(normal).anomaly_score(new)
        line = f"{name:24} {len(found[name]):6,} scores, mean {np.nanmean(found[name]):.6f}"
        if name in other:
            difference = float(np.nanmax(np.abs(found[name] - other[name])) / max(np.nanstd(other[name]), 1e-12))
            differ += difference > LARGEST_DIFFERENCE
            line += f", largest difference {difference:.2e} standard deviations"
        print(line, flush=True)
        np.savez(given.out, **found)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
