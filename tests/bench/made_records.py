"""Records made by hand, for tests of what is made of them."""

from __future__ import annotations

from typing import Any


def record(set_name: str, method: str, seed: int, roc_auc: float, pr_auc: float = 0.5, **more: Any) -> dict[str, Any]:
    return {
        **{"set": set_name, "method": method, "seed": seed, "status": "ok", "roc_auc": roc_auc, "pr_auc": pr_auc},
        **{"fit_seconds": 2.0, "score_seconds": 1.0, "device": "cpu", "threads": 1, "versions": {"python": "3"}},
        **more,
    }


def failed(set_name: str, method: str, error: str) -> dict[str, Any]:
    return {**record(set_name, method, 0, 0.0), "status": "failed", "error": error}
