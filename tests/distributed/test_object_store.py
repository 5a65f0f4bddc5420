"""Rows and results in an S3 store: a real server on this machine, through pyarrow's own client."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest
from pyarrow import fs

from maskdiff import TableDetector, load
from maskdiff.distributed import fit_files, score_files
from maskdiff.distributed.places import Place, fetched, list_files
from maskdiff.errors import InputError
from maskdiff.jobs import score_file

from ..cli.running import call
from ..conftest import make_connections
from .conftest import N_FILES

# With the tests on a cluster, for which what is needed here is installed.
pytestmark = pytest.mark.ray

BUCKET = "s3://claims"


@pytest.fixture
def store(store_variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.S3FileSystem]:
    """The store with one bucket; where it is and who asks is in the environment, as for users."""
    if not store_variables:
        pytest.skip("moto is not installed")
    for name, value in store_variables.items():
        monkeypatch.setenv(name, value)
    where = {"endpoint_override": store_variables["AWS_ENDPOINT_URL"], "region": "us-east-1"}
    system = fs.S3FileSystem(**where, allow_bucket_creation=True, allow_bucket_deletion=True)
    system.create_dir("claims")
    yield system
    system.delete_dir("claims")


@pytest.fixture
def objects(store, inputs) -> fs.S3FileSystem:
    """Five Parquet files of 120 rows below claims/in."""
    fs.copy_files(str(inputs), "claims/in", destination_filesystem=store)
    return store


def stored_table(store: fs.S3FileSystem, path: str) -> pd.DataFrame:
    with store.open_input_file(path) as file:
        return pd.read_parquet(file)


def test_objects_are_scored_as_files_are(without_ray, objects, model, inputs, tmp_path) -> None:
    summary = score_files(model, f"{BUCKET}/in/rows*.parquet", f"{BUCKET}/out")
    assert summary.rows == 120 * N_FILES
    score_file(model, str(inputs / "rows1.parquet"), str(tmp_path / "alone.parquet"))
    found, expected = stored_table(objects, "claims/out/rows1.parquet"), pd.read_parquet(tmp_path / "alone.parquet")
    pd.testing.assert_frame_equal(found, expected)
    assert score_files(model, f"{BUCKET}/in", f"{BUCKET}/out").kept == N_FILES


def test_a_model_is_written_to_a_store(without_ray, store, tmp_path) -> None:
    make_connections(300, seed=0).to_csv(tmp_path / "rows.csv", index=False)
    fs.copy_files(str(tmp_path / "rows.csv"), "claims/rows.csv", destination_filesystem=store)
    out = f"{BUCKET}/models/rows.maskdiff"
    assert fit_files(f"{BUCKET}/rows.csv", out, detector=TableDetector("kernel")).rows == 300
    with fetched(Place.of(out)) as path:
        assert len(load(path).calibration_) == 300


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (f"{BUCKET}/in/*.csv", "no file fits s3://claims/in/"),
        (f"{BUCKET}/other", "there is no file s3://claims/other"),
        ("s3://nowhere/rows.csv", "s3://nowhere"),
    ],
)
def test_what_is_not_there_is_named(objects, address, message) -> None:
    with pytest.raises(InputError, match=message):
        list_files(address)


def test_the_command_scores_objects_on_a_cluster(cluster, objects, model) -> None:
    flags = ("--engine", "ray", "--workers", 1)
    said = call("score", model, f"{BUCKET}/in/*.parquet", "-o", f"{BUCKET}/out", *flags)
    assert said.status == 0, said.err
    names = [info.base_name for info in objects.get_file_info(fs.FileSelector("claims/out")) if info.is_file]
    assert sorted(names) == [f"rows{number}.parquet" for number in range(N_FILES)]
    assert stored_table(objects, "claims/out/rows4.parquet")["id"].tolist() == [f"4-{at}" for at in range(120)]
