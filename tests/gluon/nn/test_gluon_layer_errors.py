"""What Gluon's basic layers answer to bad input: when they are made, if it shows there, else at the first call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, MXNetError, ShapeError
from minpy.gluon import contrib, loss, nn, rnn

X = mx.nd.ones((2, 4, 3))


def called(layer: Any, x: Any = X) -> Any:
    """Initialize a layer and call it."""
    layer.initialize()
    return layer(x)


def hybridized(block: Any) -> Any:
    block.hybridize()
    return block


MADE = [
    ("nn.Dense('a')", ArgumentError, "Dense: units is str 'a'; expected an integer."),
    ("nn.Dense(3, in_units=-2)", ArgumentValueError, "Dense: in_units is -2; expected an integer of at least 0 (0: it"),
    ("nn.Dense(0)", ArgumentValueError, "Dense: units is 0; expected an integer of at least 1."),
    (
        "called(nn.Dense(3, in_units=3, flatten=False, activation='gelu'))",
        ArgumentValueError,
        (
            "unknown activation 'gelu'; expected one of 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'. "
            "Its layer is nn.GELU."
        ),
    ),
    (
        "called(nn.Activation('tahn'))",
        ArgumentValueError,
        (
            "unknown activation 'tahn'; expected one of 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'. "
            "Did you mean 'tanh'?"
        ),
    ),
    ("nn.Activation(3)", ArgumentError, "Activation: activation is int 3; expected its name, such as 'relu'."),
    ("called(nn.Dropout(True))", ArgumentError, "rate is bool True; expected a number from 0 to 1"),
    ("nn.LeakyReLU(-1)", ArgumentValueError, "LeakyReLU: alpha is -1; expected a slope of at least 0."),
    ("nn.LeakyReLU('a')", ArgumentError, "LeakyReLU: alpha is str 'a'; expected a number."),
    ("nn.ELU('a')", ArgumentError, "ELU: alpha is str 'a'; expected a number."),
    ("nn.Swish('a')", ArgumentError, "Swish: beta is str 'a'; expected a number."),
    ("nn.PReLU(in_channels=0)", ArgumentValueError, "PReLU: in_channels is 0; expected an integer of at least 1."),
    ("nn.Dropout(1.5)", ArgumentValueError, "Dropout: rate is 1.5; expected a number from 0 to 1."),
    ("nn.Dropout('a')", ArgumentError, "Dropout: rate is str 'a'; expected a number from 0 to 1."),
    ("nn.BatchNorm(axis='a')", ArgumentError, "BatchNorm: axis is str 'a'; expected an integer."),
    ("nn.BatchNorm(momentum=9)", ArgumentValueError, "BatchNorm: momentum is 9; expected a number from 0 to 1."),
    ("nn.BatchNorm(epsilon='a')", ArgumentError, "BatchNorm: epsilon is str 'a'; expected a number."),
    (
        "nn.BatchNormReLU(in_channels=-1)",
        ArgumentValueError,
        "BatchNormReLU: in_channels is -1; expected an integer of at least 0 (0: it follows from the first call).",
    ),
    ("nn.LayerNorm(axis=(1, 2))", ArgumentError, "LayerNorm: axis is tuple of 2: [int 1, int 2]; expected an integer."),
    ("nn.InstanceNorm(epsilon=None)", ArgumentError, "InstanceNorm: epsilon is NoneType None; expected a number."),
    ("nn.GroupNorm(0)", ArgumentValueError, "GroupNorm: num_groups is 0; expected an integer of at least 1."),
    ("nn.GroupNorm(2.5)", ArgumentError, "GroupNorm: num_groups is float 2.5; expected an integer."),
    (
        "contrib.nn.SyncBatchNorm(num_devices=0)",
        ArgumentValueError,
        "SyncBatchNorm: num_devices is 0; expected an integer of at least 1.",
    ),
    ("nn.Embedding(0, 2)", ArgumentValueError, "Embedding: input_dim is 0; expected an integer of at least 1."),
    ("nn.Embedding(2, 'a')", ArgumentError, "Embedding: output_dim is str 'a'; expected an integer."),
    (
        "contrib.nn.SparseEmbedding(2, -1)",
        ArgumentValueError,
        "SparseEmbedding: output_dim is -1; expected an integer of",
    ),
    ("nn.Lambda(4)", ArgumentError, "Lambda: got int 4; expected a function, or the name of one: 'tanh'."),
    ("nn.Lambda('tanhh')", ArgumentValueError, "Lambda: there is no function 'tanhh' in mx.nd. Did you mean 'tanh'"),
    (
        "nn.HybridLambda(None)",
        ArgumentError,
        "HybridLambda: got NoneType None; expected a function, or the name of one",
    ),
    (
        "nn.HybridLambda('sigmoidd')",
        ArgumentValueError,
        "HybridLambda: there is no function 'sigmoidd' in mx.nd and mx.sym. Did you mean 'sigmoid'",
    ),
    (
        "nn.HybridSequential().add(nn.Lambda('tanh'))",
        ArgumentError,
        "must be a HybridBlock, got Lambda(tanh). Derive it from HybridBlock (a function: gluon.nn.HybridLambda)",
    ),
]

CALLED = [
    (
        "called(nn.Dense(3, in_units=2))",
        ShapeError,
        (
            "weight has shape (3, 2); expected (3, 12), which is (num_hidden, input width), for data of shape"
            " (2, 4, 3) with flatten=True."
        ),
    ),
    (
        "called(nn.BatchNorm(in_channels=3))",
        ShapeError,
        "BatchNorm: gamma has shape (3,); expected (4,), the length of axis 1 of data (2, 4, 3).",
    ),
    ("called(nn.BatchNorm(axis=5))", ShapeError, "BatchNorm: axis 5 is out of range for an array with 3 axes"),
    (
        "called(nn.BatchNorm(), X.astype('int32'))",
        DTypeError,
        "BatchNorm: data has dtype int32; expected a floating-point dtype.",
    ),
    (
        "called(nn.LayerNorm(in_channels=4))",
        ShapeError,
        "LayerNorm: gamma has shape (4,); expected (3,), the length of axis 2 of data (2, 4, 3).",
    ),
    ("called(nn.LayerNorm(axis=4))", ShapeError, "LayerNorm: axis 4 is out of range for an array with 3 axes"),
    (
        "called(nn.InstanceNorm(in_channels=3))",
        ShapeError,
        "InstanceNorm: gamma has shape (3,); expected (4,), the number of channels of data (2, 4, 3).",
    ),
    ("called(nn.InstanceNorm(axis=3))", ShapeError, "swapaxes: axis 3 is out of range for an array with 3 axes"),
    (
        "called(nn.GroupNorm(3))",
        ShapeError,
        "GroupNorm: the 4 channels of data (2, 4, 3) cannot be split into num_groups=3",
    ),
    ("called(nn.PReLU(in_channels=3))", ShapeError, "gamma has shape (3,); expected (1,) or (4,), one slope a channel"),
    ("called(nn.Dropout(0.5, axes=(7,)))", ShapeError, "Dropout: axis 7 is out of range for an array with 3 axes"),
    (
        "called(nn.Concatenate())",
        MXNetError,
        "there are no blocks in it whose outputs could be joined. Add some with add().",
    ),
    ("called(nn.HybridConcatenate())", MXNetError, "there are no blocks in it whose outputs could be joined."),
    (
        "rnn.BidirectionalCell(rnn.SequentialRNNCell(), rnn.GRUCell(2))",
        ArgumentError,
        "BidirectionalCell: a child of a HybridBlock must be a HybridBlock, got SequentialRNNCell(",
    ),
    (
        "loss.SoftmaxCELoss(prefix='mine_')(X, X)",
        ShapeError,
        (
            "mine: label has shape (2, 4, 3); expected (2, 4), the number of a class for each row of pred, of shape "
            "(2, 4, 3). If labels are probabilities, say sparse_label=False."
        ),
    ),
    (
        "hybridized(loss.SoftmaxCELoss())(X, X[0])",
        ShapeError,
        "the labels have shape (4, 3); expected (2, 4), a class for each row of the data, of shape (2, 4, 3).",
    ),
    (
        "loss.L2Loss()(X, X[0])",
        ShapeError,
        (
            "a loss is given arrays of shapes (4, 3) and (2, 4, 3), to be compared with each other; expected one "
            "shape, or as many elements."
        ),
    ),
    ("nn.BatchNorm()(X)", MXNetError, "_gamma' is not initialized. Call initialize() on its block"),
    (
        "called(nn.Dense(3), np.ones((2, 3)))",
        ArgumentError,
        "An input of a block is float64 (2, 3); expected an NDArray",
    ),
]


@pytest.mark.parametrize(("expression", "error", "text"), [*MADE, *CALLED])
def test_errors(expression: str, error: type[Exception], text: str) -> None:
    with autograd.train_mode(), pytest.raises(error) as caught:
        eval(
            expression,
            {
                "nn": nn,
                "contrib": contrib,
                "called": called,
                "hybridized": hybridized,
                "loss": loss,
                "rnn": rnn,
                "X": X,
                "np": np,
            },
        )
    assert text in str(caught.value)


def test_a_hybrid_lambda_by_name_belongs_to_the_semantics_it_was_made_under() -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        layer = nn.HybridLambda("fmod")
    with pytest.raises(ArgumentError, match="HybridLambda: no function 'fmod' under these semantics"):
        layer(X, X)


def test_embedding_takes_indices_outside_as_the_nearest() -> None:
    layer = nn.Embedding(3, 2)
    layer.initialize()
    rows = layer(mx.nd.array([-4, 0, 2, 9])).asnumpy()
    np.testing.assert_array_equal(rows[[0, 3]], rows[[1, 2]])
