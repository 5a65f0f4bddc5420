"""Learning from many files: the encoder of all rows, a sample to train on, and a model like that of one machine."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff import SequenceDetector, TableDetector, TableEncoder, load
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.distributed import ClusterOptions, fit_files, fitting
from maskdiff.distributed.attempts import begun_beside
from maskdiff.distributed.fitting import Gathering
from maskdiff.distributed.learning import LearnJob
from maskdiff.distributed.places import Place
from maskdiff.errors import EmptyTableError, InputError, UnknownColumnError
from maskdiff.jobs import ColumnOptions, Labels, fit_file

from ..conftest import make_connections
from .conftest import stand_in
from .killing import killing_who_begins, make_endless, processes

TINY = ClusterOptions(part_bytes=2000)


def write_parts(folder: Path, rows: pd.DataFrame, number: int = 4) -> Path:
    folder.mkdir()
    for at, places in enumerate(np.array_split(np.arange(len(rows)), number)):
        rows.iloc[places].to_parquet(folder / f"part{at}.parquet", row_group_size=100)
    return folder


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """2,000 connections in four files, with dates as texts and numbers in some of the formats of spreadsheets."""
    rows = make_connections(2000, seed=1)
    rows["day"] = [f"2024-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(2000)]
    rows["amount"] = [f"${value:,.2f}" for value in rows["bytes"]]
    return write_parts(tmp_path / "in", rows)


def gathering(rows: str, detector: TableDetector, cluster: ClusterOptions = TINY, ray: Any = None) -> Gathering:
    begun = Place.of(Path(rows).parent / "begun")
    return Gathering(ray or stand_in(), rows, begun, detector, None, None, None, cluster, None)


def gather(rows: str, detector: TableDetector, sample: int):
    return gathering(rows, detector).run(sample)


def test_what_fits_gives_the_model_of_one_machine(without_ray, many, tmp_path) -> None:
    plain, cluster = tmp_path / "plain.maskdiff", tmp_path / "cluster.maskdiff"
    fit_file(str(many), plain, detector=TableDetector("kernel", progress=False))
    summary = fit_files(str(many), cluster, detector=TableDetector("kernel"), cluster=TINY)
    assert cluster.read_bytes() == plain.read_bytes()
    assert summary.rows == 2000


def test_the_encoder_learns_from_all_rows_whatever_is_sampled(without_ray, many) -> None:
    """All but the rows that tune and calibrate, which are rows of the sample."""
    detector = TableDetector("kernel", progress=False)
    table, others, n_rows = gather(str(many), detector, sample=500)
    assert n_rows == 2000
    assert 400 < table.num_rows < 600
    assert others is not None
    assert others.statistics.rows == 2000 - table.num_rows
    detector.fit_sample(lambda: [table], table.num_rows, others)
    whole = pd.read_parquet(many)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = TableEncoder().fit(whole)
    fields = zip(detector.encoder_.schema_, expected.schema_, strict=True)
    assert all((one.name, one.labels, one.counts) == (other.name, other.labels, other.counts) for one, other in fields)


def test_the_sample_is_the_same_however_files_are_cut(without_ray, many) -> None:
    whole = pd.read_parquet(many)
    expected = whole[numbers_hashed(0, 2000, 3) <= np.uint64(int(500 / 2000 * 2**64))]
    table, _, _ = gather(str(many), TableDetector("kernel", seed=3), sample=500)
    assert table.column("amount").to_pylist() == expected["amount"].tolist()
    again, _, _ = gathering(str(many), TableDetector("kernel", seed=3), ClusterOptions()).run(500)
    assert again.equals(table)


def test_numbers_beyond_the_limit_keep_their_quantiles(without_ray, tmp_path) -> None:
    """Each row of a column with too many values is kept with the same probability; 4,000 rows say within 3%."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"amount": rng.lognormal(size=20_000), "kind": rng.choice(["a", "b"], 20_000)})
    folder = write_parts(tmp_path / "in", rows)
    detector = TableDetector("kernel", encoder=TableEncoder(max_distinct=8000), progress=False)
    table, others, _ = gather(str(folder), detector, sample=500)
    detector.fit_sample(lambda: [table], table.num_rows, others)
    edges = np.quantile(rows["amount"], np.linspace(0.1, 0.9, 9))
    values = others.statistics.columns["amount"].sample
    shares = np.cumsum(values.counts)[np.searchsorted(values.values, edges) - 1] / values.counts.sum()
    np.testing.assert_allclose(shares, np.linspace(0.1, 0.9, 9), atol=0.03)


def test_files_with_other_types_and_orders_of_columns_are_one_table(without_ray, tmp_path) -> None:
    rows = make_connections(900, seed=1)
    folder = write_parts(tmp_path / "in", rows, number=3)
    part = pd.read_parquet(folder / "part1.parquet")
    part.assign(bytes=part["bytes"].astype(str))[["bytes", "flag", "service", "protocol"]].to_parquet(
        folder / "part1.parquet"
    )
    plain, cluster = tmp_path / "plain.maskdiff", tmp_path / "cluster.maskdiff"
    fit_file(str(folder), plain, detector=TableDetector("kernel", progress=False))
    fit_files(str(folder), cluster, detector=TableDetector("kernel"))
    assert cluster.read_bytes() == plain.read_bytes()
    part.drop(columns="flag").to_parquet(folder / "part1.parquet")
    with pytest.raises(UnknownColumnError, match=r"part1\.parquet.*'flag'"):
        fit_files(str(folder), cluster, detector=TableDetector("kernel"))


def test_labels_and_chosen_columns_are_heard(without_ray, many, tmp_path) -> None:
    for path in many.glob("*.parquet"):
        part = pd.read_parquet(path)
        part.assign(odd=int(path.stem == "part2")).to_parquet(path)
    summary = fit_files(
        str(many),
        tmp_path / "model",
        detector=TableDetector("kernel"),
        columns=ColumnOptions(drop=["day", "amount"]),
        labels=Labels("odd"),
    )
    assert summary.rows == 1500
    assert summary.detector.encoder_.schema_.names == ["protocol", "service", "flag", "bytes"]
    with pytest.raises(EmptyTableError, match="no normal rows"):
        fit_files(str(many), tmp_path / "model", detector=TableDetector("kernel"), labels=Labels("odd", ["7"]))


def test_sequences_are_learned_from_a_sample(without_ray, hardly_trained, tmp_path) -> None:
    rows = pa.table({"steps": [["open", "read", "close"], ["open", "write", "close"]] * 300})
    folder = write_parts(tmp_path / "in", rows.to_pandas())
    detector = SequenceDetector(column="steps")
    summary = fit_files(str(folder), tmp_path / "model", detector=detector, sample=200)
    assert summary.rows == 600
    assert load(tmp_path / "model").encoder_.feature_names_in_.tolist() == ["steps"]


def test_a_damaged_file_is_named(without_ray, many, tmp_path) -> None:
    (many / "part3.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"could not be read: .*part3\.parquet"):
        fit_files(str(many), tmp_path / "model", detector=TableDetector("kernel"))


def test_a_file_that_ends_every_worker_is_named_and_nothing_is_learned(cluster, many, tmp_path, monkeypatch) -> None:
    out, one = tmp_path / "model", ClusterOptions(cpus=2)  # room for one worker
    monkeypatch.setattr(fitting, "LearnJob", partial(LearnJob, attempts=0))
    make_endless(many / "part1.parquet", fitting, monkeypatch)
    with begun_beside(out) as begun:
        pass
    with (
        killing_who_begins("part1.parquet", begun, "ray::MapBatches(ColumnsStep)") as noted,
        pytest.raises(InputError, match=r"1 of 4 files.*part1\.parquet: one worker after the other died.*mend these"),
    ):
        fit_files(str(many), out, detector=TableDetector("kernel"), cluster=one)
    assert noted == ["{}"]  # one worker was killed; the second gave it up
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_worker_killed_while_training_goes_on_from_the_checkpoint(cluster, many, tmp_path) -> None:
    from maskdiff import MLPReconstructor, Steps, Training

    out, killed = tmp_path / "model", list[int]()
    checkpoint = Path(f"{out}.checkpoint")

    def kill() -> None:
        while not checkpoint.exists():
            time.sleep(0.01)
        killed.extend(processes("ray::learn_sample"))
        os.kill(killed[0], signal.SIGKILL)

    network = MLPReconstructor(64, 2, training=Training(Steps(1500)))
    detector = TableDetector(network, cross_fit_up_to=0, progress=False)
    thread = threading.Thread(target=kill)
    thread.start()
    fit_files(str(many), out, detector=detector, checkpoint_seconds=0.05)
    thread.join()
    assert killed
    assert not checkpoint.exists()
    fit_file(str(many), tmp_path / "plain", detector=TableDetector(network, cross_fit_up_to=0, progress=False))
    rows = pd.read_parquet(many).head(50)
    np.testing.assert_allclose(load(out).anomaly_score(rows), load(tmp_path / "plain").anomaly_score(rows), rtol=1e-4)
