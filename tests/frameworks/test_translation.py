"""NumPy's functions written for PyTorch and JAX: values, dtypes, and derivatives, beside NumPy's and our own."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Sequence
from typing import Any

import functions_of_lengths
import numpy as np
import pytest
import translated_calls
from many import each

from minpy import customop
from minpy.core import Operator
from minpy.core.errors import NotTraceableError
from minpy.differentiation import recorded_run
from minpy.frameworks.dialects import dialect
from minpy.frameworks.tracing import TracedSteps, traced
from minpy.frameworks.translation import translate

FRAMEWORKS = ("jax", "torch")
# What cannot be traced: the framework has nothing to do with it.
UNTRACEABLE = ("np.sum(a, where=a > 1)",)
# What has no gradient here, or where all of a symmetric matrix is taken for its lower half: theirs are symmetric.
OTHER_GRADIENTS = (
    "np.modf",
    "np.ldexp",
    "np.nextafter",
    "np.spacing",
    "np.i0",
    "np.nanmedian",
    "np.nanquantile",
    "np.maximum.accumulate",
    "x_added_at",
    "x_masked",
    "np.cov",
    "np.corrcoef",
    "np.linalg.eigvalsh",
    "np.linalg.eigh",
)


def function_of(call: str) -> tuple[Callable[..., Any], list[str]]:
    """Return (a function of the arrays that a call is of, their names)."""
    names = [name for name in translated_calls.arrays("float64") if re.search(rf"\b{name}\b", call)]
    scope = {"np": np, **{name: value for name, value in vars(translated_calls).items() if name.startswith("x_")}}
    exec(f"def f({', '.join(names)}):\n    return {call}\n", scope)
    return scope["f"], names


CALLS = {call: function_of(call) for call in translated_calls.CALLS if function_of(call)[1]}
CASES = {
    f"{framework} {call}": (framework, function, names)
    for framework in FRAMEWORKS
    for call, (function, names) in CALLS.items()
    if call not in UNTRACEABLE
}


@pytest.fixture(autouse=True)
def _with_64_bits() -> Any:
    if importlib.util.find_spec("jax") is None:  # then there are the tests of PyTorch
        yield
        return
    jax = importlib.import_module("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def arrays_of(framework: str, arrays: Sequence[Any]) -> list[Any]:
    if framework == "jax":
        jax = pytest.importorskip("jax", reason="needs JAX")
        return [jax.numpy.asarray(array) for array in arrays]
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    return [torch.from_numpy(np.array(array)) for array in arrays]


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def forward_of(function: Callable[..., Any], arrays: Sequence[Any]) -> TracedSteps:
    return traced(Operator(function, name="f"), list(arrays), {}).forward


def require_equal(results: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    assert len(results) == len(expected)
    for result, array in zip(results, expected, strict=True):
        result, array = np.asarray(result), np.asarray(array)
        assert (result.shape, result.dtype) == (array.shape, array.dtype)
        np.testing.assert_allclose(result, array, tolerance, tolerance / 100)


def require_values(framework: str, function: Callable[..., Any], names: list[str]) -> None:
    available = translated_calls.arrays("float64")
    arrays = [available[name] for name in names]
    pytest.importorskip(framework, reason=f"needs {framework}")
    translated = translate(forward_of(function, arrays), framework)
    require_equal(translated(*arrays_of(framework, arrays)), as_list(function(*arrays)), 1e-10)


@each({name: case for name, case in CASES.items() if case[0] == "torch"})
def test_values_and_dtypes(framework: str, function: Callable[..., Any], names: list[str]) -> None:
    require_values(framework, function, names)


@each({name: case for name, case in CASES.items() if case[0] == "jax"})
def test_values_and_dtypes_of_jax(framework: str, function: Callable[..., Any], names: list[str]) -> None:
    require_values(framework, function, names)  # JAX compiles each of them


@each(CASES)
def test_values_and_dtypes_of_single_precision(framework: str, function: Callable[..., Any], names: list[str]) -> None:
    available = translated_calls.arrays("float32")
    arrays = [available[name] for name in names]
    pytest.importorskip(framework, reason=f"needs {framework}")
    translated = translate(forward_of(function, arrays), framework)
    require_equal(translated(*arrays_of(framework, arrays)), as_list(function(*arrays)), 2e-5)


@each(
    {
        name: case
        for name, case in CASES.items()
        if not any(part in name for part in OTHER_GRADIENTS) and "fft" not in name
    }
)
def test_derivatives_are_those_of_the_tape(framework: str, function: Callable[..., Any], names: list[str]) -> None:
    available = translated_calls.arrays("float64")
    arrays = [available[name] for name in names]
    outputs = [np.asarray(output) for output in as_list(function(*arrays))]
    live = [position for position, array in enumerate(arrays) if array.dtype.kind == "f"]
    if not live or any(output.dtype.kind != "f" for output in outputs):
        return
    random = np.random.RandomState(0)
    cotangents = [np.asarray(random.uniform(size=output.shape), output.dtype) for output in outputs]
    expected = recorded_run.vjp(lambda *values: tuple(as_list(function(*values))), arrays, live)[1](tuple(cotangents))
    pytest.importorskip(framework, reason=f"needs {framework}")
    translated = translate(forward_of(function, arrays), framework)
    values = arrays_of(framework, arrays)
    if framework == "jax":
        jax = pytest.importorskip("jax", reason="needs JAX")

        def of_floats(*floats: Any) -> Any:
            filled = dict(zip(live, floats, strict=True))
            return translated(*(filled.get(position, value) for position, value in enumerate(values)))

        pull = jax.vjp(of_floats, *(values[position] for position in live))[1]
        gradients = pull(tuple(arrays_of(framework, cotangents)))
    else:
        torch = pytest.importorskip("torch", reason="needs PyTorch")
        for position in live:
            values[position].requires_grad_()
        results = translated(*values)
        pairs = [pair for pair in zip(results, arrays_of(framework, cotangents), strict=True) if pair[0].requires_grad]
        parts = [None] * len(live)
        if pairs:
            heads, upstream = zip(*pairs, strict=True)
            parts = torch.autograd.grad(heads, [values[position] for position in live], upstream, allow_unused=True)
        gradients = [
            torch.zeros_like(values[position]) if part is None else part
            for part, position in zip(parts, live, strict=True)
        ]
    for gradient, part in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(getattr(part, "_data", part)), 1e-6, 1e-9)


# -- the source --------------------------------------------------------------------------------------------------------


def centred(x: Any) -> Any:
    return x - np.sum(x, axis=-1, keepdims=True) / x.shape[-1]


def test_source_is_straight_lines() -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    function = translate(forward_of(centred, [np.ones((2, 3))]), "torch")
    assert function.source == (
        "def f(a0):\n    v0 = torch.sum(a0, (1,), keepdim=True)\n    v1 = v0 / 3.0\n    v2 = a0 - v1\n    return v2,\n"
    )
    assert not function.polymorphic
    assert function.fits((2, 3))
    assert not function.fits((2, 4))


def test_lengths_become_expressions_where_nothing_is_chosen_by_them() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    function = translate(forward_of(centred, [np.ones((2, 3))]), "torch", any_lengths=True)
    assert function.polymorphic
    assert "v1 = v0 / a0.shape[1]" in function.source
    for shape in ((2, 3), (5, 7), (3, 3)):
        assert function.fits(shape)
        x = np.random.rand(*shape)
        np.testing.assert_allclose(function(torch.from_numpy(x))[0], centred(x))
    assert not function.fits((1, 3))
    assert not function.fits((2, 3, 4))


# The function, the shapes that it is traced for, and the symbols of the lengths for which it is right; None: of none.
SIZED = {
    "reshape": (lambda x: x.reshape(x.shape[0] * x.shape[1]), [(2, 3)], [["s0", "s1"]]),
    "flat": (lambda x: x.reshape(-1), [(2, 3)], [["s0", "s1"]]),
    "square root of a length": (lambda x: x / np.sqrt(x.shape[1]), [(2, 3)], [["s0", "s1"]]),
    "positions": (lambda x: x[np.arange(x.shape[0]), 0], [(4, 3)], [["s0", "s1"]]),
    "ones": (lambda x: x + np.ones_like(x) * np.zeros(x.shape[1]), [(4, 3)], [["s0", "s1"]]),
    "broadcast": (lambda x, w: x * w, [(4, 3), (3,)], [["s0", "s1"], ["s1"]]),
    "broadcast along one": (lambda x, w: x * w, [(4, 3), (1, 3)], [["s0", "s1"], [1, "s1"]]),
    "product": (lambda x, w: x @ w, [(4, 3), (3, 5)], [["s0", "s1"], ["s1", "s2"]]),
    "variance": (lambda x: x.var(axis=0), [(4, 3)], [["s0", "s1"]]),
    "concatenated": (
        lambda x, y: np.concatenate([x, y])[: x.shape[0]],
        [(4, 3), (5, 3)],
        [["s0", "s1"], ["s2", "s1"]],
    ),
    "reversed": (lambda x: x[:, ::-1], [(4, 3)], [["s0", "s1"]]),
    "a store by a slice": (lambda x: stored_between(x), [(4, 3)], [["s0", "s1"]]),
    "an array outside": (lambda x: x * OUTSIDE, [(4, 3)], [["s0", 3]]),
    "a choice by a length": (lambda x: x * 2 if x.shape[0] > 3 else x, [(4, 3)], [[4, "s1"]]),
    "a choice by numpy.shape": (lambda x: x * 2 if np.shape(x)[0] > 3 else x, [(4, 3)], [[4, "s1"]]),
    "a choice by the size": (lambda x: x * 2 if x.size > 3 else x, [(4, 3)], None),
    "a choice by a sum": (lambda x: x * 2 if x.shape[0] + x.shape[1] > 3 else x, [(4, 3)], None),
    "a loop over rows": (lambda x: sum(row for row in x), [(4, 3)], [[4, "s1"]]),
    "a loop over a range": (lambda x: sum(x[i] for i in range(x.shape[0])), [(4, 3)], [[4, "s1"]]),
    "text of a length": (lambda x: x * float(str(x.shape[0])), [(4, 3)], [[4, "s1"]]),
    "an identity": (lambda x: x @ np.eye(x.shape[1]), [(4, 3)], [["s0", 3]]),
    "a square": (lambda x: x @ x.T @ np.eye(len(x)), [(3, 3)], [[3, "s1"]]),
}
OUTSIDE = np.array([1.0, 2.0, 3.0])


def stored_between(x: Any) -> Any:
    y = np.zeros((x.shape[0] + 2, x.shape[1]))
    y[1:-1] = x
    return y


@each(SIZED)
def test_which_functions_are_right_for_other_lengths(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], symbols: Any
) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    translated = translate(forward_of(function, [np.ones(shape) for shape in shapes]), "torch", any_lengths=True)
    assert translated.symbols == symbols, translated.why_not
    assert translated.polymorphic == (symbols is not None) == (not translated.why_not)
    for more in (0, 3):
        lengths: dict[Any, int] = {}
        others = [
            tuple(
                lengths.setdefault(symbol, length + more) if isinstance(symbol, str) else length
                for symbol, length in zip(row, shape, strict=True)
            )
            for row, shape in zip(symbols or shapes, shapes, strict=True)
        ]
        assert translated.fits(*others)
        arrays = [np.random.rand(*shape) for shape in others]
        np.testing.assert_allclose(
            translated(*map(torch.from_numpy, arrays))[0], function(*arrays), 1e-12, err_msg=translated.source
        )


OPEN = {**functions_of_lengths.STEADY, **functions_of_lengths.FROM_TWO_ON}


@each(
    {
        f"{framework} {name}": (framework, function, None if name in functions_of_lengths.COMPUTED else name in OPEN)
        for framework in FRAMEWORKS
        for name, function in {
            **OPEN,
            **functions_of_lengths.COMPUTED,
            **functions_of_lengths.CHOOSING,
        }.items()
    }
)
def test_functions_of_a_length_are_right_for_any_or_not_taken_for_it(
    framework: str, function: Callable[..., Any], is_open: bool | None
) -> None:
    """`is_open` is None where that is a framework's own affair, as long as what is open is right."""
    pytest.importorskip(framework, reason=f"needs {framework}")
    traced_for = [np.ones(functions_of_lengths.SHAPE)]
    translated = translate(forward_of(function, traced_for), framework, any_lengths=True)
    lengths = functions_of_lengths.LENGTHS if framework == "torch" else (2, 3, 23, 101, 20001)
    fits = translated.fits((7, 3))
    assert is_open is None or fits == is_open, translated.why_not
    for length in lengths if fits else ():
        x = np.random.RandomState(length).uniform(size=(length, 3))
        (result,) = translated(*arrays_of(framework, [x]))
        np.testing.assert_allclose(
            np.asarray(result), function(x), 1e-9, 1e-12, err_msg=f"{length}\n{translated.source}"
        )


def test_tables_of_positions_are_as_long_as_they_are() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    table = np.random.RandomState(0).uniform(size=(512, 3))

    def placed(x):
        return (x + table[: x.shape[0]]) / x.shape[0]

    function = translate(forward_of(placed, [np.ones((4, 3))]), "torch", any_lengths=True)
    assert function.fits((7, 3)), function.why_not
    for length in (2, 100, 512):
        x = np.random.rand(length, 3)
        np.testing.assert_allclose(np.asarray(function(torch.from_numpy(x))[0]), placed(x), 1e-12)
    with pytest.raises(RuntimeError, match=r"size of tensor"):
        function(torch.ones((513, 3), dtype=torch.float64))


def test_fixed_lengths_are_told_from_those_that_are_tried() -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    outside = [np.ones(length) for length in (11, 73, 82, 2063, 563, 251)]

    def chosen(x):
        scale = 2.0 if x.shape[0] > 50 else 1.0
        for array in outside:
            scale += array.sum()
        return x * scale

    shapes = [(4, 11), *(array.shape for array in outside)]
    function = translate(
        forward_of(lambda x, *_: chosen(x), [np.ones(shape) for shape in shapes]), "torch", any_lengths=True
    )
    assert function.symbols is None or function.symbols[0][0] == 4


def test_gradients_of_other_lengths() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")

    @customop("numpy")
    def weighted(x, w):
        return np.mean(x * w, axis=0)

    weighted.def_grad(lambda ans, x, w: lambda g: np.broadcast_to(g, x.shape) * w / x.shape[0])
    weighted.def_grad(lambda ans, x, w: lambda g: g * x.sum(axis=0) / len(x), argnum=1)
    steps = weighted.traced(((4, 3), "f8"), ((3,), "f8"))
    function = translate(steps.vjp([0]), "torch", any_lengths=True)
    assert function.symbols == [["s0", "s1"], ["s1"]]
    g, out, x, w = np.random.rand(5), np.random.rand(5), np.random.rand(7, 5), np.random.rand(5)
    assert function.fits(x.shape, w.shape)
    np.testing.assert_allclose(function(*map(torch.from_numpy, (g, out, x, w)))[0], g * w / 7 * np.ones((7, 1)))
    # `len` asks for a number of Python's: it stays what it was.
    assert translate(steps.vjp([1]), "torch", any_lengths=True).symbols == [[4, "s1"], ["s1"]]


@each({framework: (framework,) for framework in FRAMEWORKS})
def test_what_has_no_equal_says_node_line_and_function(framework: str) -> None:
    pytest.importorskip(framework, reason=f"needs {framework}")

    def fitted(x):
        return np.polyfit(np.arange(4.0), x, 1)

    with pytest.raises(
        NotTraceableError,
        match=rf"fitted: {framework} has no equal of that function: numpy.polyfit, step 'fitted' "
        r"\(.*test_translation.py:\d+: return np.polyfit\(np.arange\(4.0\), x, 1\)\)",
    ):
        translate(traced(Operator(fitted, name="fitted"), [np.ones(4)], {}).forward, framework)


def test_arguments_without_an_equal_are_named() -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    steps = forward_of(lambda x: np.sum(x, initial=2.0), [np.ones(4)])
    with pytest.raises(NotTraceableError, match=r"torch has no equal of its argument initial=: numpy.sum"):
        translate(steps, "torch")


def test_tables_have_rows_for_numpy_s_functions_only() -> None:
    torch_rows, jax_rows = dialect("torch").rows, dialect("jax").rows
    assert len(torch_rows) > 250
    assert len(jax_rows) > 270
    with pytest.raises(
        NotTraceableError, match=r"there is no dialect 'tensorflow'; there are 'jax', 'pytensor', 'torch'"
    ):
        dialect("tensorflow")


def test_captured_arrays_are_arguments_that_have_values() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    weights = np.array([1.0, 2.0, 3.0])
    steps = forward_of(lambda x: x * weights, [np.ones(3)])
    function = translate(steps, "torch")
    x = torch.ones(3, dtype=torch.float64)
    np.testing.assert_array_equal(function(x)[0], weights)
    np.testing.assert_array_equal(function(x, 2 * torch.from_numpy(weights))[0], 2 * weights)
    assert steps.captured_arrays()[0] is weights


def test_fullgraph_with_lengths_that_vary() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")

    def smoothed(x):
        y = np.exp(x - x.max(axis=-1, keepdims=True))
        y[..., 0] *= 2
        return np.where(y > 0.5, y, 0) / np.sqrt(x.shape[-1])

    steps = forward_of(smoothed, [np.ones((4, 3))])
    translated = translate(steps, "torch")
    compiled = torch.compile(translated, fullgraph=True, backend="eager")
    x = np.random.rand(4, 3)
    np.testing.assert_allclose(compiled(torch.from_numpy(x))[0], smoothed(x))
