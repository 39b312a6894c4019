"""The operator table: one file a family of operators, each with its rows in `ROWS`.

What becomes of the definitions when they are traced stands there, too, where it is not in `test_definitions.py`:
`KINDS_OF_STEPS`, the names of operators by the kinds of their steps, and `CALLED`, patterns of rows that are not
traced, with reasons.
"""

from __future__ import annotations

import importlib
import pkgutil

from operator_table.row import Row

__all__ = ["ALL_ROWS", "CALLED", "STEPS"]

ALL_ROWS: list[Row] = []
CALLED: dict[str, str] = {}
STEPS: list[tuple[str, str]] = []
for _module in pkgutil.iter_modules(__path__):
    if _module.name not in ("exceptions", "row"):
        _family = importlib.import_module(f"{__name__}.{_module.name}")
        ALL_ROWS.extend(_family.ROWS)
        CALLED.update(getattr(_family, "CALLED", {}))
        STEPS.extend(getattr(_family, "KINDS_OF_STEPS", {}).items())
