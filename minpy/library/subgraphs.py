"""`NativeSubgraphOperator`: an operator of a native library that computes a part of a graph.

A partitioner chose that part. The library gets it when a state is created, as the attribute `subgraph_sym_json`; the
state then computes outputs and gradients. Shapes and dtypes are inferred over the graph, without the library, and its
auxiliary states are those of the operator. Files hold the graph inside of the node, so that a model that was
partitioned and saved computes again once the library is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minpy.core.array import Shaped
from minpy.core.errors import ArgumentError
from minpy.library.binary import Binary, OperatorEntry, Texts
from minpy.library.call_arguments import Kind, graph_text, require_dtype
from minpy.library.native_operator import NativeFamily, NativeOperator, output_names
from minpy.symbol.editing import editable
from minpy.symbol.graph_operators import OperatorAroundGraph
from minpy.symbol.subgraphs import Subgraph
from minpy.symbol.symbol import Symbol

__all__ = ["SUBGRAPH", "NativeSubgraphFamily", "NativeSubgraphOperator"]

# The attribute in which libraries get the graph.
SUBGRAPH = "subgraph_sym_json"


class NativeSubgraphOperator(NativeOperator):
    """An operator of a library with its attributes and its graph.

    Its inputs are the variables of the graph, in their order, and then those that a pass has added to the node, which
    are no part of inference.
    """

    gradient_source = "the Backward of its state, a CustomStatefulOp"

    def __init__(
        self,
        family: NativeSubgraphFamily,
        parameters: Mapping[str, str],
        annotations: Mapping[str, str],
        graphs: Sequence[Symbol],
        extra: int = 0,
    ) -> None:
        if len(graphs) != 1:
            raise ArgumentError(
                f"{family.__name__} of {family.binary.path} stands for a part of a graph, which it holds; got "
                f"{len(graphs)} graphs. Nodes of it are made by optimize_for, with a partitioner."
            )
        symbol = graphs[0]
        names = symbol.list_inputs()
        states = {*symbol.list_auxiliary_states()}
        mutated = [position for position, name in enumerate(names) if name in states]
        count = len(names)
        names += [f"{'_'.join(names)}_extra{index}" for index in range(extra)]
        super().__init__(family, parameters, annotations, graphs, names, output_names(len(symbol)), mutated, extra)
        self.graph = Subgraph(symbol, range(count))
        self._state_texts: Texts | None = None

    def state_texts(self) -> Texts:
        """Return the attributes that a state is made from: the node's, and its graph."""
        if self._state_texts is None:
            text = graph_text(editable(self.graph.symbol), f"{self.__name__}: createOpState").decode()
            self._state_texts = Texts({**self.all_attributes, SUBGRAPH: text}, f"{self.__name__}: ")
        return self._state_texts

    def output_kinds(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the shapes and dtypes of the outputs for those of all inputs: inferred over the graph."""
        inputs = [Shaped(*kind) for kind in kinds[: len(kinds) - self.extra]]
        shapes, dtypes = self.graph.facts_of(inputs)
        kinds_of_outputs = [(shapes[value], dtypes[value]) for value in self.graph.symbol.values]
        for name, (shape, dtype) in zip(output_names(len(kinds_of_outputs)), kinds_of_outputs, strict=True):
            require_dtype(dtype, self.__name__, name, Shaped(shape, dtype))
        return kinds_of_outputs

    # Over the graph.
    shape_inference: Any = OperatorAroundGraph.shape_inference
    type_inference: Any = OperatorAroundGraph.type_inference


class NativeSubgraphFamily(NativeFamily):
    """A subgraph operator of a library, before it has attributes and a graph."""

    is_function: ClassVar[bool] = False

    def __init__(self, binary: Binary, entry: OperatorEntry) -> None:
        super().__init__(binary, entry)
        self.__doc__ = f"The subgraph operator {entry.name!r} of the native library {binary.path}."

    def configure(
        self, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Sequence[Symbol]
    ) -> NativeSubgraphOperator:
        """Make the operator of one node."""
        extra = self.extra_inputs({**annotations, **parameters})
        return NativeSubgraphOperator(self, parameters, annotations, graphs, extra)
