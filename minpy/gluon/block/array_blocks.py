"""`ArrayBlock` and `HybridArrayBlock`: blocks whose call returns one array, of the kind of its first argument.

Only type checkers see a difference to `Block` and `HybridBlock`, whose calls may return anything: subclasses of
these two are subclasses of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from minpy.gluon.block.block import Block
from minpy.gluon.block.hybrid_block import HybridBlock

__all__ = ["ArrayBlock", "HybridArrayBlock"]

if TYPE_CHECKING:
    from minpy.ndarray.ndarray import NDArray
    from minpy.symbol.symbol import Symbol

    _A = TypeVar("_A", bound=NDArray | Symbol)

    class ArrayBlock(Block):
        @overload
        def __call__(self, x: _A, /, *args: Any, **kwargs: Any) -> _A: ...
        @overload
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    class HybridArrayBlock(HybridBlock):
        @overload
        def __call__(self, x: _A, /, *args: Any, **kwargs: Any) -> _A: ...
        @overload
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

else:
    ArrayBlock, HybridArrayBlock = Block, HybridBlock
