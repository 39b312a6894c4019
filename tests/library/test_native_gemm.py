"""The matrix products of `examples/native/gemm.cc`: against NumPy and differences, on arrays of every kind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native.examples import load_example, needs_compiler

import minpy as mx
from minpy import autograd, gluon, nd, sym
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.test_utils import check_numeric_gradient

pytestmark = needs_compiler


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    load_example("gemm")


def random(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.random.uniform(-1, 1, shape).astype(dtype)


FLAGS = [(a, b) for a in (False, True) for b in (False, True)]


def product(a: np.ndarray, b: np.ndarray, transpose_a: bool, transpose_b: bool) -> np.ndarray:
    return (a.T if transpose_a else a) @ (b.T if transpose_b else b)


# Lengths around those of the parts that the loops go through: 4 rows at a time, 64 deep, 256 wide.
LENGTHS = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 63, 64, 65, 66, 130])
WIDTHS = st.sampled_from([0, 1, 3, 255, 256, 257, 300])


@settings(max_examples=40, deadline=None)
@given(LENGTHS, LENGTHS, WIDTHS, st.sampled_from(FLAGS), st.sampled_from(["float32", "float64"]), st.booleans())
def test_gemm_and_its_gradients(n: int, k: int, m: int, flags: tuple[bool, bool], dtype: str, has_state: bool) -> None:
    a, b = random(k, n, dtype=dtype) if flags[0] else random(n, k, dtype=dtype), random(k, m, dtype=dtype)
    if flags[1]:
        b = np.ascontiguousarray(b.T)
    g = random(n, m, dtype=dtype)
    operator = nd.state_gemm if has_state else nd.my_gemm
    x, y = nd.array(a, dtype=dtype), nd.array(b, dtype=dtype)
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        c = operator(x, y, transpose_a=flags[0], transpose_b=flags[1])
    c.backward(nd.array(g, dtype=dtype))
    da, db = g @ (b if flags[1] else b.T), (a if flags[0] else a.T) @ g
    expected = product(a, b, *flags), da.T if flags[0] else da, db.T if flags[1] else db
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    for found, one in zip((c, x.grad, y.grad), expected, strict=True):
        assert found.dtype == np.dtype(dtype)
        assert found.shape == one.shape
        np.testing.assert_allclose(found.asnumpy(), one, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["my_gemm", "state_gemm"])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_gemm_passes_every_check(name: str, transpose_a: bool, transpose_b: bool) -> None:
    operator = FAMILIES[name].configured({"transpose_a": str(transpose_a), "transpose_b": str(transpose_b)})
    a, b = random(4, 3) if transpose_a else random(3, 4), random(5, 4) if transpose_b else random(4, 5)
    report = str(operator.check(a, b))
    assert "gradient of data1       ok" in report
    assert "HIPS autograd           ok" in report


def test_an_inner_length_of_zero_is_a_sum_of_nothing() -> None:
    a, b = nd.array(np.zeros((3, 0))), nd.array(np.zeros((0, 5)))
    a.attach_grad()
    with autograd.record():
        c = nd.my_gemm(a, b)
    c.backward()
    np.testing.assert_array_equal(c.asnumpy(), np.zeros((3, 5)))
    assert a.grad.shape == (3, 0)


def test_gemm_of_large_matrices() -> None:
    a, b = random(512, 400, dtype="float32"), random(400, 512, dtype="float32")
    np.testing.assert_allclose(nd.my_gemm(a, b), a @ b, atol=1e-4)


def test_gemm_computes_in_the_precision_of_its_inputs() -> None:
    a, b = np.array([[1.0, 1e-12]]), np.array([[1.0], [1.0]])
    assert nd.my_gemm(a, b)[0, 0] == 1 + 1e-12
    assert nd.my_gemm(a.astype("float32"), b.astype("float32"))[0, 0] == 1


def test_numbers_that_are_none_are_not_left_out() -> None:
    a = np.array([[0.0, 0.0, 0.0, 0.0, 0.0]])
    for b, place in ((np.nan, 0), (np.inf, 4)):
        column = np.ones((5, 1))
        column[place] = b
        assert np.isnan(nd.my_gemm(a, column)).all()


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda array: np.repeat(array, 2, axis=0)[::2],
    "columns": lambda array: np.repeat(array, 3, axis=1)[:, ::3],
    "transposed": lambda array: np.ascontiguousarray(array.T).T,
    "backwards": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "unaligned": lambda array: np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1).reshape(array.shape),
    "fortran": np.asfortranarray,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "read-only": lambda array: np.broadcast_to(array[None], (1, *array.shape))[0],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("name", ["my_gemm", "state_gemm"])
def test_gemm_of_views(name: str, view: Callable[[np.ndarray], np.ndarray]) -> None:
    a, b = random(6, 5), random(5, 7)
    found = getattr(nd, name)(view(a), view(b))
    np.testing.assert_allclose(found, a @ b, rtol=1e-12)


def test_gemm_writes_where_it_is_told() -> None:
    a = nd.array(random(4, 4), dtype="float64")
    expected = a.asnumpy() @ a.asnumpy()
    out = nd.zeros((4, 4), dtype="float64")
    assert nd.my_gemm(a, a, out=out) is out
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-12)
    nd.my_gemm(a, a, out=a)  # into what it reads
    np.testing.assert_allclose(a.asnumpy(), expected, rtol=1e-12)


def test_gradients_are_added_up() -> None:
    a, b = nd.array(random(3, 4)), nd.array(random(4, 2))
    a.attach_grad(grad_req="add")
    for _ in range(2):
        with autograd.record():
            c = nd.my_gemm(a, b)
        c.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), 2 * np.ones((3, 2)) @ b.asnumpy().T, rtol=1e-5)


GEMM_ERRORS = [
    ((random(2, 3), random(4, 5)), {}, ShapeError, "A has 3 columns and B has 4 rows, which should be as many"),
    ((random(2, 3), random(4, 3)), {"transpose_a": True, "transpose_b": True}, ShapeError, r"A \(transposed\) has 2"),
    ((random(2, 3), random(3)), {}, ShapeError, r"two dimensions each; their shapes are \(2, 3\) and \(3,\)"),
    ((random(2, 3), random(1, 3, 1)), {}, ShapeError, r"their shapes are \(2, 3\) and \(1, 3, 1\)"),
    ((random(2, 3), random(3, 1, dtype="float32")), {}, DTypeError, "the numbers of their types are 1 and 0"),
    ((np.ones((2, 2), int), np.ones((2, 2), int)), {}, DTypeError, "types are 6 and 6"),
    ((random(2, 2, dtype="float16"),) * 2, {}, DTypeError, "types are 2 and 2"),
    ((random(2, 2),) * 3, {}, ArgumentError, "my_gemm"),
    ((random(2, 2),) * 2, {"transpose_a": "yes"}, ArgumentError, "transpose_a should be True or False, and is 'yes'"),
]


@pytest.mark.parametrize(("inputs", "attributes", "error", "text"), GEMM_ERRORS)
def test_gemm_says_what_does_not_fit(
    inputs: tuple[np.ndarray, ...], attributes: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        nd.my_gemm(*inputs, **attributes)
    np.testing.assert_array_equal(nd.my_gemm(np.eye(2), np.eye(2)), np.eye(2))  # it goes on


def test_a_graph_says_what_does_not_fit() -> None:
    product = sym.my_gemm(sym.var("a"), sym.var("b"), name="c")
    with pytest.raises(ShapeError, match=r"the shapes are \(2, 3\) and \(4, 5\)"):
        product.infer_shape(a=(2, 3), b=(4, 5))
    with pytest.raises(ShapeError, match=r"the shapes are \(2, 3\) and \(4, 5\)"):
        product.simple_bind(mx.cpu(), a=(2, 3), b=(4, 5))


def test_graphs_find_out_lengths_and_types() -> None:
    product = sym.my_gemm(sym.var("a"), sym.var("b", shape=(0, 5)), transpose_a=True)
    assert product.infer_shape(a=(4, 3)) == ([(4, 3), (4, 5)], [(3, 5)], [])
    assert product.infer_type(b="float64") == ([np.float64, np.float64], [np.float64], [])
    assert product.infer_shape_partial(a=(4, 3))[1] == [(3, 5)]


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
@pytest.mark.parametrize("name", ["my_gemm", "state_gemm"])
def test_gradients_of_graphs(name: str, transpose_a: bool, transpose_b: bool) -> None:
    c = getattr(sym, name)(sym.var("a"), sym.var("b"), transpose_a=transpose_a, transpose_b=transpose_b)
    a, b = random(4, 3) if transpose_a else random(3, 4), random(2, 4) if transpose_b else random(4, 2)
    check_numeric_gradient(sym.tanh(c), [a, b], dtype="float64")


def test_a_state_counts_its_own_calls() -> None:
    a, b = nd.ones((2, 2)), nd.ones((2, 2))
    graph = sym.state_gemm(sym.var("a"), sym.var("b"), count=True, name="c")
    assert graph.list_outputs() == ["c_output0", "c_output1"]
    executors = [graph.bind(mx.cpu(), {"a": a, "b": b}) for _ in range(2)]
    counts = [int(executors[which].forward()[1].asscalar()) for which in (0, 0, 1, 0, 1)]
    assert counts == [1, 2, 1, 3, 2]
    assert [int(nd.state_gemm(a, b, count=True)[1].asscalar()) for _ in range(3)] == [1, 1, 1]
    with pytest.raises(ShapeError):
        nd.state_gemm(a, nd.ones((3, 2)), count=True)
    assert int(executors[0].forward()[1].asscalar()) == 4


def test_a_gradient_after_other_calls_is_that_of_its_own() -> None:
    inputs = [(nd.array(random(3, 4)), nd.array(random(4, 2))) for _ in range(3)]
    recorded = []
    for a, b in inputs:
        a.attach_grad()
        with autograd.record():
            recorded.append(nd.state_gemm(a, b, count=True)[0])
    for c in reversed(recorded):
        c.backward()
    for a, b in inputs:
        np.testing.assert_allclose(a.grad.asnumpy(), np.ones((3, 2)) @ b.asnumpy().T, rtol=1e-5)


def test_threads_do_not_meet() -> None:
    graph = sym.state_gemm(sym.var("a"), sym.var("b"), count=True)
    problems: list[str] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        a, b = generator.random((20 + seed, 30)), generator.random((30, 10))
        executor = graph.bind(mx.cpu(), {"a": nd.array(a, dtype="float64"), "b": nd.array(b, dtype="float64")})
        x = nd.array(a, dtype="float64")
        x.attach_grad()
        for turn in range(1, 16):
            c, count = executor.forward()
            with autograd.record():
                y = nd.my_gemm(x, nd.array(b, dtype="float64"))
            y.backward()
            if not (
                int(count.asscalar()) == turn
                and np.allclose(c.asnumpy(), a @ b)
                and np.allclose(y.asnumpy(), a @ b)
                and np.allclose(x.grad.asnumpy(), np.ones((len(a), 10)) @ b.T)
            ):
                problems.append(f"thread {seed}, turn {turn}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


class Product(gluon.HybridBlock):
    """x W, with weights whose number of rows follows from x."""

    def __init__(self, units: int) -> None:
        super().__init__(prefix="product_")
        self.weight = self.params.get("weight", shape=(0, units), allow_deferred_init=True)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.my_gemm(x, weight)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_layer_trains(hybridize: bool, tmp_path: Any) -> None:
    net = Product(2)
    net.initialize(mx.init.Constant(0.5))
    if hybridize:
        net.hybridize()
    x = nd.array(random(5, 3), dtype="float32")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    weight = np.full((3, 2), 0.5)
    for _ in range(3):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(1)
        weight -= 0.1 * 2 * x.asnumpy().T @ (x.asnumpy() @ weight)
    np.testing.assert_allclose(net.weight.data().asnumpy(), weight, rtol=1e-4)
    if hybridize:
        expected = net(x).asnumpy()
        net.export(str(tmp_path / "net"))
        loaded = gluon.SymbolBlock.imports(
            str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
        )
        np.testing.assert_allclose(loaded(x).asnumpy(), expected, rtol=1e-6)
