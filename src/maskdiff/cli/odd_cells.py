"""What the commands say about the odd cells of a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maskdiff.cli.output import Output, counted, percent

# A list in which more cells may be fine is not worth a note.
_HIGHEST_RATE = 0.5

if TYPE_CHECKING:
    from maskdiff.jobs import OddCellCounts


def cell_sentence(odd: OddCellCounts) -> str:
    """How many cells look wrong, and how far to believe that.

    >>> from maskdiff.jobs import OddCellCounts
    >>> cell_sentence(OddCellCounts(0.1, cells=37, rows=34))
    '37 cells in 34 rows look wrong (at most about 10% of them are fine)'
    >>> cell_sentence(OddCellCounts(0.1, cells=37, rows=34, estimated=True))
    '37 cells in 34 rows look wrong (by estimate 10% of them are fine)'
    >>> cell_sentence(OddCellCounts(0.1, total=46_500, beyond=17, finest_rate=0.18))
    'no cell is listed at a false-discovery rate of 10%'
    """
    rate = f"a false-discovery rate of {percent(odd.false_discovery_rate)}"
    if not odd.cells:
        return "no cell looks wrong by itself" if _finest_rate(odd) is None else f"no cell is listed at {rate}"
    looks = "looks" if odd.cells == 1 else "look"
    share = percent(odd.false_discovery_rate)
    promise = f"by estimate {share} of them are fine" if odd.estimated else f"at most about {share} of them are fine"
    return f"{counted(odd.cells, 'cell')} in {counted(odd.rows, 'row')} {looks} wrong ({promise})"


def cell_facts(odd: OddCellCounts) -> dict[str, Any]:
    """The same for machines."""
    return {
        "odd_cells": odd.cells,
        "rows_with_odd_cells": odd.rows,
        "cell_false_discovery_rate": odd.false_discovery_rate,
    }


def note_few_cells(output: Output, odd: OddCellCounts) -> None:
    """Where no cell is reported though some are odder than any that calibrated: which rate would report them."""
    enough = _finest_rate(odd)
    if odd.cells or enough is None:
        return
    output.note(
        f"{counted(odd.beyond, 'cell')} of {odd.total:,} are odder than all calibration cells; with so few of these "
        f"up to {percent(enough)} of them may be fine: fit on more rows, or allow it. "
        f"(On the command line: --false-discovery-rate {enough:g}.)"
    )


def _finest_rate(odd: OddCellCounts) -> float | None:
    """The lowest rate in whole percent at which cells would be listed; None where that is not worth a note."""
    enough = math.ceil(100 * odd.finest_rate) / 100
    return enough if enough <= _HIGHEST_RATE else None
