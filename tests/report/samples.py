"""Detectors and rows for the tests of the report: connections, texts, sequences, and values that look like markup."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from maskdiff import ProbeGrid, SequenceDetector, Steps, TableDetector, TextDetector, Training
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.report import ReportBuilder

from ..conftest import make_connections

SAYS = ("see you at nine", "see you at ten", "call me at ten", "call me later")
SPAM = ["claim your prize at ten", "see you at zoo", "claim cash later", "claim <b>cash</b> & more"]
NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "</table></title></style><b>",
    "<!-- ",
    "-->",
    "]]>",
    "&lt;b&gt; &amp; &#x3c;",
    "\"' onmouseover=alert(3) x='",
    '=HYPERLINK("http://example.org","click")',
    "+1+cmd|' /C calc'!A0",
    "{{ 7 * 7 }} {% for x in y %}",
    "${alert(4)} `x`",
    "\u202egnp.exe",
    "\u2028\u2029",
    "a\x00b\x07\x1b[31m",
    "   ",
    "x" * 5000,
    "\U0001d518 \U0001f389",
    "line\nbreak\ttab",
    "\\u003cscript\\u003e",
    "missing",
    "\ud800",
]


@cache
def connections_detector() -> TableDetector:
    """The kernel over 600 connections: protocol, service, flag, bytes."""
    return TableDetector("kernel", progress=False).fit(make_connections(600, seed=7))


@cache
def combined_detector() -> TableDetector:
    """The default over 100 connections."""
    return TableDetector(progress=False).fit(make_connections(100, seed=7))


def odd_connections(n: int, seed: int = 3, share: float = 0.5) -> pd.DataFrame:
    """`n` connections; about this share of them has a service or flag that does not belong, or was never seen."""
    rows = make_connections(n, seed)
    rng = np.random.default_rng(seed)
    odd = rng.random(n) < share
    rows.loc[odd, "service"] = rng.choice(["http", "dns", "gopher", "echo"], odd.sum())
    rows.loc[odd, "flag"] = rng.choice(["REJ", "RSTO", "SF", "S0"], odd.sum())
    return rows


def services(values: list[str]) -> pd.DataFrame:
    """Connections to these services."""
    rows = make_connections(len(values), seed=3)
    rows["service"] = pd.Series(values, dtype=object)
    return rows


def builder_with_checks() -> ReportBuilder:
    """Connections to a service never seen, from a file with columns the model never saw, one with a very long name."""
    builder = ReportBuilder(connections_detector())
    builder.check_counts.unknown = ["handler", "a_name_" + "that_goes_on_" * 12, "<b>notes</b>"]
    return builder.add(odd_connections(120, share=0.1).assign(service="gopher"))


@cache
def text_detector() -> TextDetector:
    return TextDetector(_small(), probes=ProbeGrid((0.2, 0.6), 2), column="text", progress=False).fit(some_texts(200))


@cache
def log_detector() -> SequenceDetector:
    normal = [["open", "read", "close"], ["open", "write", "close"]] * 100
    return SequenceDetector(_small(), probes=ProbeGrid((0.2, 0.6), 2), progress=False).fit(normal)


def _small() -> TransformerReconstructor:
    quick = Training(Steps(60), batch_size=32, learning_rate=0.01)
    return TransformerReconstructor(width=16, heads=2, feed_forward=32, training=quick)


def some_texts(n: int, *more: str) -> pd.DataFrame:
    """`n` normal texts, then these; with an id beside them."""
    texts = [SAYS[i % len(SAYS)] for i in range(n)] + list(more)
    return pd.DataFrame({"id": [f"T{i}" for i in range(len(texts))], "text": texts})
