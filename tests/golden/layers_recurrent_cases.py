"""Golden cases of Gluon's recurrent layers and cells, as `tests/gluon_layers/recurrent.py` declares them."""

import importlib
import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)

CASES = importlib.import_module("gluon_layers.golden").cases("recurrent")
