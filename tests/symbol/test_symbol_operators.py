"""The operators that symbols are made of: what they say of shapes and dtypes, names, and messages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from many import each
from operator_table import creation, images, scalar
from operator_table.row import Row

from minpy import nd, sym
from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_dtypes, merge_shapes, same_dtype
from minpy.ops.registry import OPERATORS
from minpy.ops.tensor.creation import fill_in

ROWS: list[Row] = [*scalar.ROWS, *creation.ROWS, *images.ROWS]


def answers(row: Row, dtype: str = "float64") -> tuple[list[np.ndarray], list[np.ndarray]]:
    inputs = row.draw(dtype)
    answer = OPERATORS[row.name](*inputs, **row.attributes)
    return inputs, list(answer) if isinstance(answer, tuple) else [answer]


@each({row.id: (row,) for row in ROWS})
def test_shapes_are_inferred(row: Row) -> None:
    """From the inputs the outputs' shapes follow; from nothing, nothing that is wrong."""
    inputs, outputs = answers(row)
    operator = OPERATORS[row.name]
    assert operator.shape_inference is not None
    before = [value.shape for value in inputs]
    expected = [value.shape for value in outputs]
    found = operator.shape_inference(before, [None] * len(expected), **row.attributes)
    assert [tuple(shape) for shape in found[1]] == expected
    assert list(found[0]) == before
    assert len(operator.output_names(dict(row.attributes))) == len(expected)
    for unknown in (lambda shape: None, lambda shape: (UNKNOWN,) * len(shape)):
        found = operator.shape_inference([unknown(s) for s in before], [unknown(s) for s in expected], **row.attributes)
        for shape, known in zip([*found[0], *found[1]], [*before, *expected], strict=True):
            assert merge_shapes(shape, known) == known


@each({f"{row.id}-{dtype}": (row, dtype) for row in ROWS for dtype in ("float64", "float32")})
def test_dtypes_are_inferred(row: Row, dtype: str) -> None:
    inputs, outputs = answers(row, dtype)
    rule = OPERATORS[row.name].type_inference or same_dtype
    before = [value.dtype for value in inputs]
    expected = [value.dtype for value in outputs]
    _, found = rule(before, [None] * len(expected), **row.attributes)
    assert row.name == "_zeros_without_dtype" or list(found) == expected
    found = rule([None] * len(before), expected, **row.attributes)
    for said, known in zip([*found[0], *found[1]], [*before, *expected], strict=True):
        assert merge_dtypes(said, known) == known


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "attributes", "expected"),
    [
        ("_plus_scalar", [None], [(2, 3)], {}, ([(2, 3)], [(2, 3)])),
        ("_power", [(2, UNKNOWN), (UNKNOWN, 3)], [None], {}, ([(2, 3)] * 2, [(2, 3)])),
        ("_identity_with_attr_like_rhs", [None, (4,)], [None], {}, ([(4,)] * 2, [(4,)])),
        ("_zeros", [], [None], {"shape": (0, 3)}, ([], [(UNKNOWN, 3)])),
        ("_zeros", [], [None], {"shape": ()}, ([], [None])),
        ("_arange", [], [None], {"start": 0, "infer_range": True}, ([], [(UNKNOWN,)])),
        ("_random_normal", [], [None], {}, ([], [None])),
        ("_sample_normal", [None, (2,)], [None], {"shape": (3,)}, ([(2,)] * 2, [(2, 3)])),
        ("_sample_normal", [None, None], [(2, 3)], {"shape": (3,)}, ([(2,)] * 2, [(2, 3)])),
        ("InstanceNorm", [(2, 4, UNKNOWN), None, None], [None], {}, ([(2, 4, UNKNOWN), (4,), (4,)], [(2, 4, UNKNOWN)])),
        (
            "GroupNorm",
            [(2, 4, 3), None, None],
            [None] * 3,
            {"num_groups": 2, "output_mean_var": True},
            ([(2, 4, 3), (2,), (2,)], [(2, 4, 3), (2, 2), (2, 2)]),
        ),
        (
            "UpSampling",
            [(UNKNOWN, 3, 4, 4), None],
            [None],
            {"scale": 2, "sample_type": "bilinear"},
            ([(UNKNOWN, 3, 4, 4), (3, 1, 4, 4)], [(UNKNOWN, 3, 8, 8)]),
        ),
        ("Crop", [None, (1, 1, 2, 2)], [(5, 3, UNKNOWN, UNKNOWN)], {}, None),
        ("ravel_multi_index", [None], [(7,)], {"shape": (3, 4)}, ([(2, 7)], [(7,)])),
        ("unravel_index", [None], [(2, 7)], {"shape": (3, 4)}, ([(7,)], [(2, 7)])),
        ("_split_v2", [(2, UNKNOWN)], [None] * 2, {"indices": (0, 1)}, ([(2, UNKNOWN)], [(2, 1), (2, UNKNOWN)])),
    ],
)
def test_shapes_that_are_partly_known(name: str, inputs: Any, outputs: Any, attributes: Any, expected: Any) -> None:
    found = OPERATORS[name].shape_inference(inputs, outputs, **attributes)
    if name == "Crop":
        expected = ([(5, 3, UNKNOWN, UNKNOWN), (1, 1, 2, 2)], [(5, 3, 2, 2)])
    assert tuple(map(list, found)) == expected


def test_integers_and_a_number() -> None:
    x = nd.array([1, 5], dtype="int32")
    assert nd._mul_scalar(x, scalar=2.5).asnumpy().tolist() == [2, 10]
    answer = nd._mul_scalar(x, scalar=2.5, is_int=False)
    assert (answer.dtype, answer.asnumpy().tolist()) == (np.float64, [2.5, 12.5])
    rule = OPERATORS["_mul_scalar"].type_inference
    known = np.dtype("int32")
    assert rule([known], [None], is_int=False)[1] == [np.float64]
    assert rule([None], [known])[0] == [known]
    assert rule([None], [np.dtype("float64")], is_int=False)[0] == [None]


def test_names_of_inputs() -> None:
    upsampling = OPERATORS["UpSampling"]
    assert upsampling.input_names({"sample_type": "bilinear"}) == ["data", "weight"]
    assert upsampling.input_names({"sample_type": "nearest"}, 2) == ["arg0", "arg1"]
    assert OPERATORS["_sample_normal"].input_names({}) == ["mu", "sigma"]


def test_graphs_fill_in_what_they_inferred() -> None:
    made = OPERATORS["_ones"]
    assert made(**fill_in(made, {"shape": (0, 2), "dtype": "int32"}, (3, 2))).shape == (3, 2)
    arange = OPERATORS["_arange"]
    for attributes in ({"start": 0}, {"start": 2, "step": -0.1}, {"start": 1, "repeat": 2}):
        filled = fill_in(arange, {**attributes, "infer_range": True}, (6,))
        answer = arange(**filled)
        assert answer.shape == (6,)
        assert answer[0] == attributes["start"]
    assert fill_in(OPERATORS["_eye"], {"N": 2}, (2, 2)) == {"N": 2}


def test_nd_keeps_its_functions() -> None:
    """`nd.uniform` takes NDArrays as parameters, too, and answers with an NDArray; the operator is for graphs."""
    assert isinstance(nd.uniform(shape=(2,)), nd.NDArray)
    assert OPERATORS["uniform"] is OPERATORS["_random_uniform"]


IMAGE = np.ones((1, 4, 2, 2), "float32")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: nd._power(nd.ones((2,)), nd.ones((3,))), ShapeError, "lhs (2,) and rhs (3,) must be equal. Use broad"),
        (lambda: OPERATORS["_zeros"](shape=2, dtype="flat32"), DTypeError, "unknown dtype 'flat32'"),
        (lambda: OPERATORS["_zeros_without_dtype"](shape=2, dtype=9), DTypeError, "unknown dtype 9"),
        (lambda: OPERATORS["_arange"](start=1, step=0), ArgumentError, "step is 0"),
        (lambda: OPERATORS["_arange"](start=1, infer_range=True), ArgumentError, "give stop"),
        (lambda: nd._split_v2(nd.ones((2,)), axis=0), ArgumentError, "give one of them"),
        (lambda: nd.LRN(nd.array(IMAGE), nsize=0), ArgumentError, "nsize is 0"),
        (lambda: nd.LRN(nd.ones((2, 2)), nsize=3), ShapeError, "with 3 axes or more"),
        (lambda: nd.LRN(nd.ones((2, 2, 2), dtype="int32"), nsize=3), DTypeError, "data has dtype int32"),
        (lambda: nd.UpSampling(nd.array(IMAGE), scale=0, sample_type="nearest"), ArgumentError, "scale is 0"),
        (lambda: nd.UpSampling(scale=2, sample_type="nearest"), ShapeError, "got nothing; expected images"),
        (lambda: nd.UpSampling(nd.array(IMAGE), scale=2, sample_type="bilinear"), ArgumentError, "its weights, got 1"),
        (
            lambda: nd.UpSampling(nd.array(IMAGE), scale=2, sample_type="nearest", multi_input_mode="add"),
            ArgumentError,
            "unknown multi_input_mode 'add'",
        ),
        (lambda: nd.Crop(nd.array(IMAGE), h_w=(3, 1)), ShapeError, "size (3, 1) at (0, 0) is no part of data"),
        (lambda: nd.Crop(*[nd.array(IMAGE)] * 3), ArgumentError, "got 3"),
        (lambda: nd.GroupNorm(nd.array(IMAGE), nd.ones((3,)), nd.ones((3,)), num_groups=3), ShapeError, "4 channels"),
        (lambda: nd.L2Normalization(nd.ones((2,)), mode="all"), ArgumentError, "unknown mode 'all'"),
        (lambda: nd.unravel_index(nd.ones((2,))), ShapeError, "shape is missing"),
    ],
)
def test_messages(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call()


def test_none_is_an_input_that_is_left_out() -> None:
    """As in MXNet, where layers pass `bias=None`: required ones are made as variables."""
    x, weight = sym.var("x"), sym.var("weight")
    for function in (sym.FullyConnected, nd.FullyConnected):
        assert function(x, weight, None, no_bias=True, num_hidden=3).list_arguments() == ["x", "weight"]
    for function in (sym.softmax, nd.softmax):
        assert function(x, None).list_arguments() == ["x"]
    made = nd.FullyConnected(x, None, None, num_hidden=3, name="layer")
    assert made.list_arguments() == ["x", "layer_weight", "layer_bias"]
