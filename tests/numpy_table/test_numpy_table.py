"""The table of NumPy's functions: each has a row, and what the rows say is what NumPy does."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from traces import Trace

import minpy
from minpy.capture.abstract_evaluation import VALUE_BASED
from minpy.capture.captured_run import run_captured
from minpy.capture.creation import CREATION
from minpy.capture.noting import FUNCTION_HANDLERS
from minpy.capture.places import CaptureRefused
from minpy.capture.values import BaseArrayProxy
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.numpy_table.gradients import has_rule, rule_of
from minpy.numpy_table.row import KINDS
from minpy.numpy_table.table import METHODS, ROWS, function_named, functions, named, row_of


def public_functions() -> Iterator[tuple[str, Any]]:
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in [*module.__all__, *(("abs", "max", "min", "round") if module is np else ())]:
            value = vars(module).get(name)
            if not name.startswith("_") and callable(value) and not inspect.isclass(value):
                yield f"{prefix}{name}", value


PUBLIC = dict(public_functions())


def test_every_public_function_of_numpy_has_a_row() -> None:
    assert len(PUBLIC) > 400
    missing = [name for name, function in PUBLIC.items() if row_of(function) is None]
    assert not missing, f"say in minpy.numpy_table what {', '.join(missing)} are"


def test_rows_are_of_known_kinds_and_those_that_are_not_captured_say_why() -> None:
    for row in ROWS.values():
        assert row.kind in KINDS, row
        assert bool(row.reason) == (row.kind == "refused"), row
        assert row.differs in ("", "any", "b", "biu", "c"), row
        assert row.view in ("", "always", "sometimes", "copy", "n"), row
        assert row.nests in ("", "any", "several"), row
        assert row.sample in ("", "distinct", "regular", "solve"), row
    captured = {function for function, row in functions() if row.kind not in ("refused", "method")}
    known = {*FUNCTION_HANDLERS, *CREATION}
    assert {function for function in captured if not isinstance(function, np.ufunc)} == known


def test_functions_are_found_by_any_name() -> None:
    assert row_of(np.abs) is ROWS["absolute"]
    assert named("abs") is ROWS["absolute"]
    assert named("permute_dims") in (ROWS["transpose"], None)  # None before NumPy 2
    assert named("nosuch") is None
    assert row_of(test_functions_are_found_by_any_name) is None
    assert row_of([]) is None
    assert function_named("fft.fft") is np.fft.fft
    assert METHODS["sum"] is np.sum


# -- captured as NumPy computes ----------------------------------------------------------------------------------------

DRAW = np.random.RandomState(7)
ARRAYS: dict[str, np.ndarray] = {
    "x": DRAW.uniform(0.1, 0.9, (4, 6)),
    "y": DRAW.uniform(1.1, 1.9, (4, 6)),
    "t": DRAW.normal(size=(2, 3, 4)),
    "v": DRAW.normal(size=6),
    "w": DRAW.normal(size=3),
    "u": DRAW.normal(size=3),
    "f": DRAW.normal(size=(3, 4)).astype("float32"),
    "n": np.array([[0.5, np.nan, 2.0], [np.nan, -1.0, np.inf]]),
    "s": DRAW.normal(size=(4, 4)) + 4 * np.eye(4),
    "p": (lambda a: a @ a.T + np.eye(4))(DRAW.normal(size=(4, 4))),
    "q": np.linspace(-1.0, 1.0, 7),
    "c": DRAW.normal(size=(4, 4)) + 1j * DRAW.normal(size=(4, 4)),
    "b": DRAW.uniform(size=(4, 6)) > 0.5,
    "d": np.array([2.0, 5.0]),
    "o": np.array(2.5),
    "e": np.array(7.5),
    "i": np.array([2, 0, 3, 1]),
    "j": np.array([[3, 0], [2, 1]]),
    "k": np.array([[1, 2, 3], [4, 5, 6]], "int8"),
    "z": np.array([3, 5, 200], "uint8"),
    "g": np.arange(6.0)[::-1] - 2,
}

# By function: the calls of it, `;` between them. The names are those of `ARRAYS`, which are traced; `known` is not.
CALLS = """
all: b; b, axis=0; x > 0.5, 1
amax: x, 1
amin: x, 1, keepdims=True
angle: c; x
any: b; b, axis=(0, 1)
append: x, y; x, y, axis=0
arange: 3; 1, 7, 2; 0, 1, 0.25, dtype='float32'
argmax: x; x, axis=1
argmin: x, 0
argpartition: v, 2
argsort: x, axis=0
argwhere: known > 0
around: x, 1
array: [x, y]; x; [o, 1.0]
array_split: x, 3, axis=1; v, [2, 3]
asanyarray: x
asarray: x; [o, e]; x, dtype='float32'; x, order='C'; x.T, order='C'
ascontiguousarray: x; o; x.T
asfortranarray: x
asfarray: k
astype: x, 'float32'; x, np.float64, copy=False
atleast_1d: o; o, x
atleast_2d: v; v, x
atleast_3d: x; o, v, x
average: x; x, axis=1, weights=v; x, None, y
bartlett: 5
bincount: known[0].astype(int)
blackman: 5
block: [[x, y], [y, x]]
broadcast_arrays: x, v; x
broadcast_shapes: (3, 1), (4,)
broadcast_to: v, (4, 6)
can_cast: f, 'float64'
choose: i, [v[:4], g[:4], q[:4], v[2:]]; i, [o, 1.0, 2.0, 3.0]
clip: x, 0.2, 0.7; x, None, v; k, 2, 4; x, v, y; o, [1.0, 2.0], [3.0, 4.0]
column_stack: [v, g]; (x, y)
common_type: f, x
compress: [True, False, True], w; known[0] > 0.5, x, axis=1
concatenate: [x, y]; (x, y), 1; [x, v], axis=None
convolve: v, w; v, w, 'same'
copy: x; o
corrcoef: x; v, g
correlate: v, w; v, w, 'full'
count_nonzero: b, axis=0; x, 1
cov: x; x, rowvar=False; x, y
cross: w, u
cumprod: x; x, 1
cumsum: x, axis=0; f
cumulative_prod: v; x, axis=1
cumulative_sum: v, include_initial=True
delete: x, 1, axis=0; v, [1, 2]
diag: s; v, 1
diag_indices: 3
diag_indices_from: s
diagflat: v; x, 1
diagonal: t; t, 1, 1, 2
diff: x; x, 2, 0; v, prepend=o; x, append=y, axis=0
digitize: v, d; v, [0.0, 1.0]
dot: x, v; s, s
dsplit: t, 2
dstack: [x, y]; (v, g)
ediff1d: v; x, w, u
einsum: 'ij,ij->i', x, y; 'ii', s; 'ij->ji', x; 'ij,jk,kl', s, c, s
einsum_path: 'ij,jk,kl->il', s, s, s
empty_like: known
expand_dims: x, 1; x, (0, 2)
extract: known > 0, x
eye: 3; 2, 3, 1
fix: v
flatnonzero: known
flip: x; x, 0; t, (0, 2)
fliplr: x
flipud: x
full: (2, 3), 7; (2,), o
full_like: x, 2.0; x, o
geomspace: 1, 8, 4; o, e, 5
gradient: v; x; x, axis=1; v, 0.5
hamming: 4
hanning: 4
histogram: v; v, 4, (-2, 2); v, d; v, 4, weights=g
histogram2d: v, g; v, g, 3
histogram_bin_edges: v, 5
hsplit: x, 2; x, [1, 2]; v, 3
hstack: [x, y]; (v, g)
i0: x
identity: 3
imag: c
in1d: v, g
indices: (2, 3)
inner: x, y; v, g
insert: v, 1, o; x, [0, 2], g, axis=0
interp: v, q, q * 2; o, [0.0, 5.0], [1.0, 2.0]
intersect1d: known, known
iscomplex: c
iscomplexobj: c; x
isin: i, j
isclose: x, y; x, y, 0.5
isdtype: np.dtype('float32'), 'real floating'
isneginf: n
isposinf: n
isreal: c
isrealobj: x
isscalar: o; 3.0; o * 2
issubdtype: np.float32, np.floating
iterable: o; x
ix_: i, [0, 1]; known[0] > 0.5, i
kaiser: 5, 8.6
kron: x, w; s, x
lexsort: (v, g); x
linspace: 0, 1, 5; o, e, 4; v, 2.0, 3, axis=1; o, e, 4, retstep=True
logspace: 0, 2, 3; o, 3.0, 4
matrix_transpose: t
max: x; x, 0, keepdims=True
mean: x; f, 1; x, axis=0, dtype='float32'
median: x; x, 1
meshgrid: v, w; v; v, w, indexing='ij', sparse=True
min: x, (0, 1)
mintypecode: 'fd'
moveaxis: t, 0, 2
msort: x
nan_to_num: n; n, nan=1.0, posinf=9.0
nanargmax: n, 1
nanargmin: n, 1
nancumprod: n, 1
nancumsum: n
nanmax: n; n, 0
nanmean: n, axis=1
nanmedian: n[:, :2]; x, axis=1
nanmin: n, axis=1
nanpercentile: n[:1], 30; x, [20, 40], axis=1
nanprod: n[:, :2], 1
nanquantile: n[:1], 0.3; x, 0.5, axis=0
nanstd: x, 1; n[:1]
nansum: n[:, :2]; n[:, :2], 0
nanvar: x, axis=0
ndim: x; o
nonzero: known
ones: (2, 3); 3, 'int8'
ones_like: x; f
outer: v, w; x, v
packbits: b; z, axis=0
pad: x, 1; x, ((0, 1), (2, 0)), mode='edge'
partition: v, 2; x, 1, axis=0
percentile: x, 30; x, [20, 40], axis=0; x, d, axis=1
piecewise: v, [v > 0, v < 0], [1.0, 2.0]; v, [v > 0], [3]
polyadd: v, w
polyder: v; v, 2
polyfit: q, q * q + 1, 2
polyint: v; v, 2
polymul: known[0], known[1]
polydiv: known[0], known[1, :2]
polysub: v, w
polyval: w, v; w, o
prod: x; x, 1; k
promote_types: 'int8', 'float32'
ptp: x; x, 0
quantile: x, 0.3; x, [0.2, 0.4], axis=1; v, x[0]
ravel: x; x, 'F'
ravel_multi_index: (i, i), (4, 4); [i, i[::-1]], (4, 5), mode='wrap'
real: c; x
real_if_close: x
repeat: x, 2; x, [1, 2, 1, 3], axis=0
require: x
reshape: x, (6, 4); x, -1; x, (8, 3), order='F'
resize: x, (3, 5); v, 9
result_type: f, x; k, z
roll: x, 2; x, (1, 2), (0, 1)
rollaxis: t, 2
roots: known[0]
rot90: x; x, 3; t, 1, (1, 2)
round: x, 2; v
round_: x, 2
row_stack: [v, g]
searchsorted: q, v; q, o, side='right'
select: [x > 0.5, x > 0.2], [x, y], 7.0; [b], [x]
setdiff1d: known, known
setxor1d: known, known
shape: x; o
sinc: v; x
size: x; x, 1
sort: x; x, 0; v, kind='stable'
sort_complex: c; v
split: x, 2; x, [1, 3], 1; x, 1
squeeze: x[:1]; t[:, :1], 1
stack: [x, y]; (x, y), -1
std: x; x, 0; x, 1, ddof=1
sum: x; x, 1, keepdims=True; k; f
swapaxes: t, 0, 2
take: x, i; x, [0, 0], axis=1; v, 2
take_along_axis: x, known_order, 1; v, i, 0
tensordot: t, x, ([2], [0]); s, s
tile: x, 2; v, (2, 2)
trace: s; s, 1; t; t, 1, 2, 1
transpose: x; t, (1, 0, 2)
trapezoid: v; v, g; x, dx=0.5, axis=0
trapz: v; x, dx=0.5, axis=0
tri: 3, 4, 1
tril: s; t, 1
tril_indices: 3
tril_indices_from: s; s, 1
trim_zeros: known[0]
triu: s, 1
triu_indices: 3, 1
triu_indices_from: s
typename: 'f'
union1d: known, known
unique: known
unique_all: known
unique_counts: known
unique_inverse: known
unique_values: known
unpackbits: z; z, count=4
unravel_index: i, (2, 2); o.astype(int), (4,)
unstack: x; t, axis=2; x[:1]
unwrap: v * 4; x, axis=0
vander: v; v, 3, increasing=True
var: x; x, 1; c
vdot: v, g; c, c
vsplit: x, 2
vstack: [x, y]; (v, g)
where: b, x, y; x > 0.5, x, 0; known > 0.5
zeros: (2, 3); 4
zeros_like: x; f
alltrue: b, axis=0
cumproduct: x, 1
product: x, 1
sometrue: b
find_common_type: ['f4'], ['f8']
issctype: np.float32
issubclass_: int, object
issubsctype: 'f4', np.floating
fft.fft: v; x, axis=0
fft.fft2: x
fft.fftfreq: 5
fft.fftn: t
fft.fftshift: v; x, axes=1
fft.hfft: c[0]; v
fft.ifft: c
fft.ifft2: c
fft.ifftn: t
fft.ifftshift: v
fft.ihfft: v
fft.irfft: c[0]; c[0], 5
fft.irfft2: c
fft.irfftn: c
fft.rfft: v
fft.rfft2: x
fft.rfftfreq: 6
fft.rfftn: t
linalg.cholesky: p
linalg.cond: s; s, 1
linalg.cross: w, u
linalg.det: s; np.stack([s, p])
linalg.diagonal: t
linalg.eig: c
linalg.eigh: p
linalg.eigvals: c
linalg.eigvalsh: p
linalg.inv: s; np.stack([s, p])
linalg.matmul: x, v
linalg.matrix_norm: s; t
linalg.matrix_power: s, 3; s, -1; s, 0
linalg.matrix_rank: s; np.stack([s, p])
linalg.matrix_transpose: t
linalg.multi_dot: [s, p, s]
linalg.norm: x; x, axis=1; s, 'nuc'; v, 3; x, axis=0, keepdims=True
linalg.outer: v, w
linalg.pinv: x
linalg.qr: s; x, mode='r'; x.T, mode='complete'
linalg.slogdet: s
linalg.solve: s, x; s, v[:4]
linalg.svd: x; x, False; x, compute_uv=False
linalg.svdvals: x
linalg.tensordot: t, x, axes=([2], [0])
linalg.tensorinv: s, 1; s.reshape(2, 2, 4); np.eye(6).reshape(6, 2, 3) + t.reshape(6, 2, 2)[:, :, :1] * 0.01, 1
linalg.tensorsolve: s, v[:4]; s.reshape(2, 2, 4), s[:2, :2]
linalg.trace: t; s
linalg.vecdot: x, y
linalg.vector_norm: x; x, axis=0
"""
WRITTEN = {
    "copyto": "a, x; a, 0.5; a, v, where=b",
    "fill_diagonal": "a, 2.0; a, o",
    "place": "a, a > 0.5, [1.0, 2.0]",
    "put": "a, [0, 5], [1.0, 2.0]; a, i, v[:4]",
    "put_along_axis": "a, known_order[:, :1], 5.0, 1",
    "putmask": "a, b, x * 2; a, b, [1.0, 2.0]",
}
KNOWN = {"known": np.array([[0.25, 0.75, 0.5, 0.0, 1.0, 0.0]] * 4), "known_order": np.argsort(ARRAYS["x"], axis=1)}

NAMED = {name.strip(): calls for name, _, calls in (line.partition(":") for line in CALLS.strip().splitlines())}
CASES = [
    (name, call.strip())
    for name, calls in NAMED.items()
    for call in calls.split(";")
    if function_named(name) is not None
]


def evaluated(function: Any, call: str, arrays: dict[str, Any]) -> Any:
    return eval(f"function({call})", {"np": np, "function": function, **KNOWN, **arrays})  # the texts above


def require_equal(trace: Trace, answer: Any, expected: Any) -> None:
    """Compare an answer with NumPy's: values, dtypes, and the classes of what they are in."""
    if isinstance(expected, (list, tuple)):
        assert type(answer) is type(expected)
        assert len(answer) == len(expected)
        for part, other in zip(answer, expected, strict=True):
            require_equal(trace, part, other)
    elif isinstance(answer, BaseArrayProxy):
        assert answer.dtype == np.asarray(expected).dtype
        assert answer.scalar == isinstance(expected, np.generic)
        found = trace.compute(answer)
        assert found.dtype == answer.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert type(answer) is type(expected)
        assert np.array_equal(answer, expected)


def captured(trace: Trace, function: Any, call: str, arrays: dict[str, Any]) -> Any:
    maker = CREATION.get(function)
    if maker is None:
        return run_captured(trace.recorder, lambda: evaluated(function, call, arrays))
    return run_captured(
        trace.recorder,
        lambda: evaluated(lambda *given, **named: maker(trace.recorder, function, *given, **named), call, arrays),
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what NumPy is about to give up
@pytest.mark.parametrize(("name", "call"), CASES, ids=[f"{name}({call})" for name, call in CASES])
def test_captured_calls_compute_what_numpy_computes(name: str, call: str) -> None:
    function = function_named(name)
    with np.errstate(all="ignore"):
        expected = evaluated(function, call, ARRAYS)
        trace = Trace()
        if VALUE_BASED and any(one in call.replace(",", " ").split() for one in ("o", "e")):
            pytest.skip("NumPy 1 promotes by values")
        answer = captured(trace, function, call, {key: trace.given(array) for key, array in ARRAYS.items()})
        require_equal(trace, answer, expected)


def changed(function: Any, call: str, arrays: dict[str, Any], key: str, through: bool) -> Any:
    """Return what a call answers after its argument was changed; or the argument after the answers were changed."""
    own = {name: array * 1 for name, array in arrays.items() if name in call and array.dtype.kind in "fc"}
    answer = evaluated(function, call, {**arrays, **own})
    if not through:
        own[key] += 1
        return answer
    for part in leaves(answer):
        part += 1
    return own[key]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("through", [False, True], ids=["under", "through"])
def test_changes_of_arrays_and_answers_are_seen_or_refused(through: bool) -> None:
    """Which answers lie in whose memory is known of every function: no captured number is stale."""
    seen = set()
    for name, call in CASES:
        function = function_named(name)
        for key in [key for key in "xytvwufnspqcg" if key in call.replace("(", " ").replace(",", " ").split()]:
            trace = Trace()
            given = {other: trace.given(array) for other, array in ARRAYS.items()}
            maker = CREATION.get(function)

            def called(*arguments: Any, **keywords: Any) -> Any:
                return maker(trace.recorder, function, *arguments, **keywords)

            chosen = function if maker is None else called
            try:
                answer = run_captured(trace.recorder, changed, chosen, call, given, key, through)
                with np.errstate(all="ignore"):
                    expected = changed(function, call, ARRAYS, key, through)
                require_equal(trace, answer, expected)
            except CaptureRefused:  # also of what is read at the end
                continue
            except Exception as error:
                raise AssertionError(f"{name}({call}), {key}") from error
            seen.add(name)
    assert len(seen) > 60
    assert {"sort", "concatenate", "tile"} <= seen


def test_every_captured_function_has_a_case() -> None:
    rows = [row for row in ROWS.values() if row.kind not in ("refused", "method", "ufunc", "write")]
    missing = (
        {row.name for row in rows if not isinstance(function_named(row.name), np.ufunc)} - NAMED.keys() - {"empty"}
    )
    assert missing == {"matvec", "vecmat", "vecdot"} - vars(np).keys()
    assert {row.name for row in ROWS.values() if row.kind == "write"} == WRITTEN.keys()


def written(function: Any, call: str, arrays: dict[str, Any]) -> Any:
    """Return an array that is made, and changed by a function."""
    target = arrays["y"] * 1
    if function is np.fill_diagonal:
        target = arrays["s"] * 1
    evaluated(function, call, {**arrays, "a": target})
    return target


@pytest.mark.parametrize(
    ("name", "call"), [(name, call.strip()) for name, calls in WRITTEN.items() for call in calls.split(";")]
)
def test_captured_writes_write_what_numpy_writes(name: str, call: str) -> None:
    function = function_named(name)
    trace = Trace()
    given = {key: trace.given(array) for key, array in ARRAYS.items()}
    answer = run_captured(trace.recorder, lambda: written(function, call, given))
    require_equal(trace, answer, written(function, call, ARRAYS))


UFUNCS = [function for function, row in functions("ufunc", "product") if isinstance(function, np.ufunc)]
# What ufuncs that take no floating-point numbers are called with, and those that take several axes.
OPERANDS = {
    "bitwise_and": "ii", "bitwise_count": "i", "bitwise_or": "ii", "bitwise_xor": "ii", "gcd": "ii", "invert": "i",
    "lcm": "ii", "ldexp": "vi", "left_shift": "ii", "matmul": "xv", "matvec": "xv", "right_shift": "ii",
    "vecdot": "xy", "vecmat": "wf",
}  # fmt: skip


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_captured_ufuncs_compute_what_numpy_computes(ufunc: np.ufunc) -> None:
    names = OPERANDS.get(ufunc.__name__, "xy"[: ufunc.nin])
    arrays = [ARRAYS[name][: 4 if name in "vi" and ufunc.signature is None else None] for name in names]
    if ufunc is np.isnat:
        pytest.skip("no dates are captured")
    if ufunc in (np.arccosh,):
        arrays = [ARRAYS["y"]]
    trace = Trace()
    answer = run_captured(trace.recorder, lambda: ufunc(*map(trace.given, arrays)))
    require_equal(trace, answer, ufunc(*arrays))


# -- what is not captured ----------------------------------------------------------------------------------------------

REFUSED = {
    "np.apply_along_axis(np.sum, 0, x)": "numpy.apply_along_axis of an array cannot be captured: it calls a function",
    "np.apply_over_axes(np.sum, x, 0)": "it calls a function, which a graph does not hold: call it on whole arrays",
    "np.piecewise(v, [v > 0], [np.sin])": "piecewise calls a function: funclist=",
    "np.allclose(x, y)": "its answer is a number or a bool of Python, which depends on values",
    "np.array_equal(x, y)": "numpy.array_equal of an array cannot be captured: its answer is a number or a bool",
    "np.array2string(x)": "it makes text of values",
    "np.savez('nowhere', x)": "it reads or writes files",
    "np.shares_memory(x, y)": "its answer depends on how arrays lie in memory",
    "np.min_scalar_type(x)": "the dtype depends on a value",
    "np.histogram(v, 'auto')": "how many bins numpy.histogram makes depends on values: say how many",
    "np.linalg.eig(s)": "whether numpy.linalg.eig answers with complex numbers depends on values",
    "np.linalg.lstsq(s, v[:4])": "the shape of its answer depends on the rank: take linalg.pinv, or linalg.solve",
    "np.poly(v)": "whether its answer is complex depends on values",
    "np.real_if_close(c)": "whether numpy.real_if_close answers with complex numbers depends on values",
    "np.unique(v)": "the shape of numpy.unique's answer depends on values",
    "np.roots(v)": "the shape of numpy.roots's answer depends on values",
    "np.extract(b, x)": "the shape of numpy.extract's answer depends on values",
    "np.ix_(v > 0)": "the shape of numpy.ix_'s answer depends on values, those of a mask",
    "np.nonzero(x)": "the shape of numpy.nonzero's answer depends on values",
    "np.meshgrid(v, w, copy=False)": "meshgrid with copy=False changes an array, or answers with a part of it",
    "np.repeat(v, i)": "repeat with an array as repeats= cannot be captured",
    "np.frompyfunc(abs, 1, 1)(v)": "calls a function of Python: numpy.frompyfunc made it",
    "np.busday_count(i, i)": "it is about dates",
    "np.linalg.inv(x)": "LinAlgError",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_captured_is_refused_with_a_reason(text: str) -> None:
    trace = Trace()
    arrays = {key: trace.given(array) for key, array in ARRAYS.items()}
    with pytest.raises(CaptureRefused) as refusal:
        run_captured(trace.recorder, lambda: eval(text, {"np": np, **arrays}))
    assert REFUSED[text] in str(refusal.value)


# -- what the rows say -------------------------------------------------------------------------------------------------


def leaves(answer: Any) -> list[Any]:
    return [part for each in answer for part in leaves(each)] if isinstance(answer, (list, tuple)) else [answer]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what NumPy is about to give up
def test_functions_share_memory_as_their_rows_say() -> None:
    """What is no view by its row is none in NumPy; the views that are captured change with their array."""
    sharing = set()
    for name, call in CASES:
        with np.errstate(all="ignore"):
            arrays = {key: array.copy() for key, array in ARRAYS.items()}
            parts = [
                part for part in leaves(evaluated(function_named(name), call, arrays)) if isinstance(part, np.ndarray)
            ]
        if any(np.may_share_memory(part, array) for part in parts for array in arrays.values()):
            sharing.add(name)
    views = {name for name, row in ROWS.items() if row.view}
    assert {"rot90", "split", "broadcast_arrays", "ix_"} <= sharing
    assert sharing <= views


def in_gaps(array: np.ndarray) -> np.ndarray:
    larger = np.zeros([2 * length for length in array.shape], array.dtype)
    larger[tuple(slice(None, None, 2) for _ in array.shape)] = array
    return larger[tuple(slice(None, None, 2) for _ in array.shape)]


@pytest.mark.parametrize("laid", [np.copy, np.asfortranarray, in_gaps], ids=["C", "F", "gaps"])
def test_views_by_their_rows_are_views_whatever_the_strides(laid: Any) -> None:
    for name, call in CASES:
        if ROWS[name].view == "always" and "known" not in call and "[0, 1]" not in call:
            arrays = {key: laid(array) if array.ndim else array.copy() for key, array in ARRAYS.items()}
            for part in leaves(evaluated(function_named(name), call, arrays)):
                shares = any(np.may_share_memory(part, array) for array in arrays.values())
                assert shares or not part.size, (name, call)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what NumPy is about to give up
def test_functions_give_scalars_as_their_rows_say() -> None:
    for name, call in CASES:
        row = ROWS[name]
        with np.errstate(all="ignore"):
            answer = evaluated(function_named(name), call, ARRAYS)
        if row.scalar and np.ndim(answer) == 0:
            assert isinstance(answer, np.generic), (name, call)
        if isinstance(row.outputs, int) and row.outputs > 1:
            assert len(answer) == row.outputs, (name, call)


def test_rows_name_parameters_as_numpy_does() -> None:
    for function, row in functions():
        try:
            parameters = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):  # before NumPy 2.4
            continue
        if row.parameters and parameters not in (["args", "kwargs"], ["args", "kws"]):
            assert row.parameters.split()[:2] == parameters[:2], row.name
        if row.writes:
            assert parameters[0] == row.writes, row.name


def test_every_rule_belongs_to_a_row() -> None:
    from minpy.numpy_table import gradients

    folder = Path(gradients.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    for row in ROWS.values():
        if has_rule(row):
            assert callable(rule_of(row))
    rules = {
        name: module
        for module in modules
        for name in __import__(f"{gradients.__name__}.{module}", fromlist=["RULES"]).RULES
    }
    assert rules == {row.name: row.gradient for row in ROWS.values() if has_rule(row)}


# Complex numbers, and largest ones, beside which a difference is lost.
NOT_GRADED = ("einsum('ij,jk,kl', s, c, s)", "nan_to_num(n)")
GRADED = [(name, call) for name, call in CASES if has_rule(ROWS[name]) and f"{name}({call})" not in NOT_GRADED]
# Calls of which a rule knows nothing: then the tape takes the gradient of the call.
UNKNOWN = {
    "diff(v, prepend=o)",
    "diff(x, append=y, axis=0)",
    "array([x, y])",
    "array([o, 1.0])",
    "einsum('ii', s)",
    "linalg.norm(s, 'nuc')",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "call"), GRADED, ids=[f"{name}({call})" for name, call in GRADED])
def test_gradients_of_steps_are_those_of_finite_differences(name: str, call: str) -> None:
    """A rule's gradients, times a direction, are how fast an answer changes along it."""
    function = function_named(name)
    arguments, keywords = evaluated(lambda *arguments, **keywords: (arguments, keywords), call, ARRAYS)
    inside = [leaf for leaf in leaves_of((arguments, keywords)) if not isinstance(leaf, str)]
    floating = [place for place, leaf in enumerate(inside) if isinstance(leaf, np.ndarray) and leaf.dtype == float]
    answer = function(*arguments, **keywords)
    draw = np.random.RandomState(0)
    parts = leaves(answer)
    heads = [draw.normal(size=np.shape(part)).astype(np.asarray(part).dtype) for part in parts]
    gradient = tuple(heads) if isinstance(answer, (list, tuple)) else heads[0]
    found = rule_of(ROWS[name])(answer, gradient, *arguments, **keywords)
    if f"{name}({call})" in UNKNOWN:
        assert found is None
        return
    assert found is not None or not floating

    def along(place: int, step: Any) -> float:
        moved = [leaf + step if position == place else leaf for position, leaf in enumerate(inside)]
        rest = iter(moved)
        given, named_too = map_tree(
            lambda leaf, _: leaf if isinstance(leaf, str) else next(rest), (arguments, keywords)
        )
        return sum(np.sum(head * part) for head, part in zip(heads, leaves(function(*given, **named_too)), strict=True))

    for place in floating:
        part = found[place] if place < len(found) else None
        assert part is not None
        assert np.shape(part) == np.shape(inside[place])
        direction = 1e-6 * draw.normal(size=np.shape(part))
        difference = (along(place, direction) - along(place, -direction)) / 2
        np.testing.assert_allclose(np.sum(part * direction), difference, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(("name", "call"), GRADED, ids=[f"{name}({call})" for name, call in GRADED])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_tape_and_the_rules_of_steps_agree(name: str, call: str) -> None:
    if name in ("array", "row_stack") or f"{name}({call})" in UNKNOWN or not any(key in call for key in "xytvwuspqgo"):
        pytest.skip("the tape knows no more than the rule")
    function = function_named(name)
    arrays = {key: minpy.np.array(array, dtype=array.dtype) for key, array in ARRAYS.items()}
    variables = {key: array for key, array in arrays.items() if array.dtype == float}
    for variable in variables.values():
        variable.attach_grad()
    with minpy.autograd.record():
        arguments, keywords = evaluated(lambda *arguments, **keywords: (arguments, keywords), call, arrays)
        answer = function(*arguments, **keywords)
        parts = [part for part in leaves(answer) if part.dtype.kind == "f"]
        total = sum((part * part).sum() for part in parts)
    inside = [leaf for leaf in leaves_of((arguments, keywords)) if not isinstance(leaf, str)]
    if not any(leaf is variable for leaf in inside for variable in variables.values()) or total.dtype != float:
        pytest.skip("no variable is an argument itself")
    total.backward()

    def raw(value: Any) -> Any:
        return map_tree(lambda leaf, _: leaf.asnumpy() if isinstance(leaf, minpy.np.ndarray) else leaf, value)

    several = isinstance(answer, (list, tuple))
    heads = [2 * part.asnumpy() for part in leaves(answer)]
    found = rule_of(ROWS[name])(raw(answer), tuple(heads) if several else heads[0], *raw(arguments), **raw(keywords))
    for variable in variables.values():
        own = [part for leaf, part in zip(inside, found, strict=False) if leaf is variable and part is not None]
        if own:
            np.testing.assert_allclose(variable.grad.asnumpy(), sum(own), rtol=1e-9, atol=1e-9)


# -- one place for a name ----------------------------------------------------------------------------------------------

# Modules with lists of names of NumPy's functions beside the table, and why.
LISTED = {
    "backends/native/": "what is lowered to native code, and how",
    "bridge/moving_gradients": "what HIPS autograd has no rule for, and only moves elements",
    "capture/minpy_functions": "functions of minpy that make arrays, or rearrange arguments",
    "capture/proxy": "methods of a proxy",
    "capture/scalars": "what Python itself computes of numbers",
    "capture/view_or_copy": "what is a view whatever the strides",
    "capture/shadow": "what a function may look up",
    "contrib/amp/lists": "MXNet's operators",
    "custom/method_capture": "how many arguments a function may have before `out`",
    "dropin/": "names that NumPy has removed, and where they were",
    "frameworks/": "what another framework has an equal of, and what it is called there",
    "inspection/": "MXNet's operators, and columns of a table",
    "ndarray/": "MXNet's operators",
    "numpy_dispatch_protocol": "what MXNet's own tests list",
    "onnx/exporting/function_rows/": "what ONNX has an equal of, and how it is written there",
    "ops/index": "MXNet's operators",
    "ops/numpy/recorded_functions": "ufuncs whose gradient is zero",
    "ops/numpy/named_elementwise": "MXNet's operators of an array and a number",
    "symbol/numpy/shapes": "functions that are translated alike",
}


def lists_of_functions(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, names) of the texts and displays in a module that list functions of NumPy."""
    exported = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)
    ]
    skipped = {id(part) for value in exported for part in ast.walk(value)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            words = [part.value for part in node.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        else:
            continue
        names = [word for word in words if word in ROWS]
        if len(names) >= 4 and len(names) > 0.8 * len(words):
            yield node.lineno, names


def test_lists_of_functions_stand_in_the_table_only() -> None:
    root = Path(minpy.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).with_suffix("").as_posix()
        if place.startswith("numpy_table/") or any(place.startswith(one) for one in LISTED):
            continue
        for line, names in lists_of_functions(ast.parse(path.read_text(encoding="utf-8"))):
            found.append(f"{place}:{line}: {' '.join(names[:6])}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["rot90", "matrix_transpose", "nanmedian", "unravel_index", "searchsorted", "ediff1d"])
def test_a_function_has_one_row_and_no_other_entry(name: str) -> None:
    rows = [row.name for row in ROWS.values()]
    assert rows.count(name) == 1
    assert len(rows) == len(set(rows))
