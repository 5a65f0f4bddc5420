"""A small client of the service: `maskdiff serve` on the other side. Needs the extra `serve`."""
