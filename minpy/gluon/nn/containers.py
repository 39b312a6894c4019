"""Blocks in a row: `Sequential`, `HybridSequential`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.block.array_blocks import ArrayBlock, HybridArrayBlock

__all__ = ["HybridSequential", "Sequential"]


class _BlocksInARow(Block):
    """The base of `Sequential` and `HybridSequential`: a sequence of blocks, called one after the other."""

    _is_sequence = True

    def _call_all(self, x: Any, args: tuple[Any, ...]) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], x[1:]
        return (x, *args) if args else x

    def __getitem__(self, key: int | slice) -> Any:
        selected = list(self._children.values())[key]
        if not isinstance(selected, list):
            return selected
        container: Any = type(self)(prefix=self._prefix)
        with container.name_scope():
            container.add(*selected)
        return container

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())


class Sequential(_BlocksInARow, ArrayBlock):
    """Blocks called one after the other, each with what the one before returns.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.gluon.nn.Sequential()
    >>> with net.name_scope():
    ...     net.add(mx.gluon.nn.Dense(4, activation='relu'), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net(mx.nd.ones((3, 5))).shape
    (3, 2)
    """

    def add(self, *blocks: Block) -> None:
        """Add blocks at the end."""
        for block in blocks:
            self.register_child(block)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what the last block returns; further arguments go to the first."""
        return self._call_all(x, args)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the blocks inside; if all can be, a HybridSequential of them is faster, as a warning says."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warnings.warn(
                f"All blocks inside {self.prefix!r} are HybridBlocks. Make it a HybridSequential, and the whole "
                "becomes one graph.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_BlocksInARow, HybridArrayBlock):
    """Blocks called one after the other, which can become one graph together.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.gluon.nn.HybridSequential()
    >>> with net.name_scope():
    ...     net.add(mx.gluon.nn.Dense(4, activation='relu'), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.ones((3, 5))).shape
    (3, 2)
    """

    def add(self, *blocks: HybridBlock) -> None:
        """Add blocks at the end."""
        for block in blocks:
            self.register_child(block)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return what the last block returns; further arguments go to the first."""
        return self._call_all(x, args)
