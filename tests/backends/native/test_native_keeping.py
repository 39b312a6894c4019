"""What backward keeps of forward: nothing that is cheap to compute again of what is kept anyway."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from many import each
from random_routines import assert_same, random_inputs, random_routine
from support.reference_evaluator import evaluate
from support.schedule_verifier import check
from thoroughness import often

import minpy as mx
from minpy.backends import release_heap
from minpy.backends.memory_planner import ALIGNMENT, Block, offsets
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.language import Array, Elementwise, Part, Product, Reduce, Routine, View, viewed
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.passes import rematerialization
from minpy.backends.native.passes.rewriting import Notes
from minpy.graph import program
from minpy.graph.program import ExecutionContext

pytest.importorskip("llvmlite")

COMPILES = True

FLOAT = numpy.dtype("float32")
NN = mx.gluon.nn


def kept(routine: Routine) -> set[Array]:
    """Return what the last part reads of the first one's memory."""
    first, last = routine.parts
    own = {output for step in first.steps for output in step.outputs}
    read = {operand.root for step in last.steps if not isinstance(step, View) for operand in step.operands}
    return own & (read | {array.root for array in last.outputs} | {source.root for _, source in last.updates})


@pytest.mark.parametrize("mood", ["exact", "smooth"])
def test_random_routines_compute_the_same_and_keep_no_more(mood, monkeypatch):
    monkeypatch.setattr(rematerialization, "LEAST_KEPT", 1)
    monkeypatch.setattr(rematerialization, "LEAST_FREED", 1)
    freed = 0
    for seed in range(5000, 5000 + often(150, 3000)):
        routine = random_routine(seed, mood, steps=40)
        if len(routine.parts) != 2:
            continue
        text = str(routine)
        found = rematerialization.recomputed(routine, Notes())
        assert str(routine) == text
        verify(found, "recomputed")
        check(found, scheduled(found))
        inputs, again = random_inputs(routine, seed, mood), random_inputs(routine, seed, mood)
        assert_same(evaluate(found, again), evaluate(routine, inputs), mood)
        assert_same(again, inputs, mood)
        assert kept(found) <= kept(routine)
        freed += len(kept(routine)) - len(kept(found))
    assert freed > 20


def norm_and_product(rows=512, columns=512):
    """A normalized, rectified array that a product reads, and backward's product for the other factor."""
    shapes = {"x": (rows, columns), "gamma": (columns,), "w": (columns, 4)}
    x, gamma, w = (Array(shape, FLOAT, name=name) for name, shape in shapes.items())
    total = Reduce.of("sum", x, (1,))
    centred = Elementwise.of("subtract", x, total)
    scaled = Elementwise.of("multiply", centred, gamma)
    y = Elementwise.of("maximum", scaled, Elementwise.of("negative", gamma))
    steps = [total.step, centred.step, scaled.step, y.step.operands[1].step, y.step]
    result = Product.of(y, w)
    upstream = Array(result.shape, FLOAT, name="upstream")
    turned = viewed(y, lambda one: one.T)
    of_w = Product.of(turned, upstream)
    of_y = Product.of(upstream, viewed(w, lambda one: one.T))
    mask = Elementwise.of("greater", y, centred)
    of_x = Elementwise.of("where", mask, of_y, centred)
    last = [of_y.step.operands[1].step, turned.step, of_w.step, of_y.step, mask.step, of_x.step]
    return Routine([
        Part("forward", [x, gamma, w], [*steps, result.step], [result]),
        Part("backward", [upstream], last, [of_x, of_w]),
    ])  # fmt: skip


def test_no_array_of_the_size_of_the_data_is_kept():
    routine = norm_and_product()
    found = rematerialization.recomputed(routine, Notes())
    verify(found, "recomputed")
    # Small arrays are kept; no array of the size of the data is.
    assert {array.size for array in kept(found)} == {512}
    assert 512 * 512 in {array.size for array in kept(routine)}
    inputs = random_inputs(routine, 1, "smooth")
    assert_same(evaluate(found, inputs), evaluate(routine, inputs), "smooth")


def test_what_the_caller_gets_is_read_where_it_is():
    routine = norm_and_product()
    first, last = routine.parts
    y = first.steps[-1].operands[0]
    first = Part(first.name, first.inputs, first.steps, [*first.outputs, y])
    found = rematerialization.recomputed(Routine([first, last]), Notes())
    assert y in kept(found)


def test_small_arrays_are_kept():
    routine = norm_and_product(rows=8, columns=8)
    assert kept(rematerialization.recomputed(routine, Notes())) == kept(routine)


def test_states_are_not_read_anew():
    """What is computed of a state's old value cannot be computed again when it has a new one."""
    routine = norm_and_product()
    first, last = routine.parts
    gamma = first.inputs[1]
    doubled = Elementwise.of("add", gamma, gamma)
    updated = Part(first.name, first.inputs, [*first.steps, doubled.step], first.outputs, [(gamma, doubled)])
    routine = Routine([updated, last])
    found = rematerialization.recomputed(routine, Notes())
    verify(found, "recomputed")
    assert first.steps[-1].operands[0] in kept(found)
    inputs, again = random_inputs(routine, 1, "smooth"), random_inputs(routine, 1, "smooth")
    assert_same(evaluate(found, again), evaluate(routine, inputs), "smooth")


# Blocks of memory ---------------------------------------------------------------------------------------------------

# Forward arrays live until backward comes to them, in the opposite order; some have a few of the size of their own
# beside them, for a while.
NETWORKS = st.lists(st.tuples(st.sampled_from([4096, 16384, 65536, 5000, 300]), st.integers(0, 3)), max_size=25)


@given(NETWORKS)
def test_blocks_of_networks_take_little_more_than_what_lives_at_once(layers):
    count = len(layers)
    blocks = []
    for number, (size, beside) in enumerate(layers):
        blocks.append(Block(size, number, 2 * count - number))
        blocks += [Block(size, number, number + 1)] * beside
        blocks += [Block(size, 2 * count - number, 2 * count - number + 1)] * beside
    _, whole = offsets(blocks)
    rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size, _, _ in blocks]
    most = max(
        (
            sum(size for size, (_, first, last) in zip(rounded, blocks, strict=True) if first <= time <= last)
            for time in range(2 * count + 2)
        ),
        default=0,
    )
    assert whole <= 1.2 * most


# Networks -----------------------------------------------------------------------------------------------------------


def normalized(units, shortcut=False):
    """Return convolutions, each with a batch norm and an activation before it."""

    class Unit(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.norm = NN.BatchNorm()
            self.conv = NN.Conv2D(16, 3, 1, 1, use_bias=False)

        def hybrid_forward(self, F, x):
            y = self.conv(F.Activation(self.norm(x), act_type="relu"))
            return y + x if shortcut else y

    net = NN.HybridSequential()
    net.add(NN.Conv2D(16, 3, 1, 1, use_bias=False), *(Unit() for _ in range(units)), NN.GlobalAvgPool2D())
    return net


def layer_norms():
    net = NN.HybridSequential()
    for _ in range(3):
        net.add(NN.LayerNorm(), NN.Dense(1024, flatten=False, use_bias=False))
    return net


# The network, the shape of its input, and how many arrays of 1 MiB it may keep: what the norms read.
CASES = {
    "convolutions, norms, activations": (lambda: normalized(3), (16, 16, 32, 32), 3),
    "with shortcuts": (lambda: normalized(3, shortcut=True), (16, 16, 32, 32), 3),
    "layer norms": (layer_norms, (256, 1024), 2),
}


@each(CASES)
def test_what_networks_keep(make, shape, count):
    numbers = numpy.random.default_rng(3)
    images = mx.nd.array(numbers.normal(size=shape).astype("float32"))
    net = make()
    net.initialize(mx.init.Xavier(rnd_type="gaussian"))
    net(images)
    parameters = [one for one in net.collect_params().values() if one.grad_req != "null"]

    def gradients():
        with mx.autograd.record():
            loss = (net(images) ** 2).sum()
        loss.backward()
        return [loss.asnumpy(), *(one.grad().asnumpy().copy() for one in parameters)]

    expected = gradients()
    net.hybridize()
    for _ in range(4):
        found = gradients()
    explanation = next(one for one in net.explain() if "with gradients" in one.title)
    assert explanation.is_native
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4 * abs(other).max())
    # Factors of channels and rows are a tenth of an array at most.
    assert explanation.kept <= (count + 0.15) * 2**20
    assert "are kept from forward to backward" in str(explanation)


def test_the_memory_of_rounds_in_python_is_freed(monkeypatch):
    """Before native code is made: not when its own memory is there, too."""
    net = normalized(2)
    net.initialize()
    images = mx.nd.ones((16, 16, 32, 32))
    net(images)
    net.hybridize()
    seen = []
    let_go, release = ExecutionContext.let_go, release_heap.release

    def letting_go(context):
        seen.append(0 if context.bound is None else sum(one.nbytes for one in context.bound.buffers))
        let_go(context)
        assert context.bound is None

    def giving_back():
        seen.append("given back")
        return release()

    monkeypatch.setattr(program, "_LARGE", 2**20)
    monkeypatch.setattr(ExecutionContext, "let_go", letting_go)
    monkeypatch.setattr(release_heap, "release", giving_back)
    for _ in range(3):
        with mx.autograd.record():
            loss = net(images).sum()
        loss.backward()
    # After the second round, and when its buffers are freed; nothing is left to be freed later.
    assert seen[0] == "given back"
    place = seen.index("given back", 1)
    assert max(seen[1:place]) > 2**20
    assert not any(seen[place + 1 :])


def test_giving_back_where_the_library_cannot(monkeypatch):
    monkeypatch.setattr(release_heap, "_trim", lambda: None)
    assert release_heap.release() is False
