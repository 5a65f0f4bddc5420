from __future__ import annotations

from xml.etree import ElementTree

from maskdiff.bench.figures.bars import BLUE, Bar, bar_chart

SVG = "{http://www.w3.org/2000/svg}"


def bars_of(picture: str) -> list[ElementTree.Element]:
    _background, *bars = ElementTree.fromstring(picture).findall(f"{SVG}rect")
    return bars


def test_bars_are_as_long_as_their_values() -> None:
    short, long = bars_of(bar_chart("seconds", [Bar("a", 1.0, "1 s"), Bar("b", 4.0, "4 s", BLUE)]))
    assert float(long.attrib["width"]) == 4 * float(short.attrib["width"])
    assert long.attrib["fill"] == BLUE


def test_negative_bars_end_where_positive_ones_begin() -> None:
    up, down = bars_of(bar_chart("points", [Bar("a", 1.0, "+1"), Bar("b", -3.0, "-3")]))
    assert float(down.attrib["x"]) + float(down.attrib["width"]) == float(up.attrib["x"])


def test_names_are_escaped() -> None:
    picture = ElementTree.fromstring(bar_chart("a < b", [Bar("x & y", 1.0, "<1")], "note"))
    texts = [text.text for text in picture.findall(f"{SVG}text")]
    assert texts == ["a < b", "x & y", "<1", "note"]
