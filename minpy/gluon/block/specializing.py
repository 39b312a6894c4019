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
    """A block that is captured for what it is called with; `eager` calls it as it is written."""

    errors_are_eager = False  # they name the step of the graph

    def __init__(self, block: Any, eager: Callable[[Any, Any], Any]) -> None:
        enter()
        super().__init__(block, block.name, False, eager, self._warn)
        self.budget = Budget()
        self.signature = block.forward if block._is_written_as_forward else block.hybrid_forward
        self._block = block
        # How the latest call was nested, and its leaves, empty arrays with their shapes in the place of arrays.
        self._example: tuple[Nest, list[Any]] | None = None
        self._refused_in: Any = None

    def specialized(self, captured: CapturedCall) -> Specialization:
        """Return the specialization of a captured call, with the options that the block was hybridized with."""
        for block, guards in getattr(captured.group, "frozen", ()):
            warn_of_frozen(block, guards)
        specialization = _BlockSpecialization(captured, self.name, False)
        self._block._prepare(specialization)
        return specialization

    def dispatch(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the block returns for a call of another kind than the last one."""
        if self.budget.lookups_to_skip > 0 and not keeps_bits():
            return self.call_eagerly(arguments, keywords)
        leaves: list[Any] = []
        spec = flatten((arguments, keywords), leaves)
        assert spec is not None
        if not any(isinstance(leaf, Array) for leaf in leaves) or self._waits():
            return self.eager(arguments, keywords)
        self._example = spec, [_Shaped(leaf) if isinstance(leaf, Array) else leaf for leaf in leaves]
        return self.call(arguments, keywords, spec, leaves)

    def example_arguments(self) -> tuple[Any, ...] | None:
        """Return arguments by position like those of the latest call, with zeros in arrays; None if there was none."""
        if self._example is None:
            return None
        spec, described = self._example
        leaves = [leaf.zeros() if isinstance(leaf, _Shaped) else leaf for leaf in described]
        arguments, keywords = unflatten(spec, iter(leaves))
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


class _Shaped:
    """The class, context, dtype and shape of an array."""

    def __init__(self, array: Array) -> None:
        self._shape = array._data.shape
        self._empty = array._like(numpy.zeros((0,), array._data.dtype))

    def zeros(self) -> Any:
        return self._empty._like(numpy.zeros(self._shape, self._empty._data.dtype))
