"""Programs: graphs lowered for given shapes into flat lists of calls on raw arrays, run as compiled Python.

The first run goes step by step, and notes the layout of every answer and whose memory it shares. From these facts a
plan is made (`minpy.graph.memory`), and Python source with one line a step; later runs execute that. The forward part
is compiled after its first run, the backward part after its own.

A program can serve several calls at once: what one call uses, memory and operators with states, is its `Runner`.

Where llvmlite is installed, a program that has run twice becomes native code (`minpy.backends.native`): the third call
waits for that, while those of other threads go on in Python. If it cannot be done, Python it stays.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.switches import CompileWarning, is_enabled
from minpy.core import aligned
from minpy.graph.emitting import Emitter, Part
from minpy.graph.gradient import PullBack
from minpy.graph.interpreting import place_of, step_call
from minpy.graph.ir import Node
from minpy.graph.keeping import Kept
from minpy.graph.locating import located
from minpy.graph.locking import lock
from minpy.graph.memory import Fact, Plan, Planner
from minpy.graph.steps import Steps

if TYPE_CHECKING:
    from minpy.backends.native.building import NativeProgram
    from minpy.backends.native.recalling import RecalledProgram
    from minpy.backends.native.running import NativeRunner

__all__ = ["Program", "Runner"]

# More runners than this do not wait for calls to come: each holds the buffers of a call.
_MOST_IDLE = 64
# Bytes of answers from which the memory that Python's rounds leave is worth giving back to the system.
_LARGE = 16 << 20
# After so many rounds, forward and backward if there is one, a program becomes native code.
_ROUNDS = 2


class Runner:
    """What one call of a program uses: buffers, operators with states of its own, and the functions made of them.

    Parameters
    ----------
    is_first : bool
        Whether it may use the operators of the program itself; others make fresh ones.
    """

    __slots__ = (
        "_calls",
        "_is_first",
        "_keeping",
        "_kept",
        "_nodes",
        "_releasing",
        "backward",
        "buffers",
        "forward",
        "native",
    )

    def __init__(self, is_first: bool) -> None:
        self._is_first = is_first
        self._calls: dict[Node, Callable[..., Any]] = {}
        self._nodes: dict[Node, Node] = {}
        self._releasing: list[Any] = []  # the operators that hold something from forward to backward
        self._keeping: list[Any] = []  # those that have states, which are kept for further calls
        self._kept: Kept | None = None
        self.buffers: list[numpy.ndarray] = []
        self.forward: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.native: NativeRunner | None = None

    def call_of(self, node: Node) -> Callable[..., Any]:
        """Return the function of a step."""
        call = self._calls.get(node)
        if call is None:
            own = node if self._is_first else self._own(node)
            call = self._calls[node] = step_call(own)
            if hasattr(own.operator, "release"):
                self._releasing.append(own.operator)
            if hasattr(own.operator, "keep_in"):
                self._keeping.append(own.operator)
                if self._kept is not None:
                    own.operator.keep_in(self._kept.states)
        return call

    def operator_of(self, node: Node) -> Any:
        """Return the operator that runs a step: that of the node, or this runner's own."""
        return node.operator if self._is_first else self._own(node).operator

    def keep_in(self, kept: Kept) -> None:
        """Let operators keep their states in a set, until the call is done."""
        self._kept = kept
        for operator in self._keeping:
            operator.keep_in(kept.states)

    def release(self) -> None:
        """Let operators forget what they hold of a call that is done."""
        for operator in self._releasing:
            operator.release()
        kept, self._kept = self._kept, None
        if kept is not None:
            for operator in self._keeping:
                operator.keep_in(None)
            kept.give_back()

    def _own(self, node: Node) -> Node:
        """Return a node that computes the same, with an operator of this runner's own if it has a state."""
        known = self._nodes.get(node)
        if known is None:
            operator = node.operator
            if isinstance(operator, PullBack):
                of = self._own(operator.node)
                if of is not operator.node:
                    operator = copy.copy(operator)
                    operator.node = of
            elif hasattr(operator, "fresh"):
                operator = operator.fresh()
            same = operator is node.operator
            known = node if same else Node(operator, node.inputs, node.attributes, node.name, node.kind)
            self._nodes[node] = known
        return known

    def let_go(self) -> None:
        """Free the buffers, and the functions that compute in them: they are made again if they are needed."""
        self.forward = self.backward = None
        self.buffers = []

    def allocate(self, plan: Plan) -> None:
        """Make the buffers that a plan asks for, and that are not there yet."""
        self.buffers += [aligned.empty(max(size, 1), numpy.uint8) for size in plan.buffers[len(self.buffers) :]]


class Program:
    """A lowered graph that can be run.

    Attributes
    ----------
    steps : Steps
    emitter : Emitter or None
        What knows the source of its parts, once something has run.
    compiles : bool
        Whether it may become native code.
    fast_math : bool
        Whether native code may contract a product and the sum that it goes into.
    parameters : collection of int
        Positions of variables that are parameters: native code of inference keeps what is made of them.
    native : NativeProgram or None
        What it has become.
    rounds : int
        How often it has run, forward and, if it has a backward part, backward.
    """

    def __init__(
        self, steps: Steps, compiles: bool = True, fast_math: bool = False, parameters: Collection[int] = ()
    ) -> None:
        self.steps = steps
        self.compiles = compiles
        self.fast_math = fast_math
        self.parameters = parameters
        self.native: NativeProgram | RecalledProgram | None = None
        self.rounds = 0
        self.python_reason = ""  # why it stays one of Python's
        self._building: int | None = None  # the process in which a thread makes it native code
        self.emitter: Emitter | None = None
        self._planner: Planner | None = None
        self._forward: Part | None = None
        self._backward: Part | None = None
        self._idle: list[Runner] = []
        self._has_first = False

    # -- runners -----------------------------------------------------------------------------------------------------

    def take(self) -> Runner:
        """Return a runner that nobody else uses."""
        try:
            return self._idle.pop()
        except IndexError:
            with lock():
                is_first, self._has_first = not self._has_first, True
            return Runner(is_first)

    def give_back(self, runner: Runner) -> None:
        """Take a runner back that is not used any more."""
        if runner._kept is not None or runner._releasing:
            runner.release()
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(runner)

    def forward_of(self, runner: Runner) -> Callable[..., Any] | None:
        """Return the compiled forward part for a runner; None, if there is none yet."""
        if runner.forward is None and self._forward is not None:
            runner.forward = self._made(self._forward, runner)
        return runner.forward

    def backward_of(self, runner: Runner) -> Callable[..., Any] | None:
        """Return the compiled backward part for a runner; None, if there is none yet."""
        if runner.backward is None and self._backward is not None:
            runner.backward = self._made(self._backward, runner)
        return runner.backward

    def _made(self, part: Part, runner: Runner) -> Callable[..., Any]:
        assert self.plan is not None
        runner.allocate(self.plan)
        return part.made(runner.call_of, runner.buffers)

    # -- native code -------------------------------------------------------------------------------------------------

    def native_of(self, runner: Runner) -> NativeRunner | None:
        """Return the program as native code for a runner; None where Python runs."""
        native = runner.native
        if native is not None:
            return native if is_enabled() else None
        if self.rounds < _ROUNDS or not self.compiles or not is_enabled():
            return None
        program = self.native or self._built(runner)
        if program is None:
            return None
        try:
            native = runner.native = program.runner(runner.call_of)
        except Exception as error:
            self._stay_python(error)
            return None
        runner.let_go()
        return native

    def _built(self, runner: Runner) -> NativeProgram | RecalledProgram | None:
        """Return the program as native code, if it can be made, and no other thread is about it.

        What the runner, and those that nobody uses, have computed in is freed before: then the memory of native code
        takes the place of Python's, rather than being there beside it.
        """
        with lock():
            if self.native is not None or not self.compiles or self._building == os.getpid():
                return self.native
            if self.emitter is None or (self.steps.requests and not self.knows_backward):
                return None
            self._building = os.getpid()
        try:
            from minpy.backends.native.machine import llvm

            if not llvm.available():
                self.python_reason = "llvmlite is not installed: pip install llvmlite"
            else:
                from minpy.backends.native.recalling import native_program

                self._let_go(runner)
                self._give_back()
                native = native_program(
                    self.steps, self.facts, fast_math=self.fast_math, parameters=tuple(sorted(self.parameters))
                )
                if native.segments:
                    self.native = native
                else:
                    self.python_reason = "all that it does is to call operators as they are"
            self.compiles = self.native is not None
        except Exception as error:
            self._stay_python(error)
        finally:
            self._building = None
        return self.native

    def note_round(self) -> None:
        """Count a round in Python; what the last one has freed goes back to the system before others load LLVM."""
        self.rounds += 1
        if self.rounds == _ROUNDS and self.compiles:
            self._give_back()

    def _give_back(self) -> None:
        """Give free memory back to the system, if there may be much of it."""
        if self.plan is not None and self.plan.unshared_bytes >= _LARGE:
            from minpy.backends.native.machine import heap

            heap.give_back()

    def _let_go(self, runner: Runner) -> None:
        """Free the memory in which a runner has computed, and those that nobody uses."""
        idle = []
        while self._idle:
            try:
                idle.append(self._idle.pop())
            except IndexError:  # another thread has taken it
                break
        for one in (runner, *idle):
            one.let_go()
        self._idle.extend(idle)

    def _stay_python(self, error: Exception) -> None:
        """Warn that there will be no native code, and why."""
        self.compiles, self.native = False, None
        self.python_reason = f"it could not be compiled: {type(error).__name__}: {error}"
        names = ", ".join(dict.fromkeys(head.node.name for head in self.steps.heads))
        warnings.warn(
            f"the program of {names} stays one of Python's, slower and with the same results, as it could not be "
            f"compiled: {type(error).__name__}: {error} Compile less of it, or nothing: with "
            "minpy.compile.disabled(), or MINPY_COMPILE=0 in the environment.",
            CompileWarning,
            stacklevel=3,
        )

    # -- compiling ---------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan | None:
        """Where answers are computed, as far as that is known."""
        return self.emitter.plan if self.emitter is not None else None

    @property
    def knows_forward(self) -> bool:
        """Whether the forward part is compiled."""
        return self._forward is not None

    @property
    def knows_backward(self) -> bool:
        """Whether the backward part is compiled."""
        return self._backward is not None

    @property
    def facts(self) -> dict[Node, Fact]:
        """What is known about the answers of steps, once the forward part is compiled."""
        assert self.emitter is not None
        return self.emitter.facts

    def learn_forward(self, facts: Mapping[Node, Fact]) -> None:
        """Compile the forward part from the facts about its steps and the variables."""
        with lock():
            if self._forward is None:
                planner = Planner(self.steps)
                planner.place_forward(facts)
                emitter = Emitter(self.steps, planner)
                part = emitter.forward()
                self.emitter = emitter
                self._planner = planner if self.steps.requests else None
                self._forward = part

    def learn_backward(self, facts: Mapping[Node, Fact]) -> None:
        """Compile the backward part from the facts about its steps and the heads' gradients."""
        with lock():
            # If this is interrupted, the plan is half made: then the backward part goes on step by step.
            planner, self._planner = self._planner, None
            if planner is not None:
                assert self.emitter is not None
                known = {**self.facts, **facts}
                into_gradient = _into_gradient(self.steps, known)
                planner.place_backward(facts, into_gradient)
                self._backward = self.emitter.backward(into_gradient)

    def located(self, error: Exception) -> Exception:
        """Return the error to raise for one of a compiled part: with the node where it happened, if that is known."""
        native = self.native
        for part in (self._forward, self._backward, *(native.parts if native is not None else ())):
            node = part.step_of(error) if part is not None else None
            if node is not None:
                return located(place_of(node), error)
        return error

    def text(self) -> str:
        """Return the program as text: the source that runs, or the steps, as long as nothing has run."""
        if self.native is not None:
            return self.native.text()
        parts = [part.described() for part in (self._forward, self._backward) if part is not None]
        if not parts:
            return "\n".join(
                f"{node.name} = {node.kind}({', '.join(map(repr, node.inputs))})" for node in self.steps.all
            )
        assert self.plan is not None
        parts.append(
            f"# {len(self.plan.placements)} steps; {self.plan.arena_bytes} bytes of buffers hold "
            f"{self.plan.unshared_bytes} bytes of answers; {self.plan.reused} answers are computed in the memory of "
            "another."
        )
        return "\n".join(parts)


def _into_gradient(steps: Steps, facts: Mapping[Node, Fact]) -> dict[Node, Node]:
    """Return the steps that may compute straight into the array that a gradient is asked into."""
    found: dict[Node, Node] = {}
    second = set(steps.backward)
    counts: dict[Node, int] = {}
    for value in steps.gradients.values():
        counts[value.node] = counts.get(value.node, 0) + 1
    for variable, value in steps.gradients.items():
        fact = facts.get(value.node)
        if (
            steps.requests[variable] == "write"
            and counts[value.node] == 1
            and value.node in second
            and fact is not None
            and fact.shape is not None
            and (fact.shape, fact.dtype) == (facts[variable].shape, facts[variable].dtype)
            and fact.c_contiguous
        ):
            found[value.node] = variable
    return found
