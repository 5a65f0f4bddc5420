"""The kinds of evidence about a row, and how they become one score."""
