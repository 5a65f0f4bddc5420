"""A graph of accounts that pay each other, generated; and nodes that do not fit their neighbours.

Every account has a role, a country and a size. Roles decide whom it pays: people pay shops, shops pay suppliers, and
all have a bank; most payments stay within a country. An odd account holds a role, a country or a size that is common as
such, but not beside the neighbours it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

_ROLES, _SHARES = np.array(["person", "shop", "supplier", "bank"]), (0.7, 0.2, 0.07, 0.03)
# Whom each role pays, how often each, and how many payments it makes.
_PAYS = np.array([[0.02, 0.78, 0.0, 0.2], [0.0, 0.05, 0.8, 0.15], [0.0, 0.0, 0.6, 0.4], [0.0, 0.0, 0.0, 1.0]])
_PAYMENTS = (4, 6, 8, 10)
_COUNTRIES = np.array(["A", "B", "C", "D"])
_SIZES = np.array(["small", "middle", "large"])
_SIZE_OF_ROLE = np.array([[0.9, 0.1, 0.0], [0.5, 0.45, 0.05], [0.1, 0.5, 0.4], [0.0, 0.1, 0.9]])
_AT_HOME = 0.9


def make_graph(
    n: int = 2000, seed: int = 0, *, odd: float = 0.0
) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int8]]:
    """`n` nodes with their attributes, edges (pairs of their numbers), and which nodes are odd, 1 = anomaly.

    >>> nodes, edges, y = make_graph(500, seed=1, odd=0.1)
    >>> list(nodes), edges.shape[1], int(y.sum())
    (['role', 'country', 'size'], 2, 50)
    """
    import pandas as pd

    if n < 20 or not 0 <= odd <= 1:
        raise SettingError(f"a graph wants n >= 20 and odd from 0 to 1; got n={n}, odd={odd}")
    rng = np.random.default_rng(seed)
    role = rng.choice(4, n, p=_SHARES)
    role[:4] = range(4)  # there is one of each
    country = rng.integers(len(_COUNTRIES), size=n)
    size = np.array([rng.choice(3, p=_SIZE_OF_ROLE[one]) for one in role])
    edges = _payments(rng, role, country)
    y = np.zeros(n, np.int8)
    y[rng.choice(n, round(odd * n), replace=False)] = 1
    for node in np.flatnonzero(y):  # one attribute is replaced by another one that occurs
        changed = (role, country, size)[int(rng.integers(3))]
        changed[node] = rng.choice(np.setdiff1d(np.unique(changed), changed[node]))
    attributes = {"role": _ROLES[role], "country": _COUNTRIES[country], "size": _SIZES[size]}
    return pd.DataFrame(attributes), edges, y


def _payments(rng: np.random.Generator, role: NDArray[np.int64], country: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of a payer and whom it pays, (E, 2)."""
    places = {(r, c): np.flatnonzero((role == r) & (country == c)) for r in range(4) for c in range(len(_COUNTRIES))}
    pairs = []
    for node in range(len(role)):
        for to in rng.choice(4, _PAYMENTS[role[node]], p=_PAYS[role[node]]):
            where = country[node] if rng.random() < _AT_HOME else rng.integers(len(_COUNTRIES))
            candidates = places[int(to), int(where)]
            if len(candidates):
                pairs.append((node, int(rng.choice(candidates))))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def neighbour_summaries(nodes: pd.DataFrame, edges: NDArray[np.int64]) -> pd.DataFrame:
    """Each node as a row of a table: its own columns, how many neighbours it has, and what they mostly are.

    For every column, `column of neighbours` is the value most of them have, the first in order where several have, and
    `same column` the share of them that have the node's own. A node without neighbours has missing values there.

    >>> import pandas as pd
    >>> nodes = pd.DataFrame({"role": ["shop", "person", "person"]})
    >>> neighbour_summaries(nodes, np.array([[1, 0], [2, 0]])).iloc[0].to_dict()
    {'role': 'shop', 'neighbours': 2, 'role of neighbours': 'person', 'same role': 0.0}
    """
    import pandas as pd

    both = np.concatenate([edges, edges[:, ::-1]])
    table = nodes.reset_index(drop=True).assign(neighbours=np.bincount(both[:, 0], minlength=len(nodes)))
    for name in nodes:
        values = nodes[name].to_numpy()
        beside = pd.DataFrame({"node": both[:, 0], "value": values[both[:, 1]]})
        counts = beside.value_counts(["node", "value"]).reset_index(name="times")
        most = counts.sort_values(["node", "times", "value"], ascending=[True, False, True]).groupby("node").first()
        same = pd.Series(values[both[:, 0]] == values[both[:, 1]]).groupby(both[:, 0]).mean()
        table[f"{name} of neighbours"] = most["value"].reindex(table.index)
        table[f"same {name}"] = same.reindex(table.index)
    return table
