"""A captured call as a graph that runs: for arguments of some kinds, as long as what the function read stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.state import state
from minpy.graph.compiled import Compiled, Known
from minpy.graph.frame import start
from minpy.graph.ir import Value
from minpy.graph.recording import GraphOperator
from minpy.graph.straight import Straight
from minpy.jit.capturing import Captured
from minpy.jit.pytrees import LEAF, unflatten

__all__ = ["Specialization"]


class Specialization:
    """The graph of a captured call.

    Parameters
    ----------
    captured : Captured
    name : str
        What messages call it.
    fast_math : bool
        Whether native code may contract products and sums.

    Attributes
    ----------
    reads : Reads
        What it holds for.
    compiled : Compiled
    sources : list of int
        For each variable of the graph, its position among the arrays of a call: arguments, then arrays that were read.
    """

    def __init__(self, captured: Captured, name: str, fast_math: bool) -> None:
        self.reads = captured.reads
        self.outputs, self.spec = captured.outputs, captured.spec
        self.arrays_read = captured.reads.array_rows
        self.count = len(captured.inputs)
        nodes = [*captured.inputs, *captured.reads.nodes]
        self.stores = {head: position for position, head in captured.writes.items()}
        self.compiled = Compiled(
            captured.heads, stores={head: nodes[position] for head, position in self.stores.items()}
        )
        self.compiled.fast_math = fast_math
        self.compiled.facts = _facts(captured)
        self.operator = GraphOperator(self.compiled, name)
        self.sources = [nodes.index(node) for node in self.compiled.variables]
        self._straight: dict[bool, Straight | None] = {}
        if self.spec is LEAF:
            self._single: Any = self.outputs[0]
        else:
            self._single = None

    def run(self, arrays: Sequence[numpy.ndarray]) -> Any:
        """Return what the function returns for NumPy's arrays: of the arguments, then those that were read."""
        heads: Sequence[Any] = ()
        if self.compiled.heads:
            raws = [arrays[source] for source in self.sources]
            program = self.compiled.program(raws, bool(state.training))
            heads, _ = start(program, raws)
        single = self._single
        if single is not None and single.kind == "head":
            head = heads[0]
            return head[()] if single.scalar else head
        return self._assembled(heads, arrays)

    def call(self, arrays: Sequence[Any]) -> Any:
        """Return what it returns for arrays some of which are ours: recorded on the tape, where they are."""
        heads: Sequence[Any] = ()
        if self.compiled.heads:
            inputs = [arrays[source] for source in self.sources]
            inputs = [new_array(FRONT_ENDS["numpy"], one) if isinstance(one, numpy.ndarray) else one for one in inputs]
            ours = [array for array in arrays if isinstance(array, Array)]
            heads = self.operator.call(inputs, ours[0])
        return self._assembled(heads, arrays)

    def _assembled(self, heads: Sequence[Any], arrays: Sequence[Any]) -> Any:
        values: list[Any] = []
        known: dict[Any, Any] = {}
        for output in self.outputs:
            if output.kind == "constant":
                values.append(output.value)
            elif output.kind != "head":
                values.append(arrays[output.value if output.kind == "argument" else self.count + output.value])
            else:
                if output.value not in known:
                    known[output.value] = _result(heads[output.value], output)
                values.append(known[output.value])
        return unflatten(self.spec, iter(values))


def _result(head: Any, output: Any) -> Any:
    if output.cls is None:
        raw = head._data if isinstance(head, Array) else numpy.asarray(head)
        return raw[()] if output.scalar else raw
    if type(head) is not output.cls and isinstance(head, Array):
        return head.as_nd_ndarray() if output.cls is FRONT_ENDS["mxnet"] else head.as_np_ndarray()
    return head


def _facts(captured: Captured) -> Known:
    """Return shapes and dtypes of all values of the graph."""
    recorder = captured.recorder
    facts: dict[Value, Any] = {Value(node): fact for node, fact in recorder.facts.items()}
    facts.update(recorder.outputs)
    facts.update((Value(node), kind[1:]) for node, kind in zip(captured.inputs, captured.kinds, strict=True))
    facts.update((Value(row.node), row.kind[1:]) for row in captured.reads.array_rows)
    return Known({key: shape for key, (shape, _) in facts.items()}, {key: dtype for key, (_, dtype) in facts.items()})
