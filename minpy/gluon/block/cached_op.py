"""What a hybridized block has become: a graph, where its inputs come from, and the operator that it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minpy.core.array import PLAIN_CLASSES, Array
from minpy.core.dispatch import array_to_follow
from minpy.core.errors import MXNetError
from minpy.gluon.change_counter import CHANGES
from minpy.gluon.parameter import Parameter
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.interpreting import ObservedName
from minpy.graph.recording import GraphOperator
from minpy.graph.state_pool import StateSet
from minpy.symbol import Symbol

__all__ = ["CachedOp"]


class CachedOp:
    """A graph, `out`, that a block was traced to.

    `inputs` are the variables of the block's arguments, None where an argument is None; `captured` has those of other
    arrays. `rebuild` puts the outputs, a list, together as the block returns them; None: there is one, and it is
    returned.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Symbol | None],
        out: Symbol,
        rebuild: Callable[[list[Any]], Any] | None,
        parameters: Mapping[str, Parameter],
        captured: Sequence[tuple[Symbol, Any]] = (),
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.out = out
        self.captured = captured
        self.compiled = Compiled(out.values)
        self.operator = GraphOperator(self.compiled, name)
        source_of: dict[Any, Any] = {variable.values[0].node: array for variable, array in captured}
        source_of.update(
            (variable.values[0].node, index) for index, variable in enumerate(inputs) if variable is not None
        )
        # For each variable: the position of an argument, a parameter, or an array.
        self.sources: list[Any] = []
        for node in self.compiled.variables:
            source: Any = source_of.get(node, parameters.get(node.name))
            if source is None:
                raise MXNetError(
                    f"{name}: its graph has a variable {node.name!r}, which is neither an argument nor a parameter of "
                    "the block or of those inside. Make it with self.params.get(...), or register the block that it "
                    "belongs to as a child."
                )
            self.sources.append(source)
        self._takes_leaves = self.sources == list(range(len(inputs)))
        self._rows = [*zip(self.compiled.variables, self.sources, strict=True)]
        self.compiled.parameters = {node for node, source in self._rows if isinstance(source, Parameter)}
        # By context: as of when they were looked up, and each source with its array.
        self._lasting_arrays: dict[Any, tuple[int, list[tuple[Any, Any]]]] = {}
        self.parameters = [source for source in self.sources if isinstance(source, Parameter)]
        self.rebuild = rebuild
        self.returns_numpy = False  # whether its outputs have NumPy's semantics, whatever the arguments have
        self.has_no_program = False  # whether shapes in it depend on values
        self.applied = 0  # how many of the block's steps it has gone through; see `optimizing`
        self.is_settled = True  # whether it can be called as it is

    def lasting_inputs(self) -> dict[str, Any]:
        """Return parameters and captured arrays by the names of their variables."""
        return {node.name: source for node, source in self._rows if type(source) is not int}

    def _arrays(self, leaves: Sequence[Any]) -> tuple[Sequence[Array], Any]:
        """Return the arrays of all variables, and the one whose class and context the outputs get."""
        like = leaves[0]
        for leaf in leaves:
            if type(leaf) is not type(like) and leaf is not None:
                like = leaf if like is None else array_to_follow(self.operator, like, leaf)
        if self._takes_leaves and type(like) in PLAIN_CLASSES and not self.returns_numpy:
            return leaves, like
        if self.returns_numpy and like._keeps_dtype:
            like = like.as_np_ndarray()
        context = None if type(like) in PLAIN_CLASSES else like.context
        dated_arrays = self._lasting_arrays.get(context)
        if dated_arrays is None or dated_arrays[0] != CHANGES.count:
            dated_arrays = self._lasting_arrays[context] = CHANGES.count, self._arrays_on(like.context)
        return [leaves[source] if array is None else array for source, array in dated_arrays[1]], like

    def _arrays_on(self, context: Any) -> list[tuple[Any, Any]]:
        """Return each source with its array on a context; None for those that are arguments."""
        return [
            (source, None)
            if type(source) is int
            else (source, source.data(context) if isinstance(source, Parameter) else source)
            for source in self.sources
        ]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Return what the block returns for these arguments."""
        arrays, like = self._arrays(leaves)
        outputs = self.operator.call(arrays, like)
        return outputs[0] if self.rebuild is None else self.rebuild(outputs)

    def observe(self, leaves: Sequence[Any], callback: Callable[..., Any], monitor_all: bool, training: bool) -> None:
        """Run it step by step on copies of its states, and call `callback` as `HybridBlock.register_op_hook` says."""
        arrays, like = self._arrays(leaves)
        count = len(self.compiled.arguments)
        buffers = [array._data if index < count else array._data.copy() for index, array in enumerate(arrays)]
        program = self.compiled.program(buffers, training, inline=False)

        def observe_step(node: Any, inputs: Sequence[Any], outputs: Any) -> None:
            operator_name = ObservedName(node.kind or node.operator.__name__)
            if outputs is None:  # it has not run yet
                names = node.operator.argument_names(len(node.inputs))
                for position, value in enumerate(inputs if monitor_all else ()):
                    name = names[position] if position < len(names) else position
                    callback(ObservedName(f"{node.name}_{name}"), operator_name, like._like(value))
                return
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            for value, name in zip(outputs, node.output_names(), strict=False):
                callback(ObservedName(f"{node.name}_{name}"), operator_name, like._like(value))

        start(program, buffers, observe_step, None if self.compiled.state_pool is None else StateSet())
