"""Everything that only measures: baselines, the runner, ranks and tables beside the published ones."""
