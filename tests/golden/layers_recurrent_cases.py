"""Golden cases of Gluon's recurrent layers and cells, as `tests/support/gluon_layers/recurrent.py` declares them."""

import importlib
import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
if SUPPORT not in sys.path:
    sys.path.append(SUPPORT)

CASES = importlib.import_module("gluon_layers.golden").cases("recurrent")
