"""Operators around a graph: what stands in the place of a group of nodes that a partitioner has taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy

from minpy.core.base import DTypes, Shapes
from minpy.core.configured import ConfiguredOperator, OperatorFamily
from minpy.core.errors import ArgumentError
from minpy.graph.partitioning.registering import PythonStrategy, family_maker
from minpy.symbol.subgraphs import Subgraph
from minpy.symbol.symbol import Symbol

__all__ = ["GraphOperatorFamily", "OperatorAroundGraph", "PythonGraphOperator"]


class OperatorAroundGraph(ConfiguredOperator):
    """An operator that has a graph, whose variables are its inputs, and whose outputs are its own.

    Shapes and dtypes are inferred over the graph; its auxiliary states are those of the operator. What computes it is
    for derived classes to say.

    Parameters
    ----------
    family, parameters, noted, graphs
        As for `ConfiguredOperator`; there is one graph.
    extra : int
        How many inputs come after those of the graph.
    """

    uses_training = True

    def __init__(
        self,
        family: OperatorFamily,
        parameters: Mapping[str, str],
        noted: Mapping[str, str],
        graphs: Sequence[Symbol],
        extra: int = 0,
    ) -> None:
        if len(graphs) != 1:
            raise ArgumentError(
                f"{family.__name__} stands for a part of a graph, which it holds; got {len(graphs)} graphs. It is made by "
                "optimize_for."
            )
        symbol = graphs[0]
        names = symbol.list_inputs()
        states = symbol.list_auxiliary_states()
        outputs = ["output"] if len(symbol) == 1 else [f"output{index}" for index in range(len(symbol))]
        names += [f"extra{index}" for index in range(extra)]
        super().__init__(family, parameters, noted, graphs, names, outputs, states)
        self.extra = extra
        self.graph = Subgraph(symbol, range(len(names) - extra))

    def shape_inference(self, inputs: Shapes, outputs: Shapes, **_: Any) -> tuple[Shapes, Shapes]:  # type: ignore[override]
        """Infer over the graph."""
        count = len(inputs) - self.extra
        found, results = self.graph.infer_shapes(inputs[:count], outputs)
        return [*found, *inputs[count:]], results

    def type_inference(self, inputs: DTypes, outputs: DTypes, **_: Any) -> tuple[DTypes, DTypes]:  # type: ignore[override]
        """Infer over the graph."""
        count = len(inputs) - self.extra
        found, results = self.graph.infer_dtypes(inputs[:count], outputs)
        return [*found, *inputs[count:]], results


class PythonGraphOperator(OperatorAroundGraph):
    """An operator around a graph that is run as it is, or by what a partitioner says."""


class GraphOperatorFamily(OperatorFamily):
    """Makes the operators of nodes that stand for the groups of a strategy.

    Parameters
    ----------
    strategy : PythonStrategy
    """

    is_function: ClassVar[bool] = False

    def __init__(self, strategy: PythonStrategy) -> None:
        super().__init__(strategy.__name__, f"Stands for the groups of {strategy.where}.")
        self.strategy = strategy

    def configure(
        self, parameters: Mapping[str, str], noted: Mapping[str, str], graphs: Sequence[Any]
    ) -> ConfiguredOperator:
        """Make the operator of one node."""
        return PythonGraphOperator(self, parameters, noted, graphs)


@family_maker
def _family(strategy: PythonStrategy) -> OperatorFamily:
    return GraphOperatorFamily(strategy)
