"""Every row of the operator table as a model of ONNX: exported and proved, or refused for a reason given here."""

from __future__ import annotations

import fnmatch
from typing import Any

import numpy as np
import pytest
from calling_rows import operator_of
from many import each
from numpy_calls import CALLS, inputs
from operator_table import ALL_ROWS
from operator_table.row import Row

import minpy as mx
from minpy import sym
from minpy.symbol.composition import compose

pytest.importorskip("onnx", minversion="1.16", reason="models are checked by onnx")
pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")

from exported import exported

from minpy.onnx.exporting.sources import ExportError

_REJECTING = " ".join(
    f"_random_{name} _random_{name}_like _sample_{name}"
    for name in ("gamma", "poisson", "negative_binomial", "generalized_negative_binomial")
)
_FACTORIZATIONS = (
    "_linalg_trsm-* _linalg_potrf _linalg_potri _linalg_gelqf* _linalg_syevd _linalg_inverse _linalg_slogdet"
)
_UPDATES = (
    "*_update_phase1* *_mom_update* mp_* *adam*_update signum_update rmsprop*_update ft?l_update ftml_update "
    "*adagrad_update *multi_*sgd_update _multi_*lamb_update"
)

# What has no equal in ONNX, by family: (rows, a part of what the error says, why).
NO_EQUAL: list[tuple[str, str, str]] = [
    (f"{_REJECTING} _sample_unique_zipfian", "no such distribution", "drawn by rejecting some draws"),
    (_FACTORIZATIONS, "numpy.linalg.", "factorizations of matrices"),
    ("_contrib_boolean_mask*", "hangs on values", "as many rows as the mask has: bound symbols refuse it, too"),
    ("_contrib_bipartite_matching* _contrib_MultiBoxTarget*", "is for training", "targets of training"),
    ("_contrib_RROIAlign-adaptive", "give a sampling_ratio above 0", "as many samples as values say"),
    ("RNN-lstm-projection RNN-lstm-clip", "(RNN): ", "ONNX's LSTM neither projects its states nor bounds them"),
    ("_contrib_fft* _contrib_ifft*", "", "complex numbers"),
    ("_contrib_count_sketch* _contrib_hawkesll", "does not trace", "values choose what is added where"),
    ("_histogram*", "", "counts in bins, which NumPy finds by values"),
    ("col2im*", "does not trace", "sums up in memory of its own; it is the gradient of im2col"),
    ("CTCLoss*", "does not trace", "a loss of training"),
    (_UPDATES, "does not trace", "updates of weights move their states in place: training"),
    ("_image_random_*", "it draws numbers each time", "pictures are augmented while a network is trained"),
]

# Layers whose rows are written elsewhere.
LAYERS = "LRN-even Correlation-kernel"


def fits(row: Row, patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(row.id, pattern) for pattern in patterns.split())


def refusal(row: Row) -> tuple[str, str] | None:
    """Return a part of the error, and why, for a row that has no equal."""
    found = [(text, why) for patterns, text, why in NO_EQUAL if fits(row, patterns)]
    assert len(found) <= 1, f"{row.id} stands there twice: {found}"
    return found[0] if found else None


def export(row: Row) -> Any:
    """Export a symbol of the row's call in float32; it is compared on the row's own inputs, too."""
    operator = operator_of(row)
    names = [f"input{position}" for position in range(len(row.specs))]
    symbol = compose(operator, operator.__name__, [sym.var(name) for name in names], dict(row.attributes))
    arrays = dict(zip(names, row.draw("float32"), strict=True))
    held = {*symbol.list_auxiliary_states()}
    if row.name == "RNN":  # the order of its parameters is another one in ONNX
        held.add(names[1])
    data = {name: array for name, array in arrays.items() if name not in held}
    parameters = {name: mx.nd.array(arrays[name], dtype="float32") for name in held}
    return exported(symbol, {name: array.shape for name, array in data.items()}, parameters, example_inputs=data)


@each({row.id: (row,) for row in ALL_ROWS if refusal(row) is None}, at_once=10)
def test_what_is_exported_computes_what_we_do(row: Row) -> None:
    """Also on what is drawn at random: its shapes and dtypes are compared."""
    if fits(row, LAYERS):
        pytest.skip("a layer whose row is not there yet")
    with np.errstate(all="ignore"):
        export(row)


@each({row.id: (row,) for row in ALL_ROWS if refusal(row) is not None}, at_once=10)
def test_what_has_no_equal_says_why(row: Row) -> None:
    """One that can be exported after all has to leave the list."""
    text, _ = refusal(row) or ("", "")
    with pytest.raises(ExportError) as error:
        export(row)
    message = str(error.value)
    assert "1 node has no equal in ONNX; nothing was written" in message
    assert text in message


def test_every_family_has_rows_and_a_reason() -> None:
    for patterns, _, why in NO_EQUAL:
        assert why
        for pattern in patterns.split():
            assert any(fnmatch.fnmatchcase(row.id, pattern) for row in ALL_ROWS), pattern


# -- NumPy's functions, as symbols of `mx.sym.np` ----------------------------------------------------------------------

NO_EQUAL_IN_NUMPY = (
    "np.linalg.inv(*", "np.linalg.cholesky(*", "np.linalg.solve(*", "np.linalg.eigvalsh(*", "np.linalg.slogdet(*",
    "np.linalg.pinv(*", "np.linalg.qr(*", "np.linalg.tensorinv(*", "np.linalg.norm(a, ord='nuc')", "np.fft.*",
    "np.sum(a, where=*",
)  # fmt: skip


def export_numpy_call(call: str) -> Any:
    """Export a symbol of a call of NumPy's functions on `a`, `b`, ..., which is compared on the table's inputs, too."""
    arrays = inputs("float32")
    outputs = eval(call, {"np": mx.sym.np, **{name: sym.var(name).as_np_ndarray() for name in arrays}})
    symbol = sym.Group(list(outputs)) if isinstance(outputs, (list, tuple)) else outputs
    data = {name: np.asarray(arrays[name]) for name in symbol.list_arguments()}
    return exported(symbol, {name: array.shape for name, array in data.items()}, {}, example_inputs=data)


def has_equal(call: str) -> bool:
    return not any(fnmatch.fnmatchcase(call, pattern) for pattern in NO_EQUAL_IN_NUMPY)


@each({call: (call,) for call in CALLS if has_equal(call)}, at_once=10)
def test_numpy_symbols_compute_what_we_do(call: str) -> None:
    with np.errstate(all="ignore"):
        export_numpy_call(call)


@each({call: (call,) for call in CALLS if not has_equal(call)}, at_once=10)
def test_numpy_symbols_without_an_equal_are_refused(call: str) -> None:
    with pytest.raises(ExportError, match=r"ha(s|ve) no equal in ONNX"):
        export_numpy_call(call)
