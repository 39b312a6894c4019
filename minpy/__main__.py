"""`python -m minpy`: see `python -m minpy --help`."""

import sys

from minpy.dropin.launcher import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
