"""What a hybridized block has become: a graph, where its inputs come from, and the operator that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.array import Array
from minpy.core.dispatch import _meet
from minpy.core.errors import MXNetError
from minpy.gluon.block.nesting import _regroup
from minpy.gluon.parameter import Parameter
from minpy.graph.compiled import Compiled
from minpy.graph.recording import GraphOperator
from minpy.symbol import Symbol

__all__ = ["CachedGraph"]


class CachedGraph:
    """A graph that a block was traced to.

    Parameters
    ----------
    name : str
        Of the block.
    inputs : sequence of Symbol or None
        The variables that stand for the block's arguments, None where an argument is None.
    out : Symbol
        What the block computes.
    form
        How the outputs are put together; see `nesting`.
    parameters : mapping of str to Parameter
        By their names.

    Raises
    ------
    MXNetError
        If the graph has a variable that is neither an argument nor a parameter.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Symbol | None],
        out: Symbol,
        form: Any,
        parameters: Mapping[str, Parameter],
    ) -> None:
        self.inputs = inputs
        self.out = out
        self.form = form
        self.compiled = Compiled(out.values)
        self.operator = GraphOperator(self.compiled, name)
        positions = {one.values[0].node: index for index, one in enumerate(inputs) if one is not None}
        # For each variable: the position of an argument, or a parameter.
        self.sources: list[Any] = []
        for node in self.compiled.variables:
            source: Any = positions.get(node)
            if source is None:
                source = parameters.get(node.name)
            if source is None:
                raise MXNetError(
                    f"{name}: its graph has a variable {node.name!r}, which is neither an argument nor a parameter of "
                    "the block or of those inside. Make it with self.params.get(...), or register the block that it "
                    "belongs to as a child."
                )
            self.sources.append(source)
        self.parameters = [source for source in self.sources if not isinstance(source, int)]
        self._is_single = form == 0

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Return the outputs for arguments, as arrays in a flat list.

        Raises
        ------
        DeferredInitializationError
            If a parameter has no values yet.
        """
        like = leaves[0]
        for leaf in leaves:
            if leaf is not None and leaf is not like and type(leaf) is not type(like):
                like = leaf if like is None else _meet(self.operator, like, leaf)
        context = like.context
        arrays: list[Array] = [
            leaves[source] if type(source) is int else source.data(context) for source in self.sources
        ]
        found = self.operator.call(arrays, like)
        if self._is_single:
            return found[0]
        return _regroup(found, self.form)[0]
