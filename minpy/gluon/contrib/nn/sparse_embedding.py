"""`SparseEmbedding`: an `Embedding` whose weight was stored by rows."""

from __future__ import annotations

from typing import Any

from minpy.gluon.nn.embedding import _Table

__all__ = ["SparseEmbedding"]


class SparseEmbedding(_Table):
    """A table of vectors, one for each index. Arrays are dense here: it does what `nn.Embedding` does.

    Parameters
    ----------
    input_dim : int
        The number of indices: they are 0 to `input_dim - 1`. Those outside are taken as the nearest.
    output_dim : int
        The length of the vectors.
    dtype : str or numpy.dtype
        Of the vectors.
    weight_initializer : str or Initializer, optional
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For dimensions that are no positive integers.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.contrib.nn.SparseEmbedding(10, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 2], [7, 0]])).shape
    (2, 2, 3)
    """

    def __init__(
        self, input_dim: int, output_dim: int, dtype: Any = "float32", weight_initializer: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._make_weight(input_dim, output_dim, dtype, weight_initializer, True, stype="row_sparse")
