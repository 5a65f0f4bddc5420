"""What a report counts and shows of its rows: columns of tables, tokens of texts and sequences."""
