"""The rows of sums of products, and of linear algebra."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]

ROWS = [
    *alike("product", "matmul matvec vecdot vecmat"),
    Row("dot", "product", 2, parameters="a b out", scalar=True, method=True),
    Row("inner", "product", 2, parameters="a b", scalar=True, gradient="multiplying"),
    Row("tensordot", "product", 2, gradient="multiplying"),
    Row("vdot", "product", 2, parameters="a b", scalar=True, differs="c"),
    Row("linalg.matmul", "product", 2),
    Row("linalg.vecdot", "product", 2, gradient="multiplying"),
    Row("linalg.tensordot", "product", 2, gradient="multiplying"),
    Row("einsum", "subscripts", view="sometimes", nests="any", gradient="multiplying"),
    Row("outer", "call", 2, gradient="multiplying"),
    *alike("call", "kron linalg.outer", captured=2, gradient="multiplying"),
    *alike("call", "cross linalg.cross", captured=2, gradient="multiplying"),
    Row("trace", "call", scalar=True, differs="biu", gradient="rearranging", method=True),
    Row("linalg.trace", "call", gradient="rearranging"),
    # Of matrices; sample inputs are invertible.
    Row("linalg.norm", "call", scalar=True, differs="c", sample="regular", gradient="reduced_axes"),
    *alike("call", "linalg.matrix_norm linalg.vector_norm", sample="regular"),
    *alike("call", "linalg.cholesky linalg.eigvalsh linalg.pinv linalg.svdvals", sample="regular"),
    Row("linalg.cond", "call", sample="regular"),
    Row("linalg.matrix_rank", "call", sample="regular", gradient="zero"),
    Row("linalg.inv", "call", sample="regular", gradient="solving"),
    Row("linalg.det", "call", scalar=True, sample="regular", gradient="solving"),
    Row("linalg.matrix_power", "call", view="sometimes", sample="regular"),
    Row("linalg.multi_dot", "call", sample="regular", nests="several"),
    Row("linalg.solve", "call", 2, sample="regular", gradient="solving"),
    Row("linalg.tensorinv", "call", sample="solve"),
    Row("linalg.tensorsolve", "call", 2, sample="solve"),
    Row("linalg.eigh", "call", sample="regular", outputs=2),
    Row("linalg.slogdet", "call", sample="regular", outputs=2, gradient="solving"),
    Row("linalg.qr", "call", sample="regular",
        outputs=lambda arguments: 1 if arguments.get("mode") == "r" else 2),
    Row("linalg.svd", "call", sample="regular",
        outputs=lambda arguments: 3 if arguments.get("compute_uv", True) else 1),
    Row("linalg.eig", "spectrum", sample="regular"),
    Row("linalg.eigvals", "spectrum", sample="regular"),
]  # fmt: skip
