"""Arrays in DLPack's capsules: memory that other libraries and ours share.

DLPack: Open In Memory Tensor Structure (https://dmlc.github.io/dlpack); the Python side is that of the array API
standard, "Data interchange mechanisms".
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.context import resolve_context
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = ["from_dlpack", "to_dlpack_for_read", "to_dlpack_for_write"]


# Whether NumPy takes capsules that say whether they may be written to.
_TAKES_VERSIONED = tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 1)


class _Carrier:
    """Hands a capsule to NumPy, which asks objects for one."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class _Writable:
    """The memory of an array that NumPy holds to be read-only, and that is not."""

    def __init__(self, array: numpy.ndarray) -> None:
        interface = array.__array_interface__
        self.array = array
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


@with_shared_texts
def to_dlpack_for_read(data: NDArray) -> Any:
    """Return an array as a DLPack capsule that shares its memory, for whoever reads it. It may be taken once.

    {data_parameter}

    Returns
    -------
    capsule

    {raises_argument_error}
        If it is no NDArray.

    {examples}
    >>> capsule = nd.to_dlpack_for_read(nd.array([1, 2]))
    >>> nd.from_dlpack(capsule).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return _capsule(data, "to_dlpack_for_read")


@with_shared_texts
def to_dlpack_for_write(data: NDArray) -> Any:
    """Return an array as a DLPack capsule that shares its memory, for whoever writes into it. It may be taken once.

    `backward` sees no write through it that comes later.

    {data_parameter}

    Returns
    -------
    capsule

    {raises_argument_error}
        If it is no NDArray.

    {examples}
    >>> x = nd.zeros(2)
    >>> nd.from_dlpack(nd.to_dlpack_for_write(x))[:] = 3
    >>> x.asnumpy()
    array([3., 3.], dtype=float32)
    """
    return _capsule(data, "to_dlpack_for_write")


def _capsule(data: Any, function: str) -> Any:
    if not isinstance(data, NDArray):
        raise ArgumentError(f"{function}: expected an NDArray, got {describe(data)}.")
    return data.__dlpack__()


@with_shared_texts
def from_dlpack(dlpack: Any) -> NDArray:
    """Return an NDArray on the memory of a DLPack capsule, or of an array of any library that has `__dlpack__`.

    Parameters
    ----------
    dlpack : capsule or array
        On the CPU. A capsule can be taken once.

    {returns_array}
        A write to it is a write to what was given.

    {raises_argument_error}
        If it is neither a capsule nor an array of that protocol.
    ArgumentValueError
        For a capsule that has been taken, and for what NumPy cannot hold: another device, another dtype.

    Examples
    --------
    >>> import numpy
    >>> from minpy import nd
    >>> a = numpy.zeros(2, 'float32')
    >>> nd.from_dlpack(a)[0] = 5
    >>> a
    array([5., 0.], dtype=float32)
    """
    device = (1, 0)  # of a capsule, the CPU: it would say so itself
    capsule = dlpack
    try:
        if type(dlpack).__name__ != "PyCapsule":
            capsule, device = _asked(dlpack)
        if '"used_' in repr(capsule):
            raise ArgumentValueError(
                "from_dlpack: the capsule has been taken already: its memory has an owner. Ask for another one, with "
                "to_dlpack_for_read(x) or x.__dlpack__()."
            )
        shared = numpy.from_dlpack(_Carrier(capsule, device))
    except MXNetError:
        raise
    except (BufferError, RuntimeError, ValueError) as error:
        raise ArgumentValueError(
            f"from_dlpack: NumPy cannot hold {describe(dlpack)}: {error} Move it to the CPU, and cast it to a dtype "
            "that NumPy has."
        ) from error
    if not shared.flags.writeable and "versioned" not in repr(capsule):  # older capsules do not say, NumPy is careful
        shared = numpy.asarray(_Writable(shared))
    return place(NDArray, shared, resolve_context(None))


def _asked(array: Any) -> tuple[Any, tuple[int, int]]:
    """Return the capsule of an array, of the newest kind that both sides know, and its device."""
    try:
        device = array.__dlpack_device__()
        ask = array.__dlpack__
    except AttributeError:
        raise ArgumentError(
            f"from_dlpack: expected a DLPack capsule, or an array with __dlpack__; got {describe(array)}. Use "
            "nd.array() for other arrays and for numbers."
        ) from None
    if _TAKES_VERSIONED:
        try:
            return ask(max_version=(1, 0)), device
        except TypeError:  # it knows the older kind only
            return ask(), device
    return ask(), device
