"""`Frame`: what one call of a program keeps between forward and backward.

One program serves several calls at once, such as those of a cell at every time step, or of two threads. Each has a
frame, whose memory is used by nobody else until the frame is gone or its backward done. Heads have memory of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import last_write, now, written_since
from minpy.core.errors import MutationError, describe
from minpy.graph.heads import returned
from minpy.graph.interpreting import Observer, Releasing, interpret, read
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.keeping import Kept
from minpy.graph.memory import Fact, fact_of_given, observe
from minpy.graph.program import Program, Runner

__all__ = ["Frame", "as_contiguous", "start"]


class Frame:
    """One call of a program, forward and then backward. Made by `start`.

    It is in one of four states. Compiled code has run: `_kept` holds what its backward part reads. Or steps were run
    one by one: `_env` does. Or backward has been: that has used up everything but what it takes to compute the forward
    part again. Or that has happened: `_again` holds all answers, for any number of backwards.
    """

    __slots__ = (
        "__weakref__",
        "_again",
        "_arrays",
        "_env",
        "_home",
        "_is_native",
        "_kept",
        "_lasting",
        "_program",
        "_runner",
        "_time",
    )

    def __init__(self, program: Program, arrays: Sequence[numpy.ndarray], kept: Kept | None = None) -> None:
        self._program = self._home = program
        self._arrays = arrays
        self._runner: Runner = program.take()
        if kept is not None:
            self._runner.keep_in(kept)
        self._kept: list[Any] | None = None
        self._env: dict[Node, Any] | None = None
        self._again: dict[Node, Any] | None = None
        self._lasting: Sequence[Any] = ()
        self._is_native = False
        self._time = 0

    def __del__(self) -> None:
        try:
            runner = self._runner
        except AttributeError:  # interrupted before it had one
            return
        self._home.give_back(runner)

    def serves(self, program: Program) -> bool:
        """Tell whether a program may be called by `call_again`."""
        return self._program is program and self._home is program and self._runner._kept is None

    def call_again(self, arrays: Sequence[numpy.ndarray]) -> Sequence[Any]:
        """Call the program once more, for other arrays, and return the heads; the call before is forgotten.

        That costs less than a frame made anew, and is for those who alone know the frame.
        """
        if self._runner._releasing:
            self._runner.release()
        if self._program.steps.refers:
            arrays = self._program.steps.with_captured(arrays)
        self._arrays = arrays
        self._kept = self._env = self._again = None
        self._is_native = False
        return self._forward(None)

    @property
    def program(self) -> Program:
        """The program that it is a call of."""
        return self._program

    def differentiate(self, program: Program) -> None:
        """Let backward follow by another program, whose forward part is of the same nodes."""
        self._program = program
        self._kept = self._env = self._again = None

    def move(self, arrays: Sequence[numpy.ndarray | None]) -> None:
        """Go on with arrays of the same values as those that it was called with, which are not kept any more.

        Those that are None stay where they are.
        """
        arrays = [old if new is None else new for old, new in zip(self._arrays, arrays, strict=False)]
        self._arrays = as_contiguous(self._program.steps.with_captured(arrays), self._program.steps.states)
        self._again = None  # it was computed of the others, and may see their memory

    # -- forward -----------------------------------------------------------------------------------------------------

    def _forward(self, observer: Observer | None) -> Sequence[Any]:
        runner, program = self._runner, self._program
        native = program.native_of(runner) if observer is None else None
        try:
            if native is not None:
                self._is_native = True
                found = native.forward(self._arrays)
                if found is NotImplemented:  # arrays do not fit
                    self._arrays, found = native.fit_forward(self._arrays)
                heads, self._kept, self._lasting = found
            else:
                self._arrays = as_contiguous(self._arrays, program.steps.states)
                function = runner.forward or program.forward_of(runner) if observer is None else None
                if function is None:
                    heads = self._step_forward(runner, observer)
                else:
                    heads, self._kept, self._lasting = function(self._arrays)
                if not program.steps.requests:
                    program.note_round()
        except Exception as error:
            raise program.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        self._time = now()
        return heads

    def _step_forward(self, runner: Runner, observer: Observer | None) -> Sequence[Any]:
        """Run the forward part step by step, and compile it, if it is not yet."""
        program, steps = self._program, self._program.steps
        env: dict[Node, Any] = dict(zip(steps.variables, self._arrays, strict=True))
        lasting: dict[Node, Any] = {}
        facts = {node: fact_of_given(node, array) for node, array in env.items()}
        observers = [_noting(facts, env), _collecting(lasting, steps.lasting)]
        interpret(
            steps.forward,
            env,
            runner.call_of,
            observers if observer is None else [*observers, observer],
            Releasing(steps, env, 0),
        )
        heads = returned(steps, facts, env, self._arrays)
        program.learn_forward(facts)
        self._lasting = [lasting[node] for node in steps.lasting]
        self._env = env
        return heads

    # -- backward ----------------------------------------------------------------------------------------------------

    @property
    def goes_through(self) -> bool:
        """Whether the next `backward` is native code from end to end: once it writes to buffers, nothing fails."""
        program = self._program
        if self._kept is None or not self._is_native or program.steps.refers or program.native is None:
            return False
        part = program.native.backward
        return part is not None and part.is_native

    def backward(
        self,
        head_gradients: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None = None,
    ) -> None:
        """Compute the gradients, and write them into `buffers` (or add them, as the program's requests say).

        It may be called again: then the forward part is computed once more, with the same random numbers, without
        moving states, and without calling users' operators. The head gradients and buffers must not share memory.

        Raises
        ------
        MutationError
            If an array that is needed has been changed since the forward part ran.
        """
        program, runner = self._program, self._runner
        steps = program.steps
        if steps.refers:
            steps.captures.require()
            self._arrays = as_contiguous(steps.with_captured(self._arrays), steps.states)
        if last_write() > self._time:
            self._require_unchanged()
        kept, env = self._kept, self._env
        self._kept = self._env = None
        if kept is not None and self._is_native and observer is None:
            native = runner.native
            assert native is not None
            assert native.backward is not None
            targets = [buffers[node] for node in steps.gradients]
            try:
                if native.backward(self._arrays, head_gradients, targets, kept) is NotImplemented:
                    native.fit_backward(self._arrays, head_gradients, targets, kept)
            except Exception as error:
                raise program.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        else:
            self._python_backward(runner, kept, env, as_contiguous(head_gradients), buffers, observer)
            program.note_round()
        if len(steps.gradients) != len(steps.requests):
            for node, request in steps.requests.items():
                if node not in steps.gradients and request == "write":
                    buffers[node].fill(0)

    def _python_backward(
        self,
        runner: Runner,
        kept: list[Any] | None,
        env: dict[Node, Any] | None,
        head_gradients: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None,
    ) -> None:
        """Run the backward part of a program of Python's, or its steps one by one."""
        program, steps = self._program, self._program.steps
        if self._is_native:  # what native code has kept is computed again
            kept = None
        function = program.backward_of(runner) if kept is not None and observer is None else None
        if function is not None:
            targets = [buffers[node] for node in steps.gradients]
            given = as_contiguous(targets)
            try:
                function(self._arrays, head_gradients, given, kept)
            except Exception as error:
                raise program.located(error)  # noqa: B904 - its traceback goes on to that of `error`
            if given is not targets:
                for target, array in zip(targets, given, strict=True):
                    if array is not target:
                        numpy.copyto(target, array)
        else:
            if kept is not None:
                assert program.emitter is not None
                env = dict(zip(steps.variables, self._arrays, strict=True))
                env.update(program.emitter.environment(kept, runner.buffers))
            self._step_backward(runner, env, head_gradients, buffers, observer)

    def _step_backward(
        self,
        runner: Runner,
        env: dict[Node, Any] | None,
        head_gradients: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None,
    ) -> None:
        """Run the backward part step by step, and compile it, if it is not yet."""
        program, steps = self._program, self._program.steps
        release = None
        if env is None:
            env = dict(self._computed_again(runner))
        else:
            release = Releasing(steps, env, len(steps.forward))
            env.update(zip(steps.variables[steps.given :], self._arrays[steps.given :], strict=True))
        given = {value.node: array for value, array in zip(steps.head_gradients, head_gradients, strict=True)}
        env.update(given)
        observers = [] if observer is None else [observer]
        facts: dict[Node, Fact] = {}
        if program.knows_forward and not program.knows_backward:
            facts = {**program.facts, **{node: fact_of_given(node, array) for node, array in given.items()}}
            observers.append(_noting(facts, env))
        interpret(steps.backward, env, runner.call_of, observers, release)
        if facts:
            program.learn_backward({node: facts[node] for node in (*given, *steps.backward)})
        for node, value in steps.gradients.items():
            if steps.requests[node] == "add":
                buffers[node][...] += read(env, value)
            else:
                numpy.copyto(buffers[node], read(env, value))

    def operator_of(self, node: Node) -> Any:
        """Return the operator that ran a step, with the state that it had."""
        return self._runner.operator_of(node)

    def answers(self) -> dict[Node, Any]:
        """Return the answers of all steps of the forward part, by node: computed again, with the same random numbers.

        Raises
        ------
        MutationError
            If an array that they depend on has been changed since.
        """
        if last_write() > self._time:
            self._require_unchanged()
        return self._computed_again(self._runner)

    def _computed_again(self, runner: Runner) -> dict[Node, Any]:
        """Return all answers of the forward part, computed once more if they are not there.

        States have moved already, so copies of them are given; answers that would be others now are those of the first
        time.
        """
        if self._again is None:
            steps = self._program.steps
            arrays = [
                array.copy() if position in steps.states else array for position, array in enumerate(self._arrays)
            ]
            env: dict[Node, Any] = dict(zip(steps.variables, arrays, strict=True))
            env.update(zip(steps.lasting, self._lasting, strict=True))
            interpret(steps.forward, env, runner.call_of, ())
            self._again = env
        return self._again

    def _require_unchanged(self) -> None:
        """Raise if an array that backward reads has been changed in place since the forward part ran."""
        steps, time_of_forward = self._program.steps, self._time
        nodes = [*steps.backward, *steps.forward]
        if self._kept is not None or self._env is not None or self._again is not None:
            nodes = steps.backward
        read_nodes = {value.node for node in nodes for value in node.inputs}
        if self._is_native and self._program.native is not None:  # which may read variables in place of views of them
            read_nodes |= self._program.native.read_by_backward()
        for position, (node, array) in enumerate(zip(steps.variables, self._arrays, strict=True)):
            if node not in read_nodes or not written_since(array, time_of_forward):
                continue
            moves = steps.training and position in steps.states
            if not moves and any(node in steps.values_of(step) for step in steps.forward):
                raise MutationError(_changed(f"variable {node.name!r}", array))
        for array in self._kept or (self._env or {}).values():
            if written_since(array, time_of_forward) and not any(array is one for one in self._arrays):
                raise MutationError(_changed("an output", array))


def _changed(what: str, array: numpy.ndarray) -> str:
    return (
        f"backward: {what} ({describe(array)}) was changed in place after forward, and the gradient needs its old "
        "value. Make the change after backward, or call forward again."
    )


def start(
    program: Program, arrays: Sequence[numpy.ndarray], observer: Observer | None = None, kept: Kept | None = None
) -> tuple[Sequence[Any], Frame]:
    """Call a program: return the heads, which share memory with nothing else, and the frame for its backward.

    States that operators keep are those in `kept`, if that is given, and it is given back with the frame.
    """
    if program.steps.refers:
        arrays = program.steps.with_captured(arrays)
    frame = Frame(program, arrays, kept)
    return frame._forward(observer), frame


def as_contiguous(arrays: Sequence[numpy.ndarray], states: Collection[int] = ()) -> Sequence[numpy.ndarray]:
    """Return arrays with those copied that are not C-contiguous, but for the states, which are written to.

    A plan holds for one layout: whether an answer is a view, and so may not be written to, depends on that.
    """
    for array in arrays:
        if not array.flags.c_contiguous:
            return [
                array if array.flags.c_contiguous or position in states else array.copy()
                for position, array in enumerate(arrays)
            ]
    return arrays


def _noting(facts: dict[Node, Fact], env: Mapping[Node, Any]) -> Observer:
    """Return what notes the facts about each answer."""

    def note(node: Node, _: Any, answer: Any) -> None:
        if answer is not None or node.operator is CONSTANT:  # an optional input that is not given is a constant None
            facts[node] = observe(node, answer, [value.node for value in node.inputs], facts, env)

    return note


def _collecting(found: dict[Node, Any], wanted: Collection[Node]) -> Observer:
    """Return what collects the answers of some nodes."""

    def collect(node: Node, _: Any, answer: Any) -> None:
        if answer is not None and node in wanted:
            found[node] = answer

    return collect
