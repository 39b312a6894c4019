"""The built-in operators, a folder a kind, one file a family: a definition and its gradient rules side by side."""

from minpy.ops.contrib import (
    attention,
    bipartite_matching,
    box_nms,
    boxes,
    count_sketch,
    deformable_convolution,
    fourier,
    hawkes,
    multibox,
    positions,
    proposal,
    psroi_pooling,
    resizing,
    roi_align,
    straight_through,
)
from minpy.ops.contrib import batch_norm as contrib_batch_norm
from minpy.ops.contrib import elementwise as contrib_elementwise
from minpy.ops.image import colors, geometry
from minpy.ops.image import resizing as image_resizing
from minpy.ops.linalg import diagonals, dot, factorization, products, solving
from minpy.ops.nn import (
    activation,
    batch_norm,
    bilinear_sampler,
    block_grad,
    channel_norm,
    convolution,
    correlation,
    cropping,
    ctc_loss,
    dropout,
    embedding,
    fully_connected,
    im2col,
    layer_norm,
    loss,
    masked_softmax,
    output_layers,
    pooling,
    pooling_v1,
    rnn,
    roi_pooling,
    sequence,
    softmax,
    softmax_output,
    sparse_regularization,
    upsampling,
)
from minpy.ops.numpy import functions
from minpy.ops.numpy import joining as numpy_joining
from minpy.ops.numpy import shape as numpy_shape
from minpy.ops.optimizer import adagrad, adam, lamb, multi_sgd, regularized, rmsprop, sgd, sign
from minpy.ops.random import choosing, pdf, samplers, zipfian
from minpy.ops.tensor import (
    arithmetic,
    assigning,
    broadcasting,
    comparison,
    counting,
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
