"""tools/same_scores.py, which compares the scores of two versions."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "same_scores.py"


@pytest.fixture
def same_scores(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The tool's main function, with the kernel as its only method."""
    names = runpy.run_path(str(TOOL))
    monkeypatch.setitem(names["main"].__globals__, "TABLES", {"kernel": names["TABLES"]["kernel"]})
    main: Callable[..., int] = names["main"]
    return main


def test_equal_scores_pass_and_a_changed_one_is_named(
    same_scores: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    arguments = ["--sets", "claims", "--rows", "200"]
    assert same_scores([*arguments, "--out", str(old)]) == 0
    assert same_scores([*arguments, "--out", str(new), "--against", str(old)]) == 0
    assert "largest difference 0.00e+00" in capsys.readouterr().out
    changed = {name: scores + (np.arange(len(scores)) == 3) for name, scores in np.load(old).items()}
    np.savez(old, **changed)
    assert same_scores([*arguments, "--out", str(new), "--against", str(old)]) == 1
