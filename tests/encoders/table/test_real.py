"""The encoder on a real table, where its file is at hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import LeftOutWarning


def test_the_policy_number_of_the_claims_is_a_row_id_and_the_rest_is_known(data_dir: Path) -> None:
    file = data_dir / "claims" / "fraud_oracle.csv"
    if not file.exists():
        pytest.skip("the folder has no claims/fraud_oracle.csv")
    claims = pd.read_csv(file).drop(columns="FraudFound_P")
    with pytest.warns(LeftOutWarning, match="'PolicyNumber'") as caught:
        encoder = TableEncoder().fit(claims)
    assert len(caught) == 1
    assert list(encoder.left_out_) == ["PolicyNumber"]
    assert len(encoder.schema_) == claims.shape[1] - 1
    codes = encoder.encode(claims)
    assert codes.known.all()
    as_text = pd.read_csv(file, dtype=str).drop(columns="FraudFound_P")
    assert (encoder.encode(as_text).values == codes.values).all()
