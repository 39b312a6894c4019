"""The attributes of hybridized blocks: which are their own affair, and how they outlive a trace."""

from __future__ import annotations

from typing import Any

__all__ = ["INTERNAL", "SavedState"]

# Attributes of all blocks, which say nothing of what one computes.
INTERNAL = frozenset(
    """
    _active _backend _backend_opts _cached_graph _cached_op _cached_op_args _callback _changes _children _empty_prefix
    _flags _forward_hooks _forward_pre_hooks _graphs _in_format _is_captured _lasting _monitor_all _name _optimizations
    _out_format _params _prefix _reg_params _scope _specialized
    """.split()  # noqa: SIM905
)

# Those that say what it has become, beside its graphs.
_OF_GRAPHS = """
    _active _backend _backend_opts _cached_graph _cached_op _cached_op_args _flags _in_format _lasting _optimizations
    _out_format
    """.split()  # noqa: SIM905


class SavedState:
    """What a hybrid block was: `restore` takes steps and graphs away again that are added to it from here on."""

    def __init__(self, block: Any) -> None:
        self._block = block
        self._before = {name: vars(block)[name] for name in _OF_GRAPHS if name in vars(block)}
        self._graphs = block._graphs.copy()
        block._optimizations = block._optimizations.followed()

    def restore(self) -> None:
        """Let the block be what it was."""
        block = self._block
        vars(block).update(self._before)
        block._graphs.restore(self._graphs)
        for graph in block._graphs.values():
            graph.is_settled = graph.applied == len(block._optimizations.steps)
