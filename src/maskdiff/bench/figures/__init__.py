"""The pictures of the paper, measured anew: each figure is a table that is measured and a way to draw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

from maskdiff.bench.figures import levels, synthetic, theory
from maskdiff.bench.figures.pictures import check_picture
from maskdiff.errors import SettingError
from maskdiff.io.atomic import write_text
from maskdiff.progress import Callback


@dataclass(frozen=True)
class Figure:
    """How to measure what is drawn, and how to draw it."""

    measure: Callable[..., pd.DataFrame]
    draw: Callable[[pd.DataFrame, Path], None]


FIGURES = {
    "synthetic": Figure(synthetic.measure, synthetic.draw),
    "levels": Figure(levels.measure, levels.draw),
    "theory": Figure(theory.measure, theory.draw),
}


def make_figure(
    name: str, out: str | Path, settings: Mapping[str, Any] | None = None, *, progress: bool | Callback | None = None
) -> list[Path]:
    """Measure and draw one of `FIGURES`; what was measured is written beside the picture, as CSV.

    Of the settings each figure takes those it knows; None leaves its default.
    """
    if name not in FIGURES:
        raise SettingError(f"there is no figure {name!r}; choose one of {', '.join(FIGURES)}.")
    beside = Path(out).with_suffix(".csv")
    check_picture(out)  # before the long part
    if beside.exists() and not Path(out).exists():
        raise SettingError(f"{beside} is there already, and no picture beside it. Name another picture.", setting="out")
    measure = FIGURES[name].measure
    takes = signature(measure).parameters
    known = {key: value for key, value in (settings or {}).items() if value is not None and key in takes}
    table = measure(progress=progress, **known)
    FIGURES[name].draw(table, Path(out))
    write_text(beside, table.round(5).to_csv(index=False))
    return [Path(out), beside]
