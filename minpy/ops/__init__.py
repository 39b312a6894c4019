"""The built-in operators, a folder a kind, one file a family: a definition and its gradient rules side by side."""

from minpy.ops.contrib import (
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
    dropout,
    embedding,
    fully_connected,
    layer_norm,
    loss,
    masked_softmax,
    output_layers,
    pooling,
    roi_pooling,
    sequence,
    softmax,
    upsampling,
)
from minpy.ops.numpy import functions
from minpy.ops.numpy import joining as numpy_joining
from minpy.ops.numpy import shape as numpy_shape
from minpy.ops.optimizer import updates
from minpy.ops.random import choosing, pdf, samplers, zipfian
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
