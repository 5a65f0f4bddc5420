"""The results pages of the documentation, written from the records and from nothing else."""
