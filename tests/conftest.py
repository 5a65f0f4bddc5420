"""What all tests share: one thread, a fixed hypothesis profile, a small table, the folder with the real files."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Before torch is imported anywhere, so that doctests of src and subprocesses of the tests are held to it too.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from .browsing import launched

# Tests never measure time, and a failure seen once is seen again.
settings.register_profile("maskdiff", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("maskdiff")

SERVICES = {"tcp": ("http", "smtp", "ftp"), "udp": ("dns", "ntp"), "icmp": ("echo",)}
FLAGS = {"tcp": ("SF", "SF", "SF", "REJ"), "udp": ("SF",), "icmp": ("SF", "RSTO")}
TYPICAL_BYTES = {"http": 2000, "smtp": 900, "ftp": 20000, "dns": 60, "ntp": 48, "echo": 8}


def make_connections(n: int, seed: int) -> pd.DataFrame:
    """`n` network connections: the protocol decides service and flag, the service the number of bytes."""
    return _made_connections(n, seed).copy()


@cache
def _made_connections(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    protocol = rng.choice(list(SERVICES), size=n, p=(0.6, 0.3, 0.1))
    service = [str(rng.choice(SERVICES[p])) for p in protocol]
    flag = [str(rng.choice(FLAGS[p])) for p in protocol]
    typical = np.array([TYPICAL_BYTES[s] for s in service])
    amount = np.round(typical * rng.lognormal(sigma=0.3, size=n)).astype(np.int64)
    return pd.DataFrame({"protocol": protocol, "service": service, "flag": flag, "bytes": amount})


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One for the pages of report and service: the driver can be started only once in a process."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def usual_page(browser: object) -> object:
    """The page that tests open one after the other, see `Visits`."""
    return browser.new_context().new_page()  # type: ignore[attr-defined]


@pytest.fixture
def normal_rows() -> pd.DataFrame:
    """600 connections that keep the rules; a table of its own for each test."""
    return make_connections(600, seed=7)


@pytest.fixture
def odd_rows() -> pd.DataFrame:
    """Four connections made of values seen before, each breaking one rule of `normal_rows`."""
    return pd.DataFrame(
        {
            "protocol": ["udp", "icmp", "udp", "tcp"],
            "service": ["http", "dns", "dns", "http"],
            "flag": ["SF", "SF", "REJ", "SF"],
            "bytes": [2000, 60, 60, 8],
        }
    )


@pytest.fixture
def hardly_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks take at most 20 steps, for tests of what stands around them."""
    from maskdiff import Steps

    whole = Steps.steps
    monkeypatch.setattr(Steps, "steps", lambda self, n_rows, batch_size: min(20, whole(self, n_rows, batch_size)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data files; tests that ask for it are skipped where there is none."""
    named = os.environ.get("MASKDIFF_DATA", "")
    if not named:
        pytest.skip("MASKDIFF_DATA does not name a folder with the data sets")
    if not Path(named).is_dir():
        pytest.skip(f"MASKDIFF_DATA names {named!r}, which is not a folder")
    return Path(named)


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> Iterator[None]:
    """Holds even where the environment asks for more threads; sums over one thread always add up the same way."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays, and need not be looked through for garbage, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
