"""Calls of NumPy's functions that are written for other frameworks: those of `numpy_calls`, and what these lack."""

from __future__ import annotations

import numpy
from numpy_calls import CALLS as CALLS_OF_SYMBOLS

__all__ = ["CALLS", "WITHOUT_EQUAL", "arrays"]

# Over a, b (3, 4), v (4,), s (3, 3), t (2, 3, 4), i (3, 4) and j (4,) of whole numbers, m (3, 4) of truth values.
MORE = """
np.expm1(a)
np.log1p(a)
np.log2(a)
np.log10(a)
np.cbrt(a - 0.5)
np.cos(a)
np.tan(a)
np.sinh(a)
np.cosh(a)
np.arccos(a / 2)
np.arctan(a)
np.arcsinh(a)
np.arccosh(a + 1)
np.arctanh(a / 2)
np.deg2rad(a)
np.rad2deg(a)
np.degrees(a)
np.radians(a)
np.fabs(a - 0.5)
np.sign(a - 0.5)
np.signbit(a - 0.5)
np.ceil(a)
np.floor(a)
np.trunc(a)
np.fix(a - 0.5)
np.isfinite(a)
np.isinf(a)
np.isneginf(a)
np.positive(a)
np.conjugate(a)
np.modf(a - 0.5)
np.modf(a - 0.5)[0]
np.frexp(a)
np.ldexp(a, j)
np.divmod(a, b)
np.fmod(a - 0.5, b)
np.fmax(a, b)
np.fmin(a, b)
np.heaviside(a - 0.5, b)
np.nextafter(a, b)
np.spacing(a)
np.logaddexp2(a, b)
np.logaddexp(0, a)
np.float_power(a, 2)
np.angle(a - 0.5)
np.i0(a)
np.real(a)
np.imag(a)
np.iscomplex(a)
np.isreal(a)
np.gcd(i, j)
np.lcm(i, j)
np.invert(i)
np.bitwise_or(i, j)
np.bitwise_xor(i, 3)
np.left_shift(i, 1)
np.right_shift(i, 1)
np.logical_or(m, a > 1)
np.logical_xor(m, a > 1)
i + j
i - 1
i * 2
i / j
i // j
i % j
i ** 2
-i
abs(i - 3)
np.sqrt(i)
np.exp(i)
np.mean(i)
np.sum(i, axis=0)
np.prod(i, axis=1)
np.std(i)
np.cumsum(i, axis=1)
np.max(i)
i.astype('float32') * a
a * i
a + j
np.where(m, a, i)
np.where(m, 1, 0)
m & (a > 1)
~m
np.sum(m)
np.mean(m, axis=0)
a[:, ::-1]
a[::-1, ::-2]
a[::-1]
a[[0, 2]]
a[[0, 2], [1, 3]]
a[:, [0, 2]]
a[j[:3] % 3]
a[np.arange(3), i[:, 0] % 4]
a[..., None]
a[1]
t[..., 1:, 0]
np.take(v, j % 4)
np.take(a, 2, axis=1)
np.take(a, [0, 5])
np.take_along_axis(a, np.argsort(a, axis=1), axis=1)
np.select([a > 1, a > 0.5], [a, b], 0.0)
np.count_nonzero(m, axis=1)
np.nanmax(a)
np.nanmin(a, axis=0)
np.nanprod(a, axis=1)
np.nanvar(a)
np.nanmedian(a, axis=0)
np.nancumsum(a, axis=1)
np.percentile(a, [20, 70], axis=1)
np.nanquantile(a, 0.3)
np.add.reduce(a, axis=1)
np.maximum.reduce(a)
np.multiply.reduce(a, axis=0)
np.add.accumulate(a, axis=1)
np.maximum.accumulate(a, axis=1)
np.logical_and.reduce(m, axis=1)
np.add.outer(v, v)
np.trapezoid(a, dx=0.5) if hasattr(np, 'trapezoid') else np.trapz(a, dx=0.5)
np.convolve(v, a[0])
np.convolve(v, a[0, :2], 'same')
np.convolve(v, a[0, :2], 'valid')
np.correlate(v, a[0, :2], 'full')
np.correlate(v, a[0, :2])
np.searchsorted(np.array([0.2, 0.5, 0.9]), a)
np.digitize(a, [0.3, 0.8, 1.2])
np.isin(i, [1, 3])
np.vander(v, 3)
np.average(a, axis=1)
np.rollaxis(t, 2)
np.flipud(a)
np.linalg.eigh(s)[0]
np.linalg.svd(a, compute_uv=False)
np.linalg.multi_dot([a, b.T, a])
np.linalg.norm(a, 'fro')
np.linalg.norm(v, 3)
np.linalg.norm(t, axis=(1, 2))
np.linalg.solve(s, a[:, 0])
np.fft.fft(a)
np.fft.ifft(a).real
np.fft.rfft(a)
np.fft.irfft(a)
np.fft.fft2(a)
np.fft.rfft2(a)
np.fft.fftn(t, axes=(0, 2))
np.fft.fftshift(a)
np.einsum('ij->j', a)
np.einsum('ij,ij->', a, b)
np.einsum('ii->i', s)
np.dot(t, v)
np.dot(t, b.T)
np.dot(a, 2.0)
np.matmul(t, v)
v @ v
np.pad(a, 1, mode='reflect')
np.pad(a, ((0, 0), (1, 1)), mode='wrap')
np.pad(a, 1, mode='symmetric')
np.pad(a, 1, constant_values=2.0)
np.reshape(a, (2, 6), order='F')
np.ravel(a, order='F')
np.flatten(a) if False else a.flatten('F')
a.astype(int)
a.astype(bool)
i.astype(float)
a * np.float32(2)
a * np.array([1.0, 2.0, 3.0, 4.0], 'float32')
a * np.eye(4)[:3]
np.maximum(a, np.array([0.5, 0.6, 0.7, 0.8]))
2.0 * a + 1
1 - i
np.nanargmax(a, axis=1)
np.nanargmin(a)
np.cov(a)
np.cov(a, rowvar=False, bias=True)
np.corrcoef(a)
np.block([[a, b], [b, a]])
np.block([a, v[:3, None]])
np.choose(i % 2, [a, b])
np.ravel_multi_index((i % 3, i % 4), (3, 4))
x_stored(a, 0, 2.0)
x_stored(a, (slice(None), 1), v[:3])
x_stored(a, slice(0, 2), b[:2])
x_stored(a, ([0, 1], [1, 2]), 5.0)
x_stored(a, (slice(None), [0, 2]), b[:, :2])
x_stored(t, (1, slice(None, 2), slice(1, None, 2)), b[:2, :2])
x_stored(t, (Ellipsis, slice(1, 3)), 4.0)
x_stored(t, (Ellipsis, -1), b[:, 0])
x_stored(a, slice(None, None, -1), b)
x_stored(a, (slice(1, -1), slice(-2, None)), v[:2])
x_stored(a, Ellipsis, 2.0)
x_added_at(a, j[:3] % 3, b)
x_masked(a, m)
x_chosen(a, m)
x_in_place(a, b)
x_put_along(a)
x_filled_diagonal(s)
x_out(a)
x_counted(a)
""".strip().splitlines()

CALLS = [call for call in [*CALLS_OF_SYMBOLS, *MORE] if call != "arange(3)"]

# By framework: what it has no equal of, and the tables say so.
WITHOUT_EQUAL: dict[str, tuple[str, ...]] = {"jax": (), "torch": ()}


def arrays(dtype: str) -> dict[str, numpy.ndarray]:
    """Return the arrays that the calls are of."""
    random = numpy.random.RandomState(1)
    a, b = random.uniform(0.2, 1.5, (3, 4)), random.uniform(0.3, 1.4, (3, 4))
    found = {"a": a, "b": b, "v": random.uniform(0.2, 0.9, 4), "s": a @ a.T + numpy.eye(3)}
    found["t"] = random.uniform(0.1, 0.9, (2, 3, 4))
    found = {name: array.astype(dtype) for name, array in found.items()}
    found["i"] = random.randint(1, 7, (3, 4))
    found["j"] = random.randint(1, 5, 4)
    found["m"] = random.rand(3, 4) > 0.5
    return found


def x_stored(a, index, value):
    a = a.copy()
    a[index] = value
    return a


def x_added_at(a, where, b):
    y = numpy.zeros(a.shape, a.dtype)
    numpy.add.at(y, where, b[:3])
    return y


def x_masked(a, m):
    y = numpy.zeros_like(a)
    numpy.log(a, out=y, where=m)
    return y


def x_chosen(a, m):
    y = a.copy()
    y[m] = 7.0
    return y


def x_in_place(a, b):
    y = a * 2
    y += b
    y[1:] *= 3
    numpy.exp(y, out=y)
    return y


def x_put_along(a):
    y = a.copy()
    numpy.put_along_axis(y, numpy.argmax(a, axis=1)[:, None], 0.0, axis=1)
    return y


def x_filled_diagonal(s):
    y = s.copy()
    numpy.fill_diagonal(y, 3.0)
    return y


def x_out(a):
    y = numpy.empty_like(a)
    numpy.multiply(a, 2.0, out=y)
    return y


def x_counted(a):
    return a * numpy.arange(4) + numpy.ones(4) * numpy.arange(3)[:, None]


def x_changed(function, array, *arguments, **keywords):
    """Return a copy of an array after a function that changes it."""
    array = numpy.array(array)
    function(array, *arguments, **keywords)
    return array
