"""The machine below: LLVM, the cache of its objects, native code as Python functions, NumPy's BLAS, a helper thread.

`llvm` compiles LLVM IR for this processor, or for another; `code_cache` keeps the object files, and `object_loader`
loads them. `python_builtins` makes Python functions of addresses, `numpy_blas` finds the BLAS that NumPy itself calls,
and `helper_thread` is a thread to share large loops with.
"""
