"""Calls of NumPy's functions, written with `np`: of arrays, and of symbols. `test_numpy_symbols.py` runs them."""

from __future__ import annotations

import numpy

__all__ = ["CALLS", "NO_GRADIENT", "inputs"]

# Over a (3, 4), b like a, v (4,), s (3, 3) positive definite, t (2, 3, 4).
CALLS = """
np.sum(a)
np.sum(a, axis=1, keepdims=True)
np.mean(a)
np.mean(a, axis=0)
np.prod(a, axis=1)
np.max(a, axis=1)
np.min(a)
np.std(a)
np.std(a, axis=1, ddof=1)
np.var(a, axis=(0, 1))
np.argmax(a, axis=1)
np.argmin(a)
np.argsort(a, axis=0)
np.sort(a, axis=1)
np.cumsum(a)
np.cumsum(a, axis=1)
np.average(a)
np.average(a, axis=0, weights=b)
np.all(a)
np.any(a, axis=0)
np.exp(a)
np.log(a)
np.sqrt(a)
np.abs(a)
np.sin(a)
np.tanh(a)
np.arcsin(a / 2)
np.negative(a)
np.square(a)
np.reciprocal(a)
np.rint(a)
np.logical_not(a)
np.isnan(a)
np.isposinf(a)
a + b
a - b
a * b
a / b
a % b
a ** b
a + 1
1 - a
2 / a
a ** 2
2 ** a
a % 2
a // b
a > b
a <= 1
a == a
np.maximum(a, b)
np.maximum(a, 0.5)
np.minimum(a, 1)
np.hypot(a, b)
np.hypot(a, 2)
np.arctan2(a, b)
np.arctan2(1, a)
np.copysign(a, -1)
np.power(a, b)
np.where(a > 1, a, b)
np.where(a > 1, a, 0)
np.where(a > 1, 2, b)
np.clip(a, 0.4, 1.0)
np.clip(a, None, 1)
np.around(a, 1)
np.nan_to_num(a)
np.reshape(a, (2, 6))
a.reshape(-1)
a.reshape(4, 3)
a.T
np.transpose(a, (1, 0))
a.transpose()
np.swapaxes(a, 0, 1)
np.moveaxis(a, 0, 1)
np.expand_dims(a, 1)
np.squeeze(np.expand_dims(a, 0))
np.ravel(a)
a.flatten()
np.broadcast_to(a, (2, 3, 4))
np.flip(a)
np.flip(a, 1)
np.fliplr(a)
np.roll(a, 1)
np.roll(a, (1, 2), (0, 1))
np.rot90(a)
np.copy(a)
np.tile(a, 2)
np.tile(a, (2, 1))
np.repeat(a, 2)
np.repeat(a, 2, axis=1)
np.pad(a, ((1, 1), (0, 2)))
np.pad(a, ((1, 1), (0, 2)), mode='edge')
np.diag(a)
np.diag(v)
np.diagflat(v)
np.diagonal(a, 1)
np.trace(a)
np.tril(a)
np.concatenate([a, b])
np.concatenate([a, b], axis=1)
np.concatenate([a, b], axis=None)
np.append(a, b)
np.stack([a, b], axis=1)
np.vstack([a, b])
np.hstack([a, b])
np.dstack([a, b])
np.column_stack([a, b])
np.split(a, 2, axis=1)
np.split(a, [1, 3], axis=1)
np.array_split(a, 3, axis=1)
np.hsplit(a, 2)
np.vsplit(a, 3)
np.dsplit(t, 2)
np.atleast_1d(v)
np.atleast_2d(v)
np.atleast_3d(a)
np.diff(a)
np.diff(a, 2, 0)
np.ediff1d(a)
np.ediff1d(a, to_end=1)
np.insert(a, 1, 5)
np.insert(a, 1, v, axis=0)
np.delete(a, 1, axis=0)
np.delete(a, slice(0, 2), axis=1)
np.delete(a, [0, 2], axis=1)
np.dot(a, v)
np.dot(a, b.T)
np.matmul(a, b.T)
a @ v
np.tensordot(a, b, axes=2)
np.tensordot(a, b, axes=((0, 1), (0, 1)))
np.inner(a, b)
np.outer(v, v)
np.vdot(a, b)
np.einsum('ij,kj->ik', a, b)
np.polyval(v, a)
np.percentile(a, 30)
np.quantile(a, 0.3, axis=1)
np.zeros_like(a)
np.ones_like(a)
np.full_like(a, 3)
np.linalg.norm(a)
np.linalg.norm(a, axis=1)
np.linalg.norm(a, ord=1)
np.linalg.inv(s)
np.linalg.det(s)
np.linalg.cholesky(s)
np.linalg.solve(s, s)
np.linalg.eigvalsh(s)
np.linalg.slogdet(s)
np.linalg.pinv(s)
np.linalg.matrix_power(s, 2)
a[0]
a[1:3]
a[1:3, ::2]
a[0, 1]
a[-1]
a[None]
a[..., 0]
a[:, 1]
a.sum()
a.mean(axis=1)
a.max()
a.std()
a.argmax(axis=1)
a.clip(0.4, 1)
a.dot(v)
a.astype('float32')
a.round()
-a
abs(a)
np.median(a)
np.median(a, axis=1)
np.nanmean(a)
np.nansum(a, axis=0)
np.ptp(a, axis=0)
np.logaddexp(a, b)
np.cross(a[:, :3], b[:, :3])
np.kron(v, v)
np.fft.fft(v).real
np.triu(a)
np.cumprod(a, axis=1)
np.floor_divide(a, b)
np.take(a, [0, 2], axis=1)
np.sinc(a)
np.exp2(a)
np.logical_and(a, b)
np.sum(a, where=a > 1)
np.bitwise_and(np.sign(a).astype('int32'), 1)
np.meshgrid(v, v)
np.interp(v, [0.0, 0.5, 1.0], [1.0, 3.0, 2.0])
np.linalg.norm(a, ord='nuc')
np.nanstd(a, axis=1)
np.unravel_index(np.argmax(a), (3, 4))
np.linalg.qr(s)
np.resize(a, (2, 7))
np.isclose(a, b)
np.linalg.tensorinv(np.reshape(s, (3, 3)), ind=1)
np.hanning(5)
np.arange(3)
np.zeros((2, 0))
np.eye(3, k=1)
np.linspace(0, 1, 3)
""".strip().splitlines()

# Calls that are not differentiated on arrays, or whose gradient MXNet says is zero.
NO_GRADIENT = ("np.percentile", "np.quantile", "np.sum(a, where")


def inputs(dtype: str) -> dict[str, numpy.ndarray]:
    """Return the arrays that the calls are of."""
    random = numpy.random.RandomState(0)
    a, b = random.uniform(0.2, 1.5, (3, 4)), random.uniform(0.3, 1.4, (3, 4))
    arrays = {"a": a, "b": b, "v": random.uniform(0.2, 0.9, 4), "s": a @ a.T + numpy.eye(3)}
    arrays["t"] = random.uniform(0.1, 0.9, (2, 3, 4))
    return {name: array.astype(dtype) for name, array in arrays.items()}
