"""Calls that go straight to native code: all that they remember, against all that can change meanwhile.

A compiled function and its derivatives are called again and again, while globals, closures, captured arrays, modes and
kinds of arrays change between calls; NumPy's own formulas say what is right.
"""

import autograd
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.graph.program import Program
from minpy.profiler.control import _profiler

COMPILES = True

FACTOR = 1.0
TABLE = np.linspace(0.5, 1.5, 3)
pytest.importorskip("llvmlite")


def made(table, captured):
    """A function of a global number, a global array, an array in its closure and an NDArray; and its formulas."""

    def function(x, w):
        return np.sum(np.tanh(x * w + FACTOR) * TABLE * table + captured)

    def formulas(x, w):
        x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
        t = np.tanh(x * w + FACTOR)
        shared = (1 - t * t) * TABLE * table
        value = np.sum(t * TABLE * table + captured.asnumpy())
        return value, shared * w, np.broadcast_to(shared * x, x.shape).sum(axis=tuple(range(x.ndim - 1)))

    return function, formulas


def plain(x):
    return x


def strided(x):
    return np.repeat(x, 2, axis=-1)[..., ::2]


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def backwards(x):
    return x[..., ::-1].copy()[..., ::-1]


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(x.tobytes(), np.uint8)
    return raw.view(x.dtype).reshape(x.shape)


class Sub(np.ndarray):
    """A subclass of NumPy's array."""


def subclass(x):
    return x.view(Sub)


def longer(x):
    return np.concatenate([x, x]) if x.ndim > 1 else x


def single(x):
    return x.astype(np.float32)


def empty(x):
    return x[:0] if x.ndim > 1 else x


KINDS = (plain, strided, swapped, read_only, backwards, unaligned, subclass, longer, single, empty, np.asfortranarray)
CHANGES = ("none", "factor", "table", "table in place", "closure in place", "captured in place", "gradient attached")
WAYS = ("call", "grad", "both", "swapped argnums", "loss last", "elementwise", "recorded", "autograd", "nested")
MODES = ("usual", "disabled", "np", "training", "recording")


def entered(mode):
    return {
        "disabled": mx.compile.disabled,
        "np": mx.util.np_array,
        "training": mx.autograd.train_mode,
        "recording": mx.autograd.record,
    }[mode]()


class Calls:
    def __init__(self):
        self.space = made.__globals__
        self.space["FACTOR"], self.space["TABLE"] = 1.0, np.linspace(0.5, 1.5, 3)
        self.table = np.array([1.0, -1.0, 2.0])
        self.captured = mx.np.array(np.arange(3.0))
        self.function, self.formulas = made(self.table, self.captured)
        self.compiled = mx.compile(self.function)
        self.derivatives = {
            "grad": mx.compile(mx.grad(self.function)),
            "both": mx.value_and_grad(self.compiled, argnum=(0, 1)),
            "swapped argnums": mx.compile(mx.grad(self.function, argnum=(1, 0))),
            "loss last": mx.grad_and_loss(self.compiled, argnum=1),
            "elementwise": mx.elementwise_grad(self.compiled),
        }
        random = np.random.RandomState(0)
        self.x, self.w = random.normal(size=(2, 3)), random.normal(size=3)
        self.number = 0

    def change(self, what):
        self.number += 1
        if what == "factor":
            self.space["FACTOR"] = float(self.number)
        elif what == "table":
            self.space["TABLE"] = np.linspace(0.5, 1.5, 3) * self.number
        elif what == "table in place":
            self.space["TABLE"] *= -1.25
        elif what == "closure in place":
            self.table[self.number % 3] += 0.5
        elif what == "captured in place":
            self.captured[:] = self.number
        elif what == "gradient attached":
            self.captured.attach_grad()

    def call(self, way, kind, repeats):
        x, w = kind(self.x), kind(self.w)
        expected = self.formulas(x, w)
        tolerance = 1e-4 if x.dtype.itemsize == 4 else 1e-9
        for _ in range(repeats):
            found = self.found(way, x, w)
            wanted = {
                "call": expected[:1],
                "grad": expected[1:2],
                "both": expected,
                "swapped argnums": (expected[2], expected[1]),
                "loss last": (expected[2], expected[0]),
                "elementwise": expected[1:2],
                "recorded": expected[1:],
                "autograd": expected[1:2],
                "nested": expected[1:2],
            }[way]
            assert len(found) == len(wanted)
            found = [one.asnumpy() if isinstance(one, mx.nd.NDArray) else one for one in found]  # recorded around
            for one, other in zip(found, wanted, strict=True):
                assert np.shape(one) == np.shape(other)
                np.testing.assert_allclose(np.asarray(one), other, rtol=tolerance, atol=tolerance)
            for one in found:  # what was answered is the caller's, and nobody remembers it
                if isinstance(one, np.ndarray):
                    one[...] = np.nan

    def found(self, way, x, w):
        if way == "call":
            return (self.compiled(x, w),)
        if way == "both":
            value, gradients = self.derivatives[way](x, w)
            return (value, *gradients)
        if way == "recorded":
            variables = mx.np.array(x, dtype=x.dtype), mx.np.array(w, dtype=w.dtype)
            for one in variables:
                one.attach_grad()
            with mx.autograd.record():
                value = self.compiled(*variables)
            value.backward()
            return [one.grad.asnumpy() for one in variables]
        if way == "autograd":
            return (autograd.grad(self.compiled)(np.asarray(x), np.asarray(w)),)
        if way == "nested":
            return (mx.grad(lambda x: mx.grad(lambda x: self.compiled(x, w) * np.sum(x) / 1.0)(x)[..., :0].sum()
                            + self.compiled(x, w))(x),)  # fmt: skip
        found = self.derivatives[way](x, w)
        return found if isinstance(found, tuple) else (found,)


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(WAYS), st.sampled_from(KINDS), st.sampled_from(CHANGES), st.sampled_from(MODES),
            st.integers(1, 4),
        ),
        min_size=4,
        max_size=12,
    )
)  # fmt: skip
def test_calls_between_changes(actions):
    calls = Calls()
    for way in ("call", "both", "grad"):
        calls.call(way, plain, 4)
    for way, kind, change, mode, repeats in actions:
        calls.change(change)
        if mode == "usual" or way in ("recorded", "autograd", "nested"):
            calls.call(way, kind, repeats)
        else:
            with entered(mode):
                calls.call(way, kind, repeats)


@pytest.mark.parametrize("way", ["call", "grad", "both", "swapped argnums", "loss last", "elementwise"])
def test_it_is_native_code_that_is_called(way, monkeypatch):
    calls = Calls()
    calls.call(way, plain, 4)
    straight = []
    for name in ("run", "run_with_gradients"):
        function = getattr(Program, name)
        monkeypatch.setattr(
            Program, name, lambda self, arrays, function=function: straight.append(1) or function(self, arrays)
        )
    calls.call(way, plain, 3)
    assert len(straight) == 3


def test_arguments_that_are_not_read_have_gradients_of_zeros():
    both = mx.compile(mx.value_and_grad(lambda x, y: np.sum(x * x) + 0 * np.sum(np.sign(y)), argnum=(1, 0)))
    x, y = np.arange(3.0), np.arange(4.0) - 1
    for _ in range(5):
        value, (of_y, of_x) = both(x, y)
        assert value == 5
        np.testing.assert_array_equal(of_x, 2 * x)
        np.testing.assert_array_equal(of_y, np.zeros(4))


def test_errors_of_calls_inside_are_those_of_the_function():
    refused = []

    @mx.customop("numpy")
    def picky(x):
        if refused:
            raise ValueError("not today")
        return np.sort(x)

    compiled = mx.compile(lambda x: picky(x * 2) + 1)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(np.arange(3.0)), np.arange(3.0) * 2 + 1)
    refused.append(True)
    with pytest.raises(Exception, match="not today"):
        compiled(np.arange(3.0))


def test_profilers_see_the_calls(tmp_path, monkeypatch):
    monkeypatch.setattr(_profiler, "config", _profiler.config.copy())
    compiled = mx.compile(lambda x: np.tanh(x) + 1)
    for _ in range(4):
        compiled(np.arange(3.0))
    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    mx.profiler.set_state("run")
    compiled(np.arange(3.0))
    mx.profiler.set_state("stop")
    assert "forward" in mx.profiler.dumps(reset=True)
    np.testing.assert_array_equal(compiled(np.arange(3.0)), np.tanh(np.arange(3.0)) + 1)
