"""Measurements beside the paper's: anomalies among the training rows, other tables, speed of texts, large files."""
