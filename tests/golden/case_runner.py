"""Runs one golden case and describes its result as plain data that JSON can hold.

A case is a name and a snippet. The snippet sees ``mx``, ``nd``, ``autograd`` and ``np`` and assigns ``result``. It runs
under MXNet 1.9.1, which makes the golden files, and under the library that is compared with them.
"""

from typing import Any

import numpy as np

Description = dict[str, Any]


class UndescribableError(Exception):
    """A case's result is of a kind that golden files do not hold: a mistake in the case, not an answer to it."""


def run_case(mx: Any, snippet: str) -> Description:
    """Runs ``snippet`` with ``mx`` as the library and returns the description of its result or of its error."""
    scope: dict[str, Any] = {"mx": mx, "nd": mx.nd, "autograd": mx.autograd, "np": np}
    try:
        exec(snippet, scope)
        description = describe(scope["result"])
        mx.nd.waitall()
        return description
    except UndescribableError:
        raise
    except Exception as error:
        return {"kind": "error", "error": type(error).__name__}
    finally:
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)


def describe(value: Any) -> Description:
    """Describes a result: its kind, its values, and for arrays shape and dtype."""
    if value is None:
        return {"kind": "none"}
    if isinstance(value, str):
        return {"kind": "string", "values": value}
    if isinstance(value, (bool, np.bool_)):
        return {"kind": "bool", "values": bool(value)}
    if isinstance(value, (int, float, np.number)):
        return {"kind": "number", "type": type(value).__name__, "values": _plain(value)}
    if isinstance(value, (list, tuple)):
        return {"kind": type(value).__name__, "items": [describe(item) for item in value]}
    if isinstance(value, type):
        return {"kind": "type", "values": value.__name__}
    if isinstance(value, np.dtype):
        return {"kind": "dtype", "values": value.name}
    if isinstance(value, np.ndarray):
        return _describe_array("numpy", value)
    if hasattr(value, "asnumpy"):
        return _describe_array("array", value.asnumpy())
    raise UndescribableError(f"a golden case cannot result in {type(value).__name__}")


def _describe_array(kind: str, array: np.ndarray) -> Description:
    return {"kind": kind, "shape": list(array.shape), "dtype": array.dtype.name, "values": _nested(array)}


def _nested(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return _plain(array[()])
    return [_nested(item) for item in array]


def _plain(number: Any) -> bool | int | float | list[float]:
    """Turns a NumPy scalar into the Python number with the shortest text that reads back as the same scalar."""
    if isinstance(number, (bool, np.bool_)):
        return bool(number)
    if isinstance(number, (int, np.integer)):
        return int(number)
    if isinstance(number, (complex, np.complexfloating)):
        return [float(str(number.real)), float(str(number.imag))]
    return float(str(number))
