"""Graphs, and what may be done to them: partitioners and passes, registered here, are applied by `optimize_for`.

The modules inside are the intermediate representation, inference, passes, and programs that run graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minpy.importing import import_module
from minpy.namespaces import listing, missing

if TYPE_CHECKING:
    from minpy.graph.partitioning.editable import Entry, Graph, GraphNode
    from minpy.graph.partitioning.python_partitioners import register_partitioner, register_pass
    from minpy.graph.partitioning.registry import Selector

__all__ = ["Entry", "Graph", "GraphNode", "Selector", "register_partitioner", "register_pass"]

# Most programs partition nothing.
_MODULES = {
    "Entry": "editable",
    "Graph": "editable",
    "GraphNode": "editable",
    "Selector": "registry",
    "register_partitioner": "python_partitioners",
    "register_pass": "python_partitioners",
}

__dir__ = listing(__all__)
_missing = missing("minpy.graph", "name", __all__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return globals().setdefault(name, getattr(import_module(f"minpy.graph.partitioning.{_MODULES[name]}"), name))
    return _missing(name)
