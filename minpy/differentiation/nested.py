"""One run of a function under the tape, with nests of arrays (tuples, lists and dicts of them) on both sides."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from minpy.core.array import FRONT_ENDS, Array, Shaped, as_raw
from minpy.core.buffers import owned
from minpy.core.dispatch import require_differentiable
from minpy.core.errors import ArgumentError, DTypeError, ShapeError, describe
from minpy.differentiation import recorded_run
from minpy.differentiation.trees import leaves_of, map_tree

__all__ = ["Call", "matching", "ones_like", "stacked_derivatives"]

Function = Callable[..., Any]


class Call:
    """One run of a function under the tape: nests of arrays flattened on the way in, and restored on the way out."""

    def __init__(
        self,
        name: str,
        function: Function,
        argnums: Sequence[int],
        single: bool,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
        run: bool = True,
    ) -> None:
        self.name = name
        self.function = function
        self.single = single
        self.argnums = _positions(name, function, argnums, len(arguments))
        self.arguments = arguments
        self.keywords = keywords
        self.variables: list[Any] = []
        for argnum in self.argnums:
            map_tree(functools.partial(self._add_variable, argnum), arguments[argnum])
        # NumPy's arrays came in, so NumPy's go out; whoever gave minpy.numpy's gets those.
        self.plain = not any(type(leaf) is FRONT_ENDS["numpy"] for leaf in leaves_of((arguments, keywords)))
        self.structure: Any = None
        self.outputs: Sequence[Any] = ()
        if run:
            self.outputs, self.pull = recorded_run.vjp(self.flat, self.variables, range(len(self.variables)))

    def flat(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on a flat list of variables, and return a flat tuple of results."""
        inputs = list(self.arguments)
        remaining = iter(values)
        for argnum in self.argnums:
            inputs[argnum] = map_tree(lambda leaf, _: leaf if leaf is None else next(remaining), inputs[argnum])
        self.structure = self.function(*inputs, **self.keywords)
        outputs = leaves_of(self.structure)
        for output in outputs:
            if not isinstance(output, (Array, numpy.ndarray, numpy.generic, float, int, complex)):
                name = getattr(self.function, "__name__", "the function")
                raise ArgumentError(
                    f"{self.name}: {name} returned {describe(output)}; expected an array or a number"
                    f"{' (or a nest of them)' if len(outputs) > 1 else ''}. Does every path of it return its result?"
                )
        return tuple(outputs)

    def real_outputs(self) -> Sequence[Any]:
        """Return the results, all of which are real floating-point numbers."""
        for output in self.outputs:
            raw = as_raw(output)
            if raw.dtype.kind == "c":
                raise DTypeError(
                    f"{self.name}: the result is complex ({describe(raw)}); a gradient is of a real "
                    "function. Take numpy.real, numpy.imag or numpy.abs of the result."
                )
            if raw.dtype.kind in "bui":
                name = getattr(self.function, "__name__", type(self.function).__name__)
                raise DTypeError(
                    f"{self.name}: {name} returned {describe(raw)}, and integers and truth values have no gradient. "
                    "Return the floating-point number that they are computed of."
                )
        return self.outputs

    def one_number(self) -> Sequence[Any]:
        """Return the gradient to start with at a result that is one number."""
        outputs = self.real_outputs()
        if len(outputs) != 1 or math.prod(self.shape_of(outputs[0])) != 1:
            shaped = [Shaped(self.shape_of(output), as_raw(output).dtype) for output in outputs]
            got = describe(shaped[0]) if len(shaped) == 1 else f"a nest of {len(shaped)} arrays"
            raise ShapeError(
                f"{self.name} differentiates a function whose result is one number, got {got}. Sum it up, or use "
                "jacobian (every element's derivative) or elementwise_grad (the derivative of the sum)."
            )
        return [ones_like(outputs[0])]

    def shape_of(self, output: Any) -> tuple[int, ...]:
        """Return the shape of a result."""
        shape: tuple[int, ...] = as_raw(output).shape
        return shape

    def lowered(self, nest: Any) -> Any:
        """Return gradients or tangents that are given as the tape takes them."""
        return nest

    def gradients(self, starts: Sequence[Any]) -> Any:
        """Return the arguments' gradients: for one argument its own, else a tuple."""
        parts = self.pull(starts)
        for position in range(len(parts)):
            if isinstance(parts[position], numpy.ndarray):
                parts[position] = owned(parts, position)
        return self._restore(iter(parts))

    def jacobians(self) -> Any:
        """Return a nest like the result, of nests like the arguments, of derivatives."""
        blocks: list[Any] = []
        for position, output in enumerate(self.outputs):
            shape, size = as_raw(output).shape, as_raw(output).size
            rows: list[list[Any]] = []
            for element in range(size):
                start = numpy.zeros(shape, as_raw(output).dtype)
                start.reshape(-1)[element] = 1
                starts: list[Any] = [None] * len(self.outputs)
                starts[position] = start
                rows.append(self.pull(starts))
            columns = [
                stacked_derivatives([row[number] for row in rows], shape, as_raw(variable))
                for number, variable in enumerate(self.variables)
            ]
            blocks.append(self._restore(iter(columns), whole=False))
        remaining = iter(blocks)
        return map_tree(lambda _, __: next(remaining), self.structure)

    def result(self) -> Any:
        """Return what the function returned, in the kind of array that was given."""
        return self.like_result(
            [self.pull.cut(output) for output in self.outputs] if hasattr(self, "pull") else self.outputs
        )

    def like_result(self, values: Sequence[Any]) -> Any:
        """Return arrays in the structure of the function's result."""
        remaining = iter(values)
        return map_tree(lambda leaf, _: self._result_leaf(leaf, next(remaining)), self.structure)

    def _result_leaf(self, output: Any, value: Any) -> Any:
        if isinstance(output, Array) and value is not output:
            value = output._like(as_raw(value), getattr(value, "_node", None))
        if not isinstance(value, Array):
            return value
        if value._node is not None or not self.plain or not isinstance(value, FRONT_ENDS["numpy"]):
            return value
        if value._data.ndim:
            return value._data
        are_numbers = all(type(variable) in (float, complex) for variable in self.variables)
        return value._data.item() if are_numbers else value._data[()]

    def _restore(self, parts: Iterator[Any], whole: bool = True) -> Any:
        """Return gradients in the structure, and the kind of array, of the arguments."""

        def leaf(argument: Any, _: Any) -> Any:
            return None if argument is None else _in_kind_of(argument, next(parts))

        restored = tuple(map_tree(leaf, self.arguments[argnum]) for argnum in self.argnums)
        return restored[0] if self.single else restored

    def _add_variable(self, argnum: int, leaf: Any, path: str) -> Any:
        if leaf is None and path:
            return
        place = f"{self.name}: argument {argnum}{path}"
        if isinstance(leaf, (bool, int)) and not isinstance(leaf, numpy.generic):
            raise DTypeError(
                f"{place} is {describe(leaf)}, and integers have no gradient. Give a float ({float(leaf)}), or choose "
                "another argument with argnum."
            )
        if not isinstance(leaf, (Array, numpy.ndarray, numpy.generic, float, complex)):
            raise DTypeError(
                f"{place} is {describe(leaf)}, which has no gradient: only floating-point arrays and numbers do, and "
                "dicts, lists and tuples of them. Choose another argument with argnum."
            )
        require_differentiable(as_raw(leaf).dtype, place)
        self.variables.append(leaf)


def _positions(name: str, function: Any, argnums: Sequence[int], count: int) -> tuple[int, ...]:
    """Return argnums as positions from the left, all of which exist in a call of `count` arguments."""
    for argnum in argnums:
        if not -count <= argnum < count:
            raise ArgumentError(
                f"{name}: there is no argument {argnum}: {getattr(function, '__name__', 'the function')} was called "
                f"with {count} positional argument{'s' if count != 1 else ''}. What is differentiated is given by "
                "position."
            )
    return tuple(int(argnum) % count for argnum in argnums)


def ones_like(output: Any) -> numpy.ndarray:
    """Return the gradient to start with at a result: raw ones."""
    data = as_raw(output)
    return numpy.ones(data.shape, data.dtype)


def _in_kind_of(argument: Any, part: Any) -> Any:
    """Return a derivative as the kind of array that an argument was; recorded ones stay on the tape."""
    if isinstance(part, Array):
        return argument._like(part._data, part._node) if isinstance(argument, Array) else part
    if isinstance(argument, Array):
        return argument._like(part)
    if isinstance(argument, numpy.ndarray) or part.ndim:
        return part
    return part[()] if isinstance(argument, numpy.generic) else part.item()


def stacked_derivatives(rows: Sequence[Any], shape: tuple[int, ...], variable: numpy.ndarray, depth: int = 0) -> Any:
    """Return derivatives of single elements as one array of the result's shape followed by the variable's.

    The first `depth` axes are those of examples, which result and variable have in common.
    """
    whole = shape + variable.shape[depth:]
    if not any(isinstance(row, Array) for row in rows):
        if not rows:
            return numpy.zeros(whole, variable.dtype)
        return numpy.moveaxis(numpy.array(rows, variable.dtype), 0, depth).reshape(whole)
    return numpy.reshape(numpy.moveaxis(numpy.stack(rows), 0, depth), whole)


def matching(role: str, nest: Any, like: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves of a nest, which is to be like `like`, whose leaves are `leaves`.

    Raises
    ------
    ShapeError
        If structures or shapes differ.
    """
    values: list[Any] = []
    paths: list[str] = []

    def collect(leaf: Any, path: str) -> None:
        if leaf is not None:
            values.append(leaf)
            paths.append(path)

    map_tree(collect, nest)
    expected: list[str] = []
    map_tree(lambda leaf, path: expected.append(path) if leaf is not None else None, like)
    if paths != expected:
        raise ShapeError(
            f"{role} must have the structure of what it belongs to: expected arrays at {_listed(expected)}, got them "
            f"at {_listed(paths)}."
        )
    for leaf, path, value in zip(leaves, paths, values, strict=True):
        if numpy.shape(as_raw(leaf)) != numpy.shape(as_raw(value)):
            raise ShapeError(f"{role}{path} has shape {as_raw(value).shape}, expected {as_raw(leaf).shape}.")
    return values


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(path or "the top" for path in paths) or "no place"
