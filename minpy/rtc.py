"""`mx.rtc`: kernels for GPUs, compiled at run time. This build computes on the CPU, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.errors import MissingPartError
from minpy.namespaces import listing

__all__ = ["CudaKernel", "CudaModule"]
__dir__ = listing(__all__)

_TEXT = (
    "mx.rtc.{}: CUDA kernels need a GPU, and this build computes on the CPU with NumPy (minpy.num_gpus() is 0). Write "
    "the kernel's work as an operator in NumPy, with @minpy.customop('numpy')."
)


class CudaModule:
    """CUDA source that is compiled at run time: refused, as there is no GPU.

    Parameters
    ----------
    source : str
    options : sequence of str
    exports : sequence of str

    Raises
    ------
    MissingPartError
        Always.
    """

    def __init__(self, source: str, options: Sequence[str] = (), exports: Sequence[str] = ()) -> None:
        raise MissingPartError(_TEXT.format("CudaModule"))


class CudaKernel:
    """A kernel of a `CudaModule`, which makes it.

    Raises
    ------
    MissingPartError
        Always.
    """

    def __init__(self, handle: Any, name: str, is_ndarray: Any, dtypes: Any) -> None:
        raise MissingPartError(_TEXT.format("CudaKernel"))
