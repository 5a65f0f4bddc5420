"""Freed blocks of memory are used again where the C library can be told to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from maskdiff.training import memory
from maskdiff.training.memory import keep_large_blocks

FAULTS = """
import resource
import runpy
import sys
import numpy as np
if sys.argv[2:]:
    assert runpy.run_path(sys.argv[1])["keep_large_blocks"]()

def filled():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        [np.ones(1 << 17) for _ in range(30)]  # as the states of a network, which are freed together
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

filled()
print(filled())
"""


@pytest.mark.skipif(not keep_large_blocks(), reason="the C library is not glibc, or is set otherwise")
def test_blocks_that_were_freed_are_used_again_without_new_pages():
    faults = [
        int(subprocess.run([sys.executable, "-c", FAULTS, memory.__file__, *kept], capture_output=True).stdout)
        for kept in ((), ("kept",))
    ]
    assert faults[1] < faults[0] / 2


def test_settings_of_the_process_are_respected(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert not keep_large_blocks.__wrapped__()


def test_another_c_library_is_no_error(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not keep_large_blocks.__wrapped__()
