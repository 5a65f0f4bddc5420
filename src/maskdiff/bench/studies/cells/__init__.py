"""Wrong cells planted in normal rows: is the row noticed, is the cell named, is its true value suggested."""
