"""Bar charts as plain SVG: small, and the same bytes wherever they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

BLUE, GREY, RED = "#2a6fb0", "#b8bec6", "#c8553d"
_LINE, _LEFT, _WIDTH, _RIGHT = 20, 190, 380, 110


@dataclass(frozen=True)
class Bar:
    """One bar; its label stands to the left, what it says to the right of it."""

    label: str
    value: float
    text: str
    colour: str = GREY


def bar_chart(title: str, bars: Sequence[Bar], note: str = "") -> str:
    """Bars from zero to the right, or to both sides where some values are negative."""
    low, high = min(0.0, *(bar.value for bar in bars)), max(0.0, *(bar.value for bar in bars))
    scale = _WIDTH / ((high - low) or 1.0)
    zero = _LEFT - low * scale
    height = _LINE * (len(bars) + 2) + (_LINE if note else 0)
    width = _LEFT + _WIDTH + _RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        parts += _bar(bar, zero, scale, y=_LINE * (number + 1) + 8)
    if note:
        parts.append(f'<text x="{_LEFT}" y="{height - 8}" fill="#555">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(bar: Bar, zero: float, scale: float, y: int) -> list[str]:
    length = bar.value * scale
    left, end = min(zero, zero + length), max(zero, zero + length)
    return [
        f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect x="{left:.1f}" y="{y}" width="{max(abs(length), 1):.1f}" height="15" fill="{bar.colour}"/>',
        f'<text x="{end + 5:.1f}" y="{y + 12}">{escape(bar.text)}</text>',
    ]
