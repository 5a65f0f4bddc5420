"""What a column of free text usually says: its letters, its tokens, and which of them go with the rest of a row."""
