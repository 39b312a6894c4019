"""`minpy.npx`: what networks need beyond NumPy, on `minpy.np.ndarray`s; and the switches of NumPy's semantics.

The operators are those of `minpy.nd`, under MXNet's names for them here. Results are `minpy.np.ndarray`s.
"""

from __future__ import annotations

import os
from typing import Any

from minpy.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from minpy.core.errors import ContextError
from minpy.core.extensions import extension as _extension
from minpy.core.extensions import is_provided as _is_provided
from minpy.core.numpy_semantics import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_default_dtype,
    np_shape,
    reset_np,
    set_np,
    use_np,
    use_np_array,
    use_np_shape,
)
from minpy.late import late_names as _late_names
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.ndarray.array_functions import waitall
from minpy.ndarray.saving import load as _load
from minpy.ndarray.saving import save as _save
from minpy.numpy.wrapping import wrap_result as _wrap_result
from minpy.numpy_extension import image as image
from minpy.numpy_extension import random as random
from minpy.numpy_extension.operator_functions import constraint_check, nonzero, reshape
from minpy.numpy_extension.operator_functions import function_of as _function_of
from minpy.ops.numpy.extension_names import OPERATOR_NAMES as _OPERATOR_NAMES
from minpy.ops.random.generator import seed
from minpy.ops.registry import OPERATORS as _OPERATORS


def save(file: str | os.PathLike[str], arr: Any) -> None:
    """Write arrays to a file that MXNet reads too.

    Parameters
    ----------
    file : str or PathLike
    arr : ndarray, list of ndarray, or dict of str to ndarray

    Raises
    ------
    ArgumentError, DTypeError, FileAccessError
        As `minpy.nd.save`.

    Notes
    -----
    MXNet reads a file that was written under `np_shape` or after `set_np` under these, and others without.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.save(os.path.join(folder, 'x'), {'x': np.array(3.0)})
    ...     npx.load(os.path.join(folder, 'x'))
    {'x': array(3., dtype=float32)}
    """
    _save(file, arr)


def load(file: str | os.PathLike[str]) -> Any:
    """Read the arrays of a file that `save` or MXNet wrote: a list, or a dict if they have names.

    Parameters
    ----------
    file : str or PathLike

    Returns
    -------
    list of ndarray, or dict of str to ndarray

    Raises
    ------
    FileMissingError, FileAccessError, FileFormatError
        As `minpy.nd.load`.
    """
    loaded = _load(file)
    if isinstance(loaded, dict):
        return {name: _wrap_result(array) for name, array in loaded.items()}
    return _wrap_result(loaded)


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Return (free, total) memory of a GPU in bytes: here an error, as there is none.

    Raises
    ------
    ContextError
        Always.
    """
    raise ContextError(f"gpu_memory_info({device_id}): minpy computes on the CPU; there is no GPU to ask.")


__all__ = [
    "Context",
    "constraint_check",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "image",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "load",
    "nonzero",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "num_gpus",
    "random",
    "reset_np",
    "reshape",
    "save",
    "seed",
    "set_np",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "waitall",
    *(name for name, kind in _OPERATOR_NAMES.items() if kind in _OPERATORS),
]
__dir__ = _listing(__all__)


def _otherwise(name: str) -> Any:
    if _is_provided(f"minpy.numpy_extension.{name}"):
        return _extension(f"minpy.numpy_extension.{name}")
    return _missing("minpy.npx", "function", __all__)(name)


__getattr__ = _late_names(__name__, __all__, lambda name: _function_of(name, _OPERATOR_NAMES[name]), _otherwise)
