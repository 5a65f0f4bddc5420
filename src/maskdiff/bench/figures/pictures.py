"""Pictures with matplotlib, an extra: one way to start a figure, one way to write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maskdiff.errors import SettingError
from maskdiff.io.atomic import atomic_write
from maskdiff.io.outputs import check_output
from maskdiff.jobs.curves import PICTURE
from maskdiff.plot import new_figure


def figure_of(rows: int, columns: int, *, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure and its axes, always as a rows x columns array; no window is ever opened."""
    figure = new_figure(size)
    return figure, figure.subplots(rows, columns, squeeze=False)


def check_picture(path: str | Path) -> str:
    """The picture format that the name ends with, if it is one that can be written."""
    if Path(path).parent.is_dir():  # it is made where it is not there
        check_output(path, content=PICTURE)
    form = Path(path).suffix.lstrip(".").lower()
    figure, _ = figure_of(1, 1, size=(1, 1))
    if form not in figure.canvas.get_supported_filetypes():
        raise SettingError(f"a picture cannot be written as {form!r}; name it .png, .svg or .pdf.")
    return form


def save(figure: Any, path: str | Path) -> None:
    """Write the figure; the name says as what. Equal figures give equal files."""
    form = check_picture(path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with _plain_svg(), atomic_write(path) as file:
        figure.savefig(file, format=form, dpi=120, metadata=undated)


def _plain_svg() -> Any:
    # Elements are named by a hash with this salt, random unless given; letters stay letters, a third of the size.
    from matplotlib import rc_context

    return rc_context({"svg.hashsalt": "maskdiff", "svg.fonttype": "none"})
