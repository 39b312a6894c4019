"""Generated convolutions of known shapes: direct, in vector registers, as LLVM IR.

Training has the batch last, (channels, height, width, batch): `direct_convolution`, `weight_gradient`, `depthwise`.
Inference of few examples has the channels last, (batch, height, width, channels): `channels_last`,
`channels_depthwise`. Kernels of 3 x 3 have `winograd_kernels` in both layouts. `cost_model` estimates which kind is
fastest, and `rewriting_convolutions` rewrites programs to use it.
"""
