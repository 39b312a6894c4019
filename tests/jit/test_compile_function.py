"""`minpy.compile` of functions: what they compute and refer to, their derivatives, and what cannot be a graph."""

import copy
import datetime
import operator
import os
import pickle
import random
import threading
import time
import warnings
from time import perf_counter

import autograd
import numpy as np
import pytest

import minpy as mx
from minpy.backends.switches import CompileWarning, disabled, is_enabled

COMPILES = True

RANDOM = np.random.RandomState(7)
X, W = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 4))
FACTOR = 2.0
TABLE = np.arange(3.0)


def energy(x, w):
    return np.sum(np.tanh(x @ w) ** 2)


def nested(values, scale=1, *, shift=0.0):
    return {"scaled": values["a"] * scale + shift, "parts": [values["b"].mean(axis=0), values["a"][1:].T]}


def with_globals(x):
    return x * TABLE + FACTOR


def with_operators(x, w):
    return mx.npx.softmax(mx.np.dot(x, w))


def several_calls(function, *arguments, **keywords):
    """What a function gives at calls before and after it has become native code."""
    results = [function(*arguments, **keywords) for _ in range(5)]
    for result in results[1:]:
        np.testing.assert_allclose(
            *(np.asarray(one, dtype=object).tolist() for one in (result, results[0])), rtol=1e-12
        )
    return results[-1]


def test_a_function_of_numpy_arrays_gives_what_it_gave():
    compiled = mx.compile(energy)
    result = several_calls(compiled, X, W)
    assert type(result) is np.float64
    np.testing.assert_allclose(result, energy(X, W), rtol=1e-12)
    assert compiled.__wrapped__ is energy
    assert compiled.__name__ == "energy"
    assert compiled.reason is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_dtypes_stay(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    compiled = mx.compile(lambda x: (x * 2 + 1, np.sum(x, axis=1)))
    for _ in range(4):
        doubled, total = compiled(x)
    assert doubled.dtype == x.dtype
    np.testing.assert_array_equal(doubled, x * 2 + 1)
    np.testing.assert_array_equal(total, x.sum(axis=1))


def test_nests_and_keywords():
    compiled = mx.compile(nested)
    for scale in (2, 3):
        for shift in (0.0, 1.5):
            found = compiled({"a": X, "b": X}, scale, shift=shift)
            expected = nested({"a": X, "b": X}, scale, shift=shift)
            np.testing.assert_allclose(found["scaled"], expected["scaled"])
            for one, other in zip(found["parts"], expected["parts"], strict=True):
                np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("kind", ["nd", "np"])
def test_arrays_of_ours_go_in_and_come_out(kind):
    make = mx.nd.array if kind == "nd" else mx.np.array
    compiled = mx.compile(energy if kind == "np" else lambda x, w: mx.nd.sum(mx.nd.tanh(mx.nd.dot(x, w)) ** 2))
    for _ in range(4):
        result = compiled(make(X), make(W))
    assert type(result) is type(make(X))
    np.testing.assert_allclose(result.asnumpy().reshape(()), energy(X, W), rtol=1e-5)


def test_operators_inside():
    compiled = mx.compile(with_operators)
    for _ in range(4):
        result = compiled(X, W)
    np.testing.assert_allclose(result.sum(axis=-1), np.ones(2), rtol=1e-6)


def test_a_decorator_and_a_method():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @mx.compile(fast_math=True)
        def run(self, x):
            return x * 2

    @mx.compile
    def twice(x):
        return 2 * x

    np.testing.assert_array_equal(twice(X), 2 * X)
    np.testing.assert_array_equal(twice.__wrapped__(X), 2 * X)
    np.testing.assert_array_equal(Model.run(None, X), 2 * X)


@pytest.mark.parametrize("calls", [1, 4])
def test_what_it_refers_to_is_seen(monkeypatch, calls):
    monkeypatch.setattr("test_compile_function.TABLE", TABLE.copy(), raising=False)
    space = with_globals.__globals__
    compiled = mx.compile(with_globals)

    def check():
        for _ in range(calls):
            np.testing.assert_allclose(compiled(X), X * space["TABLE"] + space["FACTOR"])

    monkeypatch.setitem(space, "TABLE", TABLE.copy())
    check()
    space["TABLE"] *= 3
    check()
    space["TABLE"][1] = -1
    check()
    monkeypatch.setitem(space, "FACTOR", 10.0)
    check()
    monkeypatch.setitem(space, "TABLE", np.ones(3))
    check()


def test_closures_are_seen():
    scale, offset = 2.0, np.ones(3)

    @mx.compile
    def function(x):
        return x * scale + offset

    for _ in range(4):
        np.testing.assert_allclose(function(X), X * 2 + 1)
    scale = 5.0
    offset[:] = 7
    np.testing.assert_allclose(function(X), X * 5 + 7)


def test_gradients_on_the_tape_and_under_autograd():
    compiled = mx.compile(energy)
    expected = mx.grad(energy, (0, 1))(X, W)
    for _ in range(4):
        for found, wanted in zip(mx.grad(compiled, (0, 1))(X, W), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10)
        np.testing.assert_allclose(autograd.grad(compiled)(X, W), expected[0], rtol=1e-10)
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        loss = compiled(x, mx.nd.array(W))
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected[0], rtol=1e-4)


def test_second_derivatives():
    compiled = mx.compile(lambda x: np.sum(x**3))
    for _ in range(4):
        np.testing.assert_allclose(mx.grad(lambda x: np.sum(mx.grad(compiled)(x)))(X), 6 * X)


@pytest.mark.parametrize("make", [mx.np.array, mx.nd.array])
@pytest.mark.parametrize("copied", [lambda y: y.T, lambda y: y.copy(), lambda y: y.reshape(-1), lambda y: y.flatten()])
def test_second_derivatives_of_results_that_are_copied(copied, make):
    for function in (lambda x: copied(x**3), mx.compile(lambda x: copied(x**3))):
        x = make(X)
        x.attach_grad()
        with mx.autograd.record():
            (slope,) = mx.autograd.grad(function(x).sum(), [x], create_graph=True)
            squares = (slope * slope).sum()
        squares.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), 36 * X**3, rtol=1e-5)


@pytest.mark.parametrize("derive", [mx.grad, mx.value_and_grad, mx.grad_and_loss, mx.jacobian, mx.hessian])
def test_derivatives_may_be_compiled(derive):
    compiled, plain = mx.compile(derive(energy)), derive(energy)
    for _ in range(4):
        found, expected = compiled(X, W), plain(X, W)
        for one, other in zip(
            *(part if isinstance(part, tuple) else (part,) for part in (found, expected)), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_cannot_be_a_graph_is_called_with_one_warning():
    def choosing(x):
        if x.sum() > 0:
            return x
        return -x

    compiled = mx.compile(choosing)
    with pytest.warns(
        CompileWarning, match=r"choosing is called as it is written.* it chooses by values.*function.py:\d+"
    ) as seen:
        found = compiled(-X)
    np.testing.assert_array_equal(found, choosing(-X))
    assert len(seen) == 1
    for _ in range(3):  # without a further warning, which would be an error
        np.testing.assert_array_equal(compiled(X), choosing(X))
    assert "it chooses by values: `if`, `while`, `and` or `assert` of an array" in compiled.reason


def test_a_change_of_an_argument_reaches_the_caller():
    @mx.compile
    def increase(x):
        x += 1
        return x

    x = np.zeros(3)
    assert increase(x) is x
    np.testing.assert_array_equal(x, np.ones(3))
    x = mx.nd.zeros(3)
    assert increase(x) is x
    np.testing.assert_array_equal(x.asnumpy(), np.ones(3))
    assert increase.reason is None


def test_results_are_the_arguments_or_lie_in_memory_of_their_own():
    compiled = mx.compile(lambda x: (x, x[1:], x.T))
    for _ in range(4):
        x = X.copy()
        itself, *parts = compiled(x)
        assert itself is x
        for part in parts:
            part[...] = 0
        np.testing.assert_array_equal(x, X)


def test_without_arrays_it_is_the_function():
    assert mx.compile(lambda x, y: x + y)(1, 2) == 3


def test_errors():
    with pytest.raises(mx.MXNetError, match=r"minpy.compile takes a function, got int 3"):
        mx.compile(3)
    with pytest.raises(mx.MXNetError, match=r"got the block dense.*: call its hybridize\(\), which compiles it"):
        mx.compile(mx.gluon.nn.Dense(2))
    with pytest.raises(ValueError, match="matmul"):
        mx.compile(energy)(X, X)


def test_it_pickles():
    compiled = pickle.loads(pickle.dumps(mx.compile(energy)))
    np.testing.assert_allclose(compiled(X, W), energy(X, W))


def test_the_switch_is_of_a_thread():
    seen = []
    with mx.compile.disabled():
        assert not is_enabled()
        with disabled():
            assert not is_enabled()
        assert not is_enabled()
        thread = threading.Thread(target=lambda: seen.append(is_enabled()))
        thread.start()
        thread.join()
        compiled = mx.compile(energy)
        for _ in range(4):
            np.testing.assert_allclose(compiled(X, W), energy(X, W))
    assert is_enabled()
    assert seen == [True]


def test_products_and_sums_are_rounded_twice_unless_fast_math_is_asked_for():
    pytest.importorskip("llvmlite")
    x, y, z = RANDOM.normal(size=(3, 10_000)).astype(np.float32)
    exact, fast = (mx.compile(lambda x, y, z: x * y + z, fast_math=one) for one in (False, True))
    for _ in range(4):
        found, contracted = exact(x, y, z), fast(x, y, z)
    np.testing.assert_array_equal(found, x * y + z)
    assert exact.explain()[0].is_native
    np.testing.assert_allclose(contracted, x * y + z, rtol=1e-5, atol=1e-6)


def test_what_fails_as_a_graph_alone_is_called_as_it_is_written():
    compiled = mx.compile(lambda x: x.nonzero()[0])
    with pytest.warns(CompileWarning, match=r"cannot become a graph.*: the shape of numpy.nonzero's answer depends on"):
        np.testing.assert_array_equal(compiled(X), X.nonzero()[0])
    np.testing.assert_array_equal(compiled(X), X.nonzero()[0])


def test_numbers_that_numpy_draws_are_drawn_at_each_call():
    compiled = mx.compile(lambda x: x + np.random.normal(size=x.shape))
    np.random.seed(3)
    with pytest.warns(CompileWarning, match="np.random draws random numbers: draw with minpy.np.random, or take the"):
        found = [compiled(X) for _ in range(4)]
    np.random.seed(3)
    for one in found:
        np.testing.assert_array_equal(one, X + np.random.normal(size=X.shape))


def test_attributes_of_the_instance_of_a_method_are_seen():
    class Model:
        factor = 2.0

        def run(self, x):
            return x * self.factor

    model = Model()
    compiled = mx.compile(model.run)
    for factor in (2.0, 3.0):
        model.factor = factor
        for _ in range(4):
            np.testing.assert_array_equal(compiled(X), X * factor)


GENERATOR, LEGACY, PYTHONS = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
HOLDER = type("Holder", (), {})()
HOLDER.generators = [np.random.default_rng(1)]
DRAWS = {
    "generator": (lambda x: x + GENERATOR.normal(size=x.shape), "draws random numbers"),
    "number of a generator": (lambda x: x * GENERATOR.random(), "draws random numbers"),
    "generator of an object": (lambda x: x + HOLDER.generators[0].random(), "draws random numbers"),
    "legacy": (lambda x: x + LEGACY.normal(size=x.shape), "draws random numbers"),
    "Python's": (lambda x: x + PYTHONS.gauss(0, 1), "draws random numbers"),
    "Python's own": (lambda x: x + random.random(), "draws random numbers"),
    "NumPy's own": (lambda x: x + np.random.normal(), "draws random numbers"),
    "new": (lambda x: x + np.random.default_rng().normal(size=3), "draws random numbers"),
    "the system's": (lambda x: x + os.urandom(4)[0] + 256 * os.urandom(4)[0], "draws random numbers"),
    "time": (lambda x: x + time.time() % 1, "time.time asks for the time"),
    "time by its name": (lambda x: x + perf_counter(), "perf_counter asks for the time"),
    "date": (lambda x: x + datetime.datetime.now().microsecond, "datetime asks for the time"),
}


@pytest.mark.parametrize("what", DRAWS)
def test_what_differs_from_call_to_call_is_not_frozen(what):
    function, message = DRAWS[what]
    compiled = mx.compile(function)
    with pytest.warns(
        CompileWarning, match=rf"called as it is written.*{message}.*take (the numbers|it) as an argument"
    ):
        found = [compiled(X) for _ in range(6)]
    assert len({one.tobytes() for one in found}) > 1


def test_generators_go_on_as_if_nothing_had_been_compiled():
    draws = np.random.default_rng(3)
    compiled = mx.compile(lambda x: x + draws.normal(size=x.shape))
    with pytest.warns(CompileWarning, match="draws draws random numbers"):
        found = [compiled(X) for _ in range(4)]
    again = np.random.default_rng(3)
    for one in found:
        np.testing.assert_array_equal(one, X + again.normal(size=X.shape))


def test_blocks_that_draw_warn():
    draws = np.random.default_rng(0)

    class Drawing(mx.gluon.HybridBlock):
        def forward(self, x):
            return x + draws.normal()

    block = Drawing()
    block.hybridize()
    with pytest.warns(UserWarning, match=r"draws draws random numbers: draw with minpy.np.random"):
        found = [block(mx.np.array(X))]
    found.append(block(mx.np.array(X)))  # without a further warning, which would be an error
    again = np.random.default_rng(0)
    for one in found:
        np.testing.assert_allclose(one.asnumpy(), X + again.normal(), rtol=1e-6)


def test_counters_that_a_function_moves_are_seen():
    count = [0]

    def counting(x):
        count[0] += 1
        return x + count[0]

    compiled = mx.compile(counting)
    with pytest.warns(CompileWarning, match=r"it changes a list or a dict that it did not make .*function.py:\d+"):
        np.testing.assert_array_equal(compiled(X), X + 1)
    for number in range(2, 6):
        np.testing.assert_array_equal(compiled(X), X + number)


OPERATORS = {
    "~ bools": lambda x: ~(x > 2), "~": lambda x: ~x, "<<": lambda x: x << 2, ">>": lambda x: x >> 1,
    "r<<": lambda x: 1 << x, "r>>": lambda x: 64 >> x, "&": lambda x: x & 3, "r&": lambda x: 3 & x,
    "|": lambda x: x | 1, "r|": lambda x: 1 | x, "^": lambda x: x ^ 1, "r^": lambda x: 1 ^ x,
    "divmod": lambda x: divmod(x, 2), "rdivmod": lambda x: divmod(7, x), "-": lambda x: -x, "+": lambda x: +x,
    "abs": abs, "//": lambda x: x // 2, "r//": lambda x: 7 // x, "%": lambda x: x % 2, "r%": lambda x: 7 % x,
    "x <<= 1": lambda x: operator.ilshift(x * 1, 1), "x >>= 1": lambda x: operator.irshift(x * 1, 1),
    "x &= 3": lambda x: operator.iand(x * 1, 3), "x |= 1": lambda x: operator.ior(x * 1, 1),
    "x ^= 1": lambda x: operator.ixor(x * 1, 1), "x += 1": lambda x: operator.iadd(x * 1, 1),
    "mT": lambda x: x.T.mT if hasattr(x, "mT") else x, "sizes": lambda x: x + x.nbytes + x.itemsize + x.size + x.ndim,
}  # fmt: skip


@pytest.mark.parametrize("which", OPERATORS)
def test_operators_of_arrays(which):
    function, x = OPERATORS[which], np.arange(1, 7).reshape(2, 3)
    expected, compiled = function(x), mx.compile(function)
    if which == "mT":
        expected = x
    for _ in range(4):
        found = compiled(x)
        for one, other in zip(
            *(part if isinstance(part, tuple) else (part,) for part in (found, expected)), strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    assert compiled.reason is None


def with_a_store(x):
    y = x * 1
    y[[1, 2]] = 0
    return y


CHANGES = {
    "store": with_a_store,
    "view": lambda x: operator.ilshift(x.reshape(-1), 1),
    "sort": lambda x: (x.sort(), x)[1],
    "partition": lambda x: (x.partition(1), x)[1],
    "put": lambda x: (x.put(0, 2), x)[1],
}
REFUSED = {
    "flat": (lambda x: x + x.flat[1], r"an array's attribute 'flat' cannot be captured: x.reshape\(-1\) is"),
    "view as bytes": (lambda x: x.view(np.uint8), r"it reads bytes as another dtype: view\(\)"),
}


@pytest.mark.parametrize("which", CHANGES)
def test_changes_in_place_of_arguments_and_of_their_views(which):
    compiled, function = mx.compile(CHANGES[which]), CHANGES[which]
    for _ in range(4):
        x, expected = np.array([3, 1, 2]), np.array([3, 1, 2])
        np.testing.assert_array_equal(compiled(x), function(expected))
        np.testing.assert_array_equal(x, expected)
    assert compiled.reason is None


@pytest.mark.parametrize("which", REFUSED)
def test_what_graphs_do_not_have_says_what_to_do(which):
    function, message = REFUSED[which]
    compiled = mx.compile(function)
    with pytest.warns(CompileWarning, match=rf"called as it is written.*{message}"):
        np.testing.assert_array_equal(compiled(np.array([3, 1, 2])), function(np.array([3, 1, 2])))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.array([3, 1, 2])), function(np.array([3, 1, 2])))


@mx.compile
def decorated(x):
    return np.tanh(x) * 2


def test_a_decorated_function_pickles():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated) is decorated
    inside = mx.compile(lambda x: x)
    np.testing.assert_array_equal(copy.deepcopy(inside)(X), X)


def test_explanations_say_that_compiling_is_switched_off():
    compiled = mx.compile(energy)
    with disabled():
        for _ in range(4):
            compiled(X, W)
        assert "compiling is switched off, by MINPY_COMPILE=0 or minpy.compile.disabled()" in str(compiled.explain())


def test_explanations_of_a_function_whose_calls_ran_as_written():
    compiled = mx.compile(lambda x: np.tanh(x))
    with pytest.raises(mx.MXNetError, match="it has not been called yet: call it once, then ask"):
        compiled.explain()
    compiled._specialized.budget.skip_lookups()
    compiled(X)
    with pytest.raises(mx.MXNetError, match=r"ran as it is written so far, as they are faster so.*explain_retraces"):
        compiled.explain()


@pytest.mark.parametrize("name", ["as_np_ndarray", "as_nd_ndarray"])
def test_an_argument_that_is_returned_as_one_of_another_class(name):
    """It shares memory with the argument: no graph computes it."""
    written = operator.methodcaller(name)
    compiled = mx.compile(lambda x: getattr(x, name)())
    for x in (mx.nd.ones(2), mx.np.ones(2)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            answers = [compiled(x) for _ in range(3)]
        assert [type(answer) for answer in answers] == [type(written(x))] * 3
        answers[-1][:] = 5
        assert x.asnumpy().tolist() == [5, 5]
