"""Operators with several outputs: each way to write one, in each way to run it, with gradients through any outputs."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import autograd as hips
import autograd.numpy as anp
import numpy as np
import pytest
from custom_operators import register

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.core.errors import ArgumentError

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]], "float32")
W = np.array([[1.5, 0.25, -2.0], [0.5, -1.75, 1.0]], "float32")
# What the outputs are multiplied with before they are summed up.
HEADS = [np.arange(6, dtype="float32").reshape(2, 3), np.full((2, 3), 2, "float32"), np.array([3, -1], "float32")]
Triple = namedtuple("Triple", "product difference total")
Pair = namedtuple("Pair", "product difference")
ALL_EQUAL = {"rtol": 1e-6, "atol": 1e-6}


def outputs_of(count: int, x: Any, w: Any) -> list[Any]:
    return [x * w, x - 2 * w, x.sum(axis=1)][:count]


def gradient_of_x(ans: Any, x: Any, w: Any) -> Callable[[Any], Any]:
    assert isinstance(ans, tuple)

    def pull_back(g: Any) -> Any:
        assert isinstance(g, tuple)
        assert [one.shape for one in g] == [one.shape for one in ans]
        found = g[0] * w + g[1]
        return found + g[2].reshape((-1, 1)) if len(g) == 3 else found

    return pull_back


def gradient_of_w(ans: Any, x: Any, w: Any) -> Callable[[Any], Any]:
    return lambda g: g[0] * x - 2 * g[1]


def with_rules(function: Callable[..., Any], kind: str = "numpy", **options: Any) -> Any:
    op = customop(kind, **options)(function)
    op.def_grad(gradient_of_x)
    op.def_grad(gradient_of_w, 1)
    return op


def tuple_of(count: int) -> Callable[..., Any]:
    if count == 2:
        return lambda x, w: (x * w, x - 2 * w)
    return lambda x, w: (x * w, x - 2 * w, x.sum(axis=1))


def list_of(count: int) -> Callable[..., Any]:
    if count == 2:
        return lambda x, w: [x * w, x - 2 * w]
    return lambda x, w: [x * w, x - 2 * w, x.sum(axis=1)]


def unread(count: int) -> Callable[..., Any]:
    """A function whose code does not say how many arrays it returns."""
    return lambda x, w: tuple(outputs_of(count, x, w))


def named(count: int) -> Callable[..., Any]:
    return lambda x, w: (Pair if count == 2 else Triple)(*outputs_of(count, x, w))


def refused_by_the_tracer(count: int) -> Callable[..., Any]:
    def function(x: Any, w: Any) -> Any:
        if x[0, 0] < 100:  # chooses by values
            return tuple(outputs_of(count, x, w))
        return outputs_of(count, -x, w)

    return function


def by_one_rule(count: int) -> Any:
    op = customop("numpy")(unread(count))

    @op.def_multiple_grad
    def gradients(ans: Any, x: Any, w: Any) -> Any:
        return lambda g: (gradient_of_x(ans, x, w)(g), gradient_of_w(ans, x, w)(g))

    return op


def prop(count: int) -> Any:
    class Several(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            for target, one, how in zip(out_data, outputs_of(count, *in_data), req, strict=True):
                self.assign(target, how, one)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            g = tuple(out_grad)
            self.assign(in_grad[0], req[0], gradient_of_x(tuple(out_data), *in_data)(g))
            self.assign(in_grad[1], req[1], gradient_of_w(tuple(out_data), *in_data)(g))

    class SeveralProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["x", "w"]

        def list_outputs(self):
            return ["product", "difference", "total"][:count]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], in_shape[0], in_shape[0][:1]][:count], []

        def create_operator(self, ctx, shapes, dtypes):
            return Several()

    op_type = register(SeveralProp)

    def call(x: Any, w: Any) -> Any:
        kind = mx.sym if isinstance(x, mx.sym.Symbol) else mx.nd
        return kind.Custom(x, w, op_type=op_type)

    return call


def function_of_autograd(count: int) -> Any:
    class Several(autograd.Function):
        def forward(self, x, w):
            self.save_for_backward(x, w)
            return tuple(outputs_of(count, x, w))

        def backward(self, *g):
            x, w = self.saved_tensors
            ans = tuple(outputs_of(count, x, w))
            return gradient_of_x(ans, x, w)(g), gradient_of_w(ans, x, w)(g)

    return lambda x, w: Several()(x, w)


WRITTEN: dict[str, Callable[[int], Any]] = {
    "tuple": lambda count: with_rules(tuple_of(count)),
    "list": lambda count: with_rules(list_of(count)),
    "unread": lambda count: with_rules(unread(count)),
    "namedtuple": lambda count: with_rules(named(count)),
    "untraceable": lambda count: with_rules(refused_by_the_tracer(count)),
    "number declared": lambda count: with_rules(unread(count), outputs=count),
    "names declared": lambda count: with_rules(unread(count), outputs=("product", "difference", "total")[:count]),
    "names assigned": lambda count: assigned(with_rules(unread(count)), count),
    "compiled alone": lambda count: with_rules(unread(count), compile=True),
    "nd": lambda count: with_rules(unread(count), "mxnet"),
    "one rule": by_one_rule,
    "prop": prop,
    "Function": function_of_autograd,
}


def assigned(op: Any, count: int) -> Any:
    op.outputs = ["product", "difference", "total"][:count]
    return op


def loss_of(outputs: Sequence[Any], subset: Sequence[int], heads: Sequence[Any]) -> Any:
    return sum((outputs[index] * heads[index]).sum() for index in subset)


def as_recorded(op: Any, count: int, subset: Sequence[int], array: Any) -> Any:
    x, w, heads = array(X), array(W), [array(head) for head in HEADS]
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        outputs = op(x, w)
        loss = loss_of(outputs, subset, heads)
    loss.backward()
    return outputs, (x.grad, w.grad)


def as_ndarrays(op: Any, count: int, subset: Sequence[int]) -> Any:
    return as_recorded(op, count, subset, nd.array)


def as_np_arrays(op: Any, count: int, subset: Sequence[int]) -> Any:
    return as_recorded(op, count, subset, mx.np.array)


def as_numpy(op: Any, count: int, subset: Sequence[int]) -> Any:
    outputs = op(X, W)
    assert {type(one) for one in outputs} == {np.ndarray}
    return outputs, mx.grad(lambda x, w: loss_of(op(x, w), subset, HEADS), [0, 1])(X, W)


def as_hips(op: Any, count: int, subset: Sequence[int]) -> Any:
    def loss(x: Any, w: Any) -> Any:
        outputs = op(x, w)
        return sum(anp.sum(outputs[index] * HEADS[index]) for index in subset)

    return op(X, W), hips.grad(loss, (0, 1))(X, W)


def as_symbol(op: Any, count: int, subset: Sequence[int]) -> Any:
    outputs = op(mx.sym.var("x"), mx.sym.var("w"))
    if len(outputs) != count:  # nothing has said how many there are
        op(X, W)
        outputs = op(mx.sym.var("x"), mx.sym.var("w"))
    parts = [*outputs]
    assert len(parts) == len(outputs.list_outputs()) == count
    loss = mx.sym.add_n(*[mx.sym.sum(parts[index] * mx.sym.var(f"head{index}")) for index in subset])
    heads = {f"head{index}": nd.array(HEADS[index]) for index in subset}
    group = mx.sym.Group([loss, *map(mx.sym.BlockGrad, parts)])
    gradients = {"x": nd.zeros(X.shape), "w": nd.zeros(X.shape)}
    requests = {"x": "write", "w": "write", **dict.fromkeys(heads, "null")}
    executor = group.bind(mx.cpu(), {"x": nd.array(X), "w": nd.array(W), **heads}, gradients, requests)
    for _ in calls(count, subset):
        found = executor.forward(is_train=True)
        executor.backward([nd.ones(one.shape) for one in found])
    return found[1:], (gradients["x"], gradients["w"])


def calls(count: int, subset: Sequence[int]) -> range:
    """The first call, or those until there is native code, which takes longest to make."""
    return range(3 if len(subset) == 2 == count else 1)


def in_block(block: type[gluon.HybridBlock], op: Any, count: int, subset: Sequence[int], array: Any = nd.array) -> Any:
    net = block()
    net.op = op
    net.initialize()
    net.hybridize()
    for _ in calls(count, subset):
        outputs, gradients = as_recorded(net, 0, subset, array)
    return outputs, gradients


class OfSymbols(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
        outputs = self.op(x, w)
        return [outputs[index] + 0 for index in range(len(outputs))]


class Written(gluon.HybridBlock):
    def forward(self, x: Any, w: Any) -> Any:
        outputs = self.op(x, w)
        first, *rest = outputs
        assert len(outputs) == len(rest) + 1
        return [first + 0, *[one + 0 for one in rest]]


def as_hybrid_forward(op: Any, count: int, subset: Sequence[int]) -> Any:
    return in_block(OfSymbols, op, count, subset)


def as_forward(op: Any, count: int, subset: Sequence[int]) -> Any:
    return in_block(Written, op, count, subset)


def as_forward_in_np(op: Any, count: int, subset: Sequence[int]) -> Any:
    return in_block(Written, op, count, subset, mx.np.array)


def as_compiled(op: Any, count: int, subset: Sequence[int]) -> Any:
    function = mx.compile(lambda x, w: [one + 0 for one in op(x, w)])
    for _ in calls(count, subset):
        outputs, gradients = as_recorded(function, count, subset, nd.array)
    return outputs, gradients


@contextmanager
def as_written_with_one_warning() -> Iterator[None]:
    message = (
        "as it is written, because it cannot become a graph: it calls function, an operator of a user: what it gives "
        r"is not known without a call, because it chooses by values: .* \(line \d+ of test_several_outputs.py\)"
    )
    with pytest.warns(UserWarning, match=message) as seen:
        yield
    assert len(seen) == 1


RUN = {
    "NumPy": as_numpy,
    "NDArrays": as_ndarrays,
    "np arrays": as_np_arrays,
    "HIPS autograd": as_hips,
    "symbol": as_symbol,
    "hybrid_forward": as_hybrid_forward,
    "forward": as_forward,
    "forward, np arrays": as_forward_in_np,
    "compiled": as_compiled,
}
# Where a call's outputs are one step of the tape alone.
OF_FUNCTIONS = {"NDArrays", "np arrays"}
# What has to be called to be known: what it is in runs as it is written, which is said once.
AS_WRITTEN = {("untraceable", run) for run in ("forward", "forward, np arrays", "compiled")}
SUBSETS = {count: [s for n in range(1, count + 1) for s in itertools.combinations(range(count), n)] for count in (2, 3)}


@pytest.mark.parametrize("run", RUN)
@pytest.mark.parametrize("written", WRITTEN)
def test_outputs_and_gradients_through_any_of_them(written: str, run: str) -> None:
    if written == "Function" and run not in OF_FUNCTIONS:
        pytest.skip("autograd.Function runs on recorded arrays only, as docs/guide/writing_operators.md says")
    for count in (2, 3):
        expected = outputs_of(count, X, W)
        zeros = [np.zeros_like(one) for one in expected]
        op = None
        for subset in SUBSETS[count]:
            if op is None or run in ("hybrid_forward", "forward", "symbol", "compiled"):
                op = WRITTEN[written](count)  # nothing is known of it but what its definition says
            with as_written_with_one_warning() if (written, run) in AS_WRITTEN else nullcontext():
                outputs, gradients = RUN[run](op, count, subset)
            assert isinstance(outputs, (tuple, list)), type(outputs)
            assert len(outputs) == count
            upstream = tuple(HEADS[index] if index in subset else zeros[index] for index in range(count))
            wanted = [rule(tuple(expected), X, W)(upstream) for rule in (gradient_of_x, gradient_of_w)]
            for got, value in zip([*outputs, *gradients], [*expected, *wanted], strict=True):
                got = got.asnumpy() if hasattr(got, "asnumpy") else got
                np.testing.assert_allclose(got, value, err_msg=f"{count} outputs, loss of {subset}", **ALL_EQUAL)


# -- how many there are ------------------------------------------------------------------------------------------------


def parts_of() -> Any:
    @customop("numpy")
    def parts(x, *, number=2):
        return tuple(np.split(x, number, axis=0))

    parts.def_grad(lambda ans, x, *, number: lambda g: np.concatenate(g, axis=0))
    return parts


def test_attributes_may_decide_how_many() -> None:
    parts, x = parts_of(), np.arange(12.0)
    assert len(parts(x, number=3)) == 3
    assert len(parts(mx.sym.var("x"), number=3).list_outputs()) == 3
    assert len(parts(x)) == 2
    assert len(parts(mx.sym.var("x")).list_outputs()) == 2
    assert len(parts(mx.sym.var("x"), number=2).list_outputs()) == 2, "a default that is spelt out is the same"

    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            a, b, c, d = parts(x, number=4)  # never called with 4 before
            e, f = parts(x)
            return a - b + c - d, e + f

    net = Net()
    net.hybridize()
    got = net(nd.array(x))
    assert [one.asnumpy().tolist() for one in got] == [[-6, -6, -6], [6, 8, 10, 12, 14, 16]]


def test_a_symbol_made_before_anything_was_known_says_what_to_do() -> None:
    parts = parts_of()
    made = parts(mx.sym.var("x"), name="early")
    with pytest.raises(ArgumentError) as caught:
        made.infer_shape(x=(4,))
    assert str(caught.value) == (
        "infer_shape: node 'early' (parts): parts returns 2 arrays, and this symbol of it was made with 1 output(s), "
        "before that was known. Say it where parts is defined, @customop('numpy', outputs=2), and make the symbol "
        "again."
    )
    with pytest.raises(ArgumentError, match="was made with 1 output"):  # and not the first output alone
        made.bind(mx.cpu(), {"x": nd.ones(4)})
    first, second = parts(mx.sym.var("x"))
    assert (first + second).eval(x=nd.array([1, 2, 3, 4]))[0].asnumpy().tolist() == [4, 6]


def test_a_tuple_of_one_is_a_tuple_in_every_mode() -> None:
    @customop("numpy")
    def doubled(x):
        return (2 * x,)

    doubled.def_grad(lambda ans, x: lambda g: 2 * g[0])

    class Symbols(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            (y,) = doubled(x)
            return y

    class Arrays(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            (y,) = doubled(x)
            return y

    x = np.ones((1, 3), "float32")
    assert type(doubled(x)) is tuple
    assert type(doubled(nd.array(x))) is tuple
    assert type(doubled(mx.sym.var("x"))) is tuple
    for block in (Symbols, Arrays):
        net = block()
        net.hybridize()
        for _ in range(3):
            data = nd.array(x)
            data.attach_grad()
            with autograd.record():
                found = net(data)
            found.backward()
            assert found.asnumpy().tolist() == data.grad.asnumpy().tolist() == [[2, 2, 2]]
    assert doubled.trace_report(x).traced
    assert mx.grad(lambda x: doubled(x)[0].sum())(x).tolist() == [[2, 2, 2]]


@pytest.mark.parametrize(
    ("outputs", "described"),
    [(0, "int 0"), (True, "bool True"), ("ab", "str 'ab'"), (("a", "a"), "tuple of 2: [str 'a', str 'a']"), ((), "")],
    ids=["none", "a truth value", "a string", "names twice", "no names"],
)
def test_outputs_are_a_number_or_names(outputs: Any, described: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        customop("numpy", outputs=outputs)
    assert f"customop: outputs is {described}" in str(caught.value)
    assert "expected how many arrays the function returns (2), or a name for each" in str(caught.value)


def test_another_number_than_declared_is_an_error_on_arrays_too() -> None:
    @customop("numpy", outputs=("low", "high"))
    def extremes(x):
        return x.min(), x.max(), x.mean()

    for x in (X, nd.array(X), mx.np.array(X)):
        with pytest.raises(ArgumentError) as caught:
            extremes(x)
        assert str(caught.value) == (
            "extremes: its forward returned 3 array(s), and its outputs are said to be 2: low, high. Say outputs=3, or "
            "return one array for each."
        )
    with pytest.raises(ArgumentError, match=r"its forward returned 3 array\(s\), and its outputs are said to be 2"):
        extremes(mx.sym.var("x")).infer_shape(x=(2, 3))


@pytest.mark.parametrize(
    ("outputs", "function", "told"),
    [
        (
            2,
            lambda x: x,
            (
                "returned one array, and its outputs are said to be 2: output0, output1. Say outputs=1, or return a "
                "tuple with one array for each."
            ),
        ),
        (
            2,
            lambda x: (x,),
            (
                "returned a tuple of one array, and its outputs are said to be 2: output0, output1. Say outputs=1 and "
                "return the array itself, or return one array for each."
            ),
        ),
        (
            1,
            lambda x: (x,),
            "returned a tuple of one array, and its outputs are said to be 1: output. Return the array itself.",
        ),
    ],
    ids=["an array for two", "a tuple of one for two", "a tuple of one for one"],
)
def test_one_array_in_the_place_of_what_is_declared(outputs: int, function: Any, told: str) -> None:
    op = customop("numpy", outputs=outputs)(function)

    class Net(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return op(x)[0]

    net = Net()
    net.hybridize()
    symbol = mx.sym.Group([*op(mx.sym.var("x"))])
    calls = [
        *(lambda value=value: op(value) for value in (X, nd.array(X), mx.np.array(X))),
        lambda: net(nd.array(X)),
        lambda: mx.compile(lambda x: op(x)[0])(X),
        lambda: symbol.infer_shape(x=X.shape),
    ]
    for call in calls:
        with pytest.raises(ArgumentError) as caught:
            call()
        assert told in str(caught.value)


def test_a_number_that_follows_from_shapes_is_known_in_graphs_of_these() -> None:
    @customop("numpy")
    def rows(x):
        return tuple(x)

    rows.def_grad(lambda ans, x: lambda g: np.stack(g))

    class Net(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return sum(rows(x))

    net = Net()
    net.hybridize()
    for _ in range(3):
        assert net(nd.ones((2, 3))).asnumpy().tolist() == [2, 2, 2]
        assert net(nd.ones((4, 3))).asnumpy().tolist() == [4, 4, 4]


def test_calls_that_return_an_array_alone_are_noted_beside_others() -> None:
    @customop("numpy")
    def maybe(x, *, both=False):
        return (x, 2 * x) if both else 3 * x

    assert len(maybe(X, both=True)) == 2
    assert maybe(X).shape == X.shape
    assert len(maybe(mx.sym.var("x")).list_outputs()) == 1
    assert len(maybe(mx.sym.var("x"), both=True).list_outputs()) == 2


def test_what_is_learned_of_attributes_is_bounded() -> None:
    @customop("numpy")
    def scaled(x, *, by):
        parts = [x * by, x]
        return tuple(parts)

    for step in range(1500):
        scaled(1.0, by=step)
    assert len(scaled.outputs._seen) == 1000
    assert scaled.outputs({"by": 1499}) == ["output0", "output1"]


def test_names_of_outputs_are_those_of_the_symbol() -> None:
    @customop("numpy", outputs=("low", "high"))
    def extremes(x):
        return x.min(axis=0), x.max(axis=0)

    symbol = extremes(mx.sym.var("x"), name="e")
    assert symbol.list_outputs() == ["e_low", "e_high"]
    assert symbol["e_high"].eval(x=nd.array([[1, 5], [3, 2]]))[0].asnumpy().tolist() == [3, 5]


SAVED = """
import sys
import numpy as np
from minpy import customop

@customop('numpy')
def halves(x):
    return tuple(np.split(x, 2))

halves.def_grad(lambda ans, x: lambda g: np.concatenate(g))
"""
LOADED = """
import minpy as mx
import saved_halves
symbol = mx.sym.load('halves-symbol.json')
print(symbol.list_arguments(), symbol.eval(x=mx.nd.array([1, 2, 10, 20]))[0].asnumpy().tolist())
"""


def test_a_file_says_how_many_there_are(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "saved_halves.py").write_text(SAVED)
    monkeypatch.syspath_prepend(tmp_path)
    import saved_halves

    saved_halves.halves(np.ones(4))
    first, second = saved_halves.halves(mx.sym.var("x"))
    (second - first).save(str(tmp_path / "halves-symbol.json"), for_mxnet=False)
    assert json.loads((tmp_path / "halves-symbol.json").read_text())["node_row_ptr"] == [0, 1, 3, 4]
    path = f"import sys; sys.path[:0] = {[str(tmp_path), *sys.path]!r}\n"
    done = subprocess.run([sys.executable, "-c", path + LOADED], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "['x'] [9.0, 18.0]\n", done.stderr
