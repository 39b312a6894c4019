"""Well-known programs in the step language, forward and backward: softmax, norms, Adam, a recurrent network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.backends.native.language import (
    Array,
    Assembly,
    Elementwise,
    Layout,
    Part,
    Product,
    Reduce,
    Routine,
    Step,
    constant,
    contiguous,
    viewed,
)

FLOAT = numpy.dtype("float32")


class Writer:
    """Writes a routine, a part at a time."""

    def __init__(self, dtype: Any = FLOAT) -> None:
        self.dtype = numpy.dtype(dtype)
        self.parts: list[Part] = []
        self.steps: list[Step] = []
        self.inputs: list[Array] = []

    def input(self, name: str, *shape: int) -> Array:
        array = Array(shape, self.dtype, name=name)
        self.inputs.append(array)
        return array

    def add(self, array: Array) -> Array:
        if array.step is not None and not any(array.step in steps for steps in (self.steps, *self._before())):
            for operand in array.step.operands:
                self.add(operand)
            self.steps.append(array.step)
        return array

    def _before(self) -> list[list[Step]]:
        return [part.steps for part in self.parts]

    def __call__(self, function: str, *operands: Any) -> Array:
        arrays = [one if isinstance(one, Array) else constant(one, self.dtype) for one in operands]
        return self.add(Elementwise.of(function, *arrays))

    def reduce(self, function: str, array: Array, *axes: int) -> Array:
        return self.add(Reduce.of(function, array, axes))

    def view(self, array: Array, function: Callable[[numpy.ndarray], numpy.ndarray]) -> Array:
        return self.add(viewed(array, function))

    def product(self, first: Array, second: Array) -> Array:
        return self.add(Product.of(first, second))

    def assembly(self, pieces: Sequence[Array], axis: int) -> Array:
        """Concatenate arrays of one shape."""
        length = pieces[0].shape[axis]
        shape = list(pieces[0].shape)
        shape[axis] = length * len(pieces)
        strides = contiguous(shape)
        layouts = [Layout(number * length * strides[axis], strides) for number in range(len(pieces))]
        return self.add(Assembly.of(pieces, shape, layouts))

    def part(self, name: str, outputs: Sequence[Array], updates: Sequence[tuple[Array, Array]] = ()) -> None:
        self.parts.append(Part(name, self.inputs, self.steps, list(outputs), list(updates)))
        self.inputs, self.steps = [], []

    def routine(self) -> Routine:
        return Routine(self.parts)


def softmax(rows: int = 32, columns: int = 100) -> Routine:
    w = Writer()
    x = w.input("x", rows, columns)
    e = w("exp", w("subtract", x, w.reduce("max", x, 1)))
    y = w("divide", e, w.reduce("sum", e, 1))
    w.part("forward", [y])
    g = w.input("g", rows, columns)
    w.part("backward", [w("multiply", y, w("subtract", g, w.reduce("sum", w("multiply", g, y), 1)))])
    return w.routine()


def layer_norm(rows: int = 32, columns: int = 96) -> Routine:
    w = Writer()
    x, gamma, beta = w.input("x", rows, columns), w.input("gamma", columns), w.input("beta", columns)
    n = 1 / columns
    centred = w("subtract", x, w("multiply", w.reduce("sum", x, 1), n))
    variance = w("multiply", w.reduce("sum", w("square", centred), 1), n)
    scale = w("divide", 1, w("sqrt", w("add", variance, 1e-5)))
    hat = w("multiply", centred, scale)
    y = w("add", w("multiply", hat, gamma), beta)
    w.part("forward", [y])
    g = w.input("g", rows, columns)
    gh = w("multiply", g, gamma)
    one = w("multiply", w.reduce("sum", gh, 1), n)
    two = w("multiply", hat, w("multiply", w.reduce("sum", w("multiply", gh, hat), 1), n))
    dx = w("multiply", scale, w("subtract", w("subtract", gh, one), two))
    flat = [w.view(w.reduce("sum", one, 0), lambda a: a.reshape(columns)) for one in (w("multiply", g, hat), g)]
    w.part("backward", [dx, *flat])
    return w.routine()


def batch_norm_relu(*shape: int) -> Routine:
    """Batch norm as it is written for users: statistics are vectors, reshaped where they meet the data."""
    w = Writer()
    shape = shape or (4, 8, 6, 6)
    axes = tuple(axis for axis in range(len(shape)) if axis != 1)
    kept = tuple(length if axis == 1 else 1 for axis, length in enumerate(shape))
    channels = shape[1]
    n = channels / numpy.prod(shape)

    def flat(array: Array) -> Array:
        return w.view(array, lambda a: a.reshape(channels))

    def full(array: Array) -> Array:
        return w.view(array, lambda a: a.reshape(kept))

    x, gamma, beta = w.input("x", *shape), w.input("gamma", channels), w.input("beta", channels)
    moving = w.input("moving", channels)
    mean = flat(w("multiply", w.reduce("sum", x, *axes), n))
    centred = w("subtract", x, full(mean))
    variance = flat(w("multiply", w.reduce("sum", w("square", centred), *axes), n))
    scale = w("divide", 1, w("sqrt", w("add", variance, 1e-5)))
    hat = w("multiply", centred, full(scale))
    y = w("maximum", w("add", w("multiply", hat, full(gamma)), full(beta)), 0)
    update = w("add", w("multiply", moving, 0.9), w("multiply", mean, 0.1))
    w.part("forward", [y], [(moving, update)])
    g = w("where", w("greater", y, 0), w.input("g", *shape), 0)
    dbeta, dgamma = flat(w.reduce("sum", g, *axes)), flat(w.reduce("sum", w("multiply", g, hat), *axes))
    left = w(
        "subtract", w("subtract", g, full(w("multiply", dbeta, n))), w("multiply", hat, full(w("multiply", dgamma, n)))
    )
    w.part("backward", [w("multiply", full(w("multiply", gamma, scale)), left), dgamma, dbeta])
    return w.routine()


def adam(size: int = 1000) -> Routine:
    w = Writer()
    weight, gradient, first, second = (w.input(name, size) for name in ("weight", "gradient", "first", "second"))
    m = w("add", w("multiply", first, 0.9), w("multiply", gradient, 0.1))
    v = w("add", w("multiply", second, 0.999), w("multiply", w("square", gradient), 0.001))
    step = w("divide", w("multiply", m, 0.01), w("add", w("sqrt", v), 1e-8))
    w.part("update", [], [(weight, w("subtract", weight, step)), (first, m), (second, v)])
    return w.routine()


def perceptron(batch: int = 16, *sizes: int) -> Routine:
    """Dense layers with relu, and a sum of squares."""
    w = Writer()
    sizes = sizes or (30, 20, 10)
    x = w.input("x", batch, sizes[0])
    weights = [w.input(f"w{i}", *pair) for i, pair in enumerate(zip(sizes[1:], sizes, strict=False))]
    biases = [w.input(f"b{i}", size) for i, size in enumerate(sizes[1:])]
    hidden = [x]
    for weight, bias in zip(weights, biases, strict=True):
        dense = w("add", w.product(hidden[-1], w.view(weight, numpy.transpose)), bias)
        hidden.append(w("maximum", dense, 0))
    w.part("forward", [hidden[-1]])
    g = w.input("g", batch, sizes[-1])
    gradients = []
    for layer in reversed(range(len(weights))):
        g = w("where", w("greater", hidden[layer + 1], 0), g, 0)
        gradients.append(w.product(w.view(g, numpy.transpose), hidden[layer]))
        gradients.append(w.view(w.reduce("sum", g, 0), lambda a: a.reshape(-1)))
        g = w.product(g, weights[layer])
    w.part("backward", [g, *gradients])
    return w.routine()


def recurrent(steps: int = 6, layers: int = 2, batch: int = 3, size: int = 5, gates: int = 2) -> Routine:
    """An unrolled recurrent network with gates: `h' = sigmoid(a) * tanh(b) + (1 - sigmoid(a)) * h`."""
    w = Writer()
    x = w.input("x", steps, batch, size)
    names = ("wx", "wh", "b")
    shapes = ((gates * size, size), (gates * size, size), (gates * size,))
    parameters = [[w.input(f"{n}{layer}", *s) for n, s in zip(names, shapes, strict=True)] for layer in range(layers)]
    start = [w.input(f"h{layer}", batch, size) for layer in range(layers)]

    def gate(array: Array, number: int) -> Array:
        return w.view(array, lambda a: a[:, number * size : (number + 1) * size])

    states = list(start)
    kept: list[list[tuple[Array, ...]]] = []
    tops = []
    for t in range(steps):
        value = w.view(x, lambda a, t=t: a[t])
        row = []
        for layer, (wx, wh, b) in enumerate(parameters):
            both = w("add", w("add", w.product(value, w.view(wx, numpy.transpose)), b),
                     w.product(states[layer], w.view(wh, numpy.transpose)))  # fmt: skip
            s = w("divide", 1, w("add", 1, w("exp", w("negative", gate(both, 0)))))
            u = w("tanh", gate(both, 1))
            before = states[layer]
            states[layer] = w("add", w("multiply", s, u), w("multiply", w("subtract", 1, s), before))
            row.append((value, before, s, u))
            value = states[layer]
        kept.append(row)
        tops.append(w.view(value, lambda a: a[None]))
    w.part("forward", [w.assembly(tops, 0)])
    head = w.input("g", steps, batch, size)
    carried: list[Array | None] = [None] * layers
    totals: dict[tuple[int, int], Array] = {}

    def total(layer: int, index: int, array: Array) -> None:
        key = (layer, index)
        totals[key] = w("add", totals[key], array) if key in totals else array

    inputs = []
    for t in reversed(range(steps)):
        g = w.view(head, lambda a, t=t: a[t])
        for layer in reversed(range(layers)):
            value, before, s, u = kept[t][layer]
            later = carried[layer]
            if later is not None:
                g = w("add", g, later)
            ds = w("multiply", w("multiply", g, w("subtract", u, before)), w("multiply", s, w("subtract", 1, s)))
            du = w("multiply", w("multiply", g, s), w("subtract", 1, w("square", u)))
            both = w.assembly([ds, du], 1)
            turned = w.view(both, numpy.transpose)
            total(layer, 0, w.product(turned, value))
            total(layer, 1, w.product(turned, before))
            total(layer, 2, w.view(w.reduce("sum", both, 0), lambda a: a.reshape(-1)))
            carried[layer] = w("add", w("multiply", g, w("subtract", 1, s)), w.product(both, parameters[layer][1]))
            g = w.product(both, parameters[layer][0])
        inputs.append(g)
    w.part("backward", [*(totals[key] for key in sorted(totals)), *inputs])
    return w.routine()
