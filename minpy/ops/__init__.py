"""The built-in operators, a folder a kind, one file a family: a definition and its gradient rules side by side."""

from minpy.ops.linalg import dot
from minpy.ops.nn import (
    activation,
    batch_norm,
    block_grad,
    channel_norm,
    convolution,
    cropping,
    dropout,
    embedding,
    fully_connected,
    layer_norm,
    loss,
    output_layers,
    pooling,
    sequence,
    softmax,
    upsampling,
)
from minpy.ops.numpy import functions
from minpy.ops.numpy import joining as numpy_joining
from minpy.ops.numpy import shape as numpy_shape
from minpy.ops.optimizer import updates
from minpy.ops.random import choosing, samplers
from minpy.ops.tensor import (
    arithmetic,
    broadcasting,
    comparison,
    creation,
    elementwise,
    flat_index,
    identity,
    indexing,
    joining,
    mathematics,
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
