"""`minpy.sym.np.linalg`: linear algebra of symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from minpy.namespaces import listing
from minpy.ops.registry import known_operator
from minpy.symbol.numpy.symbol_class import call, generic, is_symbol, named
from minpy.symbol.numpy.unnamed_functions import remaining

__all__ = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "norm", "pinv", "slogdet", "solve", "svd"]


def _matrix(name: str, kind: str, count: int) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        if known_operator(kind) is None:
            return generic(f"linalg.{name}", (a,), {}, count)
        return call(kind, [a], name)

    doc = f"Return the symbol of `numpy.linalg.{name}`" + ("; a list of them." if count > 1 else ".")
    return named(name, function, doc, __name__)


cholesky = _matrix("cholesky", "_npi_cholesky", 1)
det = _matrix("det", "", 1)  # `_linalg_det` of one matrix has one axis
eig = _matrix("eig", "_npi_eig", 2)
eigvals = _matrix("eigvals", "_npi_eigvals", 1)
inv = _matrix("inv", "_linalg_inverse", 1)
slogdet = _matrix("slogdet", "", 2)
svd = _matrix("svd", "_npi_svd", 3)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return the symbols of eigenvalues and eigenvectors of symmetric matrices, as a list."""
    return call("_npi_eigh", [a], "eigh", UPLO=UPLO)


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the symbol of eigenvalues of symmetric matrices."""
    return call("_npi_eigvalsh", [a], "eigvalsh", UPLO=UPLO)


def solve(a: Any, b: Any) -> Any:
    """Return the symbol of x of a x = b."""
    return call("_npi_solve", [a, b], "solve")


def pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    """Return the symbol of the pseudo-inverse."""
    if is_symbol(rcond):
        return call("_npi_pinv", [a, rcond], "pinv", hermitian=hermitian)
    return call("_npi_pinv_scalar_rcond", [a], "pinv_scalar_rcond", rcond=float(rcond), hermitian=hermitian)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the symbol of the inverse with respect to `tensordot` over the first `ind` axes."""
    return call("_npi_tensorinv", [a], "tensorinv", ind=ind)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Return the symbol of x with which `tensordot(a, x, x.ndim)` is b."""
    return call("_npi_tensorsolve", [a, b], "tensorsolve", a_axes=None if axes is None else tuple(axes))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the symbol of norms of vectors or matrices."""
    axes = (axis,) if isinstance(axis, (int, numpy.integer)) else None if axis is None else tuple(axis)
    order, flag = (2, -2 if axes is None else 1) if ord in (None, "fro") else (2, 2) if ord == "nuc" else (ord, -1)
    if ord == "fro":
        flag = 1
    return call("_npi_norm", [x], "norm", axis=axes, flag=flag, keepdims=keepdims, ord=order)


__all__ += ["tensorinv", "tensorsolve"]
_FOUND = remaining("linalg", __all__)
globals().update(_FOUND)
__all__ += [*_FOUND]
__dir__ = listing(__all__)

if TYPE_CHECKING:  # those that are found

    def __getattr__(name: str) -> Any: ...
