"""``python -m conformance.cli``, for where the script is not on the path."""

import sys

from conformance.cli import main

if __name__ == "__main__":
    sys.exit(main())
