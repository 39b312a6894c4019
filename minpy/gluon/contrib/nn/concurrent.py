"""`Concatenate` and `HybridConcatenate` by the names that they had first: `Concurrent`, `HybridConcurrent`."""

from minpy.gluon.nn.concatenation import Concatenate, HybridConcatenate

__all__ = ["Concurrent", "HybridConcurrent"]


class Concurrent(Concatenate):
    """Blocks that are called on the same input, and their outputs joined.

    Parameters
    ----------
    axis : int
        Along which the outputs are joined.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.gluon.contrib.nn.Concurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.contrib.nn.Identity())
    >>> net.initialize()
    >>> net(mx.nd.ones((4, 3))).shape
    (4, 5)
    """


class HybridConcurrent(HybridConcatenate):
    """Blocks that are called on the same input, and their outputs joined: all of it can become one graph.

    Parameters
    ----------
    axis : int
        Along which the outputs are joined.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.contrib.nn.Identity())
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.ones((4, 3))).shape
    (4, 5)
    """
