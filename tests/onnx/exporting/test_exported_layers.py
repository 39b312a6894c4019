"""Layers of networks exported to ONNX: each proved against its forward, at several versions of ONNX's operators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exported import OPSETS, exported, op_types, parameters_of
from exported_layers import LAYERS, layer
from many import each

import minpy as mx

pytest.importorskip("onnx", minversion="1.16", reason="exports models to ONNX")
pytest.importorskip("onnxruntime", reason="onnx's own evaluator lacks some of the operators")

from minpy.onnx.exporting.sources import ExportError


@each(LAYERS)
def test_layers_compute_what_their_forward_does(expression: str, shape: tuple[int, ...], nodes: str) -> None:
    symbol = layer(expression)
    model = exported(symbol, {"x": shape}, parameters_of(symbol, x=shape))
    assert not nodes or op_types(model) == nodes.split()


# What is not written for any number of examples, and why.
FIXED = {
    "batch norm first axis",
    "batch norm of a vector",
    "prelu of examples",
    "flatten vector",
    "reshape (-4, -1, 2, -2)",
    "spatial transformer",
}


@each({name: row for name, row in LAYERS.items() if name not in FIXED})
def test_layers_of_any_number_of_examples(expression: str, shape: tuple[int, ...], nodes: str) -> None:
    symbol = layer(expression)
    exported(symbol, {"x": shape}, parameters_of(symbol, x=shape), dynamic={"x": ("n", *shape[1:])})


# What onnxruntime has not in double precision, and onnx's own evaluator computes in another way.
SINGLE = {"deconv groups dilated"}


@each(
    {
        f"{name} {dtype}": (*row[:2], dtype)
        for name, row in LAYERS.items()
        for dtype in ("float64", "float16")
        if dtype == "float16" or name not in SINGLE
    }
)
def test_layers_of_other_precision(expression: str, shape: tuple[int, ...], dtype: str) -> None:
    symbol = layer(expression)
    parameters = {name: array.astype(dtype) for name, array in parameters_of(symbol, x=shape).items()}
    exported(symbol, {"x": shape}, parameters, dtypes=dtype)


WITH_INTEGERS = {
    "relu": ("sym.relu(x)", "int32"),
    "activation": ("sym.Activation(x, act_type='relu')", "int64"),
    "sigmoid": ("sym.sigmoid(sym.cast(x, dtype='float32'))", "int32"),
    "clip": ("sym.clip(x, a_min=-1.5, a_max=1.5)", "int32"),
    "flatten": ("sym.Flatten(x)", "int32"),
    "depth to space": ("sym.depth_to_space(sym.Reshape(x, shape=(1, 4, 3, 1)), block_size=2)", "int32"),
}


@each(WITH_INTEGERS)
def test_layers_of_integers(expression: str, dtype: str) -> None:
    example = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    exported(layer(expression), {"x": (3, 4)}, dtypes=dtype, example_inputs={"x": example})


# -- what tells wrong rows from right ones at the ends -----------------------------------------------------------------

ENDS = np.float32([[np.nan, np.inf, -np.inf, 0], [-0.0, 1e30, -1e30, 1], [-1, 100, -100, 0.5]])
AT_ENDS = [
    *(f"activation {name}" for name in ("relu", "sigmoid", "tanh", "softrelu", "softsign")),
    *("relu", "hard sigmoid", "leaky", "elu", "selu", "clip"),
    *("linear regression", "logistic regression", "smooth l1", "dropout"),
]


@each({name: (LAYERS[name][0],) for name in AT_ENDS})
def test_layers_of_what_is_not_finite(expression: str) -> None:
    exported(layer(expression), {"x": (3, 4)}, example_inputs={"x": ENDS})


def test_embeddings_take_numbers_that_are_no_indices_as_the_forward_does() -> None:
    symbol = mx.sym.Embedding(mx.sym.var("x"), input_dim=4, output_dim=3, name="embedding")
    parameters = parameters_of(symbol, x=(2, 4))
    example = np.float32([[0, 1.9, 3, 4], [-1, -0.5, 100, 2]])
    model = exported(symbol, {"x": (2, 4)}, parameters, example_inputs={"x": example}, dynamic={"x": ("n", "m")})
    assert "Gather" in op_types(model)
    exported(symbol, {"x": (2, 4)}, parameters, dtypes="int32", example_inputs={"x": example.astype("int32")})


def test_softmax_of_lengths() -> None:
    data, lengths = mx.sym.var("x"), mx.sym.var("lengths")
    for axis, shape, short in ((-1, (2, 3, 4), (2, 3)), (1, (2, 3, 4), (2, 4))):
        symbol = mx.sym.softmax(data, lengths, axis=axis, use_length=True)
        example = {
            "x": np.random.default_rng(0).standard_normal(shape).astype("float32"),
            "lengths": np.arange(math.prod(short)).reshape(short).astype("int32") % 4 % (shape[axis] + 1),
        }
        exported(symbol, {"x": shape, "lengths": short}, dtypes=["float32", "int32"], example_inputs=example)


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = {
    "max pool of integers": (
        ("sym.Pooling(sym.cast(x, dtype='int32'), kernel=(2, 2))", (1, 1, 3, 4), ""),
        21,
        r"\(Pooling\): a maximum of int32: onnxruntime has floating point only; cast the data",
    ),
    "deformable at 18": (
        LAYERS["deformable"],
        18,
        r"\(_contrib_DeformableConvolution\): opset=18: DeformConv is .* 19 on",
    ),
    "ctc": (
        ("sym.CTCLoss(x, sym.Reshape(sym.slice_axis(x, axis=2, begin=0, end=1), shape=(2, 5)))", (5, 2, 3), ""),
        21,
        r"\(CTCLoss\): ",
    ),
}


@each(REFUSED)
def test_what_has_no_equal_is_refused(row: tuple[str, tuple[int, ...], str], opset: int, message: str) -> None:
    expression, shape, _ = row
    symbol = layer(expression)
    with pytest.raises(ExportError, match=message):
        exported(symbol, {"x": shape}, parameters_of(symbol, x=shape), opset=opset)


IMAGES = [
    *("conv 2d", "deconv adj bias", "max pool padded", "max pool full", "max pool same", "avg pool padded"),
    *(
        "avg pool full without padding",
        "sum pool",
        "global avg",
        "adaptive 1",
        "batch norm",
        "group norm",
        "lrn",
        "prelu",
    ),
    *(
        "upsampling",
        "bilinear resize half pixels",
        "bilinear resize like",
        "crop like",
        "pad reflect",
        "depth to space",
    ),
]


@each({name: LAYERS[name][:2] for name in IMAGES})
def test_layers_of_images_of_any_size(expression: str, shape: tuple[int, ...]) -> None:
    symbol = layer(expression)
    exported(symbol, {"x": shape}, parameters_of(symbol, x=shape), dynamic={"x": ("n", shape[1], "height", "width")})


@each(
    {f"{name} {opset}": (LAYERS[name][0], opset) for name in ("batch norm", "instance norm") for opset in (13, 17, 28)}
)
def test_data_in_half_precision_and_parameters_in_single(expression: str, opset: int) -> None:
    symbol = layer(expression)
    exported(symbol, {"x": (2, 3, 4, 5)}, parameters_of(symbol, x=(2, 3, 4, 5)), dtypes="float16", opset=opset)


# What has no equal in older versions: the first one that has.
SINCE = {"deformable": 19, "modulated deformable": 19}


@each(
    {
        f"{name} at {opset}": (*row[:2], opset)
        for name, row in LAYERS.items()
        for opset in OPSETS
        if SINCE.get(name, 13) <= opset < 28
    }
)
def test_layers_at_older_versions(expression: str, shape: tuple[int, ...], opset: int) -> None:
    symbol = layer(expression)
    exported(symbol, {"x": shape}, parameters_of(symbol, x=shape), opset=opset)
