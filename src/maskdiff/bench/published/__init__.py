"""The paper's own tables, as data."""
