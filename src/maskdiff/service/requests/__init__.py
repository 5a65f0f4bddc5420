"""What comes in: bodies, files and names, checked; who may ask, and what is refused."""
