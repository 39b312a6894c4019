"""Wrong calls: `except` clauses written for MXNet's errors catch ours, which are of the same kind.

`golden/refusals_cases.py` has the calls, `golden/refusals.json` the kinds of MXNet 1.9.1's errors.
"""

from __future__ import annotations

import builtins
import importlib
import json
import re
import sys
import warnings

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy.core import errors
from minpy.gluon.parameter import DeferredInitializationError

sys.path.insert(0, str(GOLDEN))
try:
    cases = importlib.import_module("refusals_cases")
    error_of = importlib.import_module("make_refusals").error_of
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = json.loads((GOLDEN / "refusals.json").read_text())
KINDS = {
    "MXNetError": mx.MXNetError,
    "NotImplementedForSymbol": mx.base.NotImplementedForSymbol,
    "NotSupportedForSparseNDArray": mx.base.NotSupportedForSparseNDArray,
    "DeferredInitializationError": DeferredInitializationError,
}

# Where ours is of another kind, or where only one of both refuses; and why.
OTHERS = {
    "MXNet stumbles over what it was given, and its error says so": (
        "from_numpy_list kvstore_optimizer metric_custom metric_np module_symbol parameters_constant_conflict "
        "trainer_allreduce_on_store trainer_update_on_store iter_kind symbol_load_json_damaged module_bind_labels "
        "multinomial_number image_iter_shape"
    ),
    "an IndexError is what Python and NumPy raise of a wrong index": "item_fraction item_string",
    "the error is NumPy's own": "np_choice np_einsum np_linspace np_unique",
    "an array without axes cannot be iterated, as in NumPy": "iterate_scalar_np",
    "NumPy arrays and numbers are gradients, too: the shape is wrong": "executor_backward_kind",
    "the file is looked at before the prefix": "parameters_restore_prefix",
    "a DeprecationWarning is no error": "symbol_list_attr",
    "NumPy refuses it, inside an operator": "split_v2_wrong",
    "there are no sparse arrays": "kvstore_row_sparse",
}
TAKEN_HERE = {
    "a context may be its name": "as_in_context_string",
    "the order of memory is not part of an array": "np_copy_order np_order",
    "probabilities are NumPy's business": "np_multinomial",
    "the shape is looked at when it is bound": "symbol_arange",
}
TAKEN_BY_MXNET = {
    "backward_shapes": "head gradient of shape (4, 5) for a head of shape (2, 3)",
    "block_child_number": "register_child: got int 3; children of blocks are blocks",
    "custom_op_forward": "CustomOp defines no forward",
    "custom_prop_kind": "registers a class derived from CustomOpProp, got int 3",
    "dataset_take": "take: count must be an integer of at least 0",
    "iter_batch": "batch_size 5 is larger than the data, which has 2 instances",
    "kvstore_unknown": "there is no store 'nobody'",
    "layer_units": "Dense: units is str 'a'; expected an integer",
    "mark_counts": "mark_variables: got 1 variables, 0 gradients and 1 grad_reqs",
    "metric_composite_index": "composite: there is no metric 3",
    "transpose_axes": "transpose: axes (0, 0) name one axis twice",
}
OTHER = {name for names in OTHERS.values() for name in names.split()}
TAKEN = {name for names in TAKEN_HERE.values() for name in names.split()}


@pytest.mark.parametrize(("name", "text"), cases.CASES, ids=[name for name, _ in cases.CASES])
def test_an_error_is_of_the_kind_that_mxnet_raises(name: str, text: str) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = error_of(mx, cases.BEGINNING, text)
    answer = ANSWERS[name]
    if answer in ("", "crash"):
        assert (error is not None) is (name in TAKEN_BY_MXNET), error
        assert TAKEN_BY_MXNET.get(name, "") in str(error)
        return
    assert (error is None) is (name in TAKEN), f"MXNet answers {answer}"
    if error is None:
        return
    kind = KINDS.get(answer) or getattr(builtins, answer)
    assert isinstance(error, kind) is not (name in OTHER), f"{type(error).__name__}, MXNet has {answer}: {error}"


def test_all_exceptions_are_cases() -> None:
    names = {name for name, _ in cases.CASES}
    assert len(names) == len(cases.CASES) > 400
    assert ANSWERS.keys() == names
    assert OTHER | TAKEN | TAKEN_BY_MXNET.keys() <= names


@pytest.mark.parametrize(
    ("kind", "parents"),
    [
        (errors.ArgumentError, (mx.MXNetError, TypeError, AssertionError)),
        (errors.ArgumentValueError, (errors.ArgumentError, ValueError)),
        (errors.ShapeError, (mx.MXNetError, ValueError, AssertionError)),
        (errors.OutOfRangeError, (ValueError, IndexError)),
        (errors.NoValueError, (mx.base.NotImplementedForSymbol, AttributeError, TypeError)),
        (errors.UnknownWordError, (KeyError, ValueError)),
        (errors.UnknownContextError, (errors.ContextError, KeyError)),
    ],
)
def test_kinds_have_their_parents_and_show_their_text(kind: type[Exception], parents: tuple[type, ...]) -> None:
    assert all(issubclass(kind, parent) for parent in parents)
    assert str(kind("it's here")) == "it's here"


def test_what_is_not_for_symbols_says_so() -> None:
    with pytest.raises(mx.base.NotImplementedForSymbol, match=re.escape("is neither true nor false")):
        bool(mx.sym.var("x"))
    error = mx.base.NotImplementedForSymbol(mx.nd.exp, "exp", 1)
    assert str(error) == "exp (exp as an operator) is not defined for symbols, only for dense arrays. It was given int."
