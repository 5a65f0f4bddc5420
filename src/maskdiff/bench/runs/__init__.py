"""Measuring: which data sets and methods there are, how a run is timed, and the file its record is added to."""
