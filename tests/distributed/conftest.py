"""One Ray cluster for all tests of a process, and a stand-in that needs none."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from maskdiff import TableDetector, save

from ..conftest import make_connections

N_FILES = 5

# What Ray is set to before it starts. On few cores most of the time goes into starting processes that import torch.
SETTINGS = {
    # Otherwise workers step back behind other processes, and would wait for all other tests to end.
    "RAY_worker_niceness": "0",
    # Workers that are idle stay for the next job of a test, instead of a second.
    "RAY_idle_worker_killing_time_threshold_ms": "600000",
    # A node that is gone refuses to be asked: two refusals within a second say so, instead of five within 15.
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "2",
    # One process that looks into the Parquet files of a dataset, not 32.
    "RAY_DATA_PARQUET_FOOTER_NUM_ACTORS": "1",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",
    # No process that waits for notices of clouds.
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    "RAY_TRAIN_METRICS_ENABLED": "0",
}


@pytest.fixture(scope="session")
def detector() -> TableDetector:
    return TableDetector("kernel", progress=False).fit(make_connections(600, seed=7))


@pytest.fixture(scope="session")
def model(detector: TableDetector, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "connections.maskdiff"
    save(detector, path)
    return path


def odd_connections(n: int, seed: int) -> pd.DataFrame:
    """Connections of which the second is odd, with a column that the model never saw."""
    rows = make_connections(n, seed)
    rows.loc[1, ["service", "flag"]] = ["echo", "REJ"]
    return rows.assign(id=[f"{seed}-{at}" for at in range(n)])


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Five Parquet files of 120 rows."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(N_FILES):
        odd_connections(120, seed=number).to_parquet(folder / f"rows{number}.parquet", row_group_size=40)
    return folder


@contextlib.contextmanager
def held(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def store_variables() -> Iterator[dict[str, str]]:
    """The variables by which programs find an S3 store, a real server in this process; none without moto."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        yield {}
        return
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    who = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    yield {"AWS_ENDPOINT_URL": f"http://{host}:{port}", **who}
    server.stop()


@pytest.fixture(scope="session")
def shared_cluster(
    store_variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """The address of this process's cluster, and a file by which processes take turns in using theirs.

    It is the one that a job starts on this machine, and stays for all tests.
    """
    pytest.importorskip("ray", reason="Ray is not installed")
    from maskdiff.distributed.cluster import ClusterOptions, connected

    base = tmp_path_factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SETTINGS, **store_variables}.items():
            patch.setenv(name, value)
        with connected(ClusterOptions(workers=2)) as ray:
            for name in store_variables:  # workers know the store; in this process the tests that use it say so
                patch.delenv(name)
            yield ray.get_runtime_context().gcs_address, base / "ray-in-use"


@pytest.fixture
def cluster(shared_cluster: tuple[str, Path]) -> Iterator[str]:
    """The address of the cluster, which one test at a time uses."""
    with held(shared_cluster[1]):
        yield shared_cluster[0]


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, one unit of work after the other, on what looks like Ray to them."""
    from maskdiff.distributed import file_scoring, finding, fitting
    from maskdiff.distributed.cluster import ClusterOptions

    @contextlib.contextmanager
    def connected(options: ClusterOptions) -> Iterator[Any]:
        yield stand_in()

    for door in (file_scoring, finding, fitting):
        monkeypatch.setattr(door, "connected", connected)
    monkeypatch.setattr(ClusterOptions, "n_workers", lambda self: 2)


def stand_in() -> Any:
    """What a job needs of Ray."""
    data = SimpleNamespace(from_items=StandInData, ActorPoolStrategy=lambda **sizes: None)
    here = {"put": lambda value: value, "get": lambda value: value, "cluster_resources": dict}
    return SimpleNamespace(**here, data=data, remote=lambda **settings: lambda call: SimpleNamespace(remote=call))


class StandInData:
    """Rows and the functions to apply to them, in order."""

    def __init__(self, rows: list[dict[str, Any]], override_num_blocks: int = 1) -> None:
        self.rows, self.functions = rows, list[Any]()

    def map_batches(self, function: Any, fn_constructor_args: tuple[Any, ...] = (), **settings: Any) -> StandInData:
        self.functions.append(function(*fn_constructor_args) if isinstance(function, type) else function)
        return self

    def iter_batches(self, **settings: Any) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            batch = {name: [value] for name, value in row.items()}
            for function in self.functions:
                batch = function(batch)
            yield batch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "shared_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.ray)
