"""Write tests/golden/translated_operators.txt: for every row of the operator table, how much of it is native, and why.

Usage, from the root of the repository: ``PYTHONPATH=. python tests/golden/make_translated.py``.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("support", "backends/native")]

import test_native_translating_operators  # noqa: E402

if __name__ == "__main__":
    test_native_translating_operators.write()
