"""Golden cases of names for sparse arrays that take dense ones, too; and of writing into parts of arrays."""

# ruff: noqa: E501 - one case is one line of text
BEGINNING = """
x = nd.array(np.arange(12).reshape(3, 4), dtype={dtype!r})
"""

SNIPPETS = {
    "cast_storage": "result = nd.cast_storage(x, 'default')",
    "cast_storage_keyword": "result = nd.cast_storage(x, stype='default')",
    "cast_storage_unknown": "result = nd.cast_storage(x, 'dense')",
    "cast_storage_symbol": "result = mx.sym.cast_storage(mx.sym.var('x'), 'default', name='y').tojson()",
    "cast_storage_gradient": (
        "x.attach_grad()\nwith autograd.record():\n    y = nd.cast_storage(x * 2, 'default')\ny.backward()\n"
        "result = [y, x.grad]"
    ),
    "tostype": "result = [x.tostype('default'), x.stype]",
    "tostype_unknown": "result = x.tostype('dense')",
    "is_sparse": "result = [isinstance(x, getattr(nd.sparse, n)) for n in ('BaseSparseNDArray', 'CSRNDArray', 'RowSparseNDArray')]",
    "is_sparse_for_arrays": "result = isinstance(x, (nd.sparse.CSRNDArray, nd.NDArray))",
    "dot": "result = nd.sparse.dot(x, x, transpose_b=True)",
    "zeros": "result = nd.sparse.zeros('default', (2, 3), dtype='float64')",
    "dense_operators": "result = [nd.sparse.add(x, x), nd.sparse.sum(x, axis=0), nd.sparse.elemwise_mul(x, x), nd.sparse.clip(x, 1, 5)]",
    "symbol": "result = mx.sym.sparse.elemwise_add(mx.sym.var('a'), mx.sym.var('b'), name='c').tojson()",
    "slice_assign": "result = [x.slice_assign(nd.ones((2, 2), dtype=x.dtype) * 7, (0, 1), (2, 3), (1, 1)), x]",
    "slice_assign_none": "result = x.slice_assign(nd.ones((3, 2), dtype=x.dtype), (None, 1), (None, None), (None, 2))",
    "slice_assign_same_object": "result = x.slice_assign(nd.ones((1, 4), dtype=x.dtype), (0,), (1,), (1,)) is x",
    "slice_assign_shape": "result = x.slice_assign(nd.ones((2, 3), dtype=x.dtype), (0, 1), (2, 3), (1, 1))",
    "slice_assign_scalar": "result = [x.slice_assign_scalar(7, (0, 1), (2, 3), (1, 1)), x]",
    "slice_assign_scalar_steps": "result = x.slice_assign_scalar(5, (2, 3), (None, None), (-1, -2))",
    "slice_assign_scalar_first": "result = x.slice_assign_scalar(5, (1,), (2,), (1,))",
    "symbol_asnumpy": "result = mx.sym.var('x').asnumpy()",
    "symbol_backward": "result = mx.sym.var('x').backward()",
    "symbol_backend": "result = mx.sym.var('x').get_backend_symbol('nowhere')",
}
# Those that are the same for all dtypes.
ONCE = ("is_", "symbol", "cast_storage_symbol", "cast_storage_unknown", "tostype_unknown", "zeros")

CASES = [
    (f"sparse_{name}_{dtype}", BEGINNING.format(dtype=dtype) + snippet)
    for name, snippet in SNIPPETS.items()
    for dtype in ("float32", "float64", "int32")
    if dtype == "float32"
    or not (name.startswith(ONCE) or (dtype == "int32" and name in ("cast_storage_gradient", "dot")))
]
