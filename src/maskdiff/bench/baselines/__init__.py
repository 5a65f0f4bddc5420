"""The detectors others proposed, behind one contract: `fit(X)` on normal rows, `anomaly_score(X)`, higher = odder."""
