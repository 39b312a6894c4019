"""Generated convolutions of known shapes: direct, in vector registers, as LLVM IR.

Training works batch last, (channels, height, width, batch): `correlation`, `weight_gradient`,
`depthwise`. Inference of few examples works channels last, (batch, height, width, channels):
`channels_last`, `channel_windows`. Kernels of 3 x 3 have `winograd` in both. `choosing` says which way is quickest,
`placing` brings programs there.
"""
