"""Messages and log sessions in files, and models of them that were trained for a moment."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

# One token of many letters: a megabyte of it is not too long for a test.
LONG = "donaudampfschifffahrtsgesellschaftskapitaenskajuetentuerschluesselanhaenger"
WHO = ("hey", "mum", "ok", LONG)
WHAT = ("see you", "call me", "i am late", "meet us")
WHEN = ("at ten", "later", "at noon", "tonight")
ODD = ("hey claim your prize", "ok see you at zoo", "<b>WIN</b> cash & more")
HASTY = ("--levels", "0.2,0.6", "--views-per-level", "2", "--steps")
QUICK = (*HASTY, "60")


def messages(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(map(str, (rng.choice(WHO), rng.choice(WHAT), rng.choice(WHEN)))) for _ in range(n)]


def sessions(n: int, seed: int) -> list[list[str]]:
    copies = np.random.default_rng(seed).integers(1, 4, n)
    return [["allocate", *["receive"] * c, *["received", "responder ends"] * c, "stored"] for c in copies.tolist()]


def write_csv(path: Path, heads: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([heads, *rows])
    return path


def write_lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
