"""Detectors of texts and of sequences, each fitted once in a session; no test may change them."""

from __future__ import annotations

import pytest

from maskdiff.detectors import SequenceDetector, TextDetector

from .token_rows import (
    ODD_SESSIONS,
    ODD_TEXTS,
    PROBES,
    SESSIONS,
    TEXTS,
    make_sessions,
    make_texts,
    tiny,
)


@pytest.fixture(scope="session")
def text_detector():
    return TextDetector(tiny(240), probes=PROBES).fit(TEXTS)


@pytest.fixture(scope="session")
def sequence_detector():
    return SequenceDetector(tiny(), probes=PROBES).fit(SESSIONS)


@pytest.fixture(params=["text", "sequence"])
def case(request, text_detector, sequence_detector):
    """A fitted detector, normal rows it has not seen, and odd ones."""
    return {
        "text": (text_detector, make_texts(20, 1), ODD_TEXTS),
        "sequence": (sequence_detector, make_sessions(20, 1), ODD_SESSIONS),
    }[request.param]
