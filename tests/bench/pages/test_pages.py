"""The results pages are what the command makes of the records, to the letter."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.speed import speed_page
from maskdiff.bench.pages.write import PAGES, write_pages
from maskdiff.cli import main
from maskdiff.errors import DataNotFoundError

from ..made_records import record

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[3]
RECORDS, DOCS = ROOT / "results", ROOT / "docs" / "results"
BY_HAND = {"tried.md"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_pages(RECORDS, folder)
    return folder


def test_every_file_of_the_folder_is_written_by_the_command_or_by_hand(written: Path) -> None:
    assert {path.name for path in DOCS.iterdir()} == {path.name for path in written.iterdir()} | BY_HAND


@pytest.mark.parametrize("name", [*(f"{page}.md" for page in PAGES), "ranks.svg", "speed.svg", "margins.svg"])
def test_a_page_or_picture_is_what_the_records_say(written: Path, name: str) -> None:
    if (written / name).exists():  # a page is written only where something was measured for it
        again = "run: maskdiff bench summary --docs docs/results"
        assert (DOCS / name).read_text() == (written / name).read_text(), again


def test_the_critical_difference_picture_shows_the_ranks_of_the_records(written: Path) -> None:
    # Coordinates may differ from one version of matplotlib to the next, the ranks may not.
    picture = "critical_difference.svg"
    assert letters(DOCS / picture) == letters(written / picture)


def letters(picture: Path) -> list[str]:
    return re.findall(r">([^<>\n]+)</text>", picture.read_text())


def test_the_first_page_is_short_and_its_links_lead_somewhere(written: Path) -> None:
    text = (written / "index.md").read_text()
    assert len(text.splitlines()) <= 80
    links = re.findall(r"\]\(([\w./]+)", text)
    assert {"ranks.svg", "speed.svg", "margins.svg", "tables.md", "tried.md"} <= set(links)
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_figures_of_the_readme_stand_on_the_pages(written: Path) -> None:
    promised = (ROOT / "README.md").read_text().partition("## What to expect")[2].partition("Guide:")[0]
    pages = "".join(path.read_text() for path in written.glob("*.md"))
    figures = re.findall(r"\d+\.\d+", promised)
    assert len(figures) > 5
    assert [figure for figure in figures if not re.search(rf"(?<!\d){re.escape(figure)}", pages)] == []


def test_another_record_gives_another_page(tmp_path: Path, written: Path) -> None:
    shutil.copytree(RECORDS, tmp_path / "results")
    changed = tmp_path / "results" / "tables.jsonl"
    lines = changed.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if '"method": "default"' in line)
    lines[number] = re.sub(r'"roc_auc": 0\.\d+', '"roc_auc": 0.5', lines[number], count=1)
    changed.write_text("\n".join(lines) + "\n")
    arguments = ["--docs", str(tmp_path / "docs"), "--records", str(tmp_path / "results"), "--quiet"]
    assert main(["bench", "summary", *arguments]) == 0
    assert (tmp_path / "docs" / "tables.md").read_text() != (written / "tables.md").read_text()


def test_what_was_measured_later_gets_its_own_sections(tmp_path: Path) -> None:
    shutil.copytree(RECORDS, tmp_path / "results")
    settings = {"settings": {"fit_options": ["--reconstructor", "mlp"], "file_mb": 189.0}}
    versions = {"versions": {"python": "3", "torch": "2.13.0"}}
    authors = record("bank", "authors-mlp", 0, 0.6, fit_seconds=95.0, score_seconds=69.0, **versions)
    large = record(
        "10 rows", "fit", 0, 0.0, rows=10, processor_seconds=2.0, peak_memory_mb=100.0, **settings, **versions
    )
    alone = record("census", "default", 0, 0.6, fit_seconds=1.44, score_seconds=1.27, threads=1, **versions)
    for name, made in {"authors": authors, "large-file": large, "runtime-gpu-default": alone}.items():
        (tmp_path / "results" / "more" / f"{name}.jsonl").write_text(json.dumps(made) + "\n")
    page = "\n".join(speed_page(RecordFolder(tmp_path / "results")))
    assert "| bank | authors-mlp | 95.0 s | 69.0 s |" in page
    assert "| fit | --reconstructor mlp | 10 | 20 | 2.0 s | 5 | 100 MB |" in page
    assert "| method | census: fit | census: score |\n|---|---|---|\n| default | 1.4 | 1.3 |" in page


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="no files of records"):
        RecordFolder(tmp_path)
