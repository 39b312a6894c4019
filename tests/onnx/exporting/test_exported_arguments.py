"""NumPy's elementwise functions, reductions and scans with their arguments exported to ONNX: by dtypes and opsets."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from exported import exported, op_types
from exported_calls import call_function, exported_call, require_equal
from many import each

import minpy as mx
from minpy.onnx.running import run_model

pytest.importorskip("onnx", minversion="1.16", reason="needs onnx")

# Over a, b (3, 4), v (4,), t (2, 3, 4) of one dtype, i (3, 4) of small whole numbers, m (3, 4) of truth values.
CALLS = """
a + b
a - b
a * b
a / b
a // b
a % b
np.fmod(a, b)
divmod(a, b)
-a
abs(a)
a * a
np.square(a)
np.sign(a)
a == b
a != b
a < b
a >= b
np.maximum(a, b)
np.fmin(a, b)
np.where(m, a, b)
np.where(a, b, 1)
np.clip(a, 1, 3)
np.clip(a, b, None)
np.clip(a, b, 3)
a ** 3
a ** 0
a ** b
a ** i
np.abs(a) ** 0.5
np.reciprocal(a)
np.sqrt(a)
np.exp(a)
np.isnan(a)
np.isfinite(a)
np.isposinf(a)
np.signbit(a)
np.copysign(a, b)
np.sum(a)
np.sum(a, axis=(0, 1), keepdims=True)
np.sum(a, axis=0, dtype='float32')
np.sum(a, initial=2)
np.sum(t, axis=(-1, 0))
np.sum(a, axis=())
np.prod(a, axis=0)
np.mean(a, axis=0)
np.max(a, axis=0)
np.min(t, axis=(0, 2), keepdims=True)
np.max(a, axis=1, initial=3)
np.argmax(a, axis=0)
np.argmax(a)
np.argmax(a, keepdims=True)
np.argmin(a, axis=1, keepdims=True)
np.any(a, axis=1)
np.all(a)
np.all(a, axis=(0, 1))
np.cumsum(a, axis=0)
np.cumsum(a)
np.cumprod(a, axis=1)
np.maximum.accumulate(a)
np.minimum.accumulate(t, axis=-1)
np.std(a, axis=0)
np.var(a, axis=(0, 1), ddof=1, keepdims=True)
np.ptp(a, axis=1)
np.diff(a, axis=0)
np.diff(a, prepend=0)
np.diff(a, n=0)
np.median(a, axis=0)
np.median(a, axis=0, keepdims=True)
np.median(t, axis=(0, 2))
np.percentile(a, 30, axis=1)
np.percentile(a, [30, 70], axis=(0, 1))
np.quantile(a, 0.5, method='lower')
np.quantile(a, 0.25, method='nearest', axis=0)
np.quantile(a, 0.3, method='midpoint', axis=0)
np.quantile(a, [[0.1, 0.2], [0.3, 0.9]], axis=1)
np.quantile(a, 0.3, keepdims=True)
np.nanmax(a, axis=0)
np.nansum(a)
np.nanmean(a, axis=1)
np.nanmedian(a, axis=1)
np.nanpercentile(a, [20, 60], axis=0)
np.nanargmax(a, axis=0)
np.nanstd(a, axis=1, ddof=1)
np.nancumprod(a, axis=0)
np.linalg.norm(a, axis=0, keepdims=True)
np.linalg.norm(v, np.inf)
np.linalg.norm(v, 0)
np.linalg.norm(a, -1)
np.linalg.norm(a, np.inf)
np.linalg.norm(t, axis=(0, 2), ord=1)
np.count_nonzero(a)
np.round(a, 2)
np.round(a, -1)
np.trunc(a)
np.fix(a)
np.modf(a)
np.frexp(a)
np.nan_to_num(a, nan=1.0, posinf=2.0)
np.isclose(a, b, equal_nan=True)
np.select([a > 1, m], [a, b], 0)
np.choose(i % 3, [a, b, 2])
np.choose(i % 5, [a, b], mode='clip')
np.choose(i % 5, [a, b], mode='wrap')
np.bitwise_and(a, b)
np.bitwise_or(a, 3)
np.bitwise_xor(a, b)
np.invert(a)
np.left_shift(a, 2)
np.right_shift(a, 1)
np.right_shift(a, i)
np.left_shift(a, i)
np.gcd(a, b)
np.lcm(a, v)
np.logical_and(a, b)
np.logical_not(a)
a.astype('int32')
a.astype('uint8')
a.astype('float16')
a.astype('float32')
a.astype(bool)
np.zeros_like(a) + 1
np.full_like(a, 2)
np.ones_like(a, dtype='float32') * a
np.exp2(a)
np.log2(abs(a) + 1)
np.log1p(abs(a))
np.expm1(a)
np.hypot(a, b)
np.arctan2(a, b)
np.logaddexp(a, b)
np.logaddexp2(a, b)
np.cbrt(a)
np.sinc(a)
np.nextafter(a, b)
np.spacing(a)
np.ldexp(a, i)
np.heaviside(a, b)
np.float_power(a, 2)
np.angle(a, deg=True)
np.add.reduce(a, axis=None)
np.multiply.reduce(a)
np.logical_or.reduce(a, axis=1)
np.trapezoid(a, axis=0) if hasattr(np, 'trapezoid') else np.trapz(a, axis=0)
np.trapezoid(a, v) if hasattr(np, 'trapezoid') else np.trapz(a, v)
np.polyval([1, 2, 3], a)
np.cov(a, ddof=0)
np.corrcoef(a, rowvar=False)
np.cov(v)
np.add(a, b, dtype='float64')
np.sin(a)
np.floor(a)
np.rint(a)
np.positive(a)
np.subtract.reduce(a, axis=0)
np.subtract.accumulate(a)
np.bitwise_and.reduce(i, axis=0)
np.bitwise_or.reduce(i)
np.logical_xor.reduce(m, axis=1)
np.logical_xor.reduce(t, axis=(0, 2))
np.hypot.reduce(a, axis=1)
np.divide.accumulate(a, axis=1)
np.logaddexp.reduce(a, axis=0)
np.logaddexp.reduce(v, keepdims=True)
np.gcd.reduce(i, axis=1)
np.gradient(a, axis=0)
np.gradient(v)
np.gradient(v, 0.5)
np.gradient(a)
np.gradient(a, 2.0, axis=1)
a & 7
np.average(np.abs(a), axis=1, weights=np.abs(v) + 1)
np.average(a, axis=(0, 1), weights=b * b + 1)
""".strip().splitlines()

DYNAMIC = {"a": "nk", "b": "nk", "v": "k", "t": (None, "n", "k"), "i": "nk", "m": "nk"}
# The first opset that has what functions become.
SINCE = {"np.nextafter": 26, "np.spacing": 26, "np.bitwise_": 18}
# By kind of dtype, calls that are refused, or cannot be traced; and differences of float16 as float64, as onnxruntime
# leaves out the rounding between.
LEFT_OUT = {
    "float16": ("[[0.1", "nanpercentile(a, [", "np.nextafter", "np.spacing"),
    "integers": ("np.round(a, -1)", "np.average(", "np.nextafter", "np.spacing"),
    "bool": ("np.trapezoid(a, v)",),
}


def arrays_of(dtype: str) -> dict[str, np.ndarray]:
    random = np.random.RandomState(0)

    def drawn(*shape: int) -> np.ndarray:
        if dtype == "bool":
            return random.rand(*shape) > 0.5
        if np.dtype(dtype).kind in "iu":
            return random.randint(max(int(np.iinfo(dtype).min), -9), 10, shape).astype(dtype)
        return random.standard_normal(shape).astype(dtype)

    arrays = {"a": drawn(3, 4), "b": drawn(3, 4), "v": drawn(4), "t": drawn(2, 3, 4)}
    return {**arrays, "i": random.randint(0, 5, (3, 4)), "m": random.rand(3, 4) > 0.5}


def has_result(call: str, dtype: str) -> bool:
    """Tell whether NumPy has a call for a dtype."""
    function, names = call_function(call)
    try:
        with np.errstate(all="ignore"):
            function(*(arrays_of(dtype)[name] for name in names))
    except (TypeError, ValueError):
        return False
    return True


def is_there(call: str, dtype: str, opset: int) -> bool:
    kinds = {dtype, "integers"} if np.dtype(dtype).kind in "biu" else {dtype}
    if any(part in call for kind in kinds for part in LEFT_OUT.get(kind, ())):
        return False
    return all(opset >= first or part not in call for part, first in SINCE.items()) and has_result(call, dtype)


def require_computed(call: str, dtype: str, opset: int, dynamic: Any = None) -> None:
    arrays = arrays_of(dtype)
    require_equal(exported_call(call, dtype, opset, dynamic, arrays), arrays)


def cases(dtypes: Any, opsets: Any = (26,)) -> dict[str, tuple[str, str, int]]:
    return {
        f"{dtype} {opset} {call}": (call, dtype, opset)
        for call in CALLS
        for dtype in dtypes
        for opset in opsets
        if is_there(call, dtype, opset)
    }


@each(cases(("float64", "float16")))
def test_floating_point(call: str, dtype: str, opset: int) -> None:
    require_computed(call, dtype, opset)


@each(cases(("int64", "int8", "uint16", "bool")))
def test_integers_and_truth_values(call: str, dtype: str, opset: int) -> None:
    require_computed(call, dtype, opset)


@each({**cases(["float32"], (13, 17)), **cases(["int64"], [13])})
def test_older_opsets(call: str, dtype: str, opset: int) -> None:
    require_computed(call, dtype, opset)


# Written out, an element a node.
OF_KNOWN_LENGTH = [
    call
    for call in CALLS
    if re.match(
        r"np\.(subtract|divide|bitwise_and|bitwise_or|logical_xor|hypot|logaddexp|gcd)\.(reduce|accumulate)", call
    )
]


# Of one variable the result has no axes.
OF_SEVERAL = ("np.cov(a, ddof=0)", "np.corrcoef(a, rowvar=False)")


@each({name: case for name, case in cases(["float32"]).items() if case[0] not in (*OF_KNOWN_LENGTH, *OF_SEVERAL)})
def test_open_lengths(call: str, dtype: str, opset: int) -> None:
    require_computed(call, dtype, opset, DYNAMIC)


@each({call: (call,) for call in OF_SEVERAL})
def test_results_that_lose_axes_need_a_length(call: str) -> None:
    with pytest.raises(
        mx.MXNetError, match=r"on a \(\d, 1\), and .* expected float64 of shape \(\), got float64 of shape"
    ):
        exported_call(call, "float32", dynamic=DYNAMIC, arrays=arrays_of("float32"))


@each({call: (call,) for call in OF_KNOWN_LENGTH})
def test_reductions_that_are_written_out_need_a_length(call: str) -> None:
    with pytest.raises(mx.MXNetError, match=r"becomes other nodes for other lengths|up to 64 are written out"):
        exported_call(call, "float32", dynamic=DYNAMIC, arrays=arrays_of("float32"))


@each(
    {
        "long chains": ("np.subtract.reduce(np.zeros(70) + v[0])", "float32", 26, "subtract.reduce of 70"),
        "rounding of integers": ("np.round(a, -1)", "int64", 26, "decimals=-1 of whole numbers"),
        "neighbours of short floats": ("np.spacing(a)", "float16", 26, "neighbours of float16 at opset 26 (of float32"),
        "neighbours before bits": (
            "np.nextafter(a, b)",
            "float32",
            25,
            "neighbours of float32 at opset 25 (of float32",
        ),
        "bits before opset 18": ("np.bitwise_or(i, 4)", "float32", 17, "bits of integers before opset 18 (this is 17)"),
        "shifts": ("np.left_shift(a, b)", "uint64", 26, "shifts of uint64"),
        "singular values": ("np.linalg.norm(a, 2)", "float32", 26, "ord=2 of matrices: it takes singular values"),
        "complex numbers": ("np.abs(a + 1j)", "float32", 26, "complex numbers"),
        "methods of quantiles": ("np.quantile(a, 0.2, method='hazen')", "float32", 26, "method='hazen'"),
    }
)
def test_refusals_say_what_has_no_equal(call: str, dtype: str, opset: int, reason: str) -> None:
    from minpy.onnx.exporting.sources import ExportError

    with pytest.raises(ExportError, match=re.escape(f"'call' (called): {reason}")):
        exported_call(call, dtype, opset, arrays=arrays_of(dtype))


def node_types(call: str, opset: int = 26) -> list[str]:
    """Return what the body of the function has, constants left out."""
    (function,) = exported_call(call, "float32", opset).model.functions
    return [node.op_type for node in function.node if node.op_type != "Constant"]


@each(
    {
        "np.exp(a)": ("np.exp(a)", ["Exp"]),
        "np.sum(a, axis=1)": ("np.sum(a, axis=1)", ["ReduceSum"]),
        "np.mean(a)": ("np.mean(a)", ["ReduceMean"]),
        "np.linalg.norm(a, axis=1)": ("np.linalg.norm(a, axis=1)", ["ReduceL2"]),
        "np.where(m, a, b)": ("np.where(m, a, b)", ["Where"]),
        "np.clip(a, 0, 1)": ("np.clip(a, 0, 1)", ["Clip"]),
        "np.maximum(a, 0)": ("np.maximum(a, 0)", ["Max"]),
        "np.cumsum(a, axis=1)": ("np.cumsum(a, axis=1)", ["CumSum"]),
        "np.argmax(i, axis=1)": ("np.argmax(i, axis=1)", ["ArgMax"]),
        "a ** 2.5": ("a ** 2.5", ["Pow"]),
        "a // 1 as integers": ("i // 2", ["Mod", "Sub", "Div"]),
    }
)
def test_what_onnx_has_an_operator_for_is_that_operator(call: str, types: list[str]) -> None:
    assert node_types(call) == types


@each(
    {
        f"{name} {dtype}": (name, dtype)
        for name in ("erf", "erfinv", "gamma", "gammaln")
        for dtype in ("float32", "float64")
    }
)
def test_special_functions(name: str, dtype: str) -> None:
    pytest.importorskip("scipy", reason="needs SciPy")
    x = np.array(
        [-5.5, -2.3, -1.0, -0.9, -0.4, -0.0, 0.0, 1e-9, 0.3, 0.86, 0.999999, 1.0, 2.0, 7.5, 30.0, np.inf, np.nan]
    )
    model = exported(getattr(mx.sym, name)(mx.sym.var("x")), {"x": x.shape}, dtypes=dtype, example_inputs={"x": x})
    assert "Erf" in op_types(model) or dtype == "float64" or name != "erf"


@each(
    {"expm1": ("np.expm1(a)",), "log1p": ("np.log1p(a)",), "cbrt": ("np.cbrt(a)",), "log2": ("np.floor(np.log2(a))",)}
)
def test_small_and_whole_results_lose_no_digits(call: str) -> None:
    for dtype, precision in (("float32", 4e-7), ("float64", 1e-15)):
        a = (2.0 ** np.arange(-24, 24).reshape(6, 8)).astype(dtype)
        result = exported_call(call, dtype, arrays={"a": a})
        (actual,) = run_model(result.model, {"a": a}).values()
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(actual, result.function(a), rtol=precision, atol=0)
