"""What stands for arrays while the `forward` of a block, or a function that is compiled, is traced.

`trace` is one run of it; `traced` what it is given, on top of `arithmetic` and of `changing`, changes in place; `facts`
says which shapes and dtypes follow. `numbers` and `numpy_functions` know what NumPy answers where.
"""
