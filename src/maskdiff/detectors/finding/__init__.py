"""Finding the odd rows of one file that nobody has labelled: every row is judged by a model that did not see it."""
