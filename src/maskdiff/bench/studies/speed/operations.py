"""How many multiplications and additions the network of the default needs for a row."""

from __future__ import annotations

# The default's network and grid.
_WIDTH, _LAYERS, _VIEWS = 256, 3, 144
_STEPS, _BATCH = 1000, 256


def single_cells(columns: int, codes: int) -> int:
    """Every cell hidden alone: one view for each of up to 32 columns, which asks about the codes of its own cells.

    >>> single_cells(17, 280)
    4599808
    """
    views = min(columns, 32)
    return 2 * (views * (_LAYERS - 1) * _WIDTH**2 + codes * _WIDTH)


def whole_grid(columns: int, codes: int) -> int:
    """The nine levels of sixteen views, which hide half of the cells on average, and every cell alone.

    >>> whole_grid(17, 280)
    52670464
    """
    return 2 * _VIEWS * ((_LAYERS - 1) * _WIDTH**2 + codes * _WIDTH // 2) + single_cells(columns, codes)


def training(codes: int) -> int:
    """All steps of training: three passes of a batch through all layers, first and last of them as wide as the codes.

    >>> training(280)
    421527552000
    """
    return 3 * 2 * _STEPS * _BATCH * ((_LAYERS - 1) * _WIDTH**2 + 2 * codes * _WIDTH)
