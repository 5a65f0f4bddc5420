"""The page fits a phone, has enough contrast in both themes, and names its tables and controls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .lists import PHONE


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (channel / 255 for channel in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("view", ["reasons", "ranked"])
def test_a_phone_scrolls_tables_and_not_the_page(visit: Any, report: Path, view: str) -> None:
    page = visit(report, viewport=PHONE)
    assert page.input_value("#view") == "reasons"
    page.select_option("#view", view)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_long_names_among_the_checks_fit_a_phone(visit: Any, checks: Path) -> None:
    page = visit(checks, viewport=PHONE)
    assert page.locator("#checks dt").count() >= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_theme_follows_the_system_until_the_reader_chooses(visit: Any, report: Path) -> None:
    page = visit(report, remembers=True, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    assert page.inner_text("#theme") == "Light theme"
    page.click("#theme")
    page.wait_for_selector("#theme:text-is('Dark theme')")
    light = page.evaluate(background)
    assert dark != light
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(background) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(visit: Any, report: Path, scheme: str) -> None:
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    page = visit(report, color_scheme=scheme)

    def colour(name: str) -> list[float]:
        script = f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
        value: str = page.evaluate(script)
        return [int(value[i : i + 2], 16) for i in (1, 3, 5)] if value[0] == "#" else [float(x) for x in value.split()]

    paper, card, faint, ink = (colour(name) for name in ("paper", "card", "faint", "ink"))
    most = colour("odd-most")[0]
    shaded = [most * odd + (1 - most) * ground for odd, ground in zip(colour("odd"), card, strict=True)]
    for ground in (paper, card, faint):
        assert min(contrast(colour(name), ground) for name in ("ink", "soft", "accent")) >= 4.5
    assert min(contrast(colour(name), card) for name in ("alarm-ink", "strong", "clear")) >= 4.5
    assert contrast(ink, shaded) >= 4.5
    assert min(contrast(colour(name), card) for name in ("calm", "alarm", "focus")) >= 3


def test_tables_have_captions_and_scoped_heads_and_controls_have_labels(visit: Any, report: Path) -> None:
    page = visit(report)
    assert (
        page.evaluate("[...document.querySelectorAll('table')].filter(t => !t.caption?.textContent.trim()).length") == 0
    )
    assert page.evaluate("[...document.querySelectorAll('th')].filter(th => !th.scope).length") == 0
    nameless = "[...document.querySelectorAll('input, select')].filter(node => !node.labels.length).length"
    assert page.evaluate(nameless) == 0
