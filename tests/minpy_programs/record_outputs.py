"""Record what the programs of this folder print under dmlc MinPy 0.3.4, each beside it as `NAME.txt`.

Run it with a Python that has MinPy, MXNet 1.x and NumPy below 1.24, and where `numpy.int`, `collections.Iterable` and
their like have been put back: `python tests/minpy_programs/record_outputs.py [NAME ...]`. `digits.npz` holds 600 of
the handwritten digits that come with scikit-learn.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    """Run the named programs, or all of them."""
    for program in sorted(HERE.glob("*.py")):
        if program != Path(__file__).resolve() and (not names or program.stem in names):
            command = [sys.executable, str(program)]
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE)
            program.with_suffix(".txt").write_text(ran.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
