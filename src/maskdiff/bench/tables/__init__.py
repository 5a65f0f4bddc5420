"""Tables of what was measured: means, average ranks, alarm rates, evidence, and the published values beside them."""
