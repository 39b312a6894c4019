"""The rows of functions that make arrays, and of those that look at shapes and dtypes only."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]

ROWS = [
    *alike("made", "arange bartlett blackman diag_indices empty eye fft.fftfreq fft.rfftfreq hamming hanning identity "
           "indices kaiser ones tri tril_indices triu_indices zeros"),
    *alike("range", "geomspace linspace logspace", captured=2),
    Row("full", "full"),
    Row("array", "array", view="sometimes", gradient="rearranging"),
    *alike("array", "asanyarray asarray ascontiguousarray asfortranarray require", view="sometimes"),
    Row("asfarray", "array", view="sometimes", in_files=True),
    Row("empty_like", "like", parameters="prototype dtype order subok shape", gradient="zero"),
    *alike("like", "ones_like zeros_like", gradient="zero"),
    Row("full_like", "like"),
    *alike("index", "tril_indices_from triu_indices_from", outputs=2),
    Row("diag_indices_from", "index", outputs=lambda arguments: 2),
    *alike("fact", "ndim shape size", gradient="zero", nests="any"),
    *alike("seen", "isscalar iterable", nests="any"),
    *alike("fact", "can_cast common_type iscomplexobj isrealobj result_type", gradient="zero"),
    Row("einsum_path", "fact", nests="any"),
    *alike("plain", "broadcast_shapes find_common_type isdtype issubclass_ issubdtype issubsctype issctype "
           "mintypecode promote_types typename"),
]  # fmt: skip
