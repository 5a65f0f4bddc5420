"""What the processor of this machine can do."""

from __future__ import annotations

from functools import cache

import torch


@cache
def has_half_products() -> bool:
    """Whether this processor multiplies numbers of bfloat16, and torch knows how."""
    known = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return torch.backends.mkldnn.is_available() and any(supported is not None and supported() for supported in known)
