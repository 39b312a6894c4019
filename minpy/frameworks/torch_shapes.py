"""What PyTorch is told of an operator's outputs before there are numbers, where lengths may be symbols.

A rule of the operator's (`def_shape`) computes with symbols as it does with integers. Without one, the shapes are
inferred for several lengths in the place of each symbol, and those of the outputs are written in terms of these: a
length of an input, a product of such lengths, a multiple and a summand. Where that fails, a symbol becomes the number
that it stands for, and another graph is made for another number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import MXNetError, NotTraceableError, ShapeError
from minpy.frameworks.batched_derivatives import BatchedDerivative
from minpy.frameworks.derivatives import Derivative
from minpy.frameworks.inference import ArraySpec, InferredOutputs, returned_dtypes
from minpy.frameworks.sized_proxies import SizedRecorder
from minpy.frameworks.sizes import Unproven, far_rows
from minpy.frameworks.tracing import TracedOperator
from minpy.ops.inference.partial_shapes import UNKNOWN

__all__ = ["outputs_of"]

# Lengths that symbols are given, all different; those of one probe in a row.
_PROBES = ((23, 29, 31, 37, 41, 43, 47, 53), (59, 61, 67, 71, 73, 79, 83, 89), (97, 101, 103, 107, 109, 113, 127, 131))

Shape = tuple[Any, ...]


def outputs_of(
    derivative: Derivative,
    shapes: Sequence[Shape],
    dtypes: Sequence[numpy.dtype],
    number_of: Callable[[Any], int],
    is_symbol: Callable[[Any], bool],
    require: Callable[[Any], Any],
) -> list[tuple[Shape, numpy.dtype]]:
    """Return the shape and dtype of each array that a derivative gives; lengths may be symbols, or UNKNOWN.

    `number_of` gives the number that a symbol stands for while a graph is made; `require` is called with what has to
    be true of symbols.
    """
    if derivative.chain:
        mode, positions = derivative.chain[-1]
        below, below_dtypes = shapes[derivative.offset :], dtypes[derivative.offset :]
        if mode == "pull":
            return [(tuple(below[position]), below_dtypes[position]) for position in positions]
        assert derivative.lower is not None
        return outputs_of(derivative.lower, below, below_dtypes, number_of, is_symbol, require)
    if isinstance(derivative, BatchedDerivative):
        count, examples = shapes[0][0], [tuple(shape[1:]) for shape in shapes]
        outputs = outputs_of(derivative.each, examples, dtypes, number_of, is_symbol, require)
        return [((count, *shape), dtype) for shape, dtype in outputs]
    symbols = list({str(length): length for shape in shapes for length in shape if is_symbol(length)}.values())
    if not symbols:
        inferred = _required(derivative, derivative.infer_outputs(_specs(shapes, dtypes)))
        return [(tuple(spec.shape), spec.dtype) for spec in inferred]
    ruled = _by_rule(derivative, shapes, dtypes, number_of)
    if ruled is not None:
        return ruled
    probed = _by_probes(derivative, shapes, dtypes, symbols, {}, number_of)
    if probed is not None:
        return probed
    # Perhaps some have to be equal: those that are, in the call that the graph is made for.
    first: dict[int, Any] = {}
    for symbol in symbols:
        first.setdefault(number_of(symbol), symbol)
    equal = [symbol for symbol in symbols if first[number_of(symbol)] is not symbol]
    if equal:
        merged = {str(symbol): first[number_of(symbol)] for symbol in equal}
        probed = _by_probes(derivative, shapes, dtypes, list(first.values()), merged, number_of)
        if probed is not None:
            for symbol in equal:
                require(symbol == first[number_of(symbol)])
            return probed
    # Perhaps some have to be a certain number, as an array outside has that length.
    free = [
        symbol
        for symbol in symbols
        if _by_probes(derivative, _fixed(shapes, [symbol], number_of), dtypes, [symbol], {}, number_of)
    ]
    probed = _by_probes(derivative, _fixed(shapes, free, number_of), dtypes, free, {}, number_of) if free else None
    if probed is not None:
        for symbol in symbols:
            if all(symbol is not other for other in free):
                int(symbol)  # it is that number from here on
        return probed
    numbers = [tuple(int(length) for length in shape) for shape in shapes]
    inferred = _required(derivative, derivative.infer_outputs(_specs(numbers, dtypes)))
    return [(tuple(spec.shape), spec.dtype) for spec in inferred]


def _fixed(shapes: Sequence[Shape], free: Sequence[Any], number_of: Callable[[Any], int]) -> list[Shape]:
    """Return shapes with numbers in the place of symbols, but those of some."""
    names = {str(symbol) for symbol in free}
    return [tuple(length if str(length) in names else number_of(length) for length in shape) for shape in shapes]


def _specs(shapes: Sequence[Shape], dtypes: Sequence[numpy.dtype]) -> list[ArraySpec]:
    return [ArraySpec(tuple(map(int, shape)), dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _required(derivative: Derivative, inferred: InferredOutputs) -> InferredOutputs:
    """Return what was inferred, or raise for a guess: a graph must not claim a shape that hangs on values."""
    if not inferred.is_guess:
        return inferred
    operator = derivative.operator
    name = operator.__name__
    raise ShapeError(
        f"{name}: the shape of what it returns is not known before it is run, as it can neither be traced nor has a "
        f"rule. Say it with {name}.def_shape(rule), where rule(*input_shapes, **attributes) returns the output's "
        f"shape, with {UNKNOWN} for a length that hangs on values; {name}.trace_report(...) says why it is not traced."
    )


def _by_rule(
    derivative: Derivative, shapes: Sequence[Shape], dtypes: Sequence[numpy.dtype], number_of: Callable[[Any], int]
) -> list[tuple[Shape, numpy.dtype]] | None:
    operator = derivative.operator
    if operator.shape_rule is None or derivative.absent:
        return None
    ruled = operator.shape_rule(*shapes, **derivative.attributes)
    several = isinstance(ruled, list) or (isinstance(ruled, tuple) and ruled and isinstance(ruled[0], (tuple, list)))
    outputs = [tuple(shape) for shape in ruled] if several else [tuple(ruled)] * derivative.num_outputs
    hints = [tuple(map(number_of, shape)) for shape in shapes]
    returned = returned_dtypes(operator, _specs(hints, dtypes), derivative.attributes)
    if returned is None or len(returned) != len(outputs):
        return None
    return list(zip(outputs, returned, strict=True))


def _by_probes(
    derivative: Derivative,
    shapes: Sequence[Shape],
    dtypes: Sequence[numpy.dtype],
    symbols: Sequence[Any],
    merged: Mapping[str, Any],
    number_of: Callable[[Any], int],
) -> list[tuple[Shape, numpy.dtype]] | None:
    """Return the outputs' shapes in terms of symbols; None where that is not found.

    `merged`: symbols that are given the length of another.
    """
    if len(symbols) > len(_PROBES[0]):
        return None
    assignments = [{str(symbol): length for symbol, length in zip(symbols, probe, strict=False)} for probe in _PROBES]
    try:
        assignments += _more_assignments(derivative, shapes, dtypes, symbols, merged, assignments[0])
    except Unproven:
        return None
    assignments.append({str(symbol): number_of(symbol) for symbol in symbols})
    for lengths in assignments:
        lengths.update({name: lengths[str(symbol)] for name, symbol in merged.items()})
    results: list[InferredOutputs] = []
    for lengths in assignments:
        probe = [tuple(lengths.get(str(length), length) for length in shape) for shape in shapes]
        try:
            results.append(_required(derivative, derivative.infer_outputs(_specs(probe, dtypes))))
        except (MXNetError, ArithmeticError, LookupError, TypeError, ValueError):
            return None  # these lengths have to agree with each other, or with a number
    if len({tuple(len(spec.shape) for spec in result) for result in results}) > 1:
        return None
    outputs = []
    for specs in zip(*results, strict=True):
        shape = []
        for seen in zip(*(spec.shape for spec in specs), strict=True):
            written = _in_terms_of(seen, symbols, assignments)
            if written is None:
                return None
            shape.append(written)
        outputs.append((tuple(shape), specs[0].dtype))
    return outputs


def _more_assignments(
    derivative: Derivative,
    shapes: Sequence[Shape],
    dtypes: Sequence[numpy.dtype],
    symbols: Sequence[Any],
    merged: Mapping[str, Any],
    probe: Mapping[str, int],
) -> list[dict[str, int]]:
    """Return lengths beyond what may bound the length of an output, as that of `x[:100]`."""
    names = {str(symbol) for symbol in symbols}
    merged_names = {name: str(symbol) for name, symbol in merged.items()}
    rows = [
        [name if (name := merged_names.get(str(length), str(length))) in names else int(length) for length in shape]
        for shape in shapes
    ]
    bounds: set[int] = set()
    if not derivative.chain and not derivative.absent:
        probed = [tuple(probe[length] if isinstance(length, str) else length for length in row) for row in rows]
        try:
            operator = TracedOperator(derivative.operator, _specs(probed, dtypes), dict(derivative.attributes))
            recorder = operator.at(probed).forward.recorder
        except NotTraceableError:
            recorder = None
        if isinstance(recorder, SizedRecorder):
            bounds = recorder.lengths.bounds(recorder)
    return far_rows(sorted(names), rows, bounds)


def _in_terms_of(lengths: Sequence[int], symbols: Sequence[Any], assignments: Sequence[dict[str, int]]) -> Any:
    """Return a length, seen in each probe, as a number or in terms of symbols; None if it is neither."""
    if len(set(lengths)) == 1:
        return lengths[0]
    for count in range(1, len(symbols) + 1):
        for chosen in itertools.combinations(symbols, count):
            products = [math.prod(lengths_of[str(symbol)] for symbol in chosen) for lengths_of in assignments]
            line = _line(products, lengths)
            if line is not None:
                factor, summand = line
                product = math.prod(chosen[1:], start=chosen[0])
                scaled = product if factor == 1 else product * factor
                return scaled if summand == 0 else scaled + summand
    return None


def _line(xs: Sequence[int], ys: Sequence[int]) -> tuple[int, int] | None:
    """Return whole numbers (a, b) with a·x + b = y in each place, or None.

    >>> _line((2, 3, 5), (5, 7, 11))
    (2, 1)
    """
    factor, remainder = divmod(ys[1] - ys[0], xs[1] - xs[0])
    summand = ys[0] - factor * xs[0]
    if remainder or any(factor * x + summand != y for x, y in zip(xs, ys, strict=True)):
        return None
    return factor, summand
