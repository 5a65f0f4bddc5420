"""A folder of files and a model, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from .messages import HASTY, ODD, QUICK, messages, sessions, write_csv, write_lines
from .running import call

SERVICES = {"tcp": ("http", "smtp", "ftp"), "udp": ("dns", "ntp"), "icmp": ("echo",)}


def connections(n: int, seed: int) -> pd.DataFrame:
    """Rows with every kind of cell: the protocol decides the service, the service the size; some cells are missing."""
    rng = np.random.default_rng(seed)
    protocol = rng.choice(list(SERVICES), size=n, p=(0.6, 0.3, 0.1))
    service = np.array([str(rng.choice(SERVICES[p])) for p in protocol])
    size = np.array([200.0 * len(s) for s in service]) * rng.lognormal(sigma=0.2, size=n)
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "protocol": protocol,
            "service": service,
            "bytes": size.round(2),
            "port": [f"{len(s):03d}" for s in service],
            "retries": np.where(rng.random(n) < 0.1, None, rng.integers(0, 3, n)),
            "secure": rng.random(n) < 0.5,
            "day": [f"2024-{1 + k % 12:02d}-0{1 + k % 9}" for k in rng.integers(0, 100, n).tolist()],
            "note": np.where(rng.random(n) < 0.3, None, 'say "hi", ok'),
        }
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """normal.csv to learn from, new.* to score with the last three rows odd, labelled.csv with the truth about them."""
    folder = tmp_path_factory.mktemp("home")
    connections(400, seed=1).to_csv(folder / "normal.csv", index=False)
    new = connections(60, seed=2)
    new.loc[57:, "protocol"] = ["udp", "icmp", "udp"]
    new.loc[57:, "service"] = ["http", "dns", "gopher"]
    new.loc[57:, "port"] = ["999", "998", "997"]
    new.to_csv(folder / "new.csv", index=False)
    new.assign(y=np.arange(60) > 56).to_csv(folder / "labelled.csv", index=False)
    typed = pd.read_csv(folder / "new.csv", dtype={"port": str})
    typed.to_parquet(folder / "new.parquet", index=False)
    typed.to_feather(folder / "new.arrow", compression="uncompressed")
    typed.to_json(folder / "new.jsonl", orient="records", lines=True)
    return folder


@pytest.fixture(scope="session")
def model(home: Path) -> Path:
    """A model of normal.csv that needed no training."""
    options = ("--reconstructor", "kernel", "--categorical", "port")
    said = call("fit", home / "normal.csv", "-o", home / "model.maskdiff", *options)
    assert said.status == 0, said.err
    return home / "model.maskdiff"


@pytest.fixture(scope="session")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Messages: normal.csv to learn from, new.csv with odd ones last, a model; the same of log sessions."""
    folder = tmp_path_factory.mktemp("inbox")
    write_csv(folder / "normal.csv", ["id", "message"], [[i, text] for i, text in enumerate(messages(300, 1))])
    new = [*messages(20, 2), *ODD]
    lines: list[list[object]] = [[f"m{i}", text, int(i >= 20)] for i, text in enumerate(new)]
    write_csv(folder / "new.csv", ["id", "message", "y"], lines)
    said = call("fit", folder / "normal.csv", "--text", "message", "-o", folder / "text.maskdiff", *HASTY, "90")
    assert said.status == 0, said.err
    logs = [{"block": i, "events": events} for i, events in enumerate(sessions(300, 1))]
    write_lines(folder / "normal.jsonl", logs)
    odd = [["allocate", "receive", "exception", "stored"], ["stored", "allocate"]]
    write_lines(folder / "new.jsonl", [{"block": i, "events": e} for i, e in enumerate([*sessions(20, 2), *odd])])
    said = call("fit", folder / "normal.jsonl", "--sequence", "events", "-o", folder / "logs.maskdiff", *QUICK)
    assert said.status == 0, said.err
    return folder
