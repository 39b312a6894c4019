"""A captured call as a graph that runs: for arguments of some kinds, as long as what was read stays the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy

from minpy.backends.protocol import ArgumentMismatch
from minpy.core.array import FRONT_ENDS, Array, new_array, raw_of
from minpy.core.state import state
from minpy.graph.compiled import Compiled, ValueFacts
from minpy.graph.ir import CONSTANT, Value, topological
from minpy.graph.program import Program
from minpy.graph.recording import GraphOperator
from minpy.jit.argument_writes import are_exclusive, store
from minpy.jit.captured_call import CapturedCall, Result
from minpy.jit.pytrees import LEAF, Nest, unflatten

__all__ = ["RUN_EAGERLY", "Specialization"]

# What a specialization returns for a call that is to run eagerly, without another capture.
RUN_EAGERLY = object()

_data, _node = attrgetter("_data"), attrgetter("_node")
_MAX_PROGRAMS = 16


class Specialization:
    """The graph of a captured call. `fast_math`: whether native code may contract products and sums."""

    def __init__(self, captured: CapturedCall, name: str, fast_math: bool) -> None:
        self.reads = captured.reads
        self.results, self.spec = captured.results, captured.spec
        self.arrays_read = captured.reads.array_rows
        self.count = len(captured.inputs)
        self._kinds = captured.kinds
        self.scalars = captured.scalars
        # The ids of lists, tuples and dicts that it refers to: none among the arguments may be one of them.
        self.containers_read = captured.containers
        self.group = captured.group
        grouped = [] if self.group is None else self.group.nodes
        scalars = [row.node for row in captured.scalars.inputs]
        nodes = [*captured.inputs, *captured.reads.nodes, *grouped, *scalars]
        self.contiguous = captured.contiguous
        self.stores = {output: position for position, output in captured.writes.items()}
        self._written = sorted(captured.writes)
        self.compiled = Compiled(
            captured.outputs, stores={output: nodes[position] for output, position in self.stores.items()}
        )
        self.compiled.fast_math = fast_math
        self.compiled.facts = _facts(captured)
        self.operator = GraphOperator(self.compiled, name)
        self._declared = {node.operator for node in captured.recorder.declared}
        # For each variable of the graph, its position among the arrays of a call: those of the arguments, those that
        # were read, numbers that are inputs.
        self.sources = [nodes.index(node) for node in self.compiled.variables]
        group_kinds = [] if self.group is None else self.group.kinds
        kinds: list[Any] = [*captured.kinds, *(row.kind for row in self.arrays_read), *group_kinds]
        ours = [place for place, kind in enumerate(kinds) if issubclass(kind.cls, Array)]
        self._is_of_numpy = not ours
        self._has_foreign = len(ours) < len(nodes)
        # The array whose class and context results get; the arrays of minpy that hold integers.
        self._like = max(ours, key=lambda place: getattr(kinds[place].cls, "_precedence", 0), default=0)
        self._integers = [place for place in ours if kinds[place].dtype.kind in "iub"]
        self._in_order = self.sources == list(range(len(nodes)))
        self._asks_for_training = any(
            node.operator is not None and node.operator.uses_training for node in self.compiled.order
        )
        self._program: Program | None = None
        is_single = self.spec is LEAF and self.results[0].kind == "output" and not self._written
        self._single = self.results[0] if is_single else None
        # By (training, which arrays need gradients), where calls return one array and do nothing else.
        self._recorded: dict[Any, Program] = {}
        self._returns_array = (
            self._single is not None
            and not (self._is_of_numpy or self._has_foreign or self._integers or self.compiled.states)
            and self._single.cls is kinds[self._like].cls
            and self.compiled.facts.dtypes[self.compiled.outputs[0]].kind in "fc"
        )

    def note_call(self, spec: Nest, pattern: list[int], kinds: Sequence[Any]) -> None:
        """Note what it was captured for: how the arguments are nested, which arrays are one, and what each leaf is."""
        self.call_spec, self.pattern, self.kinds = spec, pattern, kinds

    @property
    def may_run_twice(self) -> bool:
        """Whether nobody sees how often it runs: it changes no argument, calls no user, and no tape records it."""
        return not self._written and self._is_of_numpy and not self._declared

    @property
    def is_settled(self) -> bool | None:
        """Whether it runs as what it will always run as; None: nobody can tell."""
        if self._program is None:
            return None
        return not self._program.may_improve

    def contradiction(self) -> str | None:
        """Return in words how a user's operator gave something else than its rules say; None if it did not."""
        for program in self.compiled.programs if self._declared else ():
            reason = program.contradiction(self._declared)
            if reason is not None:
                return reason
        return None

    # -- calls -------------------------------------------------------------------------------------------------------

    def run(self, arrays: Sequence[numpy.ndarray]) -> Any:
        """Return what the function returns for NumPy's arrays: of the arguments, then those that were read."""
        if self._written and not are_exclusive(arrays, self._written):
            return RUN_EAGERLY
        if not self.compiled.outputs:
            return self._assembled((), arrays)
        buffers = arrays if self._in_order else [arrays[source] for source in self.sources]
        program = self._program or self._program_for(buffers)
        try:
            outputs = program.run(buffers)
        except ArgumentMismatch:
            outputs = program.run([array.copy() for array in buffers])
        single = self._single
        if single is not None:
            output = outputs[0]
            return output[()] if single.scalar else output
        result = self._assembled(outputs, arrays)
        if self._written:
            store(outputs, arrays, self.stores)  # last: what fails before runs as written
        return result

    def _program_for(self, buffers: Sequence[numpy.ndarray]) -> Program:
        program = self.compiled.program(buffers, bool(state.training))
        if not (self._asks_for_training or program.steps.refers):
            self._program = program
        return program

    def call(self, arrays: Sequence[Any]) -> Any:
        """Return what it returns for arrays some of which are ours: recorded on the tape, where they are."""
        if self._returns_array and state.recording:
            inputs = arrays if self._in_order else [arrays[source] for source in self.sources]
            parents = [*map(_node, inputs)]
            requires_grad = tuple([parent is not None for parent in parents])
            program = self._recorded.get((state.training, requires_grad)) or self._recording_program(
                inputs, requires_grad
            )
            if program is not None:
                return self.operator.record(program, [*map(_data, inputs)], parents, arrays[self._like])
        if self._is_of_numpy:
            return self.run(arrays)
        if self._written and not are_exclusive(arrays, self._written):
            return RUN_EAGERLY
        if self._integers and state.recording and any(arrays[place]._node is not None for place in self._integers):
            return RUN_EAGERLY  # graphs give integers no gradients
        outputs: Sequence[Any] = ()
        if self.compiled.outputs:
            inputs = arrays if self._in_order else [arrays[source] for source in self.sources]
            if self._has_foreign:
                ours = FRONT_ENDS["numpy"]
                keeps = state.recording  # what a gradient needs must stay what it is; nobody counts changes of NumPy's
                inputs = [
                    new_array(ours, array.copy() if keeps and array.flags.writeable else array)
                    if isinstance(array, numpy.ndarray)
                    else array
                    for array in inputs
                ]
            outputs = self.operator.call(inputs, arrays[self._like])
            single = self._single
            if single is not None and type(outputs[0]) is single.cls:
                return outputs[0]
        result = self._assembled(outputs, arrays)
        if self._written:
            store(outputs, arrays, self.stores)
        return result

    def _recording_program(self, inputs: Sequence[Any], requires_grad: tuple[bool, ...]) -> Program | None:
        """Return the program for calls that are recorded; None, if nothing needs a gradient or users' values change."""
        if True not in requires_grad:
            return None
        program = self.operator.program([array._data for array in inputs], requires_grad)
        if program.steps.refers:
            return None
        if len(self._recorded) >= _MAX_PROGRAMS:
            self._recorded.clear()
        self._recorded[state.training, requires_grad] = program
        return program

    def _assembled(self, outputs: Sequence[Any], arrays: Sequence[Any], to_numpy: bool = False) -> Any:
        values: list[Any] = []
        returned: dict[Any, Any] = {}
        for result in self.results:
            if result.kind == "constant":
                values.append(result.value)
            elif result.kind != "output":
                values.append(arrays[result.value if result.kind == "argument" else self.count + result.value])
            else:
                if result.value not in returned:
                    output = outputs[result.value]
                    returned[result.value] = _raw(output) if to_numpy else _returned(output, result)
                values.append(returned[result.value])
        return unflatten(self.spec, iter(values))

    # -- derivatives -------------------------------------------------------------------------------------------------

    def gradients(
        self, arrays: Sequence[numpy.ndarray], argnums: Sequence[int]
    ) -> Callable[[Sequence[numpy.ndarray]], Any] | None:
        """Return a function of NumPy arrays that gives (result, gradients of its sum); None without native code.

        `arrays`: examples: of the arguments, then those that were read, then numbers. `argnums`: the positions of the
        arguments that need gradients. The function returns `NotImplemented` where it must not run.
        """
        places = [self.sources.index(argnum) for argnum in argnums if argnum in self.sources]
        computed = [result.value for result in self.results if result.kind == "output"]
        is_whole = len(places) == len(argnums) and len(computed) == len(self.results) == len(set(computed))
        if not is_whole or self.stores or not all(arrays[argnum].dtype.kind == "f" for argnum in argnums):
            return None
        buffers = [arrays[source] for source in self.sources]
        requires_grad = tuple([place in places for place in range(len(self.compiled.arguments))])
        program = self.operator.program(buffers, requires_grad)
        if program.steps.states or program.steps.refers or self._asks_for_training or program.executable() is None:
            return None
        facts: Mapping[Any, Any] = program.facts or {}
        if not all(facts[value.node].dtype.kind == "f" for value in program.steps.cotangents):
            return None
        variables = [self.compiled.variables[place] for place in places]
        order = [[*program.steps.grad_req].index(node) for node in variables]
        sources, assembled = self.sources, self._assembled
        ours = [self.count + place for place, row in enumerate(self.arrays_read) if issubclass(row.kind.cls, Array)]

        def run(arrays: Sequence[Any]) -> Any:
            for position in ours:  # what stands on the tape needs the tape
                if arrays[position]._node is not None:
                    return NotImplemented
            output = program.run_with_gradients([raw_of(arrays[source]) for source in sources])
            if output is None:
                return NotImplemented
            outputs, gradients = output
            return assembled(outputs, arrays, True), [gradients[place] for place in order]

        return run


def _raw(array: Any) -> Any:
    return array if array.ndim else array[()]


def _returned(output: Any, result: Result) -> Any:
    """Return an output of the graph as the function returns it: as a scalar, or as an array of a class of ours."""
    if result.cls is None:
        buffer = output._data if isinstance(output, Array) else numpy.asarray(output)
        return buffer[()] if result.scalar else buffer
    if type(output) is result.cls or not isinstance(output, Array):
        return output
    array: Any = output
    return array.as_nd_ndarray() if result.cls is FRONT_ENDS["mxnet"] else array.as_np_ndarray()


def _facts(captured: CapturedCall) -> ValueFacts:
    """Return shapes and dtypes of all values of the graph."""
    recorder = captured.recorder
    facts: dict[Value, Any] = {Value(node): fact for node, fact in recorder.facts.items()}
    facts.update(recorder.outputs)
    facts.update((Value(node), kind[1:]) for node, kind in zip(captured.inputs, captured.kinds, strict=True))
    facts.update((Value(row.node), row.kind[1:]) for row in captured.reads.array_rows)
    facts.update((Value(row.node), ((), row.dtype)) for row in captured.scalars.inputs)
    if captured.group is not None:
        group = captured.group
        facts.update((Value(node), kind[1:]) for node, kind in zip(group.nodes, group.kinds, strict=True))
    constants = (node for node in topological(captured.outputs) if node.operator is CONSTANT)
    for node in constants:
        value = numpy.asarray(node.attributes["value"])
        facts.setdefault(Value(node), (value.shape, value.dtype))
    return ValueFacts(
        {key: shape for key, (shape, _) in facts.items()}, {key: dtype for key, (_, dtype) in facts.items()}
    )
