"""NumPy's functions as PyTorch's: the table by which traced steps are written for it.

Rows give the dtypes that NumPy gives: operands are cast to those of NumPy's loop, and PyTorch's own promotion, which
looks at the number of axes, too, has nothing to decide. What takes more than a line is a function of
`torch_functions`.
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks import (
    torch_elementwise_rows,
    torch_index_rows,
    torch_reduction_rows,
    torch_search_rows,
    torch_view_rows,
)
from minpy.frameworks.dialects import Dialect
from minpy.importing import import_module

__all__ = ["DIALECT"]

_MODULES = torch_elementwise_rows, torch_view_rows, torch_index_rows, torch_reduction_rows, torch_search_rows
ROWS = {name: row for module in _MODULES for name, row in module.ROWS.items()}


def _scope() -> dict[str, Any]:
    torch = import_module("torch")
    return {"torch": torch, "functions": import_module("minpy.frameworks.torch_functions")}


def _constant(data: numpy.ndarray) -> Any:
    return import_module("torch").from_numpy(numpy.array(data, order="C"))


def _dtype(dtype: numpy.dtype) -> str:
    return f"torch.{dtype.name}"


def _full(shape: str, value: str, dtype: numpy.dtype, device: str) -> str:
    return f"torch.full({shape}, {value}, dtype={_dtype(dtype)}, device={device}.device)"


def _counted(start: str, stop: str, dtype: numpy.dtype, device: str) -> str:
    return f"torch.arange({start}, {stop}, dtype={_dtype(dtype)}, device={device}.device)"


DIALECT = Dialect(
    name="torch",
    rows=ROWS,
    scope=_scope,
    cast=lambda text, dtype: f"{text}.to({_dtype(dtype)})",
    dtype=_dtype,
    array=lambda text, device: f"{text}.to({device}.device)",
    full=_full,
    counted=_counted,
    constant=_constant,
    refused={"float128": "there is none", "longdouble": "there is none", "complex256": "there is none"},
)
