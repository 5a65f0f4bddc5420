"""An explanation as a table that notebooks show with bars."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd

from maskdiff.explanations.shading import visible

BARS = "contribution"
_SHARES = ("share", "expected_probability")
_CELL = "padding:2px 8px;text-align:{align};vertical-align:middle"
_BAR = "display:inline-block;height:.8em;width:{width:.0f}px;background:#d9722e;border-radius:2px;margin-right:6px"
_LONGEST_BAR = 80


class Explanation(pd.DataFrame):
    """One line per cell: see `explain` of the detectors. A pandas DataFrame whose contributions notebooks show as bars.

    >>> "&lt;b&gt;" in Explanation({"value": ["<b>"], "contribution": [2.0]})._repr_html_()
    True
    """

    @property
    def _constructor(self) -> type[Explanation]:
        return Explanation

    def _repr_html_(self) -> str | None:
        if BARS not in self.columns or not pd.get_option("display.notebook_repr_html"):
            return super()._repr_html_()  # type: ignore[misc, no-any-return]
        shown = self.head(pd.get_option("display.max_rows") or len(self))
        largest = max(float(self[BARS].abs().max() if len(self) else 0.0), 1e-12)
        head = "".join(_cell("th", escape(str(name))) for name in ["", *self.columns])
        lines = [
            "<tr>"
            + _cell("th", _text(label))
            + "".join(_formatted(n, v, largest) for n, v in zip(self.columns, line, strict=True))
            + "</tr>"
            for label, line in zip(shown.index, shown.itertuples(index=False, name=None), strict=True)
        ]
        more = f"<p>and {len(self) - len(shown):,} more cells</p>" if len(shown) < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _formatted(name: str, value: Any, largest: float) -> str:
    """One cell of the table; text is escaped, contributions have a bar."""
    if name == BARS:
        bar = f'<span style="{_BAR.format(width=_LONGEST_BAR * max(value, 0) / largest)}"></span>'
        return _cell("td", f'<span style="white-space:nowrap">{bar}{value:.3g}</span>')
    if name in _SHARES:
        return _cell("td", f"{value:.0%}", "right")
    if isinstance(value, float):
        return _cell("td", f"{value:.3g}", "right")
    return _cell("td", _text(value), "left" if isinstance(value, str) else "right")


def _text(value: Any) -> str:
    return escape(visible(str(value)))


def _cell(tag: str, content: str, align: str = "left") -> str:
    return f'<{tag} style="{_CELL.format(align=align)}">{content}</{tag}>'
