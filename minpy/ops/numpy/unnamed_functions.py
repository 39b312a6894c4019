"""NumPy's functions that have no name in MXNet's files, as operators of graphs: `minpy:np.interp`, `minpy:np.fft.fft`.

A node's inputs are the arrays of a call, in order; its attribute `call` is the text of all arguments, in which `x0`,
`x1` and so on are the inputs: `x0, x1, axis=-1`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, describe
from minpy.numpy_table.table import row_of
from minpy.ops.inference.rule_parts import numbered
from minpy.ops.numpy.named import named

__all__ = ["FUNCTIONS_BY_NAME", "PREFIX", "call_text", "functions_of"]

PREFIX = "minpy:np."
_NAMES = {"inf": float("inf"), "nan": float("nan")}
_TYPED = {
    np.dtype(kind).name: np.dtype(kind).type
    for kind in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()  # noqa: SIM905
}


def functions_of(module: Any, prefix: str = "") -> dict[str, Callable[..., Any]]:
    """Return the functions of one of NumPy's modules that are functions of arrays, by their names in `minpy.np`."""
    functions = {}
    for name in [*getattr(module, "__all__", dir(module)), *(("abs", "max", "min", "round") if module is np else ())]:
        value = vars(module).get(name)
        if name.startswith("_") or not callable(value) or inspect.isclass(value):
            continue
        row = row_of(value)
        if row is not None and not row.has_operator:
            continue
        functions[f"{prefix}{name}"] = value
    return functions


# By name, all functions that have an operator here.
FUNCTIONS_BY_NAME: dict[str, Any] = {
    "getitem": operator.getitem,
    **functions_of(np),
    **functions_of(np.linalg, "linalg."),
    **functions_of(np.fft, "fft."),
}


# -- the text of a call ------------------------------------------------------------------------------------------------


def call_text(name: str, arguments: Sequence[Any], keywords: dict[str, Any], is_input: Callable[[Any], bool]) -> Any:
    """Return (the text of a call's arguments, its inputs in order).

    Raises
    ------
    ArgumentError
        If an argument is no input, number, string, type, slice, nor a list or tuple of them.

    Examples
    --------
    >>> x = object()
    >>> call_text('take', [x, [0, 1]], {'axis': 0}, lambda value: value is x)[0]
    'x0, [0, 1], axis=0'
    """
    inputs: list[Any] = []

    def text(value: Any, is_typed: bool = False) -> str:
        if is_input(value):
            inputs.append(value)
            return f"x{len(inputs) - 1}"
        if isinstance(value, np.generic):
            if is_typed and value.dtype.name in _TYPED:
                return f"{value.dtype.name}({text(value.item())})"
            value = value.item()
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(text, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, slice):
            return f"slice({text(value.start)}, {text(value.stop)}, {text(value.step)})"
        if isinstance(value, np.dtype) or (
            isinstance(value, type) and issubclass(value, (np.generic, bool, int, float))
        ):
            return repr(np.dtype(value).name)
        if value is None or value is ... or isinstance(value, (bool, int, float, complex, str)):
            return "..." if value is ... else repr(value)
        raise ArgumentError(
            f"np.{name}: {describe(value)} cannot stand in a graph, which holds numbers, strings, and lists of them. "
            "Make an array an input: mx.sym.var(name).as_np_ndarray()."
        )

    # A NumPy scalar takes part in the promotion of dtypes.
    texts = [text(value, True) for value in arguments]
    texts += [f"{key}={text(value, isinstance(value, np.inexact))}" for key, value in keywords.items()]
    return ", ".join(texts), inputs


@functools.lru_cache(1024)
def _parsed(call: str) -> tuple[list[ast.expr], list[tuple[str, ast.expr]]]:
    tree = ast.parse(f"f({call})", mode="eval").body
    assert isinstance(tree, ast.Call)
    return tree.args, [(keyword.arg or "", keyword.value) for keyword in tree.keywords]


def _evaluated(expression: ast.expr, inputs: Sequence[Any]) -> Any:
    """Return the value of an expression in a call's text: only literals, inputs and slices are evaluated."""
    if isinstance(expression, ast.Name):
        return _NAMES[expression.id] if expression.id in _NAMES else inputs[int(expression.id.removeprefix("x"))]
    if isinstance(expression, (ast.List, ast.Tuple)):
        parts = [_evaluated(part, inputs) for part in expression.elts]
        return parts if isinstance(expression, ast.List) else tuple(parts)
    if isinstance(expression, ast.Call):
        parts = [_evaluated(part, inputs) for part in expression.args]
        assert isinstance(expression.func, ast.Name)
        return _TYPED[expression.func.id](*parts) if expression.func.id in _TYPED else slice(*parts)
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.operand, ast.Name):
        return -_NAMES[expression.operand.id]
    return ast.literal_eval(expression)


def _define(name: str, function: Callable[..., Any]) -> None:
    def definition(*inputs: Any, call: str, num_outputs: int = 1) -> Any:
        arguments, keywords = _parsed(call)
        result = function(
            *(_evaluated(node, inputs) for node in arguments),
            **{key: _evaluated(value, inputs) for key, value in keywords},
        )
        if isinstance(result, (tuple, list)):
            return tuple(result) if num_outputs > 1 else result[0] if len(result) == 1 else tuple(result)
        return result

    definition.__doc__ = f"Return `numpy.{name}`."

    def dtypes(*input_dtypes: np.dtype, **attributes: Any) -> Any:
        return _dtypes_by_running(definition, input_dtypes, attributes)

    named(
        f"{PREFIX}{name}",
        dtype=dtypes,
        outputs=lambda attributes: (
            ["output"] if int(attributes.get("num_outputs", 1)) == 1 else list(numbered(int(attributes["num_outputs"])))
        ),
    )(definition)


def _dtypes_by_running(function: Callable[..., Any], dtypes: Sequence[np.dtype], attributes: dict[str, Any]) -> Any:
    """Return the dtypes of a function's results for small arrays: they do not depend on lengths."""
    for shape in ((2, 2), (2,), (3, 3, 3), (), (1, 1, 1, 1), (4,), (3,), (2, 2, 2, 2)):
        arrays = [np.ones(shape, dtype) for dtype in dtypes]
        if len(shape) == 2:
            arrays = [array if array.dtype.kind == "b" else array + np.eye(2, dtype=array.dtype) for array in arrays]
        try:
            with np.errstate(all="ignore"):
                result = function(*arrays, **attributes)
        except Exception:  # another number of axes may do
            continue
        results = result if isinstance(result, tuple) else [result]
        result_dtypes = [np.asarray(value).dtype for value in results]
        return result_dtypes if len(result_dtypes) > 1 else result_dtypes[0]
    return np.result_type(*dtypes)


for _name, _function in FUNCTIONS_BY_NAME.items():
    _define(_name, _function)
