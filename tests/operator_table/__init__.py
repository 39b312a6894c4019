"""The operator table: one file a family of operators, each with its rows in `ROWS`."""

from __future__ import annotations

import importlib
import pkgutil

from operator_table.row import Row

__all__ = ["ALL_ROWS"]

ALL_ROWS: list[Row] = []
for _module in pkgutil.iter_modules(__path__):
    if _module.name not in ("exceptions", "row"):
        ALL_ROWS.extend(importlib.import_module(f"{__name__}.{_module.name}").ROWS)
