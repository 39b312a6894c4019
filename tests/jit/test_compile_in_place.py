"""Compiled functions that change their arguments in place: what they leave there is what NumPy leaves.

Random functions are in `fuzz_in_place`. Here: what meets such a change, each by itself, as Python and as native code.
"""

import operator
import threading
import warnings

import autograd
import fuzz_in_place
import numpy as np
import pytest

import minpy as mx
from minpy.backends.switches import CompileWarning
from minpy.core.errors import MutationError
from minpy.differentiation.trees import leaves_of

COMPILES = True

CALLS = 5


def adam(w, g, m, v):
    m *= 0.9
    m += (1 - 0.9) * g
    v *= 0.999
    v += (1 - 0.999) * g * g
    w -= 0.001 * m / (np.sqrt(v) + 1e-8)


def arrays(count, shape=(7,), dtype="float32", seed=0):
    draw = np.random.RandomState(seed)
    return [draw.uniform(1, 2, shape).astype(dtype) for _ in range(count)]


def moved(compiled, plain, make, calls=CALLS):
    """Call both on arrays of their own, several times on the same ones, and compare all of these and the answers."""
    mine, others = make(), make()
    for _ in range(calls):
        found, expected = compiled(*mine), plain(*others)
        parts, wholes = (one if isinstance(one, tuple) else (one,) for one in (found, expected))
        for one, other in zip((*mine, *parts), (*others, *wholes), strict=True):
            if other is None:
                assert one is None
            else:
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, 1e-4, 1e-6)
    return mine, found


def swap(a, b):
    kept = a.copy()
    a[...] = b
    b[...] = kept


def old_value_returned(m):
    old = m.copy()
    m += 1
    return old


def old_value_read_later(m, w):
    total = (m * w).sum()
    m *= 2
    w += m @ w + total


def rows_of_itself(m):
    m -= m.mean(axis=0)
    m /= np.sqrt((m * m).sum(axis=1, keepdims=True))


def through_a_call(m):
    m *= 2
    m += np.sort(m, axis=0)


def with_products(w, x, y):
    w -= 0.01 * x.T @ (x @ w - y)
    return w


def stored_twice(m, v):
    m += 1
    v[...] = m


def out(a, b, m):
    np.add(a, b, out=m)
    np.multiply(m, 2, m)
    np.clip(m, 0, 5, out=m)
    return m


def out_by_position(a, b, m):
    np.clip(a, 0, 1.5, m)
    np.cumsum(m, 0, None, m)
    np.dot(a, b, b)
    b.sum(1, None, a[0])
    a.round(1, a)
    return np.concatenate((b[:2], m[:2]), 0, a)


def not_read(m):
    m[...] = 3


def parts(x, y):
    x[1:] = y[:-1]
    x[0] = 7
    x[:, 1] *= 2
    x[1:, 2:] += y[1:, 2:]
    return x


def masked(x, y):
    x[x < 1.5] = 0
    y[x > 0] = y.max()


def filled(x):
    x.fill(2.5)
    return x


def copied(x, y):
    np.copyto(x, y)


def by_a_view(x):
    flat = x[...]
    flat += 1
    del flat
    rows = x[1:]
    rows *= 2


def a_row_is_added(m, row):
    m += row


FUNCTIONS = {
    "adam": (adam, lambda: arrays(4)),
    "adam, long enough for two threads": (adam, lambda: arrays(4, (300_000,))),
    "swap": (swap, lambda: arrays(2, (5, 3))),
    "old value returned": (old_value_returned, lambda: arrays(1)),
    "old value read later": (old_value_read_later, lambda: arrays(2, (4, 4))),
    "rows of itself": (rows_of_itself, lambda: arrays(1, (64, 33))),
    "through a call": (through_a_call, lambda: arrays(1, (6, 2))),
    "products": (with_products, lambda: [*arrays(1, (40, 30)), *arrays(1, (50, 40)), *arrays(1, (50, 30))]),
    "stored twice": (stored_twice, lambda: arrays(2)),
    "out": (out, lambda: arrays(3)),
    "out by position": (out_by_position, lambda: arrays(3, (4, 4))),
    "not read": (not_read, lambda: arrays(1)),
    "parts": (parts, lambda: arrays(2, (4, 5))),
    "nan_to_num": (lambda x, y: np.nan_to_num(x, copy=False) + y, lambda: [one / (one > 1.2) for one in arrays(2)]),
    "masked": (masked, lambda: arrays(2)),
    "filled": (filled, lambda: arrays(1)),
    "filled with more digits than a float has": (lambda x: x.fill(2**53 + 1), lambda: arrays(1, dtype="int64")),
    "copied": (copied, lambda: [*arrays(1), *arrays(1, (1,))]),
    "by a view": (by_a_view, lambda: arrays(1, (4,))),
    "a row is added": (a_row_is_added, lambda: [*arrays(1, (50, 40)), *arrays(1, (40,), "float64")]),
    "&= of booleans": (operator.iand, lambda: [one > 1.5 for one in arrays(2)]),
    "<<= of integers": (operator.ilshift, lambda: [np.arange(9), np.arange(9) % 2]),
    "float32 by float64": (operator.imul, lambda: [*arrays(1), *arrays(1, dtype="float64")]),
    "float16": (operator.iadd, lambda: arrays(2, dtype="float16")),
    "no axes": (operator.iadd, lambda: arrays(2, ())),
    "no elements": (operator.iadd, lambda: arrays(2, (0, 3))),
    "order of Fortran": (operator.iadd, lambda: [np.asfortranarray(one) for one in arrays(2, (5, 4))]),
    "every second": (operator.iadd, lambda: [one[:, ::2] for one in arrays(2, (5, 8))]),
    "other order of bytes": (operator.iadd, lambda: [one.astype(">f4") for one in arrays(2)]),
}


@pytest.mark.parametrize("which", FUNCTIONS)
@pytest.mark.parametrize("natively", [True, False])
def test_arguments_are_left_as_numpy_leaves_them(which, natively):
    function, make = FUNCTIONS[which]
    compiled = mx.compile(function)
    if natively:
        moved(compiled, function, make)
    else:
        with mx.compile.disabled():
            moved(compiled, function, make)
    assert compiled.reason is None


@pytest.mark.parametrize("natively", [True, False])
def test_random_functions(natively):
    numbers = [number for number in range(5000, 5060) if (number % 3 == 0) != natively][: 20 if natively else 40]
    assert fuzz_in_place.run(numbers) >= len(numbers) // 5


def test_native_code_stores_where_the_old_values_lie():
    pytest.importorskip("llvmlite")
    compiled = mx.compile(adam)
    moved(compiled, adam, lambda: arrays(4))
    (explanation,) = compiled.explain()
    assert explanation.count("kernel") == 1
    (specialization,) = compiled._specialized.specializations
    (program,) = specialization.compiled._programs.values()
    given = arrays(4)
    heads = program.run(given)
    stored = specialization.compiled.stored.values()
    assert {id(head) for head in heads} == {id(given[position]) for position in stored}


def test_what_is_stored_and_returned_is_two_arrays():
    def function(x):
        y, other = x * 2, np.empty_like(x)
        other[...] = y
        return y, other, y

    def changing(m):
        m += 1
        return function(m)

    for one in map(mx.compile, (function, changing)):
        for _ in range(CALLS):
            y, other, again = one(np.ones(3))
            assert y is again
            assert not np.shares_memory(y, other)
            np.testing.assert_array_equal(y, other)
        assert one.reason is None


def test_what_is_changed_and_returned_is_the_array_that_was_given():
    def function(m, x):
        m += x
        return {"m": m, "twice": [m * 2, m]}

    compiled = mx.compile(function)
    m = np.zeros(3)
    for call in range(1, CALLS):
        found = compiled(m, np.ones(3))
        assert found["m"] is m
        assert found["twice"][1] is m
        np.testing.assert_array_equal(found["twice"][0], np.full(3, 2 * call))
    m = np.zeros(())
    for _ in range(CALLS):
        assert compiled(m, np.ones(()))["m"] is m
    m = mx.np.array([1.0, 2.0])
    for _ in range(CALLS):
        assert compiled(m, mx.np.array([1.0, 2.0]))["m"] is m
    m, x = np.ones(3), mx.np.ones(3)
    assert compiled(m, x)["m"] is m
    assert compiled.reason is None


# -- who else sees the memory ------------------------------------------------------------------------------------------


def second_after_first(a, b):
    a += 1
    b *= 2
    return a + b


ALIASES = {
    "the same": lambda x: (x, x),
    "views of all": lambda x: (x[...], x[...]),
    "overlapping": lambda x: (x[1:], x[:-1]),
    "apart in one memory": lambda x: (x[:4], x[4:8]),
    "one in another": lambda x: (x[:4], x[4:0:-1]),
    "interleaved": lambda x: (x[::2], x[1::2]),
    "turned": lambda x: (x[:9].reshape(3, 3), x[:9].reshape(3, 3).T),
    "itself again and again": lambda x: (np.lib.stride_tricks.as_strided(x, (4, 4), (8, 8)), np.ones((4, 4))),
}


@pytest.mark.parametrize("which", ALIASES)
def test_arguments_that_share_memory(which):
    compiled = mx.compile(second_after_first)
    mine, other = np.arange(10.0), np.arange(10.0)
    pairs = ALIASES[which](mine), ALIASES[which](other)
    for _ in range(CALLS):
        moved(compiled, second_after_first, lambda: [np.ones(one.shape) for one in pairs[0]], 1)
        found, expected = compiled(*pairs[0]), second_after_first(*pairs[1])
        np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(found, expected)
    assert compiled.reason is None


def test_arrays_that_it_refers_to_and_arguments_that_share_memory():
    table = np.arange(4.0)

    def function(m):
        m += 1
        return m * table + table.sum()

    def expected(m, t):
        m += 1
        return m * t + t.sum()

    compiled = mx.compile(function)
    other = np.arange(4.0)
    for _ in range(CALLS):
        m = np.ones(4)
        np.testing.assert_array_equal(compiled(m), expected(np.ones(4), table.copy()))
        np.testing.assert_array_equal(compiled(table[:]), expected(other, other))
        np.testing.assert_array_equal(table, other)


def changed(x):
    x += 1


def scalars(x):
    total, first = x.sum(), x[0]
    kept = total
    total += 1
    first *= 2
    changed(kept)
    return total, kept, first


WITHOUT_AXES = {
    "copy": lambda x: x[0:1].sum(0).copy(), "zeros": lambda x: np.zeros_like(x.sum()),
    "squeezed": lambda x: np.squeeze(x[:1] * 2), "reshaped": lambda x: (x[:1] * 2).reshape(()),
    "where": lambda x: np.where(x.sum() > 0, x[0], 1), "cast": lambda x: (x[:1] * 2).reshape(()).astype("float64"),
    "broadcast": lambda x: np.full_like(x.sum(), 3),
}  # fmt: skip


@pytest.mark.parametrize("which", WITHOUT_AXES)
def test_arrays_without_axes_are_no_scalars(which):
    def function(x):
        value = WITHOUT_AXES[which](x)
        other = value
        changed(value)
        value *= 2
        return value + 0, other + 0

    compiled = mx.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        moved(compiled, function, lambda: arrays(1))


def test_scalars_are_no_arrays():
    compiled = mx.compile(scalars)
    moved(compiled, scalars, lambda: arrays(1))
    assert compiled.reason is None


def test_of_mxnet_arrays_without_axes_are_arrays():
    def function(x):
        total, first = x.sum(), x[0]
        kept = total
        total += 1
        first += 1
        return kept * 1, total, x * 2

    compiled = mx.compile(function)
    for _ in range(CALLS):  # of NumPy's they are scalars
        for make in (np.ones, mx.np.ones):
            mine, others = make(3), make(3)
            for one, other in zip((*compiled(mine), mine), (*function(others), others), strict=True):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert compiled.reason is None


def test_read_only_arrays_are_numpys_error_and_nothing_is_changed():
    def function(a, b):
        b += a
        a += 1

    compiled = mx.compile(function)
    for call in range(CALLS):
        moved(compiled, function, lambda: arrays(2), 1)
        fixed, b = np.ones(7, "f"), np.ones(7, "f")
        fixed.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            compiled(b, fixed)
        assert fixed.tolist() == b.tolist() == [1.0] * 7, call
    assert compiled.reason is None


ERRORS = {
    "integers by a fraction": (lambda i: operator.iadd(i, 0.5), lambda: [np.arange(3)], TypeError),
    "quotients of integers": (operator.itruediv, lambda: [np.arange(3), np.arange(1, 4)], TypeError),
    "a target that is broadcast": (operator.iadd, lambda: arrays(1, (1, 3)) + arrays(1, (4, 3)), ValueError),
    "booleans": (operator.isub, lambda: [np.ones(3, bool), np.ones(3, bool)], TypeError),
    "complex into real": (operator.imul, lambda: [np.ones(3), np.ones(3) * 1j], TypeError),
    "copies of a number": (lambda i: np.copyto(i, np.float32(0.5)), lambda: [np.arange(3)], TypeError),
    "out of the range": (lambda x: operator.setitem(x, 9, 1), lambda: arrays(1), IndexError),
    "out of another shape": (lambda x, y: np.sum(x, axis=0, out=y), lambda: arrays(2, (3, 3)), ValueError),
}


@pytest.mark.parametrize("which", ERRORS)
def test_errors_are_numpys(which):
    function, make, kind = ERRORS[which]
    compiled = mx.compile(function)
    for _ in range(CALLS):
        given = make()
        with pytest.raises(kind):
            compiled(*given)
        np.testing.assert_array_equal(given[0], make()[0])


def test_an_error_in_the_middle_is_the_functions_own():
    def function(m, positions):
        m += 1
        m += np.take(m, positions)

    compiled = mx.compile(function)
    for call in range(1, CALLS):
        moved(compiled, function, lambda: [np.arange(3.0), np.array([2, 1, 0])], 1)
        m, expected = np.arange(3.0), np.arange(3.0)
        for one, target in ((compiled, m), (function, expected)):
            with pytest.raises(IndexError):
                one(target, np.array([9, 0, 0]))
        np.testing.assert_array_equal(m, expected, f"call {call}")


# -- shared memory -----------------------------------------------------------------------------------------------------


def doubled_and_shifted(w, x):
    w *= 2
    w += x.sum()


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("size", [1, 3, 40, 99])
def test_arguments_of_other_sizes_in_the_memory_of_one_that_is_changed(size, is_first):
    """Wherever they lie in it; and next to it, where they are apart."""

    def function(one, other):
        doubled_and_shifted(*((one, other) if is_first else (other, one)))

    def call(function, whole, part):
        function(*((whole, part) if is_first else (part, whole)))

    compiled = mx.compile(function)
    for _ in range(CALLS):
        call(compiled, np.arange(100.0), np.arange(float(size)))
    for start in range(0, 300 - size, 3):
        mine, other = np.arange(300.0), np.arange(300.0)
        call(compiled, mine[100:200], mine[start : start + size])
        call(function, other[100:200], other[start : start + size])
        np.testing.assert_allclose(mine, other, err_msg=f"{size} from {start} on, changed from 100 to 200")


# -- views -------------------------------------------------------------------------------------------------------------


def changed_by_a_reshaped_one(x):
    y = x.reshape(-1)
    y += 1
    return x * 1


def changed_while_a_view_is_held(x):
    y = x[1:]
    x += 1
    return y * 2


def another_name(x):
    y = x
    y += 1
    return x * 2


def a_new_one(x):
    y = +x
    y += 1
    x *= y
    return y


def a_scalar(x):
    total = x.sum()
    kept = total
    total += 1
    x += total
    return kept, total


@pytest.mark.parametrize(
    "function",
    [changed_by_a_reshaped_one, changed_while_a_view_is_held, another_name, a_new_one, a_scalar],
    ids=lambda one: one.__name__,
)
@pytest.mark.filterwarnings("ignore::minpy.backends.switches.CompileWarning")
def test_views_of_arguments(function):
    moved(mx.compile(function), function, lambda: arrays(1, (4, 3), "float64"))


def test_all_functions_that_give_views_are_known():
    """What NumPy answers in the memory of what it was given is no array that can be changed by itself."""
    from minpy import symbol
    from minpy.numpy_table.table import named

    x = np.arange(1.0, 10).reshape(3, 3)
    i = np.arange(9).reshape(3, 3)
    calls = {
        "split": (3,), "array_split": (3,), "hsplit": (3,), "vsplit": (3,), "reshape": (9,), "expand_dims": (0,),
        "broadcast_to": ((2, 3, 3),), "moveaxis": (0, 1), "swapaxes": (0, 1), "rollaxis": (1,),
        "permute_dims": ((1, 0),),
    }  # fmt: skip
    seen = set()
    for name in vars(symbol.np):
        function = getattr(np, name, None)
        if not callable(function) or isinstance(function, type) or name.startswith("_"):
            continue
        for one in (x, i, x[:1], x[0]):
            try:
                with np.errstate(all="ignore"):
                    answer = function(one, *calls.get(name, ()))
            except Exception:  # it takes something else
                continue
            found = answer if isinstance(answer, (list, tuple)) else [answer]
            if any(isinstance(part, np.ndarray) and np.may_share_memory(part, one) for part in found):
                seen.add(name)
    assert {"ravel", "real", "flip", "squeeze"} <= seen
    assert not {name for name in seen if not named(name).view}


# -- the tape, derivatives, and arrays of ours -------------------------------------------------------------------------


def scaled(m, x):
    m *= 2
    return (m * x).sum()


@pytest.mark.parametrize("kind", [mx.np.array, mx.nd.array], ids=["np", "nd"])
@pytest.mark.filterwarnings("ignore::minpy.backends.switches.CompileWarning")
def test_recorded_changes_are_as_without_compiling(kind):
    compiled = mx.compile(scaled)
    for _ in range(CALLS):
        moved(compiled, scaled, lambda: [kind([1.0, 2.0, 3.0]), kind([1.0, 2.0, 3.0])], 1)
        for function in (compiled, scaled):
            m, x = kind([1.0, 2.0]), kind([3.0, 4.0])
            x.attach_grad()
            with mx.autograd.record():
                y = function(m, x)
            y.backward()
            np.testing.assert_array_equal(m.asnumpy(), [2, 4])
            np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4])
            m.attach_grad()
            with mx.autograd.record(), pytest.raises(MutationError, match="variable"):
                function(m, x)
            # Outside it is a change like any other.
            function(m, x)
            np.testing.assert_array_equal(m.asnumpy(), [4, 8])


def test_a_change_of_what_backward_needs_is_noticed():
    compiled = mx.compile(adam)
    moved(compiled, adam, lambda: arrays(4))
    w, *rest = (mx.np.array(one) for one in arrays(4))
    x = mx.np.ones(7)
    x.attach_grad()
    with mx.autograd.record():
        loss = (x * w).sum()
    compiled(w, *rest)
    with pytest.raises(MutationError, match="changed in place"):
        loss.backward()


def test_arrays_on_the_tape_run_as_written():
    def function(m):
        m *= 2

    compiled = mx.compile(function)
    for _ in range(CALLS):
        x = mx.np.array([1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = x * 3
        compiled(y)
        other = mx.np.array([1.0, 2.0])
        other.attach_grad()
        with mx.autograd.record():
            expected = other * 3
        function(expected)
        np.testing.assert_array_equal(y.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("derivative", [mx.grad, mx.value_and_grad], ids=["grad", "value_and_grad"])
def test_derivatives_are_as_without_compiling(derivative):
    """With respect to another argument than the one that is changed; that one cannot be."""
    for compiled in (derivative(mx.compile(scaled), 1), mx.compile(derivative(scaled, 1))):
        for _ in range(CALLS):
            m, other, x = np.ones(3), np.ones(3), np.arange(3.0)
            found, expected = compiled(m, x), derivative(scaled, 1)(other, x)
            for one, two in zip(leaves_of(found), leaves_of(expected), strict=True):
                np.testing.assert_array_equal(one, two)
            np.testing.assert_array_equal(m, other)
    for function in (scaled, mx.compile(scaled)):
        with pytest.raises(MutationError, match="in place, inside a recorded computation"):
            mx.grad(function)(np.ones(3), np.ones(3))


def test_hips_autograd():
    compiled = mx.compile(scaled)
    for _ in range(CALLS):
        moved(compiled, scaled, lambda: arrays(2, (3,)), 1)
        m, x = np.ones(3), np.arange(3.0)
        np.testing.assert_array_equal(autograd.grad(compiled, 1)(m, x), [2, 2, 2])
        np.testing.assert_array_equal(m, [2, 2, 2])
        # Boxes are not changed in place: `m *= 2` makes another one.
        np.testing.assert_array_equal(autograd.grad(compiled)(np.ones(3), x), autograd.grad(scaled)(np.ones(3), x))


def test_arguments_that_blocks_change():
    class Block(mx.gluon.HybridBlock):
        def forward(self, x):
            x += 1
            return x

    block = Block()
    block.hybridize()
    for _ in range(3):
        x = mx.np.ones(3)
        assert block(x).tolist() == x.tolist() == [2, 2, 2]


def test_what_was_prepared_of_a_parameter_is_made_anew():
    net = mx.gluon.nn.Dense(50, in_units=60, use_bias=False)
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((4, 60))
    compiled = mx.compile(adam)
    for _ in range(CALLS):
        net(x)
    raw = net.weight.data()
    weight = raw.as_np_ndarray()
    state = [mx.np.ones(weight.shape, dtype="float32") for _ in range(3)]
    for _ in range(CALLS):
        compiled(weight, *state)
        np.testing.assert_allclose(net(x).asnumpy(), x.asnumpy() @ raw.asnumpy().T, 1e-4, 1e-5)


@pytest.mark.filterwarnings("ignore::minpy.backends.switches.CompileWarning")
def test_arrays_that_are_attributes_are_changed_once_a_call():
    """Such a change happens when the function is traced; that is undone where it cannot become a graph after all."""

    class Momentum:
        def __init__(self):
            self.m = np.ones(3)

        def step(self, w, g):
            self.m *= 0.5
            self.m += g
            w -= self.m

    mine, other = Momentum(), Momentum()
    compiled = mx.compile(mine.step)
    w, expected = np.zeros(3), np.zeros(3)
    for _ in range(CALLS):
        compiled(w, np.ones(3))
        other.step(expected, np.ones(3))
        np.testing.assert_array_equal(mine.m, other.m)
        np.testing.assert_array_equal(w, expected)


# -- calls of calls, threads, kinds of arrays --------------------------------------------------------------------------


def test_compiled_functions_in_compiled_functions():
    inner = mx.compile(operator.iadd)

    def outer(m, x):
        inner(m, x)
        m *= 2
        return m

    moved(mx.compile(outer), outer, lambda: arrays(2))


def test_other_shapes_and_kinds_in_turn():
    compiled = mx.compile(adam)
    kinds = [((7,), "float32"), ((3, 2), "float32"), ((7,), "float64"), ((), "float32")]
    for _ in range(4):
        for shape, dtype in kinds:
            moved(compiled, adam, lambda shape=shape, dtype=dtype: arrays(4, shape, dtype), 2)


def test_keywords_and_nests():
    def step(parameters, rate, state=None):
        for one, other in zip(parameters, state["m"], strict=True):
            other += one
            one -= rate * other

    compiled = mx.compile(step)
    mine, others = [arrays(4), arrays(4)], [arrays(4), arrays(4)]
    for _ in range(CALLS):
        assert compiled(mine[0], 0.1, state={"m": mine[1]}) is None
        step(others[0], 0.1, state={"m": others[1]})
        np.testing.assert_allclose(mine, others, 1e-6)
    assert compiled.reason is None


CONTAINERS = {
    "an entry": lambda values, x: values.__setitem__("w", values["w"] - x),
    "a new entry": lambda values, x: values.__setitem__("new", x * 2),
    "a number": lambda values, x: values.__setitem__("count", values["count"] + 1),
    "a list": lambda values, x: values["list"].append(x + 1),
    "exchanged": lambda values, x: values.update(w=values["list"][0], list=[values["w"]]),
}


@pytest.mark.parametrize("which", CONTAINERS)
def test_lists_and_dicts_that_are_changed(which):
    def function(values, x):
        CONTAINERS[which](values, x)
        return x + 1

    compiled = mx.compile(function)
    mine, others = ({"w": np.ones(3), "count": 0, "list": [np.zeros(3)]} for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        for _ in range(CALLS):
            np.testing.assert_array_equal(compiled(mine, np.ones(3)), function(others, np.ones(3)))
            assert list(mine) == list(others)
            for one, other in zip(leaves_of(mine), leaves_of(others), strict=True):
                np.testing.assert_array_equal(one, other)


def test_two_threads_change_arrays_of_their_own():
    compiled = mx.compile(adam)
    given = [arrays(4, (50_000,), seed=seed) for seed in range(4)]
    expected = [[one.copy() for one in some] for some in given]

    def work(some):
        for _ in range(20):
            compiled(*some)

    threads = [threading.Thread(target=work, args=(some,)) for some in given]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for some, others in zip(given, expected, strict=True):
        for _ in range(20):
            adam(*others)
        for one, other in zip(some, others, strict=True):
            np.testing.assert_allclose(one, other, 1e-4)


def test_files_in_memory(tmp_path):
    compiled = mx.compile(operator.iadd)
    file = np.memmap(tmp_path / "numbers", "float32", "w+", shape=(5,))
    for call in range(1, CALLS):
        assert compiled(file, np.ones(5, "f")) is file
        file.flush()
        assert np.fromfile(tmp_path / "numbers", "float32").tolist() == [call] * 5


def test_subclasses_run_as_written():
    compiled = mx.compile(operator.iadd)
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    for _ in range(3):
        compiled(masked, np.ones(2))
    assert masked.tolist() == [4.0, None]


def test_what_is_refused_says_so():
    def changed_as_bytes(x):
        x.view(np.uint8)[0] = 1

    compiled, x = mx.compile(changed_as_bytes), np.zeros(2)
    with pytest.warns(
        CompileWarning, match=r"it reads bytes as another dtype: view\(\) \(test_compile_in_place.py:\d+"
    ):
        compiled(x)
    assert x.view(np.uint8)[0] == 1


def test_a_reshaped_argument_is_changed_or_a_copy_as_the_argument_lies():
    compiled = mx.compile(changed_by_a_reshaped_one)
    for order in "CFCCFF":
        x, expected = np.ones((2, 3), order=order), np.ones((2, 3), order=order)
        np.testing.assert_array_equal(compiled(x), changed_by_a_reshaped_one(expected))
        np.testing.assert_array_equal(x, expected)
