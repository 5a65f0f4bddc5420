"""What rows are called: the labels of a pandas index."""

from __future__ import annotations

from typing import Any

from narwhals.stable.v2.dependencies import is_pandas_index


def pandas_index(X: Any) -> Any:
    """The index of a pandas DataFrame or Series, None for anything else."""
    index = getattr(X, "index", None)
    return index if is_pandas_index(index) else None


def labelled(table: Any, labels: Any) -> Any:
    """The cells of an explanation with the labels of their rows as its index; `row` stays their positions.

    Levels of the index that are called like a column of the table lose their names, which would be ambiguous.
    """
    from maskdiff.explanations.table import Explanation

    explanation = Explanation(table.set_axis(labels.take(table["row"].to_numpy())))
    explanation.index.names = [None if name in table.columns else name for name in explanation.index.names]
    return explanation
