"""Record what the programs of this folder print under MXNet 1.9.1, each beside it as `NAME.txt`.

Run it with a Python that has MXNet: `python tests/programs/record_outputs.py [NAME ...]`.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    """Run the named programs, or all of them."""
    for program in sorted(HERE.glob("*.py")):
        if program != Path(__file__).resolve() and (not names or program.stem in names):
            ran = subprocess.run([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, check=True)
            program.with_suffix(".txt").write_text(ran.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
