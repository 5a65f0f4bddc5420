"""How many MB each extra adds to an installation, measured in the environment that runs this.

    python tools/extra_sizes.py

Everything has to be installed. What the package itself needs is counted once, for the line `maskdiff`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, requires

from packaging.requirements import Requirement


def needed(names: Iterable[str], extra: str = "") -> set[str]:
    """These distributions and everything they need, in the spelling of the index; what is not installed is left out."""
    found: set[str] = set()
    waiting = [(name, extra) for name in names]
    while waiting:
        name, wanted = waiting.pop()
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        if (plain := _plain(name)) in found and not wanted:
            continue
        found.add(plain)
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                waiting += [(requirement.name, one) for one in (requirement.extras or {""})]
    return found


def megabytes(names: Iterable[str]) -> float:
    """What the files of these distributions take on the disk."""
    return sum(_bytes(name) for name in names) / 1e6


def _bytes(name: str) -> int:
    files = distribution(name).files or []
    paths = (file.locate() for file in files)
    return sum(path.stat().st_size for path in paths if path.is_file())


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    base = needed(["maskdiff"])
    print(f"maskdiff  {megabytes(base):6.0f} MB, without torch {megabytes(base - needed(['torch'])):.0f} MB")
    for extra in distribution("maskdiff").metadata.get_all("Provides-Extra") or []:
        more = needed(["maskdiff"], extra) - base
        print(f"{extra:12} {megabytes(more):6.0f} MB  {len(more)} packages")


if __name__ == "__main__":
    main()
