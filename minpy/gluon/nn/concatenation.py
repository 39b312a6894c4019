"""Layers side by side, their outputs joined: `Concatenate`, `HybridConcatenate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy import ndarray as nd
from minpy.core.docstrings import documented
from minpy.core.errors import MXNetError
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.nn.containers import HybridSequential, Sequential

__all__ = ["Concatenate", "HybridConcatenate"]


PARAMETERS = """
Parameters
----------
axis : int
    Along which the outputs are joined.
prefix, params
    See `Block`.

Examples
--------
>>> import minpy as mx
>>> net = mx.gluon.{name}(axis=1)
>>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Identity())
>>> net.initialize(){hybridize}
>>> net(mx.nd.ones((4, 3))).shape
(4, 5)
"""


def _joined(F: Any, name: str, outputs: Sequence[Any], axis: int) -> Any:
    if not outputs:
        raise MXNetError(f"{name}: there are no blocks in it whose outputs could be joined. Add some with add().")
    return F.np.concatenate(outputs, axis=axis) if is_np_array() else F.concat(*outputs, dim=axis)


@documented(parameters=PARAMETERS.format(name="nn.Concatenate", hybridize=""))
class Concatenate(Sequential):
    """Blocks that are called on the same input, and their outputs joined.

    {parameters}
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        """Return the blocks' outputs, joined."""
        return _joined(nd, self.name, [block(x, *args) for block in self._children.values()], self.axis)


@documented(parameters=PARAMETERS.format(name="nn.HybridConcatenate", hybridize="\n>>> net.hybridize()"))
class HybridConcatenate(HybridSequential):
    """Blocks that are called on the same input, and their outputs joined: all of it can become one graph.

    {parameters}
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the blocks' outputs, joined."""
        return _joined(F, self.name, [block(x, *args) for block in self._children.values()], self.axis)
