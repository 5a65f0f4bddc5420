"""How many processors this process may use, how many threads use them, and how these wait for each other.

Threads that compute together meet many times a second. Where another process takes one of the processors, those that
are there first usually wait in a loop, and take what the last one needs to arrive: 400 rows then take half a minute
instead of two seconds. `sleep_while_waiting` has them sleep instead.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maskdiff.errors import SettingError

_NUMBER, _WAITING = "OMP_NUM_THREADS", "OMP_WAIT_POLICY"


def available(root: Path = Path("/")) -> int:
    """Processors this process may use: those it is bound to, and no more than its container may."""
    return max(1, math.floor(min(_bound(), container_limit(root))))


def _bound() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def container_limit(root: Path = Path("/")) -> float:
    """Processors that the control groups of this process may use, infinite where there is no limit.

    >>> container_limit(Path("/no/such/folder"))
    inf
    """
    limit = math.inf
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        if not controllers:  # version 2: one tree for all controllers
            limits = (_limit_2(folder) for folder in _upwards(root / "sys/fs/cgroup", group))
        elif "cpu" in controllers.split(","):
            limits = (_limit_1(folder) for folder in _upwards(root / "sys/fs/cgroup" / controllers, group))
        else:
            continue
        limit = min(limit, *limits)
    return limit


def _upwards(top: Path, group: str) -> list[Path]:
    """The folder of a group and of all that it belongs to; inside a container the first may not be there."""
    inner = top / group.lstrip("/")
    return [inner, *(folder for folder in inner.parents if folder.is_relative_to(top))]


def _limit_2(folder: Path) -> float:
    quota, period = (*" ".join(_lines(folder / "cpu.max")).split(), "max", "max")[:2]
    return math.inf if "max" in (quota, period) else int(quota) / int(period)


def _limit_1(folder: Path) -> float:
    quota, period = (int("".join(_lines(folder / f"cpu.cfs_{name}_us")) or 0) for name in ("quota", "period"))
    return quota / period if quota > 0 and period > 0 else math.inf


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def use(number: int) -> None:
    """Compute with this many threads, also in processes that are started from here on."""
    if number < 1:
        raise SettingError(f"at least 1 thread is needed; got {number}.", setting="threads")
    os.environ[_NUMBER] = str(number)
    _tell_libraries(number)


def _tell_libraries(number: int) -> None:
    """Libraries look into the environment when they are loaded; those that are loaded have to be asked."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(number)
    if pyarrow := sys.modules.get("pyarrow"):
        pyarrow.set_cpu_count(number)


def wanted() -> int:
    """As many threads as the environment says, or else as there are processors to use."""
    given = os.environ.get(_NUMBER, "")
    return int(given) if given.isdecimal() and int(given) else available()


def respect_container() -> None:
    """No more threads than the container may use, unless the environment says how many."""
    if _NUMBER not in os.environ and (limit := available()) < _bound():
        use(limit)


def sleep_while_waiting() -> None:
    """Threads of libraries that are not loaded yet sleep while they wait, unless the environment says otherwise."""
    os.environ.setdefault(_WAITING, "PASSIVE")


@contextmanager
def restored() -> Iterator[None]:
    """What `use` changes in here is changed back afterwards."""
    before = os.environ.get(_NUMBER)
    torch, pyarrow = sys.modules.get("torch"), sys.modules.get("pyarrow")
    numbers = torch and torch.get_num_threads(), pyarrow and pyarrow.cpu_count()
    try:
        yield
    finally:
        if os.environ.get(_NUMBER) != before:
            os.environ.pop(_NUMBER)
            if before is not None:
                os.environ[_NUMBER] = before
            if torch:
                torch.set_num_threads(numbers[0])
            if pyarrow:
                pyarrow.set_cpu_count(numbers[1])
