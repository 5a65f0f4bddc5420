"""The files of NLP-ADBench: small ones in their shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maskdiff.bench.runs.sets import cut_texts, text_names
from maskdiff.datasets.text import labelled_anomalies, split_text
from maskdiff.errors import DataNotFoundError, InputError


def write(folder: Path, part: str, records: list[dict[str, object]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({**record, "original_label": "x"}, ensure_ascii=False) for record in records]
    (folder / f"yelp_{part}_data.jsonl").write_text("\n".join(lines) + "\n\n", encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "NLP-ADBench" / "datasets" / "yelp_review"
    write(folder, "train", [{"text": "très bon", "label": 0}, {"text": "bad", "label": 1}, {"text": "ok", "label": 0}])
    write(folder, "test", [{"text": "good\nfood", "label": 0}, {"text": "rotten", "label": 1}])
    return tmp_path


def test_the_published_split_is_kept_and_only_normal_texts_are_learned_from(data: Path) -> None:
    for seed in (0, 1):
        normal, tested, y = split_text("nlpad/yelp_review", data, seed=seed)
        assert (normal, tested, y.tolist()) == (["très bon", "ok"], ["good\nfood", "rotten"], [0, 1])


def test_the_benchmark_knows_such_sets_by_their_folder(data: Path) -> None:
    (name,) = text_names(["nlpad/yelp_review"])
    assert cut_texts(name, str(data), seed=0).y.tolist() == [0, 1]


def test_labelled_anomalies_come_from_the_training_part(data: Path) -> None:
    assert labelled_anomalies("nlpad/yelp_review", data, number=1) == ["bad"]
    with pytest.raises(InputError, match="leaves 1 anomalies over; 2 are needed"):
        labelled_anomalies("nlpad/yelp_review", data, number=2)


def test_a_folder_that_is_not_there_is_named_with_its_source(data: Path) -> None:
    with pytest.raises(DataNotFoundError, match=r"'nlpad/imdb' needs a folder 'imdb'.*NLP-ADBench"):
        split_text("nlpad/imdb", data)


def test_a_part_that_is_missing_is_named(data: Path) -> None:
    next(data.rglob("*test_data.jsonl")).unlink()
    with pytest.raises(DataNotFoundError, match="'test_data' in its name"):
        split_text("nlpad/yelp_review", data)


@pytest.mark.parametrize("line", ['{"text": "a"}', '{"text": "a", "label": 2}', '["a", 1]', "{"])
def test_a_line_without_a_text_or_label_is_named(data: Path, line: str) -> None:
    path = next(data.rglob("*train_data.jsonl"))
    path.write_text('{"text": "fine", "label": 0}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"yelp_train_data\.jsonl, line 2"):
        split_text("nlpad/yelp_review", data)
