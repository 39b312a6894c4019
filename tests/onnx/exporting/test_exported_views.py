"""NumPy's functions about shapes, views, indices, stores, products and orders as the bodies of exported operators."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pytest
import translated_calls
from exported_calls import CALLS as TRANSLATED_CALLS
from exported_calls import ExportedCall, call_function, exported_call, extreme_arrays, require_equal
from exported_view_calls import CALLS
from many import each

pytest.importorskip("onnx", minversion="1.16", reason="needs onnx")

from minpy.onnx.exporting.lengths import OpenLengthError
from minpy.onnx.exporting.writing import ExportError
from minpy.onnx.running import RuntimeFailure

# The names of lengths that are open.
OPEN_AXES: dict[str, tuple[str, ...]] = {
    "a": ("n", "k"), "b": ("n", "k"), "i": ("n", "k"), "m": ("n", "k"), "v": ("k",), "j": ("k",),
    "s": ("p", "p"), "t": ("q", "n", "k"),
}  # fmt: skip
SIZES = ((2, 3, 4, 3), (1, 1, 1, 1), (2, 2, 2, 2), (3, 7, 5, 4), (1, 5, 2, 2), (4, 2, 7, 5), (2, 1, 3, 1))

CASES = {call: (call,) for call in CALLS}
IGNORED = (
    "ignore:Arrays of 2-dimensional vectors:DeprecationWarning",
    "ignore:invalid value encountered:RuntimeWarning",
)


def arrays_of(q: int, n: int, k: int, p: int, dtype: str = "float64") -> dict[str, np.ndarray]:
    """Return arrays as those of `translated_calls`, with other lengths."""
    generator = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {"a": (n, k), "b": (n, k), "v": (k,), "s": (p, p), "t": (q, n, k)}
    arrays = {name: generator.uniform(0.2, 1.5, shape).astype(dtype) for name, shape in shapes.items()}
    arrays["i"] = generator.integers(1, 7, (n, k))
    arrays["j"] = generator.integers(1, 5, k)
    arrays["m"] = generator.random((n, k)) > 0.5
    return arrays


def runs(exported: ExportedCall, arrays: dict[str, np.ndarray]) -> bool:
    """Tell whether NumPy computes a call of these arrays."""
    try:
        with np.errstate(all="ignore"):
            exported.function(*(arrays[name].copy() for name in exported.names))
    except (ArithmeticError, IndexError, ValueError):
        return False
    return True


def op_types(call: str, dtype: str = "float32", opset: int | None = None, **options: Any) -> list[str]:
    """Return the operators of the body that a call is exported as."""
    (function,) = exported_call(call, dtype, opset, **options).model.functions
    return [node.op_type for node in function.node if node.op_type != "Constant"]


# -- calls -------------------------------------------------------------------------------------------------------------


@each(CASES)
@pytest.mark.filterwarnings(*IGNORED)
def test_calls_compute_what_numpy_does(call: str) -> None:
    exported = exported_call(call)
    arrays = extreme_arrays("float64")
    if runs(exported, arrays) and call != "np.argsort(t, axis=None)":  # whose equals NumPy leaves in any order
        require_equal(exported, arrays)


@each(CASES)
@pytest.mark.filterwarnings(*IGNORED)
def test_calls_compute_what_numpy_does_in_the_oldest_opset(call: str) -> None:
    if re.search(r"np\.(add|subtract|multiply|maximum|minimum)\.at, .*j|put_along_axis, a, (i|j) % 4", call):
        with pytest.raises(ExportError, match=r"below opset 1[68] \("):
            exported_call(call, "float32", 13)
        return
    require_equal(exported_call(call, "float32", 13), translated_calls.arrays("float32"))


# What is not the same for all lengths, by a part of the refusal.
NOT_FOR_ALL_LENGTHS: dict[str, tuple[str, ...]] = {
    "it chooses by the length of a dynamic axis": ("np.concatenate(t)", "np.stack(t)", "np.vstack(t)"),
    "numpy.squeeze without axis=, where lengths are open": (
        "np.squeeze(a[None, :, None])",
        "np.squeeze(np.expand_dims(a, 0))",
    ),
    "has an array of constants that depends on lengths": ("np.delete(a, [0, 2], axis=1)",),
}
REASONS = {call: reason for reason, calls in NOT_FOR_ALL_LENGTHS.items() for call in calls}
# Functions whose calls in `translated_calls` are tried with open lengths here.
ABOUT_VIEWS = (
    r"reshape|transpose|\.T|swapaxes|moveaxis|expand_dims|squeeze|ravel|flatten|broadcast_to|flip|roll|rot90|tile|repeat"
    r"|pad|diag|trace|tri[lu]|concatenate|append|stack|split|atleast|insert|delete|dot|matmul|@|inner|outer|einsum|kron"
    r"|cross|multi_dot|matrix_power|^[at]\[|take|searchsorted|digitize|isin|sort|convolve|correlate|interp|meshgrid|x_"
    r"|_index|resize|block|vander|shift|ediff1d"
)
DYNAMIC_CASES = {
    call: (call,) for call in [*CALLS, *(call for call in TRANSLATED_CALLS if re.search(ABOUT_VIEWS, call))]
}


def fails_at_other_lengths(call: str) -> bool:
    """Tell whether NumPy refuses a call where lengths are others: of these, no graph holds for all lengths."""
    function, names = call_function(call)
    for lengths in ((13, 14, 15, 14), (15, 16, 21, 16), (2, 17, 13, 17), (3, 4, 6, 4)):
        arrays = arrays_of(*lengths)
        try:
            function(*(arrays[name] for name in names))
        except (ArithmeticError, IndexError, ValueError, np.linalg.LinAlgError):
            return True
    return False


# Of these NumPy computes something for lengths for which the model's runtime raises.
CUT_OFF = ("np.kron(a[:2, :2]", "np.cross", "[0, 0]", "j[:2] % 3, slice", "j[:3] % 3")


@each(DYNAMIC_CASES)
@pytest.mark.filterwarnings(*IGNORED)
def test_calls_hold_for_all_lengths(call: str) -> None:
    _, names = call_function(call)
    dynamic = {name: OPEN_AXES[name] for name in names}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exported = exported_call(call, dynamic=dynamic)
    except (ExportError, OpenLengthError) as error:
        if (REASONS[call] not in str(error)) if call in REASONS else not fails_at_other_lengths(call):
            raise
        return
    assert call not in REASONS
    if not any(part in call for part in CUT_OFF):
        assert not [each for each in caught if "the model does not run on" in str(each.message)]
    for lengths in SIZES:
        arrays = arrays_of(*lengths)
        if not runs(exported, arrays):
            continue
        try:
            require_equal(exported, arrays)
        except RuntimeFailure:  # no number is wrong
            if not any(part in call for part in CUT_OFF):
                raise


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "float16")
OF_ALL_DTYPES = """
np.reshape(a, (4, 3), order='F')
a.T[::-1, 1:]
np.flip(a)
np.pad(a, 1, constant_values=1)
np.pad(a, 1, mode='edge')
np.roll(a, 1)
np.tril(a)
np.diag(v, 1)
np.trace(a)
np.concatenate([a, b])
np.repeat(a, 2, axis=1)
np.tile(a, 2)
np.split(a, [1, 3], axis=1)
a[j % 3]
t[:, [0, 1], [1, 2]]
np.take_along_axis(a, i % 4, axis=1)
x_stored(a, (slice(1, None), slice(None, None, 2)), b[1:, 1:3])
x_stored(a, (slice(None), 1), b[:, 0])
x_stored(a, ([0, 1, 0], [1, 2, 1]), v[:3])
x_stored(a, j % 3, b[[0, 1, 2, 0]])
x_stored(a, m, 1)
x_changed(np.put, a, j, v)
x_changed(np.fill_diagonal, a, 1)
a @ b.T
np.dot(a, v)
np.outer(v, v)
np.einsum('ij,kj->ik', a, b)
np.inner(a, b)
np.kron(v, v)
np.sort(a, axis=0)
np.argsort(a, kind='stable')
np.searchsorted(np.sort(v), a)
np.isin(a, v)
np.ediff1d(i)
np.convolve(v, a[0])
""".strip().splitlines()


@each({f"{dtype}, {call}": (call, dtype) for dtype, call in itertools.product(DTYPES, OF_ALL_DTYPES)})
def test_calls_of_all_dtypes_compute_what_numpy_does(call: str, dtype: str) -> None:
    generator = np.random.default_rng(5)
    arrays = translated_calls.arrays("float64")
    for name in "abvst":
        numbers = generator.integers(0, 2 if dtype == "bool" else 5, arrays[name].shape)
        arrays[name] = numbers.astype(dtype)
    function, names = call_function(call)
    exported = exported_call(call, arrays=arrays)
    require_equal(exported, arrays)
    (result,) = exported.model.graph.output[:1]
    expected = function(*(arrays[name] for name in names))
    first = expected[0] if isinstance(expected, (list, tuple)) else expected
    from onnx import helper

    assert helper.tensor_dtype_to_np_dtype(result.type.tensor_type.elem_type) == np.asarray(first).dtype


# -- slices ------------------------------------------------------------------------------------------------------------

BOUNDS = (None, 2, -1, -6)
MORE_BOUNDS = (None, 0, 2, 5, -1, -3, -6)


@each({f"step {step}": (step,) for step in (1, 2, -1, -2)})
def test_slices_take_and_store_what_numpy_does_for_all_lengths(step: int) -> None:
    require_slices(BOUNDS, step)


@pytest.mark.drawn_out
@each({f"step {step}": (step,) for step in (1, 2, 3, -1, -2, -3)})
def test_every_slice_takes_and_stores_what_numpy_does_for_all_lengths(step: int) -> None:
    require_slices(MORE_BOUNDS, step)


def require_slices(bounds: tuple[int | None, ...], step: int) -> None:
    slices = [f"{start}:{stop}:{step}".replace("None", "") for start, stop in itertools.product(bounds, bounds)]
    parts = ", ".join(f"v[{each}]" for each in slices)
    stores = ", ".join(f"x_stored(v, np.s_[{each}], 7.0)" for each in slices)
    for call in (f"np.concatenate([{parts}])", f"np.concatenate([{stores}])"):
        exported = exported_call(call, dynamic={"v": ("k",)})
        for length in (0, 1, 2, 3, 5, 8):
            require_equal(exported, {"v": np.arange(length) * 0.5})


@each({f"step {step}": (step,) for step in (1, 2, -1, -3)})
def test_slices_of_fixed_lengths_take_and_store_what_numpy_does(step: int) -> None:
    slices = [
        f"{start}:{stop}:{step}".replace("None", "") for start, stop in itertools.product(MORE_BOUNDS, MORE_BOUNDS)
    ]
    stores = ", ".join(f"x_stored(v, np.s_[{each}], v[{each}][::-1])" for each in slices)
    require_equal(exported_call(f"np.concatenate([{stores}])"), translated_calls.arrays("float64"))


def test_positions_that_are_equal_store_their_last_value() -> None:
    calls = (
        "x_stored(v, i[0], a[0])",
        "x_stored(v, i, a)",
        "x_stored(a, (i, i.T[:3, :1]), b)",
        "x_changed(np.put, v, i, a)",
    )
    for call, opset in itertools.product(calls, (13, 18)):
        arrays = translated_calls.arrays("float64")
        exported = exported_call(call.replace("i", "(i % 3)"), opset=opset)
        for factor in (0, 1):  # all equal, or some of them
            arrays["i"] = np.array([[2, 2, 2, 2], [2, 1, 0, 2], [0, -2, -1, 2]]) * factor
            require_equal(exported, arrays)


# -- nodes -------------------------------------------------------------------------------------------------------------

NODES: dict[str, list[str]] = {
    "a[1:3]": ["Slice"],
    "a[::-1, 1:]": ["Slice"],
    "a[0]": ["Gather"],
    "a[[0, 2]]": ["Gather"],
    "a[:, j % 4]": ["Mod", "Gather"],
    "a[None]": ["Unsqueeze"],
    "a.T": ["Transpose"],
    "np.flip(a)": ["Slice"],
    "a.reshape(-1)": ["Reshape"],
    "a @ b.T": ["Transpose", "MatMul"],
    "np.dot(a, v)": ["MatMul"],
    "np.einsum('ij,kj->ik', a, b)": ["Einsum"],
    "np.concatenate([a, b])": ["Concat"],
    "np.split(a, [1, 3], axis=1)": ["Split"],
    "np.tile(a, 2)": ["Tile"],
    "np.pad(a, 1)": ["Pad"],
    "np.pad(a, 1, mode='edge')": ["Pad"],
    "np.pad(a, 1, mode='reflect')": ["Pad"],
    "np.triu(a)": ["Trilu"],
    "np.broadcast_to(v, (3, 4))": ["Expand"],
    "np.take_along_axis(a, i % 4, axis=1)": ["Mod", "GatherElements"],
    "np.sort(i)": ["TopK"],
    "np.linalg.det(s)": ["Det"],
    "x_stored(a, slice(1, None), b[1:])": ["Slice", "Slice", "Concat"],
    "x_stored(v, slice(None, None, 2), 0.0)": ["Where"],
    "x_stored(a, ([0, 1], [1, 2]), 5.0)": ["ScatterND"],
    "x_changed(np.add.at, a, (j % 3, j % 4), v)": ["Mod", "Mod", "Unsqueeze", "Unsqueeze", "Concat", "ScatterND"],
}


@each({call: (call, expected) for call, expected in NODES.items()})
def test_calls_are_as_few_nodes_as_there_are(call: str, expected: list[str]) -> None:
    assert op_types(call) == expected


# -- refusals ----------------------------------------------------------------------------------------------------------

REFUSED: dict[str, str] = {
    "np.partition(a, 2)": "numpy.partition",
    "np.pad(a, 1, mode='mean')": "mode='mean'",
    "np.linalg.inv(s)": "numpy.linalg.inv",
    "np.linalg.matrix_power(s, -1)": "a power below 0: ONNX has no inverse",
    "np.matmul(a + 1j, b.T)": "complex numbers",
    "np.einsum('ij,kj->ik', a * 1j, b)": "complex numbers",
    "np.insert(a, [0, 1], 5.0)": "obj= that is not one position",
    "x_changed(np.maximum.at, a, j % 3, 5.0)": "numpy.maximum.at of floating point, whose NaN onnxruntime passes over",
    "x_changed(np.logaddexp.at, v, j % 4, 5.0)": "numpy.logaddexp.at",
    "x_changed(np.fill_diagonal, a, v[:3])": "numpy.fill_diagonal with several values, or with wrap=True",
    "x_changed(np.place, a, m, v)": "numpy.place of several values",
    "np.interp(v, j, a[0], period=3.0)": "period=3.0",
    "np.linspace(v, 1, 3, dtype='int32')": "dtype=int32",
    "np.cross(a[:, :2], b[:, :3])": "vectors of two and of three elements",
}


@each({call: (call, reason) for call, reason in REFUSED.items()})
@pytest.mark.filterwarnings(*IGNORED)
def test_what_has_no_equal_is_refused(call: str, reason: str) -> None:
    with pytest.raises(ExportError, match=r"nothing was written:\n  'call' \(called\): " + re.escape(reason) + r" \("):
        exported_call(call)


def test_a_graph_that_does_not_run_for_other_lengths_is_refused() -> None:
    with pytest.raises(
        OpenLengthError,
        match=r"a dynamic axis may have any length, and the graph does not run on a \(14, 4\): .*cannot reshape array "
        r"of size 56 into shape \(2,6\)\. Make the axes fixed whose lengths have to fit each other or a number, or ",
    ):
        exported_call("a.reshape(2, 6)", dynamic={"a": ("n", None)})
