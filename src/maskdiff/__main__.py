"""`python -m maskdiff`: the command line."""

import sys

from maskdiff.cli import main

if __name__ == "__main__":
    sys.exit(main())
