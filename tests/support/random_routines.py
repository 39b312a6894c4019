"""Random routines, straight in the step language, and inputs for them: for tests of passes, of fusing and of kernels.

Two moods, for two ways to compare:

- `exact`: every function is rounded correctly, or of integers, and no sum of floats depends on its order. Whatever
  computes the routine has to give the same bits (NaNs are all the same); inputs hold NaN, infinities, both zeros and
  denormals.
- `smooth`: transcendental functions, sums and products, all of bounded values with bounded slopes, so that rounding
  stays rounding: results agree up to `TOLERANCE`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy

from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
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
from minpy.backends.native.language.function_table import REDUCTIONS

TOLERANCE = {"float32": 2e-3, "float64": 1e-9}

FLOATS = [numpy.dtype("float32"), numpy.dtype("float64")]
INTEGERS = [numpy.dtype(name) for name in ("int8", "uint8", "int32", "int64")]
BOOL = numpy.dtype("bool")

EXACT = {
    ("f", 1): "negative absolute sign square reciprocal sqrt floor ceil rint trunc copy",
    ("f", 2): "add subtract multiply divide maximum minimum fmax fmin copysign",
    ("iu", 1): "negative absolute sign square invert copy",
    ("iu", 2): "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor floor_divide remainder fmod",
    ("b", 1): "logical_not invert copy",
    ("b", 2): "logical_and logical_or logical_xor bitwise_and maximum minimum add multiply",
}
COMPARISONS = ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"]
TESTS = ["isnan", "isinf", "isfinite", "signbit"]
SMOOTH_1 = ["tanh", "sin", "cos", "negative", "arctan", "erf", "copy"]  # slopes of at most 1
SMOOTH_2 = ["add", "subtract", "multiply", "maximum", "minimum"]
LIMIT = 50.0


class Maker:
    """Makes one routine, step by step, from all arrays that are there."""

    def __init__(self, seed: int, mood: str, *, calls: bool, products: bool) -> None:
        self.random = random.Random(seed)
        self.mood = mood
        self.steps: list[Step] = []
        self.known: set[Step] = set()
        self.arrays: list[Array] = []
        self.bounds: dict[Array, float] = {}
        rank = self.random.choice([1, 2, 2, 3, 3, 4])
        self.space = tuple(self.random.choice([1, 2, 3, 4, 5, 7]) for _ in range(rank))
        kinds = {
            self.unary: 4,
            self.binary: 7,
            self.reduce: 4,
            self.view: 4,
            self.assemble: 2,
            self.convert: 1,
            self.choose: 1,
        }
        if calls:
            kinds[self.call] = 1
        if products and mood == "smooth":
            kinds[self.multiply] = 2
        self.kinds = list(kinds)
        self.weights = list(kinds.values())

    def pick(self, condition: Callable[[Array], bool] = lambda array: True) -> Array | None:
        """Return one of the arrays, the later the likelier."""
        found = [array for array in self.arrays if condition(array)]
        return self.random.choice(found[-8:] if self.random.random() < 0.7 else found) if found else None

    def shape(self) -> tuple[int, ...]:
        """Return a shape that broadcasts to the space."""
        shape = tuple(1 if self.random.random() < 0.2 else length for length in self.space)
        return shape[self.random.choice([0, 0, 0, 1, len(shape)]) :]

    def input(self, number: int) -> Array:
        dtypes = [*FLOATS, *FLOATS, BOOL, *INTEGERS] if self.mood == "exact" else FLOATS
        array = Array(self.shape(), self.random.choice(dtypes), name=f"x{number}")
        self.arrays.append(array)
        self.bounds[array] = 1.0
        return array

    def add(self, array: Array, bound: float) -> None:
        if bound > LIMIT and self.mood == "smooth":
            self.note(array)
            array, bound = Elementwise.of("tanh", array), 1.0
        self.note(array)
        self.arrays.append(array)
        self.bounds[array] = bound

    def note(self, array: Array) -> None:
        """Add the step that gives an array, after the views that it reads."""
        if array.step is not None and array.step not in self.known:
            for operand in array.step.operands:
                self.note(operand)
            self.known.add(array.step)
            self.steps.append(array.step)

    def step(self) -> None:
        (kind,) = self.random.choices(self.kinds, self.weights)
        kind()

    def bound(self, array: Array) -> float:
        return self.bounds.get(array, 1.0)

    def unary(self) -> None:
        array = self.pick()
        if self.mood == "smooth":
            function = self.random.choice(SMOOTH_1)
            self.add(Elementwise.of(function, array), self.bound(array) if function in ("negative", "copy") else 2.0)
            return
        if array.dtype.kind == "f" and self.random.random() < 0.2:
            self.add(Elementwise.of(self.random.choice(TESTS), array), 1.0)
            return
        self.add(Elementwise.of(self.random.choice(self.named(array, 1)), array), 1.0)

    def named(self, array: Array, arity: int) -> list[str]:
        return next(
            names.split() for (kinds, count), names in EXACT.items() if array.dtype.kind in kinds and count == arity
        )

    def partner(self, array: Array) -> Array:
        """Return an array of the same dtype that broadcasts with another one; a constant, if there is none."""

        def fits(other: Array) -> bool:
            if other.dtype != array.dtype:
                return False
            try:
                shape = numpy.broadcast_shapes(array.shape, other.shape)
            except ValueError:
                return False
            return math.prod(shape) <= 2000

        other = self.pick(fits) if self.random.random() < 0.8 else None
        return other if other is not None else self.number(array.dtype, array.shape)

    def number(self, dtype: numpy.dtype, shape: tuple[int, ...]) -> Array:
        if self.mood == "smooth":
            return constant(self.random.choice([0.0, 1.0, 0.5, -0.25, 0.7]), dtype)
        if dtype.kind == "b":
            return constant(self.random.random() < 0.5, dtype)
        if shape and self.random.random() < 0.2:
            return constant(numpy.array([self.random.choice([1, 2, 3]) for _ in range(shape[-1])]), dtype)
        return constant(self.random.choice([0, 1, 2, 3, 4]), dtype)

    def binary(self) -> None:
        array = self.pick()
        other = self.partner(array)
        operands = (array, other) if self.random.random() < 0.5 else (other, array)
        if self.mood == "smooth":
            function = self.random.choice(SMOOTH_2)
            bounds = [self.bound(one) for one in operands]
            self.add(Elementwise.of(function, *operands), math.prod(bounds) if function == "multiply" else sum(bounds))
            return
        functions = self.named(array, 2) if self.random.random() < 0.8 else COMPARISONS
        self.add(Elementwise.of(self.random.choice(functions), *operands), 1.0)

    def choose(self) -> None:
        array = self.pick()
        other = self.partner(array)
        shape = numpy.broadcast_shapes(array.shape, other.shape)
        condition = self.pick(lambda one: one.dtype == BOOL and _broadcasts(one.shape, shape))
        if condition is None:
            return
        self.add(Elementwise.of("where", condition, array, other), max(self.bound(array), self.bound(other)))

    def convert(self) -> None:
        array = self.pick()
        targets = FLOATS
        if array.dtype.kind != "f" and self.mood == "exact":
            targets = [*FLOATS, *INTEGERS]
        self.add(Elementwise.of("cast", array, dtype=self.random.choice(targets)), self.bound(array))

    def reduce(self) -> None:
        array = self.pick(lambda one: len(one.shape) > 0 and one.size > 0)
        if array is None:
            return
        rank = len(array.shape)
        axes = self.random.sample(range(rank), self.random.randint(1, rank))
        exact = {"f": ["max", "min"], "i": ["sum", "max", "min", "prod"], "b": ["any", "all", "max"]}
        names = exact["i" if array.dtype.kind == "u" else array.dtype.kind] if self.mood == "exact" else ["sum", "max"]
        if self.mood == "exact" and array.dtype.kind != "b" and len(axes) in (1, rank):
            names = [*names, "argmax", "argmin"]
        name = self.random.choice(names)
        assert array.dtype.kind in REDUCTIONS[name].kinds
        count = math.prod(array.shape[axis] for axis in axes)
        self.add(Reduce.of(name, array, axes), self.bound(array) * (count if name == "sum" else 1))

    def view(self) -> None:
        array = self.pick(lambda one: len(one.shape) > 0)
        if array is None:
            return
        rank = len(array.shape)
        axis = self.random.randrange(rank)
        order = self.random.sample(range(rank), rank)
        length = array.shape[axis]
        start = self.random.randint(0, max(length - 1, 0))
        stop = self.random.randint(start, length)
        step = self.random.choice([1, 1, 2])
        index = (*[slice(None)] * axis, slice(start, max(stop, min(start + 1, length)), step))
        functions: list[Callable[[numpy.ndarray], numpy.ndarray]] = [
            lambda values: values.transpose(order),
            lambda values: values[index],
            lambda values: values[(*[slice(None)] * axis, slice(None, None, -1))],
            lambda values: values.reshape(-1),
            lambda values: values.reshape(math.prod(values.shape[:axis]), -1) if values.size else values,
            lambda values: values[..., None],
            lambda values: numpy.squeeze(values),
            lambda values: numpy.broadcast_to(values, (2, *values.shape)) if values.size < 500 else values,
        ]
        try:
            found = viewed(array, self.random.choice(functions))
        except ValueError:
            return
        if found is not array:
            self.add(found, self.bound(array))

    def assemble(self) -> None:
        array = self.pick(lambda one: len(one.shape) > 0 and one.size > 0)
        if array is None:
            return
        way = self.random.choice(["pad", "concatenate", "store"])
        if way == "pad":
            shape = tuple(length + 2 for length in array.shape)
            if math.prod(shape) > 2000:
                return
            strides = contiguous(shape)
            fill = 0 if array.dtype.kind in "bu" else self.random.choice([0, -1])
            self.add(Assembly.of([array], shape, [Layout(sum(strides), strides)], fill=fill), self.bound(array) + 1)
            return
        if way == "store":
            part = viewed(array, lambda values: values[: max(1, len(values) // 2)])
            other = self.pick(lambda one: one.dtype == array.dtype and one.shape == part.shape) or part
            strides = contiguous(array.shape)
            found = Assembly.of([array, other], array.shape, [Layout(0, strides), Layout(0, strides)])
            self.add(found, max(self.bound(array), self.bound(other)))
            return
        others = [self.pick(lambda one: one.dtype == array.dtype and one.shape == array.shape) for _ in range(2)]
        pieces = [array, *(other for other in others if other is not None)]
        axis = self.random.randrange(len(array.shape))
        length = array.shape[axis]
        shape = (*array.shape[:axis], length * len(pieces), *array.shape[axis + 1 :])
        strides = contiguous(shape)
        layouts = [Layout(number * length * strides[axis], strides) for number in range(len(pieces))]
        self.add(Assembly.of(pieces, shape, layouts), max(map(self.bound, pieces)))

    def multiply(self) -> None:
        first = self.pick(lambda one: len(one.shape) >= 2 and one.dtype.kind == "f" and one.size > 0)
        if first is None:
            return
        second = self.pick(
            lambda one: (
                one.dtype == first.dtype
                and len(one.shape) == len(first.shape)
                and one.shape[:-2] == first.shape[:-2]
                and one.shape[-2] == first.shape[-1]
            )
        )
        if second is None or self.random.random() < 0.3:
            second = viewed(first, lambda values: values.swapaxes(-1, -2))
        shape = (*first.shape[:-1], second.shape[-1])
        added = self.pick(lambda one: one.dtype == first.dtype and one.shape == shape)
        bound = self.bound(first) * LIMIT * first.shape[-1]
        if added is not None and self.random.random() < 0.5:
            self.add(Product.of(first, second, added), bound)
            return
        product = Product.of(first, second)
        self.note(product)
        if added is not None:
            self.arrays.append(product)
            self.bounds[product] = bound
            self.add(Elementwise.of("add", *self.random.sample([product, added], 2)), bound)
            return
        self.add(product, bound)

    def call(self) -> None:
        array = self.pick(lambda one: len(one.shape) > 0 and one.size > 0)
        if array is None:
            return
        facts = [(array.shape, array.dtype), (array.shape[:-1], array.dtype)]
        first, second = Call.of(both_ends, [array], facts, "it is tested")
        self.add(first, self.bound(array))
        if self.random.random() < 0.5:
            self.add(second, self.bound(array))


def both_ends(values: numpy.ndarray) -> tuple[Any, ...]:
    """Return an array with its last axis turned around, and its first elements along that."""
    return values[..., ::-1].copy(), values[..., 0].copy()


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        numpy.broadcast_shapes(shape, target)
    except ValueError:
        return False
    return True


def random_routine(
    seed: int,
    mood: str = "exact",
    *,
    steps: int = 25,
    parts: int = 2,
    calls: bool = True,
    products: bool = True,
    updates: bool = True,
) -> Routine:
    """Return a routine that is the same for the same arguments."""
    maker = Maker(seed, mood, calls=calls, products=products)
    made = []
    for number in range(parts):
        inputs = [maker.input(10 * number + one) for one in range(maker.random.randint(1, 3))]
        maker.steps = []
        for _ in range(maker.random.randint(1, steps)):
            maker.step()
        unread = [array for array in maker.arrays if array.step in maker.steps and maker.random.random() < 0.3]
        outputs = unread[-4:] or [maker.arrays[-1]]
        states: list[tuple[Array, Array]] = []
        for target in inputs if updates else ():
            source = maker.pick(
                lambda one: (one.shape, one.dtype) == (target.shape, target.dtype) and one is not target
            )
            if source is not None and maker.random.random() < 0.3:
                states.append((target, source))
        made.append(Part(f"part{number}", inputs, maker.steps, outputs, states))
        # What was updated is not read any more: its old values are gone.
        gone = {target for target, _ in states}
        maker.arrays = [array for array in maker.arrays if array.root not in gone]
        if not maker.arrays:
            break
    return Routine(made)


def random_inputs(routine: Routine, seed: int, mood: str = "exact") -> list[list[numpy.ndarray]]:
    """Return inputs for each part."""
    return [
        [random_values(array, seed + 7 * number, mood) for number, array in enumerate(part.inputs)]
        for part in routine.parts
    ]


def random_values(array: Array, seed: int, mood: str) -> numpy.ndarray:
    """Return values for an input."""
    numbers = numpy.random.default_rng(seed)
    if mood == "smooth":
        return numbers.uniform(-1, 1, array.shape).astype(array.dtype)
    if array.dtype.kind == "b":
        return numbers.integers(0, 2, array.shape).astype(array.dtype)
    if array.dtype.kind in "iu":
        return numbers.integers(0 if array.dtype.kind == "u" else -9, 10, array.shape).astype(array.dtype)
    values = numbers.integers(-8, 9, array.shape) / numbers.choice([1, 2, 3], array.shape)
    tiny = numpy.finfo(array.dtype).smallest_subnormal
    special = numbers.choice([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, tiny, -tiny], array.shape)
    return numpy.where(numbers.random(array.shape) < 0.2, special, values).astype(array.dtype)


def assert_same(found: Any, expected: Any, mood: str) -> None:
    """Compare outputs of all parts."""
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if mood == "exact" or one.dtype.kind != "f":
                numpy.testing.assert_array_equal(one, other)
                if one.dtype.kind == "f":
                    there = ~numpy.isnan(other)
                    numpy.testing.assert_array_equal(numpy.signbit(one)[there], numpy.signbit(other)[there])
            else:
                numpy.testing.assert_allclose(
                    one, other, atol=TOLERANCE[one.dtype.name], rtol=TOLERANCE[one.dtype.name]
                )
