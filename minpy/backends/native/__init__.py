"""Programs as native code: graphs translated to a small step language, fused into loop nests, compiled by LLVM.

`language` is the step language; `translating` translates graphs to it, `passes` rewrite it, `fusing` groups its steps
into nests, `kernels`, `mathematics` and `convolutions` write them as LLVM IR, `machine` compiles and caches that, and
`codegen` writes the functions that a program runs. llvmlite does the compiling: the extra `compile`.
"""
