"""The detectors of the battery, each fitted once in a session."""

from __future__ import annotations

import pytest

from maskdiff import Steps

from .cases import CASES, ORIGINS, fitted


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """What the battery promises holds for networks that are trained a little."""
    whole = Steps.steps
    monkeypatch.setattr(Steps, "steps", lambda self, n_rows, batch_size: min(40, whole(self, n_rows, batch_size)))


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("contract")


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=ORIGINS)
def origin(request):
    return request.param


@pytest.fixture
def detector(case, origin, model_folder):
    """Each detector as fitted from memory and from batches, before and after save and load; no test may change it."""
    return fitted(case.name, origin, model_folder)
