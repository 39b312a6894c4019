"""Answers of Python's functions, made into what native code takes."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core import aligned
from minpy.core.errors import DTypeError, ShapeError, describe

__all__ = ["Settled"]


class Settled:
    """What makes an answer a C-contiguous array in memory that native code does not write to.

    Parameters
    ----------
    what : str
        The call whose answer it is, for messages.
    shape, dtype
        Of the answer, as the program was compiled for it.
    block : numpy.ndarray
        The memory that native code writes to.

    Examples
    --------
    >>> settled = Settled('call of f', (2,), numpy.dtype('float32'), numpy.empty(8, 'uint8'))
    >>> settled(numpy.ones((2, 2), 'float32')[:, 0]).flags.c_contiguous
    True
    """

    __slots__ = ("block", "dtype", "shape", "what")

    def __init__(self, what: str, shape: tuple[int, ...], dtype: numpy.dtype, block: numpy.ndarray) -> None:
        self.what = what
        self.shape = shape
        self.dtype = dtype
        self.block = block

    def __call__(self, answer: Any, prepared: numpy.ndarray | None = None) -> numpy.ndarray:
        """Return the answer, or a copy of it, if it lies in the block, or in what was made of parameters.

        Raises
        ------
        ShapeError, DTypeError
            If it is of another shape or dtype than it was before.
        """
        array = answer if type(answer) is numpy.ndarray else numpy.asarray(answer)
        if array.shape != self.shape or array.dtype != self.dtype:
            error = ShapeError if array.shape != self.shape else DTypeError
            raise error(
                f"{self.what} answered {describe(array)}; before, for inputs of the same shapes and dtypes, it was "
                f"{self.dtype} {self.shape}. Programs whose operators choose shapes or dtypes by values cannot be "
                "compiled: call this one under minpy.compile.disabled()."
            )
        flags = array.flags
        if (
            not (flags.c_contiguous and flags.aligned)
            or array.dtype is not self.dtype
            or numpy.may_share_memory(array, self.block)
            or (prepared is not None and numpy.may_share_memory(array, prepared))
        ):
            return aligned.copied(array, self.dtype)
        return array
