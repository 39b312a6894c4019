"""The built-in operators, a folder a kind, one file a family: a definition and its gradient rules side by side."""

from minpy.ops.contrib import attention
from minpy.ops.contrib import batch_norm as contrib_batch_norm
from minpy.ops.linalg import dot
from minpy.ops.nn import (
    activation,
    batch_norm,
    block_grad,
    channel_norm,
    convolution,
    cropping,
    ctc_loss,
    dropout,
    embedding,
    fully_connected,
    im2col,
    layer_norm,
    loss,
    output_layers,
    pooling,
    pooling_v1,
    rnn,
    sequence,
    softmax,
    sparse_regularization,
    upsampling,
)
from minpy.ops.numpy import functions
from minpy.ops.numpy import joining as numpy_joining
from minpy.ops.optimizer import updates
from minpy.ops.random import choosing, samplers
from minpy.ops.tensor import (
    arithmetic,
    assigning,
    broadcasting,
    comparison,
    creation,
    elementwise,
    flat_index,
    identity,
    indexing,
    joining,
    mathematics,
    mixed_precision,
    ordering,
    reduction,
    reshape,
    rounding,
    scalar,
    slicing,
    special,
    splitting,
    tiling,
    transpose,
)
