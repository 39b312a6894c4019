"""What the tables of rows of PyTorch and JAX share: rows made of templates, axes, and slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand

__all__ = [
    "INFIX",
    "Rows",
    "axes_of",
    "axis_of",
    "computes_in",
    "elementwise",
    "infix",
    "only",
    "ravelled",
    "torch_reshaped",
    "unravelled",
]


class Rows(dict[str, Callable[..., str]]):
    """A table of rows, or a part of one."""

    def enter(self, names: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
        """Return a decorator that enters a row under names, which are separated by spaces."""

        def entered(row: Callable[..., str]) -> Callable[..., str]:
            self.update(dict.fromkeys(names.split(), row))
            return row

        return entered


def elementwise(template: str, arrays: bool = False) -> Callable[..., str]:
    """Return the row of a ufunc: a template with a place for each operand, in the dtypes of NumPy's loop.

    `arrays`: whether the framework takes no numbers there.
    """

    def row(call: Call, *operands: Any, dtype: Any = None) -> str:
        loop = call.loop(operands, dtype)
        write = call.array if arrays or not any(isinstance(value, Operand) for value in operands) else call.text
        return template.format(*(write(value, each) for value, each in zip(operands, loop, strict=False)))

    return row


def infix(symbol: str) -> Callable[..., str]:
    """Return the row of a ufunc that is an operator of Python's."""
    return elementwise("{0} " + symbol + " {1}")


# The ufuncs that are operators of Python's with the same meaning in all frameworks.
INFIX = {
    name: infix(symbol)
    for name, symbol in (
        ("add", "+"),
        ("subtract", "-"),
        ("multiply", "*"),
        ("divide", "/"),
        ("floor_divide", "//"),
        ("equal", "=="),
        ("not_equal", "!="),
        ("less", "<"),
        ("less_equal", "<="),
        ("greater", ">"),
        ("greater_equal", ">="),
    )
}


def torch_reshaped(call: Call, text: str) -> str:
    """Return a result of PyTorch's in the shape that NumPy's has."""
    return f"torch.reshape({text}, {call.text(call.shape)})"


def axis_of(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front."""
    return int(numpy.arange(ndim)[axis]) if ndim else 0


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front; all for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(axis_of(each, ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def computes_in(call: Call, operand: Operand, dtype: Any = None) -> numpy.dtype:
    """Return the dtype in which a reduction computes: that of its result, but for comparisons."""
    if dtype is not None:
        return numpy.dtype(dtype)
    return call.result_dtype if call.result_dtype.kind != "b" else operand.dtype


def only(call: Call, argument: str, value: Any, accepted: Sequence[Any]) -> None:
    """Refuse an argument of which the framework knows some values only."""
    if not any(value is each or (type(value) is type(each) and value == each) for each in accepted):
        raise call.refuse(f"{argument}={value!r}")


def unravelled(call: Call, indices: Any, shape: Any, order: str = "C") -> str:
    """Return the row of `numpy.unravel_index`, which both frameworks write alike."""
    only(call, "order", order, ("C",))
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    text = call.array(indices, numpy.int64)
    steps = [int(numpy.prod(lengths[axis + 1 :], dtype=numpy.int64)) for axis in range(len(lengths))]
    return f"({', '.join(f'{text} // {step} % {length}' for step, length in zip(steps, lengths, strict=True))},)"


def ravelled(call: Call, multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> str:
    """Return the row of `numpy.ravel_multi_index`, which both frameworks write alike."""
    only(call, "mode", mode, ("raise",))
    only(call, "order", order, ("C",))
    lengths = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    parts = [
        multi_index[axis] if isinstance(multi_index, (tuple, list)) else multi_index for axis in range(len(lengths))
    ]
    if isinstance(multi_index, Operand):
        parts = [
            Operand(f"{multi_index.text}[{axis}]", multi_index.shape[1:], multi_index.dtype)
            for axis in range(len(lengths))
        ]
    steps = [int(numpy.prod(lengths[axis + 1 :], dtype=numpy.int64)) for axis in range(len(lengths))]
    return " + ".join(f"{call.array(part, numpy.int64)} * {step}" for part, step in zip(parts, steps, strict=True))
