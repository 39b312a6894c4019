"""`Compiled`: a graph and its programs, one for each combination of shapes, dtypes and mode."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from minpy.backends.explanation import Explanations
from minpy.backends.switches import keeps_bits
from minpy.core.errors import UnknownShapeError
from minpy.graph.allowance import Allowance
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value, topological, variables
from minpy.graph.locking import lock
from minpy.graph.program import Program
from minpy.graph.schedule import Steps, lowered
from minpy.graph.state_pool import StatePool
from minpy.ops.inference.partial_shapes import is_known, show_shape

__all__ = ["Compiled", "ValueFacts", "infer_from_arrays", "require_everything"]

_MOST_PROGRAMS = 32
# After so many programs that were made anew, because what users' functions refer to had changed, these are only called.
_MAX_RECOMPILES = 8


class ValueFacts(NamedTuple):
    """The shapes and dtypes of all values of a graph."""

    shapes: Mapping[Value, Any]
    dtypes: Mapping[Value, Any]


class Compiled:
    """A graph that is run, and the programs that it has become.

    Executors, gradients of symbols, and graphs that are called as operators each have one. Programs that have not been
    used for long are forgotten; calls of them that are in flight keep them.

    `keeps_states`: whether operators whose calls have a state keep one over all calls, as in an executor. `compiles`:
    whether its programs may become native code: see `minpy.backends`. `stores`: by their positions, the outputs that
    callers put in the place of a variable's values. Native code without gradients does it where it can: then the output
    is the array that was given.
    """

    def __init__(
        self,
        outputs: Sequence[Value],
        keeps_states: bool = False,
        compiles: bool = True,
        stores: Mapping[int, Node] | None = None,
    ) -> None:
        self.outputs = list(outputs)
        self.compiles = compiles
        self.fast_math = False  # whether native code may contract products and sums
        # The shapes and dtypes of all values, where they are known before: of the arrays of every call.
        self.facts: ValueFacts | None = None
        # The variables whose arrays seldom change, and only where it is noted: native code keeps what is made of them.
        self.parameters: Collection[Node] = ()
        self._stateful_operators: dict[Node, Any] | None = {} if keeps_states else None
        # The sets of states that calls take in turn, if `keep_states` was asked for, and there is an operator with one.
        self.state_pool: StatePool | None = None
        self.order = topological(self.outputs)  # the nodes of the graph, each after its inputs
        # The variables, in the order in which arrays are given for them: arguments, then auxiliary states.
        self.arguments, self.states = variables(self.order)
        stores = stores or {}
        self.arguments += [node for node in dict.fromkeys(stores.values()) if node not in self.arguments]
        self.variables = [*self.arguments, *self.states]
        # The positions of the outputs in `stores`, and of the variables.
        self.stored = {output: self.variables.index(node) for output, node in stores.items()}
        self._programs: OrderedDict[Any, Program] = OrderedDict()
        self.allowance = Allowance()  # what its programs may cost
        self._recompiles = 0

    def keep_states(self) -> None:
        """Let operators whose calls have a state keep it for further calls, from now on; calls in flight share none."""
        if self.state_pool is None and any(getattr(node.operator, "is_stateful", False) for node in self.order):
            self.state_pool = StatePool()
            self._stateful_operators = {}
            self._programs.clear()

    def __len__(self) -> int:
        return len(self._programs)

    @property
    def programs(self) -> list[Program]:
        """The programs that there are, the latest first."""
        with lock():
            return list(reversed(self._programs.values()))

    def may_plan(self, key: Any) -> bool:
        """Tell whether a program may be made for arrays of kinds for which there is none; the call is counted.

        If it may not, the graph is to be run without one, where it can be. A graph whose shapes are known has few.
        """
        if self.facts is not None or self.allowance.is_free or keeps_bits():
            return True
        with lock():
            times = self.allowance.times_seen(key)
        return self.allowance.allows_another(times)

    def program(
        self,
        arrays: Sequence[Any],
        training: bool,
        grad_req: Mapping[Node, str] | None = None,
        *,
        repeatable: bool = False,
        facts: ValueFacts | None = None,
        inline: bool = True,
    ) -> Program:
        """Return the program for arrays of these shapes and dtypes.

        `arrays`: for every variable; only shapes and dtypes are looked at. `grad_req`: which gradients are wanted,
        'write' or 'add'; without them the program has no backward part. `repeatable`: whether a backward part may be
        added later: see `with_gradients`. `facts`: what has been inferred from these arrays, if it has been. `inline`:
        whether users' operators become what they compute, where that can be told. A program whose functions refer to
        something that has changed is made anew; after some of these, users' operators are only called.

        Raises ShapeError or DTypeError if the arrays do not fit the graph. Raises NoGradientError if a gradient is
        asked for through an operator that has none.
        """
        gradient_key = tuple(grad_req.items()) if grad_req else ()
        key = (training, gradient_key, repeatable, inline, tuple([(array.shape, array.dtype) for array in arrays]))
        with lock():
            program = self._programs.get(key)
            if program is not None and program.steps.is_valid():
                self._programs.move_to_end(key)
                return program
            if program is not None:
                del self._programs[key]
                self._recompiles += 1
        began = perf_counter()
        facts = facts or self.facts
        if facts is None:
            facts = infer_from_arrays(self.order, self.variables, arrays, "of the array that is given")
            require_everything(self.order, facts)
        steps = lowered(
            self.outputs,
            self.variables,
            *facts,
            training,
            repeatable or bool(gradient_key),
            inline and self._recompiles < _MAX_RECOMPILES,
            self._stateful_operators,
        )
        if not grad_req:
            steps.stored = self.stored
        parameters = [position for position, node in enumerate(self.variables) if node in self.parameters]
        return self._store(key, steps, grad_req, began, parameters)

    def explain(self) -> Explanations:
        """Return what became of each program that there is: which kernels, what stayed a call and why, what it costs.

        The latest program comes first; each prints as text, and has a `picture`.
        """
        return Explanations([program.explain() for program in self.programs])

    def with_gradients(self, program: Program, arrays: Sequence[Any], grad_req: Mapping[Node, str]) -> Program:
        """Return a program with the same forward part as one that is `repeatable`, and a backward part.

        It is found again by `program`, for further calls.
        """
        kinds = tuple([(array.shape, array.dtype) for array in arrays])
        key = (program.steps.training, tuple(grad_req.items()), False, program.steps.inline, kinds)
        return self._store(key, program.steps, grad_req, perf_counter())

    def _store(
        self,
        key: Any,
        steps: Steps,
        grad_req: Mapping[Node, str] | None,
        began: float,
        parameters: Collection[int] = (),
    ) -> Program:
        """Return a program of steps, with the gradients that are wanted; it is found again by a key."""
        if grad_req:
            steps = steps.differentiated(grad_req)
        is_free = self.allowance.charge(perf_counter() - began)
        program = Program(steps, self.compiles, self.fast_math, parameters, self.allowance, is_free)
        with lock():
            program = self._programs.setdefault(key, program)  # another thread may have made one, too
            while len(self._programs) > _MOST_PROGRAMS:
                self._programs.popitem(last=False)
            return program


def infer_from_arrays(
    order: Sequence[Node],
    nodes: Sequence[Node],
    arrays: Sequence[Any],
    origin: str,
    known_dtypes: Mapping[Value, Any] | None = None,
) -> ValueFacts:
    """Return the shapes and dtypes of a graph's values, from arrays for its variables; dtypes may be known already.

    Raises ShapeError or DTypeError if they contradict each other.
    """
    shapes = {Value(node): array.shape for node, array in zip(nodes, arrays, strict=True)}
    if known_dtypes is None:
        dtypes = {Value(node): array.dtype for node, array in zip(nodes, arrays, strict=True)}
        known_dtypes = infer_dtypes(order, [(dtypes, origin)]).known
    return ValueFacts(infer_shapes(order, [(shapes, origin)], known_dtypes).known, known_dtypes)


def require_everything(order: Sequence[Node], facts: ValueFacts) -> None:
    """Raise `UnknownShapeError` for a value whose shape does not follow from what is known."""
    for node in order:
        for index, _ in enumerate(node.output_names()):
            shape = facts.shapes.get(Value(node, index))
            if not is_known(shape):
                raise UnknownShapeError(
                    f"bind: the shape of {node.described()} cannot be inferred from the arrays: {show_shape(shape)}."
                )
