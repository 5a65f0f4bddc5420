"""Parquet is read in batches whatever its row groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from maskdiff.io import open_rows


def test_parquet_of_large_row_groups_is_read_in_batches(tmp_path):
    pq.write_table(pa.table({"n": np.arange(200_000)}), tmp_path / "rows.parquet", row_group_size=200_000)
    with open_rows(str(tmp_path / "rows.parquet")) as rows:
        assert rows.n_rows == 200_000
        assert max(batch.num_rows for batch in rows.batches()) == 65_536
