"""Which kind of kernel does a convolution: a model of the cycles that each kind takes, which can be printed.

A cycle is the time of one product of two vectors; loads and stores that do not hide behind products are counted in the
same unit. On processors with AVX-512 the model is within about a quarter of measurements; what matters is which kind it
says is fastest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from minpy.backends.native.convolutions.channels_last import block_of_positions, filter_vectors, flat
from minpy.backends.native.convolutions.problem import Problem, forward_axes
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch, batch_lanes, block_of
from minpy.backends.native.convolutions.winograd_kernels import covers_winograd, winograd_cycles

__all__ = ["Plan", "choose"]

# A product of matrices by a BLAS takes so much longer than its products of vectors alone.
PRODUCT = 1.15

# Cycles to make a vector of columns, or to add one to where it came from.
COLUMN = 2.5

# Examples below which the channels are last in inference.
FEW = 16

# A call of Python, which ends a launch sequence; and how much longer all takes, as nothing is fused with it.
CALL, PYTHON = 40000, 1.3

# The factor for what is not a product in the generated kernels: copies, borders, the ends of loops.
DIRECT = 1.05

# Data of so many channels do not stay in the caches: 1 x 1 kernels of 1024 channels take 1.2 times as long as a product
# of matrices, of 2048 1.5 times, of 512 1.05 times.
DEEP, DEEPER = 1024, 1.25


@dataclass(frozen=True)
class Plan:
    """How a convolution, or a gradient of one, is done.

    Attributes
    ----------
    kind : {'direct', 'winograd', 'product', 'channels', 'channels depthwise', 'channels winograd', 'columns'}
        'product' is one product of matrices; 'channels...' have the channels last, the others the batch; 'columns'
        are the Python kernels, which make columns and multiply them.
    problem : Problem
    cycles : tuple of (str, float)
        What the model says of each kind that can do it.

    Examples
    --------
    >>> print(choose(Problem(32, 64, 64, (32, 32), (5, 5), pad=(2, 2)), "result", Processor(64, 32)))
    result of 32 x 64 x 32 x 32 by 64 x 5 x 5: direct
        direct: 215 million cycles
        columns: 383 million cycles
    """

    kind: str
    computed: str
    problem: Problem
    cycles: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        """Return the choice, and what the model says of each kind."""
        problem = self.problem
        shape = " x ".join(map(str, (problem.batch, problem.channels, *problem.lengths)))
        kernel = " x ".join(map(str, (problem.filters, *problem.kernel)))
        lines = [f"{self.computed} of {shape} by {kernel}: {self.kind}"]
        lines += [f"    {kind}: {cycles / 1e6:.3g} million cycles" for kind, cycles in self.cycles]
        return "\n".join(lines)


@lru_cache(maxsize=4096)
def choose(problem: Problem, computed: str, processor: Processor, inference: bool = False) -> Plan:
    """Return how a convolution ('result'), or the gradient of its data ('data') or weight ('weight'), is done.

    In inference, where there are no gradients, few examples have the channels last.
    """
    cycles_by_kind: dict[str, float] = {}
    depthwise = problem.is_depthwise and problem.groups > 1
    if (
        inference
        and computed == "result"
        and problem.batch < FEW
        and not (depthwise and problem.filters != problem.channels)
    ):
        # All of a network lies the same way: products and ways with the batch last would have it turned.
        if depthwise:
            cycles_by_kind["channels depthwise"] = _channels_depthwise(problem, processor)
        else:
            cycles_by_kind["channels"] = _channels(problem, processor)
            if covers_winograd(problem, computed):
                cycles_by_kind["channels winograd"] = winograd_cycles(problem, computed, processor, channels_last=True)
    else:
        cycles_by_kind["direct"] = _direct(problem, computed, processor)
        if is_product(problem):
            cycles_by_kind["product"] = PRODUCT * _products(problem, processor)
        if covers_winograd(problem, computed):
            cycles_by_kind["winograd"] = winograd_cycles(problem, computed, processor, channels_last=False)
        cycles_by_kind["columns"] = _columns(problem, computed, processor)
    cycles = tuple(sorted(cycles_by_kind.items(), key=lambda item: item[1]))
    return Plan(cycles[0][0], computed, problem, cycles)


def is_product(problem: Problem) -> bool:
    """Tell whether a convolution is one product of matrices: of a kernel of one element."""
    return problem.kernel == problem.stride == (1, 1) and problem.pad == (0, 0) and problem.groups == 1


def _taps(problem: Problem) -> float:
    """Return the number of taps that find data, on average over the positions, for each channel."""
    total = 1.0
    for k, s, d, p, length, count in zip(
        problem.kernel, problem.stride, problem.dilate, problem.pad, problem.lengths, problem.positions, strict=True
    ):
        inside = sum(1 for t in range(count) for i in range(k) if 0 <= t * s + i * d - p < length)
        total *= inside / count
    return total


def _products(problem: Problem, processor: Processor) -> float:
    """Return the products of vectors that a product of matrices takes, padding included."""
    return problem.flops / 2 / processor.lanes(problem.itemsize)


def _direct(problem: Problem, computed: str, processor: Processor) -> float:
    """Return the cycles of the direct kernels."""
    channels, filters = problem.channels // problem.groups, problem.filters // problem.groups
    lanes = processor.lanes(problem.itemsize)
    sums = problem.groups * channels * filters * math.prod(problem.positions) * _taps(problem)
    if computed == "weight":
        width = batch_lanes(problem.batch, lanes, 1).width
        vectors = -(-problem.batch // width)
        # Lanes are added up in the end, two or three instructions for a number.
        ends = 4 * math.prod(problem.weight_shape)
        return DIRECT * 1.2 * sums * vectors + ends
    results, terms = (filters, channels) if computed == "result" else (channels, filters)
    block = block_of(results, problem.batch, lanes, processor)
    return (
        DIRECT
        * (DEEPER if terms >= DEEP else 1)
        * sums
        * problem.batch
        / batch_lanes(problem.batch, lanes, block.columns).width
        * block.cycles
    )


def _channels(problem: Problem, processor: Processor) -> float:
    """Return the cycles of the kernels with the channels last; weights are packed once."""
    rows, columns = forward_axes(flat(problem, processor))
    vectors = filter_vectors(problem, processor)
    *_, cycles = block_of_positions(columns, vectors.count, processor, problem.channels * problem.itemsize)
    taps = sum(rows.ends(t) - rows.begins(t) for t in range(rows.count))
    return DIRECT * problem.batch * problem.channels * taps * cycles


def _channels_depthwise(problem: Problem, processor: Processor) -> float:
    """Return the cycles of the depthwise kernels with the channels last: a load for each product."""
    vectors = VectorsOfBatch.of(problem.channels, processor.lanes(problem.itemsize)).count
    return 2 * problem.batch * math.prod(problem.positions) * _taps(problem) * vectors


def _columns(problem: Problem, computed: str, processor: Processor) -> float:
    """Return the cycles of the Python kernels: columns, and their product."""
    lanes = processor.lanes(problem.itemsize)
    columns = problem.channels * math.prod(problem.kernel) * math.prod(problem.positions) * problem.batch / lanes
    if is_product(problem):
        columns = 0
    small = 1 + 8 * problem.groups / problem.filters + 4 * problem.groups / problem.channels
    return PYTHON * (PRODUCT * small * _products(problem, processor) + COLUMN * columns) + CALL
