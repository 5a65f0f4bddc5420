"""The rows of a file between bytes and detectors: those to learn from, those a model judges, and their labels."""
