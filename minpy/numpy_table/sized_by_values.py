"""The rows of functions whose result shapes only a run of them tells: joining, sorting, taking, transforming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]


def _axis_count(arguments: Mapping[str, Any]) -> int:
    axis = arguments.get("axis")
    return len(axis) if isinstance(axis, (tuple, list)) else 1


def _length_count(arguments: Mapping[str, Any]) -> int:
    return len(arguments["shape"]) if isinstance(arguments["shape"], (tuple, list)) else 1


ROWS = [
    # Joined, and repeated.
    Row("concatenate", "call", parameters="arrays axis out dtype casting", nests="several", gradient="joining"),
    *alike("call", "column_stack dstack hstack stack vstack", nests="several", gradient="joining"),
    Row("row_stack", "call", nests="several", gradient="joining"),
    Row("block", "call", nests="any", in_files=False),
    Row("append", "call", 2, gradient="joining"),
    *alike("call", "resize tile", gradient="rearranging"),
    Row("repeat", "call", gradient="rearranging", method=True),
    Row("pad", "call", gradient="rearranging"),
    Row("insert", "call", (0, 2)),
    Row("delete", "call", gradient="rearranging"),
    Row("ediff1d", "call", 3, gradient="rearranging"),
    # Moved, and taken.
    Row("diagflat", "call", gradient="rearranging"),
    Row("roll", "call"),
    Row("vander", "call", gradient="multiplying"),
    *alike("call", "tril triu", gradient="rearranging"),
    Row("diff", "call", (0, 3, 4), view="n", gradient="rearranging"),
    Row("take", "call", 2, gradient="rearranging", method=True),
    Row("take_along_axis", "call", 2, gradient="rearranging"),
    Row("packbits", "call", parameters="a axis bitorder"),
    Row("unpackbits", "call", parameters="a axis count bitorder"),
    # Sorted, and searched.
    Row("sort", "call", method=True),
    *alike("call", "msort partition sort_complex"),
    Row("argpartition", "call", gradient="zero"),
    Row("argsort", "call", method=True, gradient="zero"),
    Row("lexsort", "call", parameters="keys axis", nests="several", gradient="zero"),
    Row("digitize", "call", 2, gradient="zero"),
    Row("searchsorted", "call", 2, method=True, gradient="zero"),
    *alike("call", "in1d isin", captured=2, gradient="zero"),
    Row("ravel_multi_index", "call", parameters="multi_index dims mode order", in_files=False),
    Row("unravel_index", "call", parameters="indices shape order", outputs=_length_count),
    # Of samples, signals and polynomials.
    *alike("call", "percentile quantile", captured=2, scalar=True, differs="any"),
    *alike("call", "nanpercentile nanquantile", captured=2, scalar=True),
    Row("average", "call", 3, scalar=True),
    *alike("call", "corrcoef cov", captured=2),
    *alike("call", "convolve correlate", captured=2, gradient="multiplying"),
    Row("gradient", "call", outputs=_axis_count),
    Row("interp", "call", 3),
    *alike("call", "trapezoid trapz", captured=2, gradient="reduced_axes"),
    Row("unwrap", "call", gradient="rearranging"),
    *alike("call", "polyadd polysub", captured=2),
    Row("polyval", "call", 2, gradient="multiplying"),
    *alike("call", "polyder polyint"),
    Row("polyfit", "call", 3, sample="distinct"),
    Row("histogram", "bins", (0, 1, 4), view="sometimes", outputs=2),
    Row("histogram_bin_edges", "bins", 2, view="sometimes"),
    Row("histogram2d", "bins", 2, view="sometimes", outputs=3),
    *alike("call", "fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift "
           "fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn"),
    Row("piecewise", "pieces", 2, nests="several", in_files=False),
]  # fmt: skip
