"""`Frame`: what one call of a program keeps between forward and backward.

One program serves several calls at once, such as those of a cell at every time step, or of two threads. Each has a
frame, whose memory is used by nobody else until the frame is gone or its backward done. Heads have memory of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy

from minpy.backends.switches import selection
from minpy.core.array import now
from minpy.core.buffers import last_write, unseen_gradients, written_since
from minpy.core.errors import MutationError, describe
from minpy.graph.array_facts import as_contiguous, noting
from minpy.graph.interpreting import Observer, Releasing, interpret, read
from minpy.graph.ir import Node
from minpy.graph.program import MOST_IDLE, ExecutionContext, Program
from minpy.graph.state_pool import StateSet

__all__ = ["Frame", "start"]


class Frame:
    """One call of a program, forward and then backward. `start` makes one and calls it forward.

    It is in one of four states. An executable has run: `_residuals` holds what its backward part reads. Or steps were
    run one by one: `_env` does. Or backward has been: that has used up everything but what it takes to compute the
    forward part again. Or that has happened: `_replayed` holds all results, for any number of backwards.
    """

    __slots__ = (
        "__weakref__",
        "_arrays",
        "_context",
        "_env",
        "_home",
        "_program",
        "_replayed",
        "_residuals",
        "_saved_for_replay",
        "_time",
    )

    # Contexts are taken and given back without calls: a call costs what a small kernel does.

    def __init__(self, program: Program, arrays: Sequence[numpy.ndarray], state_set: StateSet | None = None) -> None:
        self._program = self._home = program
        self._arrays = arrays
        try:
            self._context: ExecutionContext = program.idle.pop()
        except IndexError:
            self._context = program.new_context()
        if state_set is not None:
            self._context.functions.keep_in(state_set)
        self._residuals: list[Any] | None = None
        self._env: dict[Node, Any] | None = None
        self._replayed: dict[Node, Any] | None = None
        self._saved_for_replay: Sequence[Any] = ()
        self._time = 0

    def __del__(self) -> None:
        try:
            context = self._context
        except AttributeError:  # interrupted before it had one
            return
        functions, idle = context.functions, self._home.idle
        if functions.state_set is not None or functions.releasing:
            functions.release()
        if len(idle) < MOST_IDLE:
            idle.append(context)

    def serves(self, program: Program) -> bool:
        """Tell whether a program may be called by `call_again`."""
        return self._program is program and self._home is program and self._context.functions.state_set is None

    def call_again(self, arrays: Sequence[numpy.ndarray]) -> Sequence[Any]:
        """Call the program once more, for other arrays, and return the outputs; the call before is forgotten.

        That costs less than a new frame, and is for the only owner of the frame.
        """
        if self._context.functions.releasing:
            self._context.functions.release()
        if self._program.steps.refers:
            arrays = self._program.steps.with_captured(arrays)
        self._arrays = arrays
        self._residuals = self._env = self._replayed = None
        return self.forward()

    @property
    def program(self) -> Program:
        """The program that it is a call of."""
        return self._program

    def differentiate(self, program: Program) -> None:
        """Let backward follow by another program, whose forward part is of the same nodes."""
        self._program = program
        self._residuals = self._env = self._replayed = None

    def move(self, arrays: Sequence[numpy.ndarray | None]) -> None:
        """Go on with arrays of the same values as those that it was called with, which are not kept any more.

        Those that are None stay where they are.
        """
        arrays = [old if new is None else new for old, new in zip(self._arrays, arrays, strict=False)]
        self._arrays = as_contiguous(self._program.steps.with_captured(arrays), self._program.steps.states)
        self._replayed = None  # it was computed of the others, and may see their memory

    # -- forward -----------------------------------------------------------------------------------------------------

    def forward(self, observer: Observer | None = None) -> Sequence[Any]:
        """Run the forward part, once, and return the outputs."""
        context, program = self._context, self._program
        try:
            forward = context.forward
            if context.selection is not selection.backends:
                forward = program.bind(context)
            if forward is not None and observer is None:
                outputs, (self._arrays, self._residuals, self._saved_for_replay) = forward(self._arrays)
            else:
                outputs, state = program.interpret_forward(context, self._arrays, observer)
                self._arrays, self._env, self._saved_for_replay = state
            if not program.steps.grad_req:
                program.rounds += 1
                if context.selection is None:
                    program.note_round(context)
            elif context.selection is None:
                program.note_part(context)
        except Exception as error:
            raise program.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        self._time = now()
        return outputs

    # -- backward ----------------------------------------------------------------------------------------------------

    @property
    def goes_through(self) -> bool:
        """Whether the next `backward` is compiled from end to end: once it writes to buffers, nothing fails."""
        executable = self._context.executable
        return (
            self._residuals is not None
            and executable is not None
            and executable.cannot_fail_backward
            and not self._program.steps.refers
        )

    def backward(
        self,
        cotangents: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None = None,
    ) -> None:
        """Compute the gradients, and write them into `buffers` (or add them, as the program's requests say).

        It may be called again: then the forward part is computed once more, with the same random numbers, without
        moving states, and without calling users' operators. The cotangents and buffers must not share memory.

        Raises MutationError if an array that is needed has been changed since the forward part ran.
        """
        program, context = self._program, self._context
        steps = program.steps
        if context.selection is None:
            context.began = perf_counter()
        if steps.refers:
            steps.reads.require()
            self._arrays = as_contiguous(steps.with_captured(self._arrays), steps.states)
        if last_write() > self._time:
            self._require_unchanged()
        residuals, env = self._residuals, self._env
        self._residuals = self._env = None
        function = (
            None if residuals is None or observer is not None or context.bound is None else context.bound.backward
        )
        if function is not None:
            try:
                function(self._arrays, cotangents, [*map(buffers.__getitem__, steps.gradients)], residuals)
            except Exception as error:
                raise program.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        else:
            if residuals is not None and context.bound is not None:
                results = context.bound.answers(residuals)
                if results is not None:  # else they are computed again
                    env = {**dict(zip(steps.variables, self._arrays, strict=True)), **results}
            self._step_backward(env, as_contiguous(cotangents), buffers, observer)
        program.rounds += 1
        if context.selection is None:
            program.note_round(context)
        if len(steps.gradients) != len(steps.grad_req):
            for node, request in steps.grad_req.items():
                if node not in steps.gradients and request == "write":
                    buffers[node].fill(0)

    def compute_in_leaves(self, leaves: Sequence[Any], cotangent: numpy.ndarray | None) -> bool:
        """Compute the gradients in those of leaves, by code that goes through; False, before anything, if not so.

        `leaves`: for all variables in their order. `cotangent`: of the only output; None stands for ones.
        """
        program, context, residuals = self._program, self._context, self._residuals
        if residuals is None or context.selection is None or last_write() > self._time:
            return False
        places = context.gradient_places
        if places is None:
            places = context.gradient_places = self._find_gradient_places()
        buffers = unseen_gradients(leaves, places) if places else None
        if buffers is None:
            return False
        self._residuals = None
        backward: Any = context.bound.backward  # type: ignore[union-attr]
        backward(self._arrays, program.ones if cotangent is None else (cotangent,), buffers, residuals)
        program.rounds += 1
        return True

    def _find_gradient_places(self) -> tuple[int, ...]:
        """Return the places of gradients, if the part that computes them goes through; else none."""
        bound = self._context.bound
        has_backward = bound is not None and bound.backward is not None
        return self._program.gradient_places() if has_backward and self.goes_through else ()

    def _step_backward(
        self,
        env: dict[Node, Any] | None,
        cotangents: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None,
    ) -> None:
        """Run the backward part step by step, and let executables learn from it."""
        program, steps = self._program, self._program.steps
        release = None
        if env is None:
            env = dict(self._replay())
        else:
            release = Releasing(steps, env, len(steps.forward))
            env.update(zip(steps.variables[steps.num_inputs :], self._arrays[steps.num_inputs :], strict=True))
        by_variable = {value.node: array for value, array in zip(steps.cotangents, cotangents, strict=True)}
        env.update(by_variable)
        observers = [] if observer is None else [observer]
        facts = program.facts_of_backward(by_variable)
        if facts:
            observers.append(noting(facts, env))
        interpret(steps.backward, env, self._context.functions.call_of, observers, release)
        if facts:
            program.learn_backward(facts)
        for node, value in steps.gradients.items():
            if steps.grad_req[node] == "add":
                buffers[node][...] += read(env, value)
            else:
                numpy.copyto(buffers[node], read(env, value))

    def operator_of(self, node: Node) -> Any:
        """Return the operator that ran a step, with the state that it had."""
        return self._context.functions.operator_of(node)

    def results(self) -> dict[Node, Any]:
        """Return the results of all steps of the forward part, by node: computed again, with the same random numbers.

        Raises MutationError if an array that they depend on has been changed since.
        """
        if last_write() > self._time:
            self._require_unchanged()
        return self._replay()

    def _replay(self) -> dict[Node, Any]:
        """Return all results of the forward part, computed once more if they are not there.

        States have moved already, so copies of them are given; results that would be others now are those of the first
        time.
        """
        if self._replayed is None:
            steps = self._program.steps
            arrays = [
                array.copy() if position in steps.states else array for position, array in enumerate(self._arrays)
            ]
            env: dict[Node, Any] = dict(zip(steps.variables, arrays, strict=True))
            env.update(zip(steps.saved_for_replay, self._saved_for_replay, strict=True))
            interpret(steps.forward, env, self._context.functions.call_of, ())
            self._replayed = env
        return self._replayed

    def _require_unchanged(self) -> None:
        """Raise if an array that backward reads has been changed in place since the forward part ran."""
        steps, time_of_forward = self._program.steps, self._time
        nodes = [*steps.backward, *steps.forward]
        if self._residuals is not None or self._env is not None or self._replayed is not None:
            nodes = steps.backward
        read_nodes = {value.node for node in nodes for value in node.inputs}
        executable = self._context.executable
        if self._residuals is not None and executable is not None:
            read_nodes.update(executable.read_by_backward())
        for position, (node, array) in enumerate(zip(steps.variables, self._arrays, strict=True)):
            if node not in read_nodes or not written_since(array, time_of_forward):
                continue
            moves = steps.training and position in steps.states
            if not moves and any(node in steps.values_of(step) for step in steps.forward):
                raise MutationError(_changed(f"variable {node.name!r}", array))
        for array in self._residuals or (self._env or {}).values():
            if written_since(array, time_of_forward) and not any(array is argument for argument in self._arrays):
                raise MutationError(_changed("an output", array))


def _changed(noun: str, array: numpy.ndarray) -> str:
    return (
        f"backward: {noun} ({describe(array)}) was changed in place after forward, and the gradient needs its old "
        "value. Make the change after backward, or call forward again."
    )


def start(
    program: Program,
    arrays: Sequence[numpy.ndarray],
    observer: Observer | None = None,
    state_set: StateSet | None = None,
) -> tuple[Sequence[Any], Frame]:
    """Call a program: return the outputs, which share memory with nothing else, and the frame for its backward.

    States that operators keep are those in `state_set`, if that is given, and it is given back with the frame.
    """
    if program.steps.refers:
        arrays = program.steps.with_captured(arrays)
    frame = Frame(program, arrays, state_set)
    return frame.forward(observer), frame
