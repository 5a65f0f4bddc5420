"""Tables to codes: columns of any type, each with an alphabet of its own."""
