"""Generated convolutions of known shapes: direct, in vector registers, as LLVM IR.

Training works batch last, (channels, height, width, batch): `forward`, `data_gradient`, `weight_gradient`, `depthwise`.
Inference of few examples works on blocks of channels: `channel_blocks`, `block_windows`.
"""
