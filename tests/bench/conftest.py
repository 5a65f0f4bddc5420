"""What the tests of the bench share: a tight cluster of rows with one clear outlier, and a table of labelled rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray


@pytest.fixture
def cluster() -> pd.DataFrame:
    """120 rows of eight fields that are nearly always "a"; each field is "b" in a few rows, never two at once."""
    rng = np.random.default_rng(5)
    values = np.full((120, 8), "a", dtype=object)
    odd = rng.permutation(120)[:64]
    values[odd, np.arange(64) % 8] = "b"
    return pd.DataFrame(values, columns=list("pqrstuvw"))


@pytest.fixture
def cluster_and_outlier(cluster: pd.DataFrame) -> pd.DataFrame:
    """Twenty rows of the cluster, and as the last one a row that is "b" throughout."""
    outlier = pd.DataFrame([["b"] * 8], columns=cluster.columns)
    return pd.concat([cluster.head(20), outlier], ignore_index=True)


@pytest.fixture
def labelled(cluster: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """The cluster, and thirty rows that are "b" throughout, labelled 1."""
    odd = pd.DataFrame([["b"] * 8] * 30, columns=cluster.columns)
    return pd.concat([cluster, odd], ignore_index=True), np.repeat([0, 1], [120, 30]).astype(np.int8)
