"""The two tables of rows: of MXNet's operators, and of NumPy's functions, which the steps of definitions call."""

from __future__ import annotations

import pkgutil

from minpy.importing import import_module
from minpy.onnx.exporting import function_rows, operator_rows
from minpy.onnx.exporting.calls import Rows

__all__ = ["FUNCTIONS", "OPERATORS"]


def _all_rows(package: object) -> Rows:
    """Return the `ROWS` of all modules of a package."""
    rows = Rows()
    path, name = package.__path__, package.__name__  # type: ignore[attr-defined]
    for module in sorted(entry.name for entry in pkgutil.iter_modules(path)):
        rows.update(import_module(f"{name}.{module}").ROWS)
    return rows


OPERATORS = _all_rows(operator_rows)
FUNCTIONS = _all_rows(function_rows)
