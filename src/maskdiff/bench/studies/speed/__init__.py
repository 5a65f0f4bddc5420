"""How fast each method is, how time and memory grow with rows and columns, and how long a command takes to start."""
