"""Each of NumPy's functions as the body of a @customop, exported to ONNX: proved, or refused for a reason."""

from __future__ import annotations

import re

import pytest
import translated_calls
from exported_calls import CALLS, exported_call, extreme_arrays, require_equal
from many import each

pytest.importorskip("onnx", minversion="1.16", reason="needs onnx")

from minpy.onnx.exporting.sources import ExportError

# What ONNX has no equal of, by the reason that the refusal says.
WITHOUT_EQUAL: dict[str, tuple[str, ...]] = {
    "numpy.fft.fft": ("np.fft.fft(v).real", "np.fft.fft(a)"),
    "numpy.fft.ifft": ("np.fft.ifft(a).real",),
    "numpy.fft.rfft": ("np.fft.rfft(a)",),
    "numpy.fft.irfft": ("np.fft.irfft(a)",),
    "numpy.fft.fft2": ("np.fft.fft2(a)",),
    "numpy.fft.rfft2": ("np.fft.rfft2(a)",),
    "numpy.fft.fftn": ("np.fft.fftn(t, axes=(0, 2))",),
    "numpy.i0": ("np.i0(a)",),
    "ord='nuc' of matrices: it takes singular values": ("np.linalg.norm(a, ord='nuc')",),
    "numpy.linalg.cholesky": ("np.linalg.cholesky(s)",),
    "numpy.linalg.eigvalsh": ("np.linalg.eigvalsh(s)",),
    "numpy.linalg.eigh": ("np.linalg.eigh(s)[0]",),
    "numpy.linalg.pinv": ("np.linalg.pinv(s)",),
    "numpy.linalg.qr": ("np.linalg.qr(s)",),
    "numpy.linalg.inv": ("np.linalg.inv(s)",),
    "numpy.linalg.slogdet": ("np.linalg.slogdet(s)",),
    "numpy.linalg.solve": ("np.linalg.solve(s, s)", "np.linalg.solve(s, a[:, 0])"),
    "numpy.linalg.tensorinv": ("np.linalg.tensorinv(np.reshape(s, (3, 3)), ind=1)",),
    "numpy.linalg.svd": ("np.linalg.svd(a, compute_uv=False)", "np.linalg.svd(s)"),
}
REASONS = {call: reason for reason, calls in WITHOUT_EQUAL.items() for call in calls}
CASES = {call: (call,) for call in CALLS if call not in REASONS}


def require_computed(call: str, dtype: str, opset: int | None = None) -> None:
    exported = exported_call(call, dtype, opset)
    require_equal(exported, translated_calls.arrays(dtype))
    if ".astype(int)" not in call:  # what a whole number of nan is, is the processor's affair
        require_equal(exported, extreme_arrays(dtype))


@each(CASES)
def test_calls_compute_what_numpy_does(call: str) -> None:
    require_computed(call, "float64")


@each(CASES)
def test_calls_of_single_precision_compute_what_numpy_does(call: str) -> None:
    require_computed(call, "float32")


@each({call: (call, reason) for call, reason in REASONS.items() if call in CALLS})
def test_what_has_no_equal_is_refused(call: str, reason: str) -> None:
    with pytest.raises(
        ExportError,
        match=r"1 node has no equal in ONNX; nothing was written:\n  'call' \(called\): "
        + re.escape(reason)
        + r" \(.*: .*\)\n",
    ):
        exported_call(call)
