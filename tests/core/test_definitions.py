"""The definitions of all public operators' forward functions, traced: into which steps, and that these compute them."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

import numpy as np
import operator_table
import pytest
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row
from traces import Trace, traced_definition, traced_rule

from minpy import nd
from minpy.capture.places import CaptureRefused
from minpy.capture.steps import KINDS
from minpy.capture.values import BaseArrayProxy
from minpy.checking.kernel_forms import ulps_apart
from minpy.core import Operator
from minpy.graph.ir import CONSTANT
from minpy.ops.registry import OPERATORS

# The rows of the table whose definitions cannot be captured: each stays one call. By pattern, with the reason.
CALLED = {
    "BatchNorm-training*": "training moves the states",
    "Convolution-*": "heavy: it works block by block, in memory of its own",
    "Deconvolution-*": "heavy: it works block by block, in memory of its own",
    "Pooling-[!g]*": "heavy: it works window by window, in memory of its own",  # but global pooling
    "SequenceLast": "refuses lengths that are longer than the time",
    "SequenceMask": "refuses lengths that are longer than the time",
    "SequenceReverse": "refuses lengths that are longer than the time",
    "UpSampling-bilinear": "a convolution",
    "UpSampling-odd": "a convolution",
    "gather_nd*": "refuses indices that are out of range",
    "scatter_nd": "refuses indices that are out of range",
    "softmax_cross_entropy": "refuses labels that are no class",
    **operator_table.CALLED,
}

# Of the others, by the kinds of their steps, whatever the row.
STEPS = {
    "": ("_arange _eye _full _linspace _ones _zeros _zeros_without_dtype ones_like shape_array size_array zeros_like"),
    "call": "concat cumsum pad repeat stack tile",
    "elementwise": (
        "Activation BlockGrad LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput MakeLoss "
        "SVMOutput SequenceMask _copy cast_storage _div_scalar _equal _equal_scalar _greater _greater_equal "
        "_greater_equal_scalar _greater_scalar _hypot _hypot_scalar _identity_with_attr_like_rhs _lesser "
        "_lesser_equal _lesser_equal_scalar _lesser_scalar _logical_and _logical_and_scalar _logical_or "
        "_logical_or_scalar _logical_xor _logical_xor_scalar _maximum _maximum_scalar _minimum "
        "_minimum_scalar _minus_scalar _mod _mod_scalar _mul_scalar _not_equal _not_equal_scalar _plus_scalar "
        "_power _power_scalar _rdiv_scalar _rminus_scalar _rmod_scalar _rpower_scalar abs add_n arccos "
        "arccosh arcsin arcsinh arctan arctanh broadcast_add broadcast_div broadcast_equal broadcast_greater "
        "broadcast_greater_equal broadcast_hypot broadcast_lesser broadcast_lesser_equal "
        "broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_maximum broadcast_minimum "
        "broadcast_mod broadcast_mul broadcast_not_equal broadcast_power broadcast_sub cast cbrt ceil clip "
        "cos cosh degrees elemwise_add elemwise_div elemwise_mul elemwise_sub erf erfinv exp expm1 floor "
        "gamma gammaln hard_sigmoid log log10 log1p log2 logical_not make_loss negative radians rcbrt "
        "reciprocal relu rint round rsqrt sigmoid sign sin sinh smooth_l1 softsign sqrt square tan "
        "tanh trunc"
    ),
    "elementwise call": "Embedding UpSampling _unravel_index argsort batch_take take",
    "elementwise product": "_ravel_multi_index",
    "elementwise reduce": (
        "L2Normalization Pooling SoftmaxActivation SoftmaxOutput argmax_channel log_softmax softmax softmin"
    ),
    "elementwise reduce view": ("GroupNorm InstanceNorm LayerNorm argmax argmin moments nanprod nansum norm"),
    "elementwise view": "BatchNorm LeakyReLU broadcast_axis broadcast_like broadcast_to diag one_hot where",
    "elementwise view call": "LRN pick sort topk",
    "elementwise view product": "FullyConnected",
    "reduce view": "max mean min prod sum",
    "view": (
        "Crop SequenceLast SequenceReverse SliceChannel _split_v2 depth_to_space expand_dims flatten flip "
        "reshape reshape_like slice slice_axis slice_like space_to_depth split_v2 squeeze swapaxes transpose"
    ),
    "view product": "batch_dot dot",
}
ALL_STEPS = [*STEPS.items(), *operator_table.STEPS]


def operator_of(row: Row) -> Operator:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def draws(row: Row) -> bool:
    """Tell whether a call draws numbers, each time anew."""
    operator = operator_of(row)
    return operator.random and (operator is not OPERATORS["LeakyReLU"] or row.random)


def called(row: Row) -> list[str]:
    """Return the patterns of `CALLED` that a row fits."""
    return [pattern for pattern in CALLED if fnmatch.fnmatchcase(row.id, pattern)]


def attributes_of(row: Row) -> dict[str, Any]:
    attributes = dict(row.attributes)
    if operator_of(row).uses_training:
        attributes["training"] = row.training
    return attributes


def dtype_of(row: Row) -> str:
    return "float32" if "float32" in row.dtypes else "float64"


def kinds_of(trace: Trace) -> set[str]:
    """Return the kinds of the steps of a trace."""
    recorder = trace.recorder
    return {recorder.kinds[node] for node in recorder.nodes if node.operator is not CONSTANT}


ROWS = [row for row in ALL_ROWS if row.operator is None and not draws(row)]
TRACED = [row for row in ROWS if not called(row)]


def traced(row: Row, arrays: Sequence[Any]) -> tuple[Trace, list[Any]]:
    return traced_definition(operator_of(row), arrays, attributes_of(row))


def test_which_definitions_are_traced_and_into_which_kinds_of_steps() -> None:
    found: dict[str, set[str]] = {}
    for row in TRACED:
        found.setdefault(operator_of(row).__name__, set()).update(kinds_of(traced(row, row.draw(dtype_of(row)))[0]))
    kinds = {name: " ".join(kind for kind in KINDS if kind in several) for name, several in found.items()}
    assert kinds == {name: steps for steps, names in ALL_STEPS for name in names.split()}


def test_every_public_operator_is_traced_or_named() -> None:
    names = {operator.__name__ for operator in OPERATORS.values()}
    random = {operator_of(row).__name__ for row in ALL_ROWS if draws(row)}
    mentioned = {name for _, names in ALL_STEPS for name in names.split()} | random
    mentioned |= {operator_of(row).__name__ for row in ROWS if called(row)}
    assert names - mentioned == set()


@pytest.mark.parametrize("pattern", CALLED)
def test_what_is_named_is_not_traced(pattern: str) -> None:
    rows = [row for row in ROWS if pattern in called(row)]
    assert rows
    for row in rows:
        with pytest.raises(CaptureRefused):
            traced(row, row.draw(dtype_of(row)))


def is_elementwise(row: Row) -> bool:
    """Tell whether each element of the answer depends on the same element of the inputs only, but for broadcasting."""
    if row.name == "LeakyReLU":
        return row.attributes.get("act_type") != "prelu"  # whose slopes are one for a channel
    return operator_of(row).elementwise or row.id == "where"


ELEMENTWISE = [row for row in TRACED if is_elementwise(row)]


def test_elementwise_definitions_are_elementwise_steps_only() -> None:
    for row in ELEMENTWISE:
        assert kinds_of(traced(row, row.draw(dtype_of(row)))[0]) <= {"elementwise"}, row.id
    names = {operator_of(row).__name__ for row in ELEMENTWISE}
    wanted = ["Activation", "LeakyReLU", "cast", "clip", "hard_sigmoid", "rint", "round", "smooth_l1", "where"]
    wanted += [name for name in OPERATORS if name.endswith("_scalar") and "assign" not in name]
    wanted += [name for name in OPERATORS if name.startswith("elemwise_")]
    assert {OPERATORS[name].__name__ for name in wanted} <= names


def outputs(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def computed(trace: Trace, answers: Sequence[Any]) -> list[Any]:
    """Return the values of a trace's outputs: some are arrays, which depend on shapes only."""
    return [trace.compute(answer) if isinstance(answer, BaseArrayProxy) else answer for answer in answers]


@each({row.id: (row,) for row in TRACED}, at_once=10)
def test_steps_and_kernels_compute_what_definitions_do(row: Row) -> None:
    """Steps to the last bit, kernels within the row's units in the last place; in every dtype."""
    operator, attributes = operator_of(row), attributes_of(row)
    for dtype in {"float64", *row.dtypes}:
        arrays = row.draw(dtype)
        expected = outputs(operator.definition(*arrays, **attributes))
        trace, answers = traced(row, arrays)
        assert len(answers) == len(expected)
        for got, wanted in zip(computed(trace, answers), expected, strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)
        for got, wanted in zip(outputs(operator.forward(*arrays, **attributes)), expected, strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            assert ulps_apart(np.asarray(got), np.asarray(wanted)).max(initial=0) <= row.ulps


EDGES = {
    "float32": [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 89.0, -1e4, np.inf, -np.inf, np.nan, np.finfo("float32").tiny],
    "float16": [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 12.0, -1e4, np.inf, -np.inf, np.nan, 6e-8],
    "int32": [0, 1, -1, 2, -2, 3, 5, 7, 100, -100, 31, 9],
    "uint8": [0, 1, 2, 3, 4, 5, 7, 8, 100, 200, 255, 9],
    "bool": [0, 1] * 6,
}


@pytest.mark.parametrize("dtype", EDGES)
def test_elementwise_steps_at_the_edges_of_dtypes(dtype: str) -> None:
    """What the definition refuses, its steps refuse; the rest is equal to the last bit."""
    for row in ELEMENTWISE:
        count, attributes = len(row.draw()), attributes_of(row)
        arrays = [np.array(np.roll(EDGES[dtype], 5 * position), dtype) for position in range(count)]
        with np.errstate(all="ignore"):
            try:
                expected = outputs(operator_of(row).definition(*arrays, **attributes))
            except (TypeError, ValueError):
                with pytest.raises((CaptureRefused, TypeError, ValueError)):
                    computed(*traced(row, arrays))
                continue
            trace, answers = traced(row, arrays)
            for got, wanted in zip(computed(trace, answers), expected, strict=True):
                np.testing.assert_array_equal(got, wanted, strict=True, err_msg=row.id)


# Sizes at which kernels take other ways: products turned round, columns in place of short rows, sums in blocks.
LARGE = [
    ("FullyConnected", [(16, 600), (128, 600), (128,)], {"num_hidden": 128}),
    ("FullyConnected", [(1100, 4), (150, 4), (150,)], {"num_hidden": 150}),
    ("dot", [(150, 40), (40, 150)], {}),
    ("softmax", [(100, 8)], {"axis": 1}),
    ("log_softmax", [(100, 8)], {}),
    ("softmin", [(3, 1100)], {}),
    ("SoftmaxActivation", [(64, 4, 2)], {}),
    ("sum", [(600, 3)], {"axis": 0}),
    ("mean", [(600, 3)], {}),
    ("LayerNorm", [(600, 3), (3,), (3,)], {}),
    ("BatchNorm", [(600, 3), (3,), (3,), (3,), (3,)], {"training": False}),
    ("moments", [(600, 3)], {"axes": (0,)}),
]


@pytest.mark.parametrize(("name", "shapes", "attributes"), LARGE)
def test_definitions_at_sizes_where_kernels_go_other_ways(
    name: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]
) -> None:
    operator = OPERATORS[name]
    for dtype, tolerance in (("float64", 1e-12), ("float32", 3e-5)):
        random = np.random.RandomState(5)
        arrays = [random.uniform(0.5, 1.5, shape).astype(dtype) for shape in shapes]
        expected = outputs(operator.definition(*arrays, **attributes))
        trace, answers = traced_definition(operator, arrays, attributes)
        for got, wanted in zip(computed(trace, answers), expected, strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)
        answer = operator.forward(*arrays, **attributes)
        for got, wanted in zip(outputs(answer), expected, strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        gradient = outputs(answer)
        g = tuple(gradient) if len(gradient) > 1 else gradient[0]
        for index in range(len(arrays)):
            if operator.is_zero(index) or index >= len(operator.rules) or operator.rules[index] is None:
                continue
            rule, raw = (rules[index](answer, *arrays, **attributes) for rules in (operator.rules, operator.raw_rules))
            np.testing.assert_allclose(raw(g), rule(g), rtol=tolerance, atol=tolerance)
            trace, part = traced_rule(operator, index, answer, arrays, attributes, g)
            np.testing.assert_array_equal(trace.compute(part), rule(g), strict=True)


def test_powers_of_integers_are_exact_beside_negative_exponents() -> None:
    """A negative exponent does not send the others through float64, of which 3 ** 39 is one digit too many."""
    exponents = nd.array([-1, 0, 39], dtype="int64")
    assert (3**exponents).asnumpy().tolist() == [0, 1, 3**39]
    assert (nd.array([-1, 1, 2], dtype="int64") ** -3).asnumpy().tolist() == [-1, 1, 0]
