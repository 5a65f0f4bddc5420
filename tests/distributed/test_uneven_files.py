"""Files that differ: in the order and types of their columns, in their columns, in size; and some that are damaged."""

from __future__ import annotations

import os

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskdiff.distributed import ClusterOptions, score_files
from maskdiff.errors import InputError, ReadingWarning, SettingError
from maskdiff.jobs import score_file

from .conftest import N_FILES, odd_connections
from .test_choices import rows_of


def test_order_and_compatible_types_of_columns_do_not_matter(without_ray, model, inputs, tmp_path) -> None:
    rows = odd_connections(120, seed=0)
    rows[["bytes", "flag", "id", "service", "protocol"]].to_parquet(inputs / "order.parquet")
    rows.assign(bytes=rows["bytes"].astype("float32")).to_parquet(inputs / "float.parquet")
    rows.assign(bytes=rows["bytes"].astype(str), flag=rows["flag"].astype("category")).to_parquet(
        inputs / "text.parquet"
    )
    rows.to_csv(inputs / "rows.csv", index=False)
    rows.to_json(inputs / "rows.jsonl", orient="records", lines=True)
    score_files(model, str(inputs), tmp_path / "out")
    expected = pd.read_parquet(tmp_path / "out" / "rows0.parquet")["anomaly_score"]
    for name in ("order.parquet", "float.parquet", "text.parquet", "rows.csv.parquet", "rows.jsonl.parquet"):
        found = pd.read_parquet(tmp_path / "out" / name)["anomaly_score"]
        pd.testing.assert_series_equal(found, expected, rtol=1e-6)


def test_empty_files_and_further_columns_lose_nothing(without_ray, model, inputs, tmp_path) -> None:
    odd_connections(2, seed=0).iloc[:0].to_parquet(inputs / "empty.parquet")
    odd_connections(9, seed=0).assign(note="x").to_parquet(inputs / "further.parquet")
    summary = score_files(model, str(inputs), tmp_path / "out")
    assert pq.read_metadata(tmp_path / "out" / "empty.parquet").num_rows == 0
    assert pq.read_schema(tmp_path / "out" / "empty.parquet").names[-1] == "is_anomaly"
    assert pd.read_parquet(tmp_path / "out" / "further.parquet")["note"].eq("x").all()
    assert summary.rows == 120 * N_FILES + 9
    assert set(summary.ignored) == {"id", "note"}


def test_unseen_categories_of_one_file_are_odd_there(without_ray, model, inputs, tmp_path) -> None:
    rows = odd_connections(120, seed=0).assign(service="gopher")
    rows.to_parquet(inputs / "unseen.parquet")
    score_files(model, str(inputs), tmp_path / "out")
    assert pd.read_parquet(tmp_path / "out" / "unseen.parquet")["is_anomaly"].all()
    assert pd.read_parquet(tmp_path / "out" / "rows0.parquet")["is_anomaly"].mean() < 0.05


def test_files_that_cannot_be_scored_are_named_and_the_others_are_done(without_ray, model, inputs, tmp_path) -> None:
    damaged, lacking = inputs / "damaged.parquet", inputs / "lacking.parquet"
    damaged.write_bytes(b"PAR1 but not really")
    odd_connections(9, seed=0).drop(columns="flag").to_parquet(lacking)
    with pytest.raises(InputError, match=r"2 of 7 files") as caught:
        score_files(model, str(inputs), tmp_path / "out")
    assert str(damaged) in str(caught.value)
    assert f"{lacking}" in str(caught.value)
    assert "'flag'" in str(caught.value)
    assert len(rows_of(tmp_path / "out")) == 120 * N_FILES
    damaged.unlink()
    odd_connections(9, seed=0).to_parquet(lacking)
    summary = score_files(model, str(inputs), tmp_path / "out")
    assert (summary.files, summary.kept, summary.rows) == (6, N_FILES, 120 * N_FILES + 9)


def test_many_tiny_files(without_ray, model, tmp_path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    batch = pa.Table.from_pandas(odd_connections(2, seed=0), preserve_index=False)
    for number in range(300):
        pq.write_table(batch, folder / f"{number:04d}.parquet")
    summary = score_files(model, str(folder), tmp_path / "out")
    assert (summary.files, summary.rows, summary.written) == (300, 600, 600)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 300


def test_ten_thousand_files_are_handed_out_once_each_in_bundles(tmp_path) -> None:
    from maskdiff.distributed.parts import FilePart, bundled
    from maskdiff.distributed.places import list_files

    (tmp_path / "00000.parquet").write_bytes(b"some")
    for number in range(1, 10_000):
        os.link(tmp_path / "00000.parquet", tmp_path / f"{number:05d}.parquet")
    files = list_files(str(tmp_path))
    bundles = bundled(map(FilePart, files), workers=2)
    assert [part.file for bundle in bundles for part in bundle] == files
    assert len(files) == 10_000
    assert max(map(len, bundles)) == 64


def test_a_file_with_damaged_rows_is_named(without_ray, model, inputs, tmp_path) -> None:
    """The end of the file is fine, where Parquet says what there is; the rows before it are not."""
    path = inputs / "rows2.parquet"
    content = bytearray(path.read_bytes())
    content[4:600] = b"\xff" * 596
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"1 of 5 files or parts could not be scored: .*rows2\.parquet"):
        score_files(model, str(inputs), tmp_path / "out")
    assert sorted(one.name for one in (tmp_path / "out").glob("*.parquet")) == [
        f"rows{number}.parquet" for number in (0, 1, 3, 4)
    ]


def test_one_large_file_is_cut_at_its_row_groups(without_ray, model, inputs, tmp_path) -> None:
    from maskdiff.distributed.parts import cut_into_parts
    from maskdiff.distributed.places import list_files

    file = list_files(str(inputs / "rows0.parquet"))[0]
    assert [part.row_groups for part in cut_into_parts(file, 500)] == [(0, 1), (1, 2), (2, 3)]
    assert len(cut_into_parts(file, 10**6)) == 1


def test_a_large_file_that_cannot_be_cut_is_worth_a_warning(without_ray, model, tmp_path) -> None:
    odd_connections(500, seed=0).to_csv(tmp_path / "large.csv", index=False)
    with pytest.warns(ReadingWarning, match=r"large\.csv is large and is not Parquet"):
        score_files(model, str(tmp_path / "large.csv"), tmp_path / "out", cluster=ClusterOptions(part_bytes=1000))
    assert len(rows_of(tmp_path / "out")) == 500


def test_files_of_several_folders_keep_their_names(without_ray, model, tmp_path) -> None:
    for folder in ("a", "b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        odd_connections(9, seed=0).to_parquet(tmp_path / "in" / folder / "same.parquet")
    score_files(model, f"{tmp_path}/in/*/*.parquet", tmp_path / "out")
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in tmp_path.glob("out/*/*.parquet")) == [
        "a/same.parquet",
        "b/same.parquet",
    ]


def test_objects_of_a_store_are_read_and_written_by_their_address(without_ray, model, inputs, tmp_path) -> None:
    summary = score_files(model, f"file://{inputs}/rows*.parquet", f"file://{tmp_path}/out")
    score_file(model, str(inputs / "rows1.parquet"), str(tmp_path / "alone.parquet"))
    found, expected = (pd.read_parquet(one) for one in (tmp_path / "out/rows1.parquet", tmp_path / "alone.parquet"))
    pd.testing.assert_frame_equal(found, expected)
    assert summary.rows == 120 * N_FILES
    assert score_files(model, f"file://{inputs}", f"file://{tmp_path}/out").kept == N_FILES


def test_results_never_replace_what_is_read(without_ray, model, inputs) -> None:
    with pytest.raises(SettingError, match="is read and cannot be written"):
        score_files(model, str(inputs), inputs)


def test_results_of_another_job_are_not_mixed_in(without_ray, model, inputs, tmp_path) -> None:
    from maskdiff.jobs import ScoreOptions

    score_files(model, str(inputs), tmp_path / "out")
    with pytest.raises(SettingError, match=r"another job .it differs in: options"):
        score_files(model, str(inputs), tmp_path / "out", ScoreOptions(explain=1))


def test_a_file_that_changed_is_scored_again(without_ray, model, inputs, tmp_path) -> None:
    score_files(model, str(inputs), tmp_path / "out")
    odd_connections(7, seed=0).to_parquet(inputs / "rows3.parquet")
    assert score_files(model, str(inputs), tmp_path / "out").kept == N_FILES - 1
    assert pq.read_metadata(tmp_path / "out" / "rows3.parquet").num_rows == 7
