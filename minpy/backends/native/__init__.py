"""Programs as native code: graphs translated to a small step language, fused into loop nests, compiled by LLVM.

`language` is what everything here is about; `translating` makes it of graphs, `passes` rewrite it, `fusing` groups its
steps into nests, `kernels`, `mathematics` and `convolutions` write them as LLVM IR, `machine` compiles and keeps that,
and `parts` makes of it the functions that a program runs. llvmlite does the compiling: the extra `compile`.
"""
