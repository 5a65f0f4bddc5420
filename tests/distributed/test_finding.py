"""A search on a cluster finds what it finds on one machine: same rows, same scores, same model."""

from __future__ import annotations

from functools import partial

import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.distributed import ClusterOptions, find_files, finding
from maskdiff.distributed.attempts import begun_beside
from maskdiff.distributed.learning import LearnJob
from maskdiff.errors import InputError
from maskdiff.jobs import Checkpoints, FindOutput, find_file

from ..conftest import make_connections
from .killing import killing_who_begins, make_endless

TINY = ClusterOptions(part_bytes=2000)


@pytest.fixture
def files(tmp_path):
    """Three files, two of Parquet and one of CSV, with odd rows in each."""
    rows = make_connections(1800, seed=2)
    for place in (3, 71, 700, 701, 1299, 1799):
        rows.loc[place, ["protocol", "service", "flag"]] = [f"p{place}", f"s{place}", f"f{place}"]
    folder = tmp_path / "in"
    folder.mkdir()
    rows.iloc[:600].to_parquet(folder / "a.parquet", row_group_size=200)
    rows.iloc[600:1200].to_csv(folder / "b.csv", index=False)
    rows.iloc[1200:].to_parquet(folder / "c.parquet", row_group_size=200)
    return folder


def found_by(search, files, folder, **settings):
    """The rows found and the model, by this search."""
    folder.mkdir()
    output = FindOutput(top=20, explain=1, model=folder / "model")
    summary = search(
        str(files),
        str(folder / "found.csv"),
        detector=TableDetector("kernel", progress=False),
        output=output,
        **settings,
    )
    return summary, pd.read_csv(folder / "found.csv"), (folder / "model").read_bytes()


def test_a_search_gives_the_answer_of_one_machine(without_ray, files, tmp_path) -> None:
    plain, rows, model = found_by(find_file, files, tmp_path / "plain")
    checkpoints = Checkpoints(str(tmp_path / "checkpoint"))
    summary, found, same = found_by(find_files, files, tmp_path / "cluster", cluster=TINY, checkpoints=checkpoints)
    pd.testing.assert_frame_equal(found, rows, rtol=1e-6)
    assert (summary.rows, summary.found, summary.estimated_odd) == (plain.rows, plain.found, plain.estimated_odd)
    assert same == model
    assert {4, 72, 701, 702, 1300, 1800} <= set(found["row"][:10])


def test_workers_train_and_score(cluster, files, tmp_path) -> None:
    from ..cli.running import call

    flags = ("--reconstructor", "kernel", "--top", 6, "--explain", 0, "--engine", "ray")
    said = call("find", files, "-o", tmp_path / "found.csv", *flags)
    assert said.status == 0, said.err
    assert set(pd.read_csv(tmp_path / "found.csv")["row"]) == {4, 72, 701, 702, 1300, 1800}


def test_a_file_that_ends_every_worker_is_named_and_no_rows_are_written(cluster, files, tmp_path, monkeypatch) -> None:
    out, one = tmp_path / "found.csv", ClusterOptions(cpus=2)  # room for one worker
    monkeypatch.setattr(finding, "LearnJob", partial(LearnJob, attempts=1))
    make_endless(files / "b.csv", finding, monkeypatch)
    with begun_beside(out) as begun:
        pass
    with (
        killing_who_begins("b.csv.parquet", begun, "ray::MapBatches(CountStep)") as noted,
        pytest.raises(InputError, match=r"1 of 3 files.*b\.csv: one worker after the other died.*mend these"),
    ):
        find_files(str(files), str(out), detector=TableDetector("kernel", progress=False), cluster=one)
    assert noted == ["{}", '{"b.csv.parquet": 1}']
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
