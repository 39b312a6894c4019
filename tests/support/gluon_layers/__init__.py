"""Declarations of Gluon's layers, one file a family, which `test_gluon_layers.py` and the golden cases walk.

Each file holds `LAYERS`, a list of `Layer`. They are texts and numbers only, so that MXNet builds the same layers.
"""

import importlib
from pathlib import Path

from gluon_layers.declaration import Floats, Integers, Layer

__all__ = ["FAMILIES", "Floats", "Integers", "Layer", "load"]

_APART = {"__init__", "declaration", "running", "golden"}
FAMILIES = tuple(sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - _APART))


def load(family: str) -> "list[Layer]":
    """Return the declarations of a family, with ids that differ."""
    layers: list[Layer] = importlib.import_module(f"gluon_layers.{family}").LAYERS
    ids = [layer.id for layer in layers]
    repeated = {one for one in ids if ids.count(one) > 1}
    if repeated:
        raise ValueError(f"gluon_layers/{family}.py has several declarations with ids {sorted(repeated)}")
    return layers
