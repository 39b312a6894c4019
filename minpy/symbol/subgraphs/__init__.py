"""Operators whose nodes hold graphs: `_foreach`, `_while_loop` and `_cond`.

A node's graphs are run as compiled programs: one for the body of a loop, with a frame for each iteration, which
backward takes in the opposite order. What the graphs read from outside are inputs of the node.
"""

from __future__ import annotations

from minpy.symbol.subgraphs.branches import Cond
from minpy.symbol.subgraphs.loops import Foreach, WhileLoop
from minpy.symbol.subgraphs.subgraph import Subgraph, is_same
from minpy.symbol.subgraphs.subgraph_operator import ControlFlow
from minpy.symbol.subgraphs.subgraph_operator import _remade as _remade  # where earlier pickles look for it

__all__ = ["CONTROL_FLOW", "Cond", "ControlFlow", "Foreach", "Subgraph", "WhileLoop", "is_same"]

# By what files call them.
CONTROL_FLOW: dict[str, type[ControlFlow]] = {"_foreach": Foreach, "_while_loop": WhileLoop, "_cond": Cond}
