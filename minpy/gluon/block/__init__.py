"""Blocks: `gluon.block`."""

from minpy.gluon.block.block import Block
from minpy.gluon.block.hybrid_block import HybridBlock
from minpy.gluon.block.nesting import _flatten as _flatten
from minpy.gluon.block.nesting import _regroup as _regroup
from minpy.gluon.block.scope import _BlockScope as _BlockScope
from minpy.gluon.block.symbol_block import SymbolBlock
from minpy.namespaces import module_functions

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
__dir__, __getattr__ = module_functions(__name__, __all__)
