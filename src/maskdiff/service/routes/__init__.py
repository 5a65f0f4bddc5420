"""The routes: each translates a request into one call of the library."""
