"""The Ray cluster that a job runs on: one that is there, or one on this machine for as long as the job takes."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from maskdiff.errors import MissingExtraError, SettingError


@dataclass(frozen=True)
class ClusterOptions:
    """Where a job runs, and what each worker gets.

    `address` is that of a cluster, such as "auto" or "ray://head:10001"; None: the one this process is connected to,
    else one on this machine. `workers` is their largest number (None: as many as fit), each with `cpus` processors and
    `gpus` graphics cards. A Parquet file larger than `part_bytes` is scored in parts.
    """

    address: str | None = None
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    part_bytes: int = 1 << 28

    def __post_init__(self) -> None:
        if self.cpus <= 0 or self.gpus < 0:
            raise SettingError(f"a worker needs cpus > 0 and gpus >= 0; got {self.cpus} and {self.gpus}.")
        if (self.workers is not None and self.workers < 1) or self.part_bytes < 1:
            raise SettingError(f"workers and part_bytes must be at least 1; got {self.workers}, {self.part_bytes}.")

    def n_workers(self) -> int:
        """How many workers the cluster has room for now, and no more than wanted."""
        there: dict[str, float] = import_ray().cluster_resources()
        room = [there.get("CPU", 0.0) // self.cpus]
        room += [there.get("GPU", 0.0) // self.gpus] if self.gpus else []
        if min(room) < 1:
            raise SettingError(
                f"the cluster has {there.get('CPU', 0):g} processors and {there.get('GPU', 0):g} graphics cards, no "
                f"room for one worker with {self.cpus:g} and {self.gpus:g}. Ask for less, or add nodes.",
                setting="workers",
            )
        return int(min(*room, self.workers or room[0]))

    def resources(self) -> dict[str, Any]:
        """What Ray reserves for a worker."""
        return {"num_cpus": self.cpus, **({"num_gpus": self.gpus} if self.gpus else {})}


def import_ray() -> Any:
    """Ray and its data library, or how to install them."""
    # Ray reports how it is used unless it is told not to; whoever wants that sets the variable.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Ray deprecates of itself
            import ray
            import ray.data

            ray.data.DataContext.get_current()
    except ImportError as error:
        raise MissingExtraError("ray", needs="ray") from error
    return ray


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Any]:
    """Ray, connected to a cluster. A connection that was there before is used, and stays."""
    ray = import_ray()
    own = not ray.is_initialized()
    if own:
        _connect(ray, options)
    try:
        with _quiet(ray):
            yield ray
    finally:
        if own:
            ray.shutdown()


def _connect(ray: Any, options: ClusterOptions) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    local: dict[str, Any] = {} if options.address else {"include_dashboard": False}
    if not options.address and options.workers is not None:
        local["num_cpus"] = max(1, round(options.workers * options.cpus))
    # Otherwise Ray writes about its own insides to the terminal.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        with _silent_start():
            ray.init(address=options.address or "local", **quiet, **local)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        where = options.address or "this machine"
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SettingError(f"no Ray cluster at {where} ({reason}). Is it running?", setting="address") from error


@contextmanager
def _silent_start() -> Iterator[None]:
    """Ray's libraries report their log level to the terminal, past Python; what goes wrong they raise."""
    sys.stderr.flush()
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Progress is ours to show."""
    context = ray.data.DataContext.get_current()
    names = ("enable_progress_bars", "print_on_execution_start")
    before = {name: getattr(context, name) for name in names}
    logger = logging.getLogger("ray.data")
    level = logger.level
    for name in names:
        setattr(context, name, False)
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            setattr(context, name, value)
