"""From what people hand in (tables, symbols, text) to codes, and back to words a person reads."""
