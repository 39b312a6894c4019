"""The plan of a native program: its parts, Python source that calls native code, and the constants that they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy

from minpy.backends.native.runtime.address_table import Table
from minpy.backends.native.runtime.argument_coercion import Argument
from minpy.backends.source_parts import ContextConstant, SourcePart
from minpy.core import aligned
from minpy.core.errors import DTypeError, ShapeError, describe

__all__ = ["CheckedResult", "CoercingCall", "LaunchFunction", "NativePart", "Plan"]


@dataclass(frozen=True, slots=True)
class LaunchFunction(ContextConstant):
    """A function of native code, by its name."""

    name: str

    def bind(self, calls: Any, memory: Any) -> Callable[..., Any]:
        """Return it as a builtin that computes in the context's memory."""
        function: Callable[..., Any] = memory.functions[self.name]
        return function


class CoercingCall(ContextConstant):
    """Calls a part again with copies of its arguments, where these do not fit."""

    __slots__ = ()

    def bind(self, calls: Any, memory: Any) -> Callable[..., Any]:
        """Return the function; it takes what the part was called with."""
        function: Callable[..., Any] = memory.coerced
        return function


@dataclass(frozen=True, slots=True)
class CheckedResult(ContextConstant):
    """Makes the result of a Python function a C-contiguous array in memory that native code does not write to.

    `call` is what messages name; shape and dtype are those that the program was compiled for.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> result = CheckedResult('call of f', (2,), numpy.dtype('float32'))
    >>> check = result.bind(None, SimpleNamespace(buffers=[numpy.empty(8, 'uint8')]))
    >>> check(numpy.ones((2, 2), 'float32')[:, 0]).flags.c_contiguous
    True
    """

    call: str
    shape: tuple[int, ...]
    dtype: numpy.dtype

    def bind(self, calls: Any, memory: Any) -> Callable[..., numpy.ndarray]:
        """Return the function of a result."""
        return partial(self._checked, memory.buffers[0])

    def _checked(self, block: numpy.ndarray, result: Any, prepared: numpy.ndarray | None = None) -> numpy.ndarray:
        """Return the result, or a copy if it lies in the context's block, or in that of what is made of parameters."""
        array = result if type(result) is numpy.ndarray else numpy.asarray(result)
        if array.shape != self.shape or array.dtype != self.dtype:
            error = ShapeError if array.shape != self.shape else DTypeError
            raise error(
                f"{self.call} answered {describe(array)}; before, for inputs of the same shapes and dtypes, it was "
                f"{self.dtype} {self.shape}. Programs whose operators choose shapes or dtypes by values cannot be "
                "compiled: call this one under minpy.compile.disabled()."
            )
        flags = array.flags
        if (
            not (flags.c_contiguous and flags.aligned)
            or array.dtype is not self.dtype
            or numpy.may_share_memory(array, block)
            or (prepared is not None and numpy.may_share_memory(array, prepared))
        ):
            return aligned.copied(array, self.dtype)
        return array


class NativePart(SourcePart):
    """The forward or backward part of a program, or what prepares it, native code inside."""

    title = "minpy native program"

    @cached_property
    def is_native(self) -> bool:
        """Whether it calls no Python function that could fail between launches of native code."""
        constants = self.constants
        return "matmul" not in constants and not any(isinstance(value, CheckedResult) for value in constants.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """All that it takes to run a program, beside its machine code; it can be cached in a file."""

    code: str | None  # the cache key of the machine code, if there is any
    functions: tuple[str, ...]  # the names of its functions
    table: Table  # what they refer to
    nbytes: int  # the size of a context's block of memory
    # The arguments: the arrays, the cotangents, the arrays for gradients.
    arguments: tuple[tuple[Argument, ...], ...]
    reads: tuple[int, ...]  # the positions of the variables that the backward part reads
    # 'forward'; and, if there are such, 'backward', and 'prepare', which runs when a parameter has changed.
    parts: dict[str, NativePart]
    # The positions of the arrays that 'prepare' reads, and how many bytes it makes of them.
    preparation: tuple[tuple[int, ...], int] | None
