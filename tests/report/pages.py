"""A parser of finished pages for the tests of the report."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

from maskdiff.detectors import TableDetector
from maskdiff.report import build_report

from .samples import connections_detector

WHEN = datetime(2024, 5, 17, 9, 30, tzinfo=UTC)
VOID = {"meta", "br", "input", "wbr", "path", "rect"}


def report_on(X: Any, detector: TableDetector | None = None, **options: Any) -> Page:
    """The page about these rows."""
    return Page(build_report(detector or connections_detector(), X, when=WHEN, **options))


class Page(HTMLParser):
    """A page as a browser without scripts reads it: elements, attributes, text, tables, data."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        starts: dict[str, Callable[[], None]] = {
            "script": lambda: self.scripts.append(""),
            "style": lambda: self.styles.append(""),
            "table": lambda: self.tables.append([]),
            "tr": lambda: self.tables[-1].append([]),
            "td": lambda: self.tables[-1][-1].append(""),
            "th": lambda: self.tables[-1][-1].append(""),
        }
        starts.get(tag, lambda: None)()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self._open[-1:] == ["style"]:
            self.styles[-1] += data
        else:
            self.texts.append(data)
            if {"td", "th"} & set(self._open):
                self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def data(self) -> Any:
        """The payload of the page's script."""
        return json.loads(gzip.decompress(base64.b64decode(self.scripts[1])))

    def table(self, *heads: str) -> list[list[str]]:
        """The lines, without the head, of the first table whose head holds these words."""
        for lines in self.tables:
            if all(any(head in cell for cell in lines[0]) for head in heads):
                return [[" ".join(cell.split()) for cell in line] for line in lines[1:]]
        raise AssertionError(f"no table has the heads {heads}")

    def rows(self) -> list[dict[str, Any]]:
        """The anomalies of the payload, with places replaced by the texts they refer to."""
        data, found = self.data, []
        more = {at: fields for at, fields in data["more"]}
        n_alarms = data["rates"][data["ownRate"]]["n"]
        for at, number in enumerate(data["number"][:n_alarms]):
            flat = data["cells"][at]
            cells = [flat[i : i + 6] for i in range(0, len(flat), 6)]
            found.append(
                {
                    "number": number,
                    "score": data["score"][at],
                    "p": data["pTexts"][data["p"][at]],
                    "cells": [
                        {
                            "column": data["columns"][field]["name"],
                            "value": data["columns"][field]["texts"][value],
                            "share": share / 1000,
                            "expected": data["columns"][field]["texts"][expected],
                            "probability": probability / 1000,
                            "odd": bool(flags & 1),
                            "unseen": bool(flags & 2),
                        }
                        for field, value, share, expected, probability, flags in cells
                    ],
                    "values": {c["name"]: c["texts"][c["at"][at]] for c in data["columns"] if at < len(c["at"])},
                    "context": {c["name"]: c["texts"][c["at"][at]] for c in data["context"]},
                    "group": data["group"][at],
                    "odd": {data["columns"][field]["name"] for field, *_, flags in cells if flags & 1}
                    | {data["columns"][field]["name"] for field in more.get(at, ())},
                }
            )
        return found
