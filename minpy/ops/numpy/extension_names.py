"""Which operators `minpy.npx` and `minpy.sym.npx` have, and what they call them."""

from __future__ import annotations

__all__ = ["OPERATOR_NAMES"]

_OTHER_NAMES = {
    "activation": "Activation",
    "arange_like": "_contrib_arange_like",
    "batch_flatten": "Flatten",
    "batch_norm": "BatchNorm",
    "cast": "Cast",
    "convolution": "Convolution",
    "ctc_loss": "CTCLoss",
    "deconvolution": "Deconvolution",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "fully_connected": "FullyConnected",
    "group_norm": "GroupNorm",
    "instance_norm": "InstanceNorm",
    "l2_normalization": "L2Normalization",
    "layer_norm": "LayerNorm",
    "leaky_relu": "LeakyReLU",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "pooling": "Pooling",
    "rnn": "RNN",
    "roi_pooling": "ROIPooling",
    "sequence_last": "SequenceLast",
    "sequence_mask": "SequenceMask",
    "sequence_reverse": "SequenceReverse",
    "stop_gradient": "BlockGrad",
}
_SAME_NAMES = """
    batch_dot broadcast_like erf erfinv gamma gammaln gather_nd log_softmax masked_log_softmax masked_softmax
    one_hot pick relu reshape_like shape_array sigmoid slice smooth_l1 softmax topk
"""
# By the names here, those of the operators.
OPERATOR_NAMES = {**_OTHER_NAMES, **{name: name for name in _SAME_NAMES.split()}}
