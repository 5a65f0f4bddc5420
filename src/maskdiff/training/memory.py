"""Large blocks of memory that every training step needs again, and that need not go back to the system in between."""

from __future__ import annotations

import ctypes
import os
from functools import cache

# mallopt's numbers of two settings of glibc: from which size on a block is mapped by itself, and how much freed memory
# is kept: what a step frees, with the gradients of a large vocabulary among it.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_LARGEST_BLOCK, _MOST_KEPT = 32 << 20, 512 << 20
# Where one of these is set, somebody has decided otherwise.
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


@cache
def keep_large_blocks() -> bool:
    """Let glibc use freed blocks of up to 32 MiB again, for the rest of the process; whether it will.

    Otherwise every step of a network for tokens asks for thousands of new pages, an eighth of its time.
    """
    if any(name in os.environ for name in _VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library: macOS, Windows, musl
        return False
    settings = ((_MMAP_THRESHOLD, _LARGEST_BLOCK), (_TRIM_THRESHOLD, _MOST_KEPT))
    return all([mallopt(name, value) == 1 for name, value in settings])
