"""Derivatives inside of `vmap`: one run under the tape for all examples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from minpy.batching.levels import BATCHED, LIVING, Level, holds_batched
from minpy.core.array import as_raw
from minpy.differentiation.nested import Call, stacked_derivatives
from minpy.differentiation.trees import leaves_of, map_tree

__all__ = ["BatchedCall", "with_call"]


def with_call(
    finish: Callable[[Call], Any],
    name: str,
    function: Callable[..., Any],
    argnums: Sequence[int],
    single: bool,
    arguments: Sequence[Any],
    keywords: dict[str, Any],
    run: bool = True,
) -> Any:
    """Return what `finish` makes of one run of a function under the tape; see `Call`.

    Where a value stands for many examples, it is one run for all of them.
    """
    if not LIVING:
        return finish(Call(name, function, argnums, single, arguments, keywords, run=run))
    levels = _levels_in((tuple(arguments), keywords))
    while True:
        try:
            if not levels:
                watched = _watched(function)
                return finish(Call(name, watched, argnums, single, arguments, keywords, run=run))
            return finish(BatchedCall(levels, name, function, argnums, single, arguments, keywords, run=run))
        except _FurtherLevels as further:
            levels |= further.levels


class _FurtherLevels(Exception):
    """A function reads what stands for many examples from outside: its gradients differ from example to example."""

    def __init__(self, levels: set[Level]) -> None:
        super().__init__()
        self.levels = levels


def _watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that ends the run where its result stands for many examples."""

    @functools.wraps(function, updated=())
    def watched(*inputs: Any, **options: Any) -> Any:
        result = function(*inputs, **options)
        if holds_batched(result):
            raise _FurtherLevels(_levels_in(result))
        return result

    return watched


def _levels_in(nest: Any) -> set[Level]:
    levels = set()
    for leaf in leaves_of(nest):
        while type(leaf) in BATCHED:
            levels.add(leaf.level)
            leaf = leaf.data
    return levels


class BatchedCall(Call):
    """One run of a function for all examples of some levels of `vmap`.

    The tape sees arrays with an axis for each level in front, that of the outermost first. The function, and whoever
    asks, see arrays in the place of one example's.
    """

    def __init__(
        self,
        levels: Iterable[Level],
        name: str,
        function: Callable[..., Any],
        argnums: Sequence[int],
        single: bool,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
        run: bool = True,
    ) -> None:
        self.levels = sorted(levels, key=lambda level: level.number)
        positions = {argnum % len(arguments) for argnum in argnums if -len(arguments) <= argnum < len(arguments)}

        def of_all(*inputs: Any, **options: Any) -> Any:
            result = function(
                *(self.lifted(value) if index in positions else value for index, value in enumerate(inputs)), **options
            )
            further = _levels_in(result) - set(self.levels)
            if further:
                raise _FurtherLevels(further)
            return self.lowered(result)

        of_all.__name__ = getattr(function, "__name__", type(function).__name__)
        lowered = [self.lowered(value) if index in positions else value for index, value in enumerate(arguments)]
        super().__init__(name, of_all, argnums, single, lowered, keywords, run=run)

    def lowered(self, nest: Any) -> Any:
        """Return a nest with arrays for all examples in the place of those for one."""

        def lower(leaf: Any, _: str) -> Any:
            if leaf is None or isinstance(leaf, (str, bytes)):
                return leaf
            for level in reversed(self.levels):
                if type(leaf) in BATCHED and leaf.level is level:
                    leaf = leaf.data
                elif type(leaf) in BATCHED or not isinstance(leaf, (bool, int)):
                    leaf = numpy.broadcast_to(leaf, (level.batch_size, *numpy.shape(leaf)))
            return leaf

        return map_tree(lower, nest)

    def lifted(self, nest: Any) -> Any:
        """Return a nest with arrays for one example in the place of those for all."""
        (batched_class,) = BATCHED

        def lift(leaf: Any, _: str) -> Any:
            for level in self.levels if leaf is not None else ():
                leaf = batched_class(level, leaf)
            return leaf

        return map_tree(lift, nest)

    def shape_of(self, output: Any) -> tuple[int, ...]:
        """Return the shape that one example's result has."""
        return super().shape_of(output)[len(self.levels) :]

    def jacobians(self) -> Any:
        """Return a nest like the result, of nests like the arguments, of derivatives."""
        depth = len(self.levels)
        blocks: list[Any] = []
        for position, output in enumerate(self.outputs):
            raw = as_raw(output)
            rows: list[list[Any]] = []
            for element in range(int(numpy.prod(raw.shape[depth:], dtype=int))):
                start = numpy.zeros(raw.shape, raw.dtype)
                start.reshape(*raw.shape[:depth], -1)[..., element] = 1
                starts: list[Any] = [None] * len(self.outputs)
                starts[position] = start
                rows.append(self.pull(starts))
            columns = [
                stacked_derivatives([row[number] for row in rows], raw.shape, as_raw(variable), depth)
                for number, variable in enumerate(self.variables)
            ]
            blocks.append(self._restore(iter(columns), whole=False))
        remaining = iter(blocks)
        return map_tree(lambda _, __: next(remaining), self.structure)

    def like_result(self, values: Sequence[Any]) -> Any:
        """Return arrays in the structure of the function's result."""
        return self.lifted(super().like_result(values))

    def _restore(self, parts: Any, whole: bool = True) -> Any:
        return self.lifted(super()._restore(parts, whole))
