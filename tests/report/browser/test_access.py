"""Everyone can read the page and reach all of it: contrast of every text, the keyboard, names, and no motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .lists import LINES, PHONE, WIDE, page_of, status, wait_for_match

# The least contrast of any visible text with what is behind it, shades included, and the text that has it.
LEAST_CONTRAST = """() => {
  const colours = (text) => (text.match(/rgba?\\([^)]*\\)|color\\(srgb [^)]*\\)/g) ?? []).map((one) => {
    const [r, g, b, alpha = 1] = one.replace("srgb", "").match(/[\\d.]+/g).map(Number);
    const scale = one.startsWith("color") ? 255 : 1;
    return [scale * r, scale * g, scale * b, alpha];
  });
  const over = (top, ground) => ground.map((c, i) => top[3] * top[i] + (1 - top[3]) * c);
  // The edges of a frame that scrolls are no ground for text.
  const layers = (node) => {
    const style = getComputedStyle(node);
    const shade = node.matches(".scroll") ? [] : colours(style.backgroundImage).slice(0, 1);
    return [...shade, ...colours(style.backgroundColor)];
  };
  const ground = (node) => {
    const found = [];
    for (let at = node; at; at = at.parentElement) found.push(...layers(at));
    return found.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const contrast = (node, part) => {
    const below = ground(node), [colour] = colours(getComputedStyle(node, part).color);
    const [low, high] = [luminance(over(colour, below)), luminance(below)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const shown = (node) => node.checkVisibility() && !node.closest(".hidden, .skip, caption, svg, option");
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
  const texts = [...document.querySelectorAll("body *")].filter((node) => shown(node) && hasText(node));
  const hints = [...document.querySelectorAll("input[placeholder]")].filter(shown);
  const found = texts.map((node) => [contrast(node), node]);
  found.push(...hints.map((node) => [contrast(node, "::placeholder"), node]));
  const [least, node] = found.reduce((a, b) => (a[0] < b[0] ? a : b));
  return [least, found.length, node.outerHTML.slice(0, 200)];
}"""
FOCUSED = """(() => {
  const at = document.activeElement;
  return at.id || (at.classList.contains("odd") ? "odd" : Object.keys(at.dataset)[0] ?? "");
})()"""
SMALL = """[...document.querySelectorAll("button, select, summary, .seen, nav a")]
  .filter((node) => node.checkVisibility() && !node.matches(".sort, .pattern"))
  .filter((node) => node.getBoundingClientRect().height < 23.5).map((node) => node.outerHTML.slice(0, 90))"""
NAMELESS = """[...document.querySelectorAll("button, input, select, summary, a")]
  .filter((node) => !(node.ariaLabel || node.labels?.[0]?.textContent || node.textContent).trim())
  .map((node) => node.outerHTML.slice(0, 90))"""
MOVING = """[...document.querySelectorAll("*")].map((node) => getComputedStyle(node))
  .filter((style) => style.animationName !== "none" || parseFloat(style.transitionDuration) > 0).length"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["checks", "texts"])
def test_every_text_has_enough_contrast(visit: Any, name: str, scheme: str, request: pytest.FixtureRequest) -> None:
    """WCAG AA: 4.5."""
    page = visit(request.getfixturevalue(name), color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    page.locator("[data-reviewed]").first.check()
    for view in ("ranked", "reasons"):
        page.select_option("#view", view)
        least, n, where = page.evaluate(LEAST_CONTRAST)
        assert least >= 4.5, where
        assert n > 100


def test_the_keyboard_reaches_filters_pages_marks_and_odd_cells_in_order(visit: Any, report: Path) -> None:
    page = visit(report)
    controls = ["find", "odd-column", "view", "show-reviewed", "rate", "size", "reset", "save", "page"]
    wanted = [*controls, "list-box", "reviewed", "odd"]
    page.focus("#find")
    found: list[str] = []
    for _ in range(40):
        found.append(page.evaluate(FOCUSED))
        page.keyboard.press("Tab")
    assert list(dict.fromkeys(name for name in found if name in wanted)) == wanted


def test_filters_marks_and_groups_work_without_a_pointer(visit: Any, report: Path) -> None:
    page, n = visit(report), len(page_of(report).rows())
    page.focus("#find")
    page.keyboard.type("gopher")
    wait_for_match(page)
    page.focus("[data-reviewed]")
    page.keyboard.press("Space")
    assert page.locator(f"{LINES}.reviewed").count() == 1
    page.focus("#reset")
    page.keyboard.press("Enter")
    assert status(page) == f"Anomalies 1 to 25 of {n}"
    page.focus("#groups td button.quiet")
    page.keyboard.press("Enter")
    assert "that match" in status(page)
    assert page.evaluate("document.activeElement.closest('#chosen-group') !== null")
    page.keyboard.press("Enter")
    assert status(page) == f"Anomalies 1 to 25 of {n}"


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_every_control_has_a_name_and_is_large_enough_to_hit(visit: Any, report: Path, screen: dict[str, int]) -> None:
    page = visit(report, viewport=screen)
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(SMALL) == []


def test_nothing_moves_for_those_who_ask_for_it(visit: Any, report: Path) -> None:
    still, usual = (visit(report, reduced_motion=motion) for motion in ("reduce", "no-preference"))
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert (still.evaluate(behaviour), usual.evaluate(behaviour)) == ("auto", "smooth")
    assert still.evaluate(MOVING) == 0
