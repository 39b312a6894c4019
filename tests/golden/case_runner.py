"""Runs one golden case and describes its result as plain data that JSON can hold.

A case is a name and a snippet. The snippet sees ``mx``, ``nd``, ``autograd`` and ``np`` and assigns ``result``. The same
snippet runs under MXNet 1.9.1, which makes the golden files, and under the library that is compared with them.
"""

import numpy as np


def run_case(mx, snippet):
    """Runs ``snippet`` with ``mx`` as the library and returns the description of its result or of its error."""
    scope = {"mx": mx, "nd": mx.nd, "autograd": mx.autograd, "np": np}
    try:
        exec(snippet, scope)
        return describe(scope["result"])
    except Exception as error:
        return {"kind": "error", "error": type(error).__name__}
    finally:
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)


def describe(value):
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
    raise TypeError(f"a golden case cannot result in {type(value).__name__}")


def _describe_array(kind, array):
    return {"kind": kind, "shape": list(array.shape), "dtype": array.dtype.name, "values": _nested(array)}


def _nested(array):
    if array.ndim == 0:
        return _plain(array[()])
    return [_nested(item) for item in array]


def _plain(number):
    """Turns a NumPy scalar into the Python number with the shortest text that reads back as the same scalar."""
    if isinstance(number, (bool, np.bool_)):
        return bool(number)
    if isinstance(number, (int, np.integer)):
        return int(number)
    return float(str(number))
