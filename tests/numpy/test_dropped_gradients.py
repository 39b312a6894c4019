"""No public function drops a recorded value silently: it has a gradient, one that is declared to be zero, or an error.

Every argument of every call in `recorded_calls` is put in the place of a variable, one after another. Where the result
changes with it, by finite differences, the gradient has to agree.
"""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import autograd
import autograd.numpy as anp
import numpy
import pytest
from many import each
from operator_table import ALL_ROWS
from recorded_calls import DECLARED, METHODS, ND, NDARRAY_METHODS, NP, NPX, NUMPY_METHODS, SKIPPED, arrays

import minpy
import minpy as mx
from minpy import nd, np, npx
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, MutationError, NoGradientError
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of
from minpy.ops.registry import OPERATORS

STEP = 1e-4
_ARRAYS = [name for name, array in arrays().items() if array.dtype.kind == "f"]


class Site(NamedTuple):
    """A place in a call where something recorded is put."""

    call: str
    label: str
    expression: str
    name: str
    value: numpy.ndarray


def sites(call: str, at: str = "") -> Iterator[Site]:
    """Return the places in a call: names of arrays, and numbers. `at` is the array that `x` stands for."""
    expression = re.sub(r"\bx\b", at, call) if at else call
    tree = ast.parse(expression, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in sorted(names.intersection(_ARRAYS)):
        yield Site(call, name, expression, name, arrays()[name])
    numbers = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) in (int, float)]
    for node in numbers:
        value = float(node.value)  # type: ignore[arg-type]
        if value.is_integer() and "random" not in call:
            value += 0.3  # an index, say: away from where it becomes another one
        place = node.col_offset
        inner = copy.deepcopy(tree)
        replaced = _Replacing(place).visit(inner)
        yield Site(call, f"{node.value} at {place}", ast.unparse(replaced), "number", numpy.asarray(value))


class _Replacing(ast.NodeTransformer):
    def __init__(self, place: int) -> None:
        self.place = place

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_number = type(node.value) in (int, float) and node.col_offset == self.place
        return ast.copy_location(ast.Name("number", ast.Load()), node) if is_number else node


def of_numpy(value: numpy.ndarray) -> Any:
    return np.array(value, dtype=value.dtype)


def of_mxnet(value: numpy.ndarray) -> Any:
    return nd.array(value.reshape(value.shape or (1,)), dtype="float64" if value.dtype.kind == "f" else value.dtype)


def run(site: Site, value: numpy.ndarray, make: Callable[..., Any], recorded: bool) -> tuple[Any, Any]:
    """Return (the variable, the result)."""
    scope = {name: make(array) for name, array in arrays().items()}
    scope |= {"np": np, "nd": nd, "npx": npx, "mx": mx, "copy": copy, "pickle": pickle, "after": lambda x, *_: x}
    scope[site.name] = variable = make(value)
    mx.random.seed(3)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not recorded:
            return variable, eval(site.expression, scope)
        variable.attach_grad()
        with mx.autograd.record():
            return variable, eval(site.expression, scope)


def floats(result: Any) -> list[Any]:
    """Return what is floating point in a result, arrays of ours as they are."""
    leaves = leaves_of(tuple(result) if isinstance(result, tuple) else result)
    kinds = (Array, numpy.ndarray, numpy.generic, float)
    return [leaf for leaf in leaves if isinstance(leaf, kinds) and raw(leaf).dtype.kind in "fc"]


def raw(leaf: Any) -> numpy.ndarray:
    return leaf._data if isinstance(leaf, Array) else numpy.asarray(leaf)


def outcome(site: Site, make: Callable[..., Any]) -> str:
    """Return 'gradient', 'constant', or 'refused'; or what is wrong."""
    direction = numpy.random.RandomState(1).uniform(0.5, 1, site.value.shape)
    if site.value.shape == (3, 3):
        direction = (direction + direction.T) / 2  # of what is symmetric some functions read one half
    try:
        variable, result = run(site, site.value, make, True)
    except Exception:
        return "refused"
    try:
        up, down = ([*map(raw, floats(run(site, site.value + h * direction, make, False)[1]))] for h in (STEP, -STEP))
    except Exception:
        return "constant"  # as `x[0.5]`: unrecorded it is no number that can be told from others
    random = numpy.random.RandomState(5)
    parts = floats(result)
    weights = [random.uniform(0.5, 1.5, raw(part).shape) for part in parts]
    expected, moves = 0.0, False
    for one, other, weight in zip(up, down, weights, strict=True):
        difference = numpy.nan_to_num(one) - numpy.nan_to_num(other)
        expected += float(numpy.real(difference * weight).sum()) / (2 * STEP)
        moves = moves or bool(numpy.any(difference))
    heads = [(part, weight) for part, weight in zip(parts, weights, strict=True) if getattr(part, "_node", None)]
    if heads:
        try:
            mx.autograd.backward(
                [head for head, _ in heads], [head._like(weight.astype(head._data.dtype)) for head, weight in heads]
            )
        except NoGradientError:
            return "refused"
    found = float((variable.grad._data.reshape(direction.shape) * direction).sum())
    rounding = 0.05 if any(raw(part).dtype == numpy.float32 for part in parts) else 1e-3
    if abs(found - expected) <= rounding * max(1.0, abs(expected)):
        return "gradient" if moves else "constant"
    return f"the gradient is {found:.6g}, by finite differences {expected:.6g}"


def in_this_numpy(call: str) -> bool:
    """Tell whether the functions of a call are there: some are new in NumPy 2."""
    for names in re.findall(r"\bnp\.((?:\w+\.)*\w+)", call):
        place: Any = np
        for name in names.split("."):
            place = getattr(place, name, None)
        if place is None:
            return False
    return True


def cases(calls: list[str], make: Callable[..., Any], at: str = "") -> dict[str, tuple[Any, ...]]:
    found = [site for call in calls if in_this_numpy(call) for site in sites(call, at)]
    return {f"{site.call} [{site.label}]": (site, make) for site in found}


ALL = {
    **cases(NP + NPX, of_numpy),
    **cases(ND, of_mxnet),
    **{f"NDArray {name}": case for name, case in cases(METHODS + NDARRAY_METHODS, of_mxnet, "a").items()},
    **{f"np.ndarray {name}": case for name, case in cases(METHODS + NUMPY_METHODS, of_numpy, "a").items()},
}


@each(ALL, at_once=100)
def test_no_recorded_value_is_dropped(site: Site, make: Callable[..., Any]) -> None:
    found = outcome(site, make)
    declared = [
        reason for call, name, reason in DECLARED if re.fullmatch(call, site.call) and name in ("*", site.label)
    ]
    if declared and found not in ("gradient", "constant", "refused"):
        assert found.startswith("the gradient is 0,")
        return
    assert found in ("gradient", "constant", "refused")


def test_most_calls_have_gradients() -> None:
    """So that the test above does not pass because everything is refused."""
    found = [outcome(*case) for case in list(ALL.values())[::7]]
    assert found.count("gradient") > 0.4 * len(found)


def names_in(module: Any) -> list[str]:
    members = {name: getattr(module, name) for name in dir(module)}
    return [name for name, member in members.items() if callable(member) and not inspect.isclass(member)]


NAMESPACES = {
    "np": np, "np.fft": np.fft, "np.linalg": np.linalg, "np.random": np.random, "npx": npx, "npx.image": npx.image,
    "npx.random": npx.random, "nd": nd, "nd.contrib": nd.contrib, "nd.image": nd.image, "nd.linalg": nd.linalg,
    "nd.op": nd.op, "nd.random": nd.random, "nd.sparse": nd.sparse,
}  # fmt: skip
NAMES = {prefix: names_in(module) for prefix, module in NAMESPACES.items()}  # before other tests load libraries


@pytest.mark.parametrize("prefix", NAMESPACES)
def test_every_public_function_is_called_or_has_a_reason(prefix: str) -> None:
    rows = {row.name for row in ALL_ROWS}  # whose inputs `op.check` differentiates
    calls = "\n".join([*NP, *NPX, *ND, *METHODS])
    missing = []
    for name in NAMES[prefix]:
        function = getattr(NAMESPACES[prefix], name)
        operator = function
        if inspect.isfunction(function):
            operator = inspect.getclosurevars(function).nonlocals.get("operator")
        in_table = isinstance(operator, Operator) and operator.__name__ in rows
        is_called = re.search(rf"(?<![\w.]){re.escape(prefix)}\.{name}\(", calls)
        elsewhere = prefix in ("nd.op", "nd.sparse") and f"nd.{name}(" in calls
        if not (in_table or is_called or elsewhere or f"{prefix}.{name}" in SKIPPED):
            missing.append(name)
    assert not missing


@pytest.mark.parametrize(
    ("cls", "calls"),
    [(nd.NDArray, [*METHODS, *NDARRAY_METHODS]), (np.ndarray, [*METHODS, *NUMPY_METHODS, *NDARRAY_METHODS])],
    ids=["NDArray", "ndarray"],
)
def test_every_method_is_called_or_has_a_reason(cls: type, calls: list[str]) -> None:
    text = "\n".join(calls)
    public = [name for name in dir(cls) if not name.startswith("_")]
    assert not [name for name in public if name not in SKIPPED and not re.search(rf"\.{name}\b", text)]


# -- attributes --------------------------------------------------------------------------------------------------------


def attributes() -> dict[str, tuple[Any, ...]]:
    found = {}
    for row in ALL_ROWS:
        operator = row.operator or OPERATORS.get(row.name)
        for key, attribute in operator.signature.attributes.items() if operator is not None else ():
            found.setdefault(f"{row.name}, {key}", (row, operator, key, attribute))
    return found


@each(attributes(), at_once=200)
def test_recorded_attributes_are_refused(row: Any, operator: Any, key: str, attribute: Any) -> None:
    """An attribute is a number: what is recorded has a gradient as an input only."""
    given = row.attributes.get(key, attribute.default)
    value = float(given) if isinstance(given, (int, float)) else 1.0
    recorded = nd.array([value], dtype="float64")
    recorded.attach_grad()
    inputs = [nd.array(array, dtype="float64") for array in row.draw()]
    with mx.autograd.record(train_mode=row.training):
        if key in operator.keyword_inputs:
            result = operator(*inputs, **{**row.attributes, key: recorded})
            assert all(part._node is not None for part in leaves_of(result) if part.dtype in (numpy.float64,))
            return
        if not operator.builtin or re.search("update|lars", row.name):  # updates of weights are not differentiated
            return
        with pytest.raises((mx.MXNetError, TypeError, ValueError)):
            operator(*inputs, **{**row.attributes, key: recorded})


def test_a_recorded_attribute_is_named() -> None:
    x, t = nd.ones((2, 3)), nd.ones((1,))
    t.attach_grad()
    nd.softmax(x, temperature=t)
    with mx.autograd.record():
        for _ in range(2):
            with pytest.raises(NoGradientError, match=r"softmax: temperature is a recorded array .*t.*asscalar\(\)"):
                nd.softmax(x, temperature=t)


# -- every mode of running ---------------------------------------------------------------------------------------------

MADE = {
    "array": (lambda x: np.array([x[0], 2 * x[1]]), [[1, 0], [0, 2]]),
    "asarray": (lambda x: np.asarray([x[0], 2 * x[1]]), [[1, 0], [0, 2]]),
    "nested": (lambda x: np.array([[x[0], 1.0], [x[1], x[0] * x[1]]]).reshape(-1), [[1, 0], [0, 0], [0, 1], [4, 3]]),
    "of vectors": (lambda x: np.array([x, [1.0, 2.0]]).reshape(-1), [[1, 0], [0, 1], [0, 0], [0, 0]]),
    "full": (lambda x: np.full((2,), x[0]), [[1, 0], [1, 0]]),
    "full_like": (lambda x: np.full_like(x, x[1]), [[0, 1], [0, 1]]),
    "linspace": (lambda x: np.linspace(x[0], x[1], 3), [[1, 0], [0.5, 0.5], [0, 1]]),
    "NDArray": (lambda x: nd.array([x[0], 2 * x[1]]).as_np_ndarray().reshape(-1), [[1, 0], [0, 2]]),
    "vstack": (lambda x: np.vstack([[x[0], 1.0], x]).reshape(-1), [[1, 0], [0, 0], [1, 0], [0, 1]]),
}
POINT = numpy.array([3.0, 4.0], "float32")
UNDER_HIPS = {name: made for name, made in MADE.items() if name != "NDArray"}


@pytest.mark.parametrize("name", MADE)
def test_made_arrays_have_gradients(name: str) -> None:
    function, expected = MADE[name]
    numpy.testing.assert_allclose(minpy.jacobian(function)(POINT), expected)
    squares = minpy.hessian(lambda x: np.sum(function(x) ** 2))(POINT)
    if name != "nested":  # the others are linear
        numpy.testing.assert_allclose(squares, 2 * numpy.transpose(expected) @ numpy.array(expected), rtol=1e-5)


def _gradients(function: Callable[..., Any], calls: int) -> list[Any]:
    """Return the gradients of weighted sums of results at several calls under `record`."""
    found = []
    for _ in range(calls):
        x = np.array(POINT)
        x.attach_grad()
        with mx.autograd.record():
            y = function(x)
            loss = (y * (1 + np.arange(y.size))).sum()
        loss.backward()
        found.append(x.grad.asnumpy())
    return found


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("way", ["eager", "hybridized", "compiled"])
def test_made_arrays_in_every_mode(name: str, way: str) -> None:
    function, expected = MADE[name]

    class Net(mx.gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return function(x)

    called: Any = function
    if way == "hybridized":
        called = Net()
        called.hybridize()
    elif way == "compiled":
        called = mx.compile(function)
    values = function(np.array(POINT)).asnumpy()
    weights = 1 + numpy.arange(len(expected))
    for gradient in _gradients(called, 4):
        numpy.testing.assert_allclose(gradient, weights @ numpy.array(expected), rtol=1e-6)
    numpy.testing.assert_allclose(called(np.array(POINT)).asnumpy(), values, rtol=1e-6)
    if way == "compiled":
        assert called.reason is None


@pytest.mark.parametrize("name", UNDER_HIPS)
def test_made_arrays_under_hips_autograd(name: str) -> None:
    function, expected = MADE[name]
    weights = 1.0 + numpy.arange(len(expected))
    point = POINT.astype("float64")
    gradient = autograd.grad(lambda x: anp.sum(function(x) * weights))(point)
    numpy.testing.assert_allclose(gradient, weights @ numpy.array(expected), rtol=1e-6)


def test_the_issue_of_three_powers() -> None:
    numpy.testing.assert_allclose(minpy.jacobian(lambda x: np.array([x, x**2, x**3]))(2.0), [1, 4, 12])


def test_made_of_symbols() -> None:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    for made, shape in ((nd.array([a, b]), (2, 3)), (nd.array([[a], [b]]), (2, 1, 3))):
        executor = made.simple_bind(mx.cpu(), a=(3,), b=(3,))
        (head,) = executor.forward(is_train=True, a=nd.ones((3,)), b=nd.ones((3,)) * 2)
        assert head.shape == shape
        executor.backward(nd.ones(shape))
        assert executor.grad_dict["a"].asnumpy().tolist() == [1, 1, 1]


# -- what is said ------------------------------------------------------------------------------------------------------


def recorded_scalar() -> Any:
    x = np.array(0.5, dtype="float64")
    x.attach_grad()
    return x


def test_errors_of_what_cannot_be_recorded() -> None:
    x = recorded_scalar()
    with mx.autograd.record():
        with pytest.raises(ArgumentError, match=r"np.array: the nested lists are ragged: source\[0\] has shape \(2,\)"):
            np.array([[x, 1.0], [x]])
        with pytest.raises(mx.MXNetError, match=r"source\[1\] is str 'a', which is no number"):
            np.array([x, "a"])
        with pytest.raises(MutationError, match=r"numpy\.copyto changes an array of NumPy in place"):
            numpy.copyto(numpy.zeros(2), x)
        with pytest.raises(NoGradientError, match=r"np.random.wald has no gradient .*detach\(\)"):
            np.random.wald(x, 1.0)
        with pytest.raises(NoGradientError, match="no gradient with respect to cov"):
            np.random.multivariate_normal([0.0], np.reshape(x, (1, 1)))
        with pytest.raises(ArgumentError, match=r"np\.random\.normal: it has no argument 'mean'"):
            np.random.normal(x, mean=2.0)
        with pytest.raises(ArgumentError, match=r"np\.random\.triangular: the argument 'mode' is missing"):
            np.random.triangular(x)
        with pytest.raises(NoGradientError, match="float"):
            float(x)


@pytest.mark.parametrize(
    ("draw", "parameters"),
    [
        *[(name, 2) for name in ("normal", "lognormal", "gumbel", "laplace", "logistic", "uniform", "gamma", "beta")],
        *[(name, 1) for name in ("weibull", "pareto", "rayleigh", "exponential", "power", "chisquare")],
        ("triangular", 3),
    ],
)
def test_recorded_draws_are_those_of_the_same_seed(draw: str, parameters: int) -> None:
    values = [np.array(one, dtype="float64") for one in ([0.3, 0.4], [0.8, 0.9], [1.5, 1.7])[:parameters]]
    mx.random.seed(7)
    expected = getattr(np.random, draw)(*values, dtype="float64")
    for value in values:
        value.attach_grad()
    mx.random.seed(7)
    with mx.autograd.record():
        got = getattr(np.random, draw)(*values, dtype="float64")
    assert got._node is not None
    numpy.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-10)


def test_a_deep_copy_is_recorded() -> None:
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        loss = (copy.deepcopy(x) ** 2).sum()
    loss.backward()
    assert x.grad.asnumpy().tolist() == [2.0, 4.0]
    assert type(copy.deepcopy(x)._node).__name__ == "NoneType"
