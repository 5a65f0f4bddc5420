"""Lists of symbols and texts to codes: one alphabet for all positions."""
