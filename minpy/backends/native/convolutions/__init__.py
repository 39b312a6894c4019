"""Generated convolutions of known shapes: direct, in vector registers, as LLVM IR.

Training works batch last, (channels, height, width, batch): `forward`, `data_gradient`, `weight_gradient`, `depthwise`.
Kernels of 3 x 3 have `winograd`. Inference of few examples works channels last, (batch, height, width,
channels): `channels_last`, `channel_windows`. `choosing` says which way is quickest, `placing` brings programs there.
"""
