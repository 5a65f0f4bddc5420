"""Datasets and files through a real cluster: the rows of one machine, scored by the same code."""

from __future__ import annotations

import pandas as pd
import pytest

from maskdiff import distributed
from maskdiff.jobs import ScoreOptions, score_file

from .test_choices import rows_of


@pytest.fixture
def in_order(cluster):
    """Ray, whose datasets keep the order of their rows."""
    import ray

    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order, context.enable_progress_bars = True, False
    yield ray
    context.execution_options.preserve_order = False


@pytest.mark.parametrize(
    "options",
    [
        ScoreOptions(explain=2),
        ScoreOptions(false_discovery_rate=0.5, only_anomalies=True, top=4),
    ],
    ids=["all rows", "highest discoveries"],
)
def test_a_dataset_is_scored_as_on_one_machine(in_order, detector, inputs, tmp_path, options) -> None:
    score_file(detector, str(inputs), str(tmp_path / "expected.parquet"), options)
    dataset = in_order.data.read_parquet(str(inputs))
    found = distributed.score(detector, dataset, options, cluster=distributed.ClusterOptions(workers=1)).to_pandas()
    expected = pd.read_parquet(tmp_path / "expected.parquet")
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6, check_dtype=False)


def test_files_are_scored_by_workers(cluster, model, inputs, tmp_path) -> None:
    """The job as users start it: two workers, the large files in parts, decided once all rows are scored."""
    from ..cli.running import call

    flags = ("--false-discovery-rate", 0.5, "--engine", "ray", "--workers", 2, "--explain", 1)
    said = call("score", model, f"{inputs}/*.parquet", "-o", tmp_path / "out", *flags)
    assert said.status == 0, said.err
    options = ScoreOptions(explain=1, false_discovery_rate=0.5)
    score_file(model, str(inputs), str(tmp_path / "expected.parquet"), options)
    pd.testing.assert_frame_equal(rows_of(tmp_path / "out"), pd.read_parquet(tmp_path / "expected.parquet"), rtol=1e-6)
    assert "600 rows" in said.out
