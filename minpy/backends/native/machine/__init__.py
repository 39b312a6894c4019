"""The machine below: LLVM, the cache of its objects, native code as Python functions, NumPy's BLAS, a helper thread.

`llvm` compiles text of LLVM IR for this processor, or for another, and `store` keeps what it makes; `elf` reads what is
in an object. `builtins` makes of an address what Python can call, `gil` lets other Python threads run meanwhile,
`blas` finds the products that NumPy itself calls, and `threads` has a helper to share large loops with.
"""
