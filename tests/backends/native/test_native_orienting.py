"""Products that are computed transposed: whichever are, the same is computed; and those are, for which it is faster."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy
import pytest
import routine_programs as programs
from random_routines import assert_same, random_inputs, random_routine
from support.reference_evaluator import evaluate
from support.schedule_verifier import check
from thoroughness import often

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.backends.native import passes
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.language import Array, Product, Routine
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.passes import layout_motion, product_orientation, rematerialization
from minpy.backends.native.passes.rewriting import Notes
from minpy.gluon import nn

COMPILES = True
LENGTHS = (1, 3, 4, 6)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_VERIFY", "1")


class Matrices:
    """A random routine of matrices: products of all transposes, and everything that may be between them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.writer = programs.Writer(self.random.choice(["float32", "float64"]))
        self.arrays: list[Array] = []
        parts = self.random.choice([1, 2, 2])
        for part in range(parts):
            own = [self.given(f"x{part}{number}") for number in range(self.random.randint(2, 4))]
            self.arrays += own
            for _ in range(self.random.randint(4, 22)):
                self.step()
            made = [array for array in self.arrays if array.step in self.writer.steps]
            outputs = self.random.sample(made, min(len(made), self.random.randint(1, 4))) or own[:1]
            states = [one for one in own if self.random.random() < 0.2]
            updates = [(one, source) for one in states if (source := self.like(one, made)) is not None]
            self.writer.part(f"part{part}", outputs, updates)

    def routine(self) -> Routine:
        return self.writer.routine()

    def given(self, name: str) -> Array:
        return self.writer.input(name, self.random.choice(LENGTHS), self.random.choice(LENGTHS))

    def like(self, target: Array, arrays: list[Array]) -> Array | None:
        found = [array for array in arrays if array.shape == target.shape and array is not target]
        return self.random.choice(found) if found else None

    def pick(self) -> Array:
        return self.random.choice(self.arrays[-6:] if self.random.random() < 0.7 else self.arrays)

    def step(self) -> None:
        makes = (self.multiply, self.multiply, self.multiply, self.combine, self.combine, self.function, self.mask)
        make = self.random.choice((*makes, self.reduce, self.slice, self.reshape, self.join, self.accumulate))
        found = make()
        if found is not None:
            self.arrays.append(found)

    def bounded(self, array: Array) -> Array:
        return self.writer("tanh", array) if self.random.random() < 0.8 else self.writer("sin", array)

    def turned(self, array: Array) -> Array:
        return self.writer.view(array, lambda values: values.T)

    def multiply(self) -> Array | None:
        first = self.pick()
        for second in self.random.sample(self.arrays, len(self.arrays)):
            for one, other in self.random.sample([(0, 0), (0, 1), (1, 0), (1, 1)], 4):
                left = self.turned(first) if one else first
                right = self.turned(second) if other else second
                if left.shape[1] == right.shape[0]:
                    product = self.writer.product(left, right)
                    return (
                        self.bounded(product) if self.random.random() < 0.5 else self.writer("multiply", product, 0.2)
                    )
        return None

    def accumulate(self) -> Array | None:
        """Add to something that nobody else reads: one product, later."""
        before = self.multiply()
        for second in self.random.sample(self.arrays, len(self.arrays)):
            if before is not None and second.shape[1] == before.shape[1]:
                product = self.writer.product(
                    self.writer.input(f"y{len(self.arrays)}", *self.sides(before, second)), second
                )
                return self.bounded(self.writer("add", before, product))
        return before

    def sides(self, result: Array, second: Array) -> tuple[int, int]:
        return result.shape[0], second.shape[0]

    def combine(self) -> Array:
        array = self.pick()
        others = [one for one in self.arrays if one.shape == array.shape]
        others += [self.turned(one) for one in self.arrays if one.shape == array.shape[::-1]]
        others += [one for one in self.arrays if one.shape in ((1, array.shape[1]), (array.shape[0], 1))]
        function = self.random.choice(["add", "subtract", "multiply", "maximum"])
        return self.bounded(self.writer(function, array, self.random.choice(others)))

    def function(self) -> Array:
        return self.writer(self.random.choice(["negative", "tanh", "cos", "copy"]), self.pick())

    def mask(self) -> Array:
        array = self.pick()
        others = [one for one in self.arrays if one.shape == array.shape]
        condition = self.writer("greater", self.random.choice(others), 0.1)
        return self.writer("where", condition, array, self.random.choice([0.0, 0.5]))

    def reduce(self) -> Array:
        axes = self.random.choice([(0,), (1,), (0, 1)])
        return self.bounded(self.writer.reduce(self.random.choice(["sum", "max", "min"]), self.pick(), *axes))

    def slice(self) -> Array:
        array = self.pick()
        rows, columns = array.shape
        row, column = self.random.randrange(rows), self.random.randrange(columns)
        steps = self.random.choice([1, 1, 2, -1])
        return self.writer.view(array, lambda values: values[row:, column:][::steps])

    def reshape(self) -> Array:
        array = self.pick()
        if not array.is_contiguous:
            return self.writer("copy", array)
        shapes = [(rows, array.size // rows) for rows in LENGTHS if array.size % rows == 0]
        shape = self.random.choice(shapes)
        return self.writer.view(array, lambda values: values.reshape(shape))

    def join(self) -> Array:
        array = self.pick()
        if array.size > 60:
            return self.writer("copy", array)
        other = self.random.choice([one for one in self.arrays if one.shape == array.shape])
        joined = self.writer.assembly([array, other], self.random.randrange(2))
        return self.writer.view(joined, lambda values: values[: len(values) // 2 or 1])


def agree(before: Routine, after: Routine, seed: int) -> None:
    """Require that both compute the same, and that what passes and loops make of the second one does so, too."""
    verify(after, "turned")
    expected = evaluate(before, random_inputs(before, seed, "smooth"))
    assert_same(evaluate(after, random_inputs(before, seed, "smooth")), expected, "smooth")
    found = rematerialization.recomputed(after, Notes())
    verify(found, "recomputed")
    check(found, scheduled(found))
    assert_same(evaluate(found, random_inputs(before, seed, "smooth")), expected, "smooth")


def turning(array_set: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_orientation._Orienting, "chosen", lambda self: array_set(self))


@pytest.mark.parametrize("seed", range(often(60, 2000)))
def test_whatever_is_turned_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any set of arrays, the worst ones included, is computed transposed."""
    chance = random.Random(seed)
    share = chance.choice([0.2, 0.5, 1.0])

    def drawn(self: Any) -> set[Array]:
        order = {step.outputs[0]: None for step in self.routine.steps if step.outputs[0] in self.transposable}
        return {array for array in order if chance.random() < share}

    turning(drawn, monkeypatch)
    for routine in (Matrices(seed).routine(), random_routine(seed, "smooth")):
        agree(routine, product_orientation.oriented(routine, Notes()), seed)


@pytest.mark.parametrize("seed", range(often(60, 2000)))
def test_what_the_costs_say_is_the_same_with_all_passes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are drawn, so that all kinds of decisions are made."""
    chance = random.Random(seed)
    for name in ("FIRST_TURNED", "SECOND", "SECOND_TURNED", "READ_TURNED", "COPIED"):
        monkeypatch.setattr(product_orientation, name, chance.choice([0.0, 0.1, 1.0, 5.0]))
    monkeypatch.setattr(product_orientation, "LEAST_SAVED", 0.0)
    monkeypatch.setattr(product_orientation, "is_small", lambda product: False)
    routine = Matrices(seed).routine()
    found = passes.optimized(routine)
    verify(found, "all passes")
    check(found, scheduled(found))
    expected = evaluate(routine, random_inputs(routine, seed, "smooth"))
    assert_same(evaluate(found, random_inputs(routine, seed, "smooth")), expected, "smooth")


def test_drawn_costs_turn_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_orientation, "LEAST_SAVED", 0.0)
    monkeypatch.setattr(product_orientation, "is_small", lambda product: False)
    turned = 0
    for seed in range(30):
        notes = Notes()
        product_orientation.oriented(Matrices(seed).routine(), notes)
        turned += "products are computed transposed" in notes.counts
    assert turned > 5


@pytest.mark.parametrize("seed", range(20))
def test_no_other_choice_is_much_better(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sets of few arrays are tried."""
    monkeypatch.setattr(product_orientation, "LEAST_SAVED", 0.0)
    monkeypatch.setattr(product_orientation, "is_small", lambda product: False)
    routine = Matrices(seed).routine()
    one = product_orientation._Orienting(routine)
    if len(one.transposable) > 10:
        one.transposable = set(random.Random(seed).sample(sorted(one.transposable, key=str), 10))
    chosen = one.chosen()
    if not one.tables:
        pytest.skip("there is nothing to choose")
    every = [set(some) for size in range(len(one.transposable) + 1) for some in combinations(one.transposable, size)]
    least = min(map(one.total, every))
    usual = one.total(set())
    assert one.total(chosen) - least <= 0.25 * (usual - least) + 1


# What is decided ----------------------------------------------------------------------------------------------------


def turned_products(routine: Routine) -> tuple[int, Routine]:
    notes = Notes()
    found = passes.optimized(routine, notes=notes)
    return notes.counts["products are computed transposed"], found


def test_a_perceptron_lies_features_first() -> None:
    """Its weights are read by rows, all loops are in order, and gradients of weights lie as the weights do."""
    number, found = turned_products(programs.perceptron(128, 784, 512, 512, 10))
    assert number >= 4
    large = 128 * 512 * 4
    assert layout_motion.strided_bytes(found) < large
    forward, backward = found.parts
    hidden = [step for step in forward.steps if isinstance(step, Product)]
    assert [step.output.shape for step in hidden[:2]] == [(512, 128), (512, 128)]
    assert all(not step.operands[0].is_view for step in hidden[:2])
    gradients = backward.outputs[1::2]
    assert [array.shape for array in gradients] == [(10, 512), (512, 512), (512, 784)]
    assert all(isinstance(array.step, Product) and array.is_contiguous for array in gradients[1:])


@pytest.mark.parametrize(
    ("batch", "sizes"),
    [(1, (784, 512, 10)), (4096, (64, 64, 64)), (8, (16, 16, 8))],
    ids=["one row", "many rows", "small"],
)
def test_these_stay_as_they_are(batch: int, sizes: tuple[int, ...]) -> None:
    number, _ = turned_products(programs.perceptron(batch, *sizes))
    assert number == 0


def test_a_loop_that_would_read_across_rows_keeps_a_product_as_it_is() -> None:
    """A residual of the input, which lies by rows, costs more than is saved."""
    w = programs.Writer()
    x, weight = w.input("x", 256, 256), w.input("weight", 256, 256)
    hidden = w.product(x, w.view(weight, numpy.transpose))
    w.part("forward", [w("add", hidden, x), w("tanh", hidden), w("exp", hidden)])
    number, _ = turned_products(w.routine())
    assert number == 0


def test_sums_of_rows_keep_a_product_as_it_is() -> None:
    w = programs.Writer()
    x, weight = w.input("x", 128, 512), w.input("weight", 256, 512)
    hidden = w.product(x, w.view(weight, numpy.transpose))
    e = w("exp", w("subtract", hidden, w.reduce("max", hidden, 1)))
    w.part("forward", [w("divide", e, w.reduce("sum", e, 1))])
    number, _ = turned_products(w.routine())
    assert number == 0


def test_an_accumulated_product_is_turned_with_what_it_is_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    w = programs.Writer()
    x, one, two = w.input("x", 64, 512), w.input("one", 512, 512), w.input("two", 512, 512)
    first = w.product(x, w.view(one, numpy.transpose))
    total = w("add", first, w.product(w("tanh", x), w.view(two, numpy.transpose)))
    w.part("forward", [w.product(total, w.view(two, numpy.transpose))])
    number, found = turned_products(w.routine())
    assert number == 3
    added = [step for step in found.steps if isinstance(step, Product) and len(step.operands) == 3]
    assert [step.operands[2].is_view for step in added] == [False]


def test_packed_counts_the_second_matrix() -> None:
    """What BLAS packs of the second matrix, and that it is read across its rows, is dear."""
    usual = product_orientation.packed(128, 784, 512, False, True)
    assert product_orientation.packed(512, 784, 128, False, True) < usual / 3
    assert product_orientation.packed(512, 784, 128, False, False) < usual / 10


# Compiled, beside eager -----------------------------------------------------------------------------------------------


class Net(gluon.HybridBlock):
    """Dense layers with one weight twice, a residual sum, dropout, and two heads."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        with self.name_scope():
            self.first = nn.Dense(256, in_units=320, activation="relu")
            self.again = nn.Dense(256, in_units=256, activation="tanh")
            self.dropped = nn.Dropout(0.4)
            self.wide = nn.Dense(192, in_units=256, flatten=False)
            self.head = nn.Dense(10, in_units=192)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        hidden = self.first(x)
        hidden = self.again(self.dropped(self.again(hidden))) + hidden
        wide = F.LeakyReLU(self.wide(hidden), slope=0.1)
        return self.head(wide), F.broadcast_mul(F.softmax(wide), F.sum(hidden, axis=1, keepdims=True))


@pytest.mark.parametrize("least", [0.0, None], ids=["all that could be", "what is worth it"])
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_networks_give_what_they_give_eagerly(
    batch: int, least: float | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pytest.importorskip("llvmlite")
    if least is not None:
        for name in ("LEAST_SAVED", "READ_TURNED", "COPIED"):
            monkeypatch.setattr(product_orientation, name, least)
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path))  # plans of other costs are not taken
    net = Net(prefix="net_")
    net.initialize(mx.init.Xavier())
    plain = Net(prefix="net_", params=net.collect_params())
    net.hybridize()
    random = numpy.random.RandomState(batch)
    for _ in range(4):
        x = nd.array(random.normal(size=(batch, 320)))
        weights = [nd.array(random.normal(size=shape)) for shape in ((batch, 10), (batch, 192))]
        found = []
        for one in (net, plain):
            mx.random.seed(batch)
            x.attach_grad()
            with autograd.record():
                heads = one(x)
                loss = sum((head * weight).sum() for head, weight in zip(heads, weights, strict=True))
            loss.backward()
            gradients = [parameter.grad() for parameter in net.collect_params().values()]
            found.append([array.asnumpy().copy() for array in (*heads, loss, x.grad, *gradients, one(x)[0])])
        for ours, theirs in zip(*found, strict=True):
            scale = numpy.abs(theirs).max()
            numpy.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-5 * scale)
    assert "native code" in str(net.explain())
