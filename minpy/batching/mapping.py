"""`vmap`: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from minpy.batching.batched_array import BatchedArray
from minpy.batching.levels import BATCHED, Level, NotBatchedError
from minpy.bridge.hips_boxes import is_box
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.differentiation.trees import leaves_of, map_tree

__all__ = ["vmap"]


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function that computes for many examples what a function computes for one.

    What it returns is what calling the function for each example, and stacking the results, would. But where it can,
    the function runs once, on arrays that stand for all examples: each call inside, of an operator or of a function of
    NumPy's, is then made once if it is elementwise, has a batch rule (`op.def_batch`), or is one of those functions of
    NumPy's that have one here (reductions, reshaping, joining, basic indexing, products, `linalg`); any other is made
    for each example. A function that asks for values (`if x > 0`, `float(x)`), that changes an array in place, or that
    is given NDArrays is called for each example as a whole. `vmap(f).report(...)` says which.

    Parameters
    ----------
    f : callable
        Takes arrays, or nested dicts, lists and tuples of arrays, by position, and anything by keyword; returns arrays,
        or a nest of them, of the same shapes for each example. It depends on its arguments alone, and draws random
        numbers, if it does, once for all examples.
    in_axes : int, None, or tuple
        Along which axis of the arguments the examples stand; None for an argument that is the same for all. A tuple has
        one entry for each argument, which may be a nest like the argument, or a part of one. What is given by keyword
        is the same for all examples.
    out_axes : int, or a nest
        Where the results have the axis of the examples; a nest like the result, or a part of one.

    Returns
    -------
    callable
        Takes what `f` takes, with an axis more, and returns what it returns, with an axis more. It nests: in itself, in
        `minpy.grad` and its kin, and these in it. Its method `report(...)`, called like it, returns a text that says
        how each call inside was made.

    Raises
    ------
    ArgumentError
        If no argument has an axis of examples, or `in_axes` is not like the arguments.
    ShapeError
        If an argument has no such axis, the axes differ in length, or results differ in shape.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.vmap(np.dot)(np.ones((3, 2)), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([ 3.,  7., 11.])
    >>> minpy.vmap(minpy.grad(lambda w, x: np.tanh(w @ x)), in_axes=(None, 0))(np.zeros(2), np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if not callable(f):
        raise ArgumentError(
            f"vmap: the first argument is the function of one example, got {describe(f)}. Write vmap(f)(x), not "
            "vmap(f(x))."
        )
    name = getattr(f, "__name__", type(f).__name__)

    def run(arguments: Any, keywords: Any, notes: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            from minpy.bridge.hips import through_boxes  # it imports autograd

            return through_boxes(lambda *values, **named: run(values, named, notes), arguments, keywords)
        axes = _axes_of(name, in_axes, arguments)
        size = _batch_size(name, axes, arguments)
        level = Level(size, notes)
        whole = any(
            isinstance(leaf, Array) and leaf._keeps_dtype
            for leaf, axis in zip(leaves_of(arguments), axes, strict=True)
            if axis is not None
        )
        if whole:
            level.note(name, "looped as a whole: it is given NDArrays")
        else:
            try:
                return _out(name, level, _run_at_once(level, f, axes, arguments, keywords), out_axes)
            except NotBatchedError as request:
                if request.level is not level:
                    raise
                level.note(name, f"looped as a whole: {request.reason}")
            finally:
                level.is_open = False
        return _each(name, f, size, axes, arguments, keywords, out_axes)

    def mapped(*arguments: Any, **keywords: Any) -> Any:
        return run(arguments, keywords, None)

    def report(*arguments: Any, **keywords: Any) -> str:
        """Call the function, and return how each call inside was made."""
        notes: list[tuple[str, str]] = []
        run(arguments, keywords, notes)
        return "\n".join(f"{called}: {way}" for called, way in notes)

    functools.update_wrapper(mapped, f, updated=())
    mapped.__name__ = mapped.__qualname__ = f"vmap_of_{name}"
    mapped.__doc__ = (
        f"Return what {name} returns for many examples: see minpy.vmap.\n\n{getattr(f, '__doc__', '') or ''}"
    )
    mapped.report = report  # type: ignore[attr-defined]
    return mapped


# -- axes of arguments -------------------------------------------------------------------------------------------------


def _axes_of(name: str, in_axes: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """Return the axis of each leaf of the arguments."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(arguments):
        raise ArgumentError(
            f"vmap: in_axes has {len(in_axes)} entries, and {name} was called with {len(arguments)} positional "
            "arguments. Give one for each."
        )
    return _like(f"vmap: in_axes of {name}", in_axes, arguments)


def _like(role: str, axes: Any, nest: Any) -> list[Any]:
    """Return the axis for each leaf of a nest: `axes` is like it, or a leaf that stands for a part of it."""
    if axes is None or (isinstance(axes, (int, numpy.integer)) and not isinstance(axes, bool)):
        return [axes] * len(leaves_of(nest))
    if isinstance(axes, dict) and isinstance(nest, dict) and axes.keys() == nest.keys():
        return [leaf for key in nest for leaf in _like(role, axes[key], nest[key])]
    if isinstance(axes, (tuple, list)) and isinstance(nest, (tuple, list)) and len(axes) == len(nest):
        return [leaf for one, part in zip(axes, nest, strict=True) for leaf in _like(role, one, part)]
    raise ArgumentError(
        f"{role} is {axes!r} for {describe(nest)}; expected a position, None, or a nest of these like it."
    )


def _batch_size(name: str, axes: list[Any], arguments: Any) -> int:
    sizes: dict[str, int] = {}
    remaining = iter(axes)

    def note(leaf: Any, path: str) -> None:
        axis = next(remaining)
        if axis is None or leaf is None:
            return
        place = f"argument {path}"
        shape = numpy.shape(leaf) if not hasattr(leaf, "shape") else leaf.shape
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(
                f"vmap: {place} of {name} has the shape {tuple(shape)}, and no axis {axis} along which examples could "
                "stand. Say with in_axes where they are, None for an argument that is the same for all."
            )
        sizes[place] = shape[axis]

    for position, argument in enumerate(arguments):
        map_tree(note, argument, f"{position}")
    if not sizes:
        raise ArgumentError(
            f"vmap: no argument of {name} has an axis of examples: in_axes is None for each. Call {name} itself."
        )
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{place} has {size}" for place, size in sizes.items())
        raise ShapeError(f"vmap: the arguments of {name} differ in the number of examples: {listed}.")
    return next(iter(sizes.values()))


def _moved(value: Any, axis: int, target: int) -> Any:
    return value if axis == target else numpy.moveaxis(value, axis, target)


def _run_at_once(level: Level, f: Any, axes: list[Any], arguments: Any, keywords: Any) -> Any:
    remaining = iter(axes)

    def wrap(leaf: Any, _: str) -> Any:
        axis = next(remaining)
        return leaf if axis is None or leaf is None else BatchedArray(level, _moved(leaf, axis, 0))

    return f(*map_tree(wrap, arguments), **keywords)


# -- results -----------------------------------------------------------------------------------------------------------


def _out(name: str, level: Level, result: Any, out_axes: Any) -> Any:
    axes = iter(_like(f"vmap: out_axes of {name}", out_axes, result))

    def leave(leaf: Any, _: str) -> Any:
        axis = next(axes)
        if leaf is None:
            return None
        if type(leaf) is BatchedArray and leaf.level is level:
            data = leaf.data
        else:
            if (
                not isinstance(leaf, (Array, numpy.ndarray, numpy.generic, int, float, complex))
                and type(leaf) not in BATCHED
            ):
                raise ArgumentError(f"vmap: {name} returned {describe(leaf)}; expected an array, or a nest of arrays.")
            data = numpy.broadcast_to(leaf, (level.batch_size, *numpy.shape(leaf)))
            data = data.copy() if type(data) is numpy.ndarray else data
        if axis is None:
            raise ArgumentError(f"vmap: out_axes of {name} is None for a result; give a position.")
        if not -data.ndim <= axis < data.ndim:
            raise ShapeError(
                f"vmap: {name} returned an array of shape {tuple(data.shape[1:])}, so the result has {data.ndim} axes, "
                f"and no axis {axis} for the examples (out_axes)."
            )
        return _moved(data, 0, axis)

    return map_tree(leave, result)


def _each(name: str, f: Any, size: int, axes: list[Any], arguments: Any, keywords: Any, out_axes: Any) -> Any:
    """Return the stacked results of calls for each example."""

    def example(number: int) -> Any:
        remaining = iter(axes)

        def pick(leaf: Any, _: str) -> Any:
            axis = next(remaining)
            if axis is None or leaf is None:
                return leaf
            if not size:
                return numpy.zeros(numpy.delete(numpy.array(leaf.shape, int), axis), leaf.dtype)
            row = _moved(numpy.asarray(leaf) if isinstance(leaf, list) else leaf, axis, 0)[number, ...]
            return row.copy() if type(row) is numpy.ndarray else row

        return f(*map_tree(pick, arguments), **keywords)

    results = [example(number) for number in range(size)] or [example(0)]
    leaves = [leaves_of(result) for result in results]
    if len({len(each) for each in leaves}) > 1:
        raise ShapeError(
            f"vmap: {name} returned nests of {sorted({len(each) for each in leaves})} arrays for examples."
        )
    axes_out = _like(f"vmap: out_axes of {name}", out_axes, results[0])
    stacked: list[Any] = []
    for parts, axis in zip(zip(*leaves, strict=True), axes_out, strict=True):
        shapes = {numpy.shape(part) for part in parts}
        if len(shapes) > 1:
            raise ShapeError(
                f"vmap: {name} returned arrays of the shapes {', '.join(map(str, sorted(shapes)))} for examples, which "
                "cannot be stacked."
            )
        if parts[0] is None:
            stacked.append(None)
        else:
            whole = (
                numpy.stack(parts) if size else numpy.zeros((0, *numpy.shape(parts[0])), numpy.asarray(parts[0]).dtype)
            )
            stacked.append(_moved(whole, 0, axis))
    remaining = iter(stacked)
    return map_tree(lambda _, __: next(remaining), results[0])
