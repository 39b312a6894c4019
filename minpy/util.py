"""`mx.util`: the environment, GPUs, and small helpers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from minpy.context import Context, num_gpus
from minpy.core.errors import ArgumentError, ArgumentValueError, ContextError, describe
from minpy.core.numpy_semantics import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_default_dtype,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_default_dtype,
    use_np_shape,
)
from minpy.namespaces import listing

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
]
__dir__ = listing(__all__)

# What MXNet's tests call the scopes.
_NumpyArrayScope, _NumpyShapeScope = np_array, np_shape

_F = TypeVar("_F")


def getenv(name: str) -> str | None:
    """Return an environment variable of this process; None if it is not set.

    Of MXNet's variables these mean something here: `MXNET_HOME`, the folder of what is downloaded, and
    `MXNET_PROFILER_AUTOSTART`, by which the profiler runs from the start. The others tune a C++ engine, its memory and
    its libraries; setting them changes nothing.

    Parameters
    ----------
    name : str

    Returns
    -------
    str or None

    Raises
    ------
    ArgumentError
        If the name is no string.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.util.setenv('MXNET_EXAMPLE', '1')
    >>> mx.util.getenv('MXNET_EXAMPLE')
    '1'
    >>> mx.util.setenv('MXNET_EXAMPLE', None)
    >>> print(mx.util.getenv('MXNET_EXAMPLE'))
    None
    """
    return os.environ.get(_text("getenv", "the name", name))


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable of this process, and of those that it starts; None removes it.

    Parameters
    ----------
    name : str
    value : str or None

    Raises
    ------
    ArgumentError
        If name or value are no strings.
    """
    name = _text("setenv", "the name", name)
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = _text("setenv", "the value", value)


def _text(function: str, parameter: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{function}: {parameter} must be a string, got {describe(value)}.")
    return value


def get_gpu_count() -> int:
    """Return how many GPUs arrays can be allocated on: 0, as this build computes on the CPU.

    Returns
    -------
    int
    """
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Raise: there are no GPUs whose memory could be told.

    Parameters
    ----------
    gpu_dev_id : int
        The GPU's number.

    Returns
    -------
    tuple of int
        The free and the total bytes, where there is a GPU.

    Raises
    ------
    ContextError
        Always.
    """
    raise ContextError(
        f"get_gpu_memory: there is no gpu({gpu_dev_id}): this build computes on the CPU, and minpy.num_gpus() is 0."
    )


def get_cuda_compute_capability(ctx: Context) -> int | None:
    """Return the CUDA compute capability of a GPU: there are none here.

    Parameters
    ----------
    ctx : Context

    Returns
    -------
    None
        For a GPU that is not there.

    Raises
    ------
    ArgumentValueError
        If it is no context of a GPU.
    """
    if not isinstance(ctx, Context) or ctx.device_type != "gpu":
        raise ArgumentValueError(
            f"get_cuda_compute_capability: expected the context of a GPU, such as minpy.gpu(0); got {describe(ctx)}."
        )
    return None


def set_module(module: str | None) -> Callable[[_F], _F]:
    """Return a decorator that makes a function say that it belongs to a module.

    Parameters
    ----------
    module : str or None
        None leaves it as it is.

    Returns
    -------
    callable

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.util.set_module('layers')
    ... def dense(x):
    ...     return x
    >>> dense.__module__
    'layers'
    """

    def decorate(function: _F) -> _F:
        if module is not None:
            function.__module__ = module
        return function

    return decorate
