"""What bridges take beside operators: names and classes of props, native operators, partials; whose state is used."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from framework_operators import ROWS_BY_NAME, RisingProp
from native.building import build
from native.examples import needs_compiler

import minpy as mx
from minpy.core.errors import ArgumentError, NoGradientError, NotTraceableError, OperatorError
from minpy.frameworks import as_operator, to_jax, to_pytensor, to_torch
from minpy.frameworks.digests import digest_of

BRIDGES = {"torch": to_torch, "jax": to_jax, "pytensor": to_pytensor}
in_each = pytest.mark.parametrize("framework", BRIDGES)
X, W = np.random.default_rng(0).uniform(0.5, 1.5, (2, 4, 3))


@pytest.fixture(autouse=True, scope="module")
def _native_library() -> None:
    """Load the library of the table's native operators, where it can be built."""
    if "framework_moment" in ROWS_BY_NAME:
        assert ROWS_BY_NAME["framework_moment"].operator is not None


def bridge_of(framework: str) -> Any:
    pytest.importorskip(framework, reason=f"{framework} is not installed: python -m pip install {framework}")
    return BRIDGES[framework]


def gradient(framework: str, op: Any, *inputs: np.ndarray, order: int = 1, **attributes: Any) -> np.ndarray:
    """Return the gradient of the sum of the first output with respect to the first input, of its sum, and so on."""
    bridged = bridge_of(framework)(op)

    def first(*values: Any) -> Any:
        result = bridged(*values, **attributes)
        return result[0] if isinstance(result, (tuple, list)) else result

    if framework == "torch":
        import torch

        tensors = [torch.from_numpy(array) for array in inputs]
        variable, value = tensors[0].requires_grad_(), None
        value = first(variable, *tensors[1:])
        for _ in range(order):
            [value] = torch.autograd.grad(value.sum(), variable, create_graph=order > 1)
        return value.detach().numpy()
    if framework == "jax":
        import jax

        function = first
        for _ in range(order):
            function = jax.grad(lambda *values, inner=function: inner(*values).sum())
        with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
            return np.asarray(function(*inputs))
    import pytensor
    import pytensor.tensor as pt

    variables = [pt.tensor(dtype=array.dtype.name, shape=array.shape) for array in inputs]
    value = first(*variables)
    for _ in range(order):
        value = pytensor.grad(value.sum(), variables[0])
    return pytensor.function(variables, value, mode="FAST_COMPILE", on_unused_input="ignore")(*inputs)


# -- props by name, by class, and with parameters said beforehand ------------------------------------------------------


@in_each
@pytest.mark.parametrize("way", ["name", "class", "partial", "operator"])
def test_a_registered_prop(framework: str, way: str) -> None:
    op: Any = {"name": "rising_of_frameworks", "class": RisingProp}.get(way)
    attributes: dict[str, Any] = {"rate": 0.5}
    if op is None:
        op, attributes = partial(mx.nd.Custom, op_type="rising_of_frameworks", rate=0.5), {}
    if way == "operator":
        op = as_operator(op)
    np.testing.assert_allclose(gradient(framework, op, X, W, **attributes), 0.5 * np.exp(0.5 * X) * W, 1e-6)


@in_each
@pytest.mark.parametrize("rate", [2, 2.0, "2", None])
def test_attributes_reach_the_constructor_as_strings(framework: str, rate: Any, monkeypatch: Any) -> None:
    rates = []

    def constructor(self: Any, rate: Any = "1.0") -> None:
        super(RisingProp, self).__init__()
        rates.append(rate)
        self.rate = float(rate)

    monkeypatch.setattr(RisingProp, "__init__", constructor)
    operator = as_operator("rising_of_frameworks")
    operator._props.clear()
    factor = 1.0 if rate is None else 2.0
    actual = gradient(framework, "rising_of_frameworks", X, W, rate=rate)
    np.testing.assert_allclose(actual, factor * np.exp(factor * X) * W, 1e-6)
    assert set(rates) <= {"1.0", str(rate)}
    operator._props.clear()


def test_equal_numbers_of_other_types_are_other_strings() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")
    operator = to_torch("rising_of_frameworks")
    x = torch.ones(2)
    assert operator(x, x, rate=1)[0].tolist() == pytest.approx([np.e, np.e])
    with pytest.raises(ValueError, match="could not convert string to float: 'True'"):
        operator(x, x, rate=True)


def test_compiled_with_a_number_as_attribute() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")
    operator = to_torch("rising_of_frameworks")
    x, w = torch.from_numpy(X), torch.from_numpy(W)
    compiled = torch.compile(
        lambda rate: operator(x, w, rate=rate)[0], backend="aot_eager", fullgraph=True, dynamic=True
    )
    for rate in (0.5, 0.25, 2, "3", None):
        torch.testing.assert_close(compiled(rate), operator(x, w, rate=rate)[0])


def test_the_operator_itself() -> None:
    operator = as_operator("rising_of_frameworks")
    assert operator is as_operator(RisingProp) is as_operator(operator)
    assert repr(operator) == "<Custom operator rising_of_frameworks(exponent, factor) of RisingProp>"
    assert [str(spec) for spec in operator.infer(((4, 3), "float32"), ((4, 3), "float32"), rate=2)] == [
        "float32 (4, 3)",
        "float32 (4, 3)",
    ]
    np.testing.assert_allclose(operator(X, factor=W, rate=3)[0], np.exp(3 * X) * W)
    x = mx.nd.array([1.0])
    x.attach_grad()
    with mx.autograd.record():
        first, second = (operator(x, x, rate=rate)[0] for rate in (1, 2))
        product = first * second  # x^2 e^(3 x)
    product.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 5 * np.exp(3), 1e-5)
    assert operator.check(X, W, rate=2)["gradient of exponent"].result == "ok"
    assert pickle.loads(pickle.dumps(operator))(X, W)[0].shape == (4, 3)


def test_a_prop_runs_through_numpy_only() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: python -m pip install jax")
    assert "does not trace: it is a RegisteredProp" in to_jax("rising_of_frameworks").explain(X, W)
    with pytest.raises(NotTraceableError, match="which has no function of NumPy's to trace"):
        to_jax("rising_of_frameworks", through="graph")(X, W)


class _Wide(mx.operator.CustomOpProp):
    def __init__(self, count: str = "1") -> None:
        super().__init__()
        self.count = int(count)

    def list_arguments(self) -> list[str]:
        return [f"x{index}" for index in range(self.count)]


class _Needy(_Wide):
    def __init__(self, count: str) -> None:
        super().__init__(count)


@in_each
@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("rising_of_framework", r"no custom operator 'rising_of_framework' is registered\. Did you mean 'rising_of_f"),
        ("softmax", r"The operator 'softmax' of minpy's own is mx\.nd\.softmax: give that itself"),
        (partial(mx.nd.Custom, op_type="rising"), r"no custom operator 'rising' is registered.* Registered: "),
        (partial(mx.nd.Custom), r"no custom operator 'None' is registered"),
        (partial(mx.nd.Custom, X, op_type="rising_of_frameworks"), r"an input is given in functools\.partial"),
        (partial(mx.nd.Custom, op_type="rising_of_frameworks", factor=X), r"factor is given in functools\.partial"),
        (_Wide, r"_Wide is not registered, or another class has taken its name since\. Register it, with @mx\.op"),
        (np.tanh, r"got ufunc <ufunc 'tanh'>.* The built-in operator of that name is mx\.nd\.tanh"),
        (mx.np.tanh, r"got function <function tanh.* The built-in operator of that name is mx\.nd\.tanh"),
        (partial(np.tanh), r"takes an operator of minpy's, got partial"),
        (3, r"takes an operator of minpy's, got int 3\. Make one of a function with @minpy\.customop\('numpy'\)"),
        (mx.nd.BatchNorm, r"BatchNorm changes its states moving_mean, moving_var in place"),
    ],
)
def test_what_is_no_operator(framework: str, op: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        bridge_of(framework)(op)


def test_parameters_that_decide_about_inputs() -> None:
    mx.operator.register("wide_of_frameworks")(_Wide)
    mx.operator.register("needy_of_frameworks")(_Needy)
    with pytest.raises(ArgumentError, match=r"_Needy needs count.* op_type='needy_of_.*, count=\.\.\."):
        as_operator("needy_of_frameworks")
    assert as_operator(partial(mx.nd.Custom, op_type="needy_of_frameworks", count=3)).names == ("x0", "x1", "x2")
    with pytest.raises(ArgumentError, match=r"with count=2 it takes x0, x1 and returns output, which makes it another"):
        as_operator("wide_of_frameworks").infer(X, count=2)


# -- what a CustomOp keeps between forward and backward ----------------------------------------------------------------


class _Masked(mx.operator.CustomOp):
    """Draws a mask in forward, which the gradient needs."""

    forwards: list[Any] = []
    backwards: list[Any] = []

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.forwards.append(self)
        self.mask = mx.nd.array(np.random.uniform(size=in_data[0].shape) < 0.5, dtype="float64")
        self.assign(out_data[0], req[0], in_data[0] * self.mask)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.backwards.append(self)
        self.assign(in_grad[0], req[0], out_grad[0] * self.mask)


@mx.operator.register("masked_of_frameworks")
class MaskedProp(mx.operator.CustomOpProp):
    """Its operator keeps a mask."""

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> _Masked:
        return _Masked()


@pytest.fixture
def masked() -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")
    _Masked.forwards.clear()
    _Masked.backwards.clear()
    return to_torch("masked_of_frameworks"), torch.ones(40, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("create_graph", [False, True])
def test_pytorchs_backward_is_that_of_the_operator_that_ran_forward(masked: Any, create_graph: bool) -> None:
    import torch

    operator, x = masked
    outputs = [operator(x) for _ in range(3)]
    for output in (outputs[1], outputs[2], outputs[0], outputs[1]):
        [slope] = torch.autograd.grad(output.sum(), x, retain_graph=True, create_graph=create_graph)
        assert slope.tolist() == output.tolist()  # x is one: the output is the mask
    first, second, third = _Masked.forwards
    assert _Masked.backwards == [second, third, first, second]
    assert len({tuple(output.tolist()) for output in outputs}) == 3


def test_a_gradient_of_that_gradient_is_an_error(masked: Any) -> None:
    import torch

    operator, x = masked
    [slope] = torch.autograd.grad((operator(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(NoGradientError, match="Custom operator 'masked_of_frameworks' has no second-order gradient"):
        slope.sum().backward()


def test_the_dispatchers_operator_keeps_it_too(masked: Any) -> None:
    operator, x = masked
    output = operator.op(x)
    output.sum().backward()
    assert x.grad.tolist() == output.tolist()
    assert _Masked.forwards == _Masked.backwards


def test_a_state_goes_with_its_graph(masked: Any) -> None:
    import gc
    import weakref

    operator, x = masked
    output = operator(x)
    state = weakref.ref(_Masked.forwards.pop())
    gc.collect()
    assert state() is not None
    del output
    gc.collect()
    assert state() is None


def test_where_there_is_no_such_operator_forward_runs_again() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed: python -m pip install jax")
    _Masked.forwards.clear()
    _Masked.backwards.clear()
    jax.grad(lambda x: to_jax("masked_of_frameworks")(x).sum())(np.ones(3))
    assert len(_Masked.forwards) == 2
    assert _Masked.backwards == _Masked.forwards[1:]


# -- native libraries --------------------------------------------------------------------------------------------------


@needs_compiler
def test_native_operators_are_in_the_table() -> None:
    assert {"framework_moment", "framework_remembered"} <= ROWS_BY_NAME.keys()


@needs_compiler
@in_each
def test_a_native_operator(framework: str) -> None:
    w = W[0]
    for op, power in ((mx.nd.framework_moment, 2), (partial(mx.nd.framework_moment, power=3), 3)):
        np.testing.assert_allclose(gradient(framework, op, X, w), power * w * X ** (power - 1), 1e-6)
    np.testing.assert_allclose(gradient(framework, mx.nd.framework_remembered, X), 2 * X, 1e-6)


@needs_compiler
@in_each
@pytest.mark.parametrize("op", ["square_of_frameworks", "framework_moment"])
def test_second_order_is_an_error(framework: str, op: Any) -> None:
    inputs = [X, W[0]] if op == "framework_moment" else [X]
    described = f"The native operator '{op}'" if op == "framework_moment" else f"Custom operator '{op}'"
    message = f"{described} has no second-order gradient: its backward is not recorded"
    with pytest.raises(NoGradientError, match=message):
        gradient(framework, getattr(mx.nd, op) if op == "framework_moment" else op, *inputs, order=2)


@needs_compiler
@pytest.mark.parametrize("op", ["square_of_frameworks", "framework_remembered"])
def test_forward_mode_is_an_error(op: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")
    bridged = to_torch(op if op == "square_of_frameworks" else mx.nd.framework_remembered)
    with pytest.raises(NoGradientError, match=f"{op} has no forward mode.* Use reverse mode, as jacrev does"):
        torch.func.jvp(bridged, (torch.from_numpy(X),), (torch.from_numpy(W),))
    torch.testing.assert_close(torch.func.jacrev(bridged)(torch.ones(2)), 2 * torch.eye(2))


@needs_compiler
def test_native_shapes_are_those_of_the_library() -> None:
    inferred = mx.nd.framework_moment.infer(((5, 3), "float32"), ((3,), "float32"), power=3)
    assert str(inferred) == "(float32 (5,)), by rule"
    with pytest.raises(ArgumentError, match="framework_moment takes 2 input"):
        mx.nd.framework_moment.infer(((5, 3), "float32"))
    with pytest.raises(mx.MXNetError, match="x should be a matrix with as many columns as w has elements"):
        as_operator(mx.nd.framework_moment).infer(((5, 3), "float32"), ((4,), "float32"))


@needs_compiler
@in_each
def test_native_attributes_in_a_call(framework: str) -> None:
    message = r"are said when it is made, not in a call: functools\.partial\(mx\.nd\.framework_moment, power=3\)"
    with pytest.raises(ArgumentError, match=message):
        gradient(framework, mx.nd.framework_moment, X, W[0], power=3)


@needs_compiler
def test_native_errors_are_those_of_the_library() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")
    moment = to_torch(mx.nd.framework_moment)
    with pytest.raises(mx.MXNetError, match="all inputs should be float32, or all float64"):
        moment(torch.ones(2, 3, dtype=torch.float16), torch.ones(3, dtype=torch.float16))
    with pytest.raises(Exception, match="x should be a matrix with as many columns as w has elements"):
        torch.compile(moment, fullgraph=True, backend="aot_eager")(torch.ones(2, 3), torch.ones(4))


@needs_compiler
def test_check_of_a_native_operator_in_frameworks() -> None:
    report = mx.nd.framework_moment.check(X, W[0], power=3, frameworks=True)
    for name, module in {"PyTorch": "torch", "JAX": "jax", "PyTensor": "pytensor"}.items():
        if module in sys.modules:
            assert (report[name].result, report[name].note) == ("ok", "by NumPy")
            assert report[f"{name}, second order"].result == "skipped"


@needs_compiler
@in_each
def test_native_operators_are_pickled_by_name(framework: str) -> None:
    bridged = bridge_of(framework)(partial(mx.nd.framework_moment, power=3))
    pickled = pickle.dumps(bridged)
    assert pickle.loads(pickled).__minpy_operator__ is bridged.__minpy_operator__
    script = f"import pickle, sys\ntry:\n    pickle.loads({pickled!r})\nexcept Exception as error:\n    print(error)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "there is no operator 'framework_moment' of a native library or a partitioner. Load the " in done.stdout


@needs_compiler
def test_a_native_operators_digest_is_that_of_its_library() -> None:
    operator = as_operator(mx.nd.framework_remembered)
    digest, is_whole = digest_of(operator)
    assert is_whole
    assert digest != digest_of(as_operator(mx.nd.framework_moment))[0]
    with_power = [digest_of(as_operator(partial(mx.nd.framework_moment, power=power)))[0] for power in (2, 2, 3)]
    assert with_power[0] == with_power[1] != with_power[2]
    script = (
        "import minpy, sys\n"
        "from minpy.frameworks import as_operator\n"
        "from minpy.frameworks.digests import digest_of\n"
        "minpy.library.load(sys.argv[1], verbose=False)\n"
        "print(digest_of(as_operator(minpy.nd.framework_remembered))[0])\n"
    )
    header = [mx.library.include_dir()]
    paths = [build("framework_rows.cc", flags=flags, include=header) for flags in ([], ["-DSLOPE=3"])]
    again, edited = (
        subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout.strip()
        for path in paths
    )
    assert again == digest != edited


def test_an_operator_without_its_state_says_so() -> None:
    needs_state = ROWS_BY_NAME.get("framework_remembered")
    if needs_state is None:
        pytest.skip("there is no C++ compiler ($CXX, c++, g++, clang++) to build native libraries with")
    operator = needs_state.operator.fresh()
    operator.forward(X)
    with pytest.raises(OperatorError, match=re.escape("its state has no forward call with arrays of this size")):
        operator.vjp(X[:2], [X[:2]], {}, X[:2], [0])
