"""`Embedding`: a vector for each index."""

from __future__ import annotations

from typing import Any

from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.argument_checks import count

__all__ = ["Embedding"]


class _Table(HybridArrayBlock):
    """The base of `Embedding` and `SparseEmbedding`."""

    def _make_weight(
        self, input_dim: int, output_dim: int, dtype: Any, init: Any, sparse_grad: bool, **options: Any
    ) -> None:
        kind = type(self).__name__
        self._kwargs = {
            "input_dim": count(kind, "input_dim", input_dim),
            "output_dim": count(kind, "output_dim", output_dim),
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=init,
            dtype=dtype,
            grad_stype="row_sparse" if sparse_grad else "default",
            **options,
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        """Return the vectors of indices: one axis more."""
        embedding = F.npx.embedding if is_np_array() else F.Embedding
        return embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class Embedding(_Table):
    """A table of vectors, one for each index: words, for example, become vectors.

    Parameters
    ----------
    input_dim : int
        The number of indices: they are 0 to `input_dim - 1`. Those outside are taken as the nearest.
    output_dim : int
        The length of the vectors.
    dtype : str or numpy.dtype
        Of the vectors.
    weight_initializer : str or Initializer, optional
    sparse_grad : bool
        Taken for the sake of programs that give it: gradients are dense here.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For dimensions that are no positive integers.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Embedding(10, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[1, 2], [7, 0]])).shape
    (2, 2, 3)
    >>> layer
    Embedding(10 -> 3, float32)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._make_weight(input_dim, output_dim, dtype, weight_initializer, sparse_grad, allow_deferred_init=True)
