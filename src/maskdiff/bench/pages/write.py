"""Writes the pages and their pictures into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from maskdiff.bench.figures.critical_difference import draw
from maskdiff.bench.pages.baselines import baselines_page, diagrams
from maskdiff.bench.pages.cells import cells_page
from maskdiff.bench.pages.choose import choose_page
from maskdiff.bench.pages.find import find_page
from maskdiff.bench.pages.index import index_page, margins_picture, ranks_picture, speed_picture
from maskdiff.bench.pages.paper import paper_page
from maskdiff.bench.pages.performance import performance_page
from maskdiff.bench.pages.quality import Quality
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.scale import scale_page
from maskdiff.bench.pages.speed import speed_page
from maskdiff.bench.pages.tables import tables_page
from maskdiff.bench.pages.text import text_page
from maskdiff.bench.pages.text_blocks import page
from maskdiff.io.atomic import write_text

PAGES: dict[str, tuple[str, Callable[[RecordFolder], list[str]]]] = {
    "index": ("Results", index_page),
    "tables": ("Results: tables", tables_page),
    "paper": ("Results: beside the paper", paper_page),
    "baselines": ("Results: baselines", baselines_page),
    "choose": ("Results: which method?", choose_page),
    "cells": ("Results: wrong cells", cells_page),
    "find": ("Results: one file without labels", find_page),
    "text": ("Results: texts", text_page),
    "speed": ("Results: speed", speed_page),
    "performance": ("Results: what costs what", performance_page),
    "scale": ("Results: scale", scale_page),
}


def write_pages(results: str | os.PathLike[str], docs: str | os.PathLike[str]) -> list[Path]:
    """Write the pages made of the records in the folder `results` into the folder `docs`; returns their paths.

    A page without blocks, because nothing was measured for it, is not written.
    """
    records, folder = RecordFolder(results), Path(docs)
    folder.mkdir(parents=True, exist_ok=True)
    quality = Quality(records)
    made = {name: (title, blocks(records)) for name, (title, blocks) in PAGES.items()}
    texts = {f"{name}.md": page(title, *blocks) for name, (title, blocks) in made.items() if blocks}
    texts["ranks.svg"] = ranks_picture(quality)
    texts["speed.svg"] = speed_picture(records)
    texts["margins.svg"] = margins_picture(quality)
    for name, text in texts.items():
        write_text(folder / name, text)
    diagram = folder / "critical_difference.svg"
    draw(diagrams(records), diagram)
    return [*(folder / name for name in texts), diagram]
