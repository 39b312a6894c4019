"""`BlockSpecialized`: a hybridized block with its specializations, captured as compiled functions are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy

from minpy.backends.switches import keeps_bits
from minpy.core.array import Array
from minpy.core.source_lines import warn_at_program
from minpy.gluon.block.argument_specs import Keywords
from minpy.gluon.block.own_functions import enter
from minpy.gluon.block.symbol_tracing import warn_of_frozen
from minpy.jit.budget import Budget
from minpy.jit.captured_call import CapturedCall
from minpy.jit.pytrees import Nest, flatten, unflatten
from minpy.jit.specialization import Specialization
from minpy.jit.specialized import Specialized

__all__ = ["BlockSpecialized"]


class BlockSpecialized(Specialized):
    """A block that is captured for what it is called with.

    Parameters
    ----------
    block : HybridBlock
    eager : callable
        Calls the block as it is written, on (arguments, keywords).

    Attributes
    ----------
    example : (Nest, list) or None
        How a call was nested that was captured, and its leaves: of arrays (class, shape, dtype, context).
    """

    errors_are_eager = False  # they name the step of the graph

    def __init__(self, block: Any, eager: Callable[[Any, Any], Any]) -> None:
        enter()
        super().__init__(block, block.name, False, eager, self._warn)
        self.budget = Budget()
        self.signature = block.forward if block._is_written_as_forward else block.hybrid_forward
        self._block = block
        self.example: tuple[Nest, list[Any]] | None = None
        self._refused_in: Any = None

    def specialized(self, captured: CapturedCall) -> Specialization:
        """Return the specialization of a captured call, with the options that the block was hybridized with."""
        for block, guards in getattr(captured.group, "frozen", ()):
            warn_of_frozen(block, guards)
        specialization = _BlockSpecialization(captured, self.name, False)
        self._block._prepare(specialization)
        return specialization

    def answer(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the block returns for a call of another kind than the last one."""
        if self.budget.resting > 0 and not keeps_bits():
            return self.rest(arguments, keywords)
        leaves: list[Any] = []
        spec = flatten((arguments, keywords), leaves)
        assert spec is not None
        if not any(isinstance(leaf, Array) for leaf in leaves) or self._waits():
            return self.eager(arguments, keywords)
        self.example = spec, [_described(leaf) for leaf in leaves]
        return self.call(arguments, keywords, spec, leaves)

    def arguments_alike(self) -> tuple[Any, ...] | None:
        """Return arguments by position like those of the latest call; None if there was none."""
        if self.example is None:
            return None
        spec, described = self.example
        arguments, keywords = unflatten(spec, iter(map(_alike, described)))
        if keywords:
            bound = inspect.signature(self.signature).bind(*arguments, **keywords)
            bound.apply_defaults()
            arguments, keywords = bound.args, bound.kwargs
        return (*arguments, Keywords(keywords)) if keywords else tuple(arguments)

    def note_refusal_in(self, block: Any) -> None:
        """Note the innermost block in which a capture has ended."""
        self._refused_in = self._refused_in or block

    def _waits(self) -> bool:
        """Tell whether parameters wait for the first call: it goes as the block is written, and says their shapes."""
        return any(parameter._deferred_init for parameter in self._block._parameters_inside().values())

    def _warn(self, reason: str) -> None:
        inner = self._refused_in
        if inner is not None and inner is not self._block and inner._active and inner._is_written_as_forward:
            return  # it says so itself, when it is called
        warn_at_program(
            f"{self.name} is hybridized, and runs as it is written, because it cannot become a graph: {reason}. Blocks "
            "inside keep graphs of their own. Give what changes as an argument, and return what is to be kept; or call "
            "hybridize(False) on the block that does it."
        )


class _BlockSpecialization(Specialization):
    """The graph of a captured call of a block."""

    may_run_twice = False  # states move, and numbers are drawn


def _described(leaf: Any) -> Any:
    if isinstance(leaf, Array):
        return _Kind(type(leaf), leaf._data.shape, leaf._data.dtype, leaf)
    return leaf


class _Kind:
    """What an array was."""

    def __init__(self, cls: type, shape: tuple[int, ...], dtype: numpy.dtype, like: Array) -> None:
        self.shape, self.dtype = shape, dtype
        self.like = like._like(numpy.zeros((0,), dtype))

    def made(self) -> Any:
        """Return zeros of that kind."""
        return self.like._like(numpy.zeros(self.shape, self.dtype))


def _alike(described: Any) -> Any:
    return described.made() if isinstance(described, _Kind) else described
