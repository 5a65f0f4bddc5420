"""A graph: which nodes do not fit their neighbours?

Every node is a row of a table: its own columns, how many neighbours it has, and what they mostly are. What a node
should be, given its neighbours, is then what the other columns say about a cell.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from maskdiff import TableDetector
from maskdiff.datasets.graphs import make_graph, neighbour_summaries


def main() -> None:
    normal_nodes, normal_edges, _ = make_graph(2000, seed=0)
    nodes, edges, y = make_graph(1000, seed=1, odd=0.05)

    rows = neighbour_summaries(nodes, edges)
    detector = TableDetector(progress=False).fit(neighbour_summaries(normal_nodes, normal_edges))
    alone = TableDetector(progress=False).fit(normal_nodes)
    scores = detector.anomaly_score(rows)
    print(
        f"ROC {100 * roc_auc_score(y, scores):.1f}, of the nodes without their neighbours "
        f"{100 * roc_auc_score(y, alone.anomaly_score(nodes)):.1f}"
    )
    oddest = np.argsort(-scores)[:5]
    print(detector.explain(rows.iloc[oddest], top=1)[["row", "column", "value", "expected"]].to_string(index=False))


if __name__ == "__main__":
    main()
