"""`SparseEmbedding`: an `Embedding` whose weight was stored by rows."""

from __future__ import annotations

from typing import Any

from minpy.core.switches import is_np_array
from minpy.gluon.block import HybridBlock
from minpy.gluon.nn.arguments import count

__all__ = ["SparseEmbedding"]


class SparseEmbedding(HybridBlock):
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
        self._kwargs = {
            "input_dim": count("SparseEmbedding", "input_dim", input_dim),
            "output_dim": count("SparseEmbedding", "output_dim", output_dim),
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        """Return the vectors of indices: one axis more."""
        embedding = F.npx.embedding if is_np_array() else F.Embedding
        return embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)
