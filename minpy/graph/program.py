"""Programs: graphs lowered for given shapes into flat lists of calls on raw arrays, run as compiled Python.

The first run goes step by step, and notes the layout of every answer and whose memory it shares. From these facts a
plan is made (`minpy.graph.memory`), and Python source with one line a step; later runs execute that.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.core import dispatch
from minpy.graph.emitting import Emitter
from minpy.graph.expanding import expand
from minpy.graph.gradient import PullBack, differentiate
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.graph.locating import raise_at
from minpy.graph.lowering import Builder, lower, used
from minpy.graph.memory import Fact, last_uses, observe
from minpy.graph.tracing.captures import Captures

__all__ = ["Observer", "Program", "Timing", "build_program"]

# Sees each step twice: with its inputs and None before it runs, and with its answer, too, afterwards.
Observer = Callable[[Node, Sequence[Any], Any], None]


def build_program(
    heads: Sequence[Value],
    variables: Sequence[Node],
    shapes: Mapping[Value, Any],
    dtypes: Mapping[Value, Any],
    training: bool,
    requests: Mapping[Node, str] | None = None,
    traced: bool = True,
) -> Program:
    """Lower a graph into a program.

    Parameters
    ----------
    heads : sequence of Value
        What it computes.
    variables : sequence of Node
        In the order in which their arrays will be given.
    shapes, dtypes : mapping of Value
        Of every value of the graph.
    training : bool
    requests : mapping of Node to str, optional
        Which gradients are wanted, 'write' or 'add'; without them the program has no backward part.
    traced : bool
        Whether users' operators become what they compute, where that can be told; without, each is one call.
    """
    builder = Builder()
    captures = Captures()
    run_heads, became = lower(heads, training, builder, shapes)
    known_shapes = {became[value]: shape for value, shape in shapes.items() if value in became}
    known_dtypes = {became[value]: dtype for value, dtype in dtypes.items() if value in became}
    head_gradients: list[Value] = []
    gradients: dict[Node, Value] = {}
    if requests:
        for index, head in enumerate(run_heads):
            value = Value(Node(None, (), {}, f"head_gradient{index}"))
            known_shapes[value], known_dtypes[value] = known_shapes[head], known_dtypes[head]
            head_gradients.append(value)
        gradients = differentiate(
            run_heads, head_gradients, requests, known_shapes, known_dtypes, builder, captures if traced else None
        )
    nodes = builder.created
    if traced:
        expanded = expand(nodes, known_shapes, known_dtypes, captures)
        nodes = expanded.nodes
        run_heads = [expanded.value(head) for head in run_heads]
        gradients = {node: expanded.value(value) for node, value in gradients.items()}
    wanted = used([*run_heads, *gradients.values()])
    heads_need = used(run_heads)
    first = [node for node in nodes if node in heads_need]
    second = [node for node in nodes if node in wanted and node not in heads_need]
    return Program(
        run_heads,
        [*variables, *captures.nodes],
        first,
        second,
        head_gradients,
        gradients,
        dict(requests or {}),
        captures,
    )


class Timing(NamedTuple):
    """A step, the part of the program that it belongs to ('forward' or 'backward'), and the seconds that it took."""

    node: Node
    part: str
    seconds: float


class Program:
    """A lowered graph.

    Attributes
    ----------
    forward, backward : list of Node
        The steps of both parts.
    gradients : dict
        Variable to the value that is its gradient; variables that no gradient reaches are absent.
    """

    def __init__(
        self,
        heads: list[Value],
        variables: list[Node],
        forward: list[Node],
        backward: list[Node],
        head_gradients: list[Value],
        gradients: dict[Node, Value],
        requests: dict[Node, str],
        captures: Captures | None = None,
    ) -> None:
        self.captures = Captures() if captures is None else captures
        self.heads = heads
        self.variables = variables
        self.forward = forward
        self.backward = backward
        self.head_gradients = head_gradients
        self.gradients = gradients
        self.requests = requests
        self.emitted: Emitter | None = None
        self._calls = {node: step_call(node) for node in (*forward, *backward)}
        self._facts: dict[Node, Fact] = {}
        self._env: dict[Node, Any] = {}
        self._run_forward: Any = None
        self._run_backward: Any = None
        self._is_compiled_run = False
        self.last_uses = self._last_uses()
        states = {value.node for node in forward for value in node.auxiliary_inputs()}
        self._states = {position for position, node in enumerate(variables) if node in states}

    def is_current(self) -> bool:
        """Tell whether what users' traced functions refer to is what it was; if not, a program is to be made anew."""
        return not self.captures or self.captures.hold("forward", "backward")

    def run_forward(self, arrays: Sequence[numpy.ndarray], observer: Observer | None = None) -> Sequence[Any]:
        """Compute and return the heads, which share memory with `arrays` where operators return views."""
        arrays = _as_contiguous([*arrays, *self.captures.arrays()], self._states)
        if self._run_forward is not None and observer is None:
            self._is_compiled_run = True
            return self._guarded(self._run_forward, arrays)
        self._is_compiled_run = False
        env = self._env = dict(zip(self.variables, arrays, strict=True))
        for node, array in env.items():
            self._facts.setdefault(node, _fact_of_given(node, array))
        try:
            self._interpret(self.forward, env, observer, 0)
        except BaseException:
            self._env = {}
            raise
        heads = [_read(env, head) for head in self.heads]
        if not self.requests:
            self._env = {}
            if self._run_forward is None:
                self._compile()
        return heads

    def run_backward(
        self,
        arrays: Sequence[numpy.ndarray],
        head_gradients: Sequence[numpy.ndarray],
        buffers: Mapping[Node, numpy.ndarray],
        observer: Observer | None = None,
    ) -> None:
        """Compute the gradients, and write them into `buffers` (or add them, as the requests say).

        The head gradients and buffers must not share memory.
        """
        self.captures.require()
        arrays = _as_contiguous([*arrays, *self.captures.arrays()], self._states)
        head_gradients = _as_contiguous(head_gradients)
        if self._is_compiled_run:
            targets = [buffers[node] for node in self.gradients]
            if self._run_backward is not None:
                given = _as_contiguous(targets)
                self._guarded(self._run_backward, arrays, head_gradients, given)
                for target, array in zip(targets, given, strict=True):
                    if array is not target:
                        numpy.copyto(target, array)
        else:
            env = self._env
            env.update(zip(self.captures.nodes, arrays[len(arrays) - len(self.captures.nodes) :], strict=True))
            env.update((value.node, array) for value, array in zip(self.head_gradients, head_gradients, strict=True))
            for value in self.head_gradients:
                self._facts.setdefault(value.node, _fact_of_given(value.node, env[value.node]))
            self._interpret(self.backward, env, observer, len(self.forward))
            for node, value in self.gradients.items():
                store(buffers[node], _read(env, value), self.requests[node])
            self._env = {}
            if self._run_forward is None:
                self._compile()
        for node, request in self.requests.items():
            if node not in self.gradients and request == "write":
                buffers[node].fill(0)

    def profile(self, arrays: Sequence[Any], head_gradients: Sequence[Any], buffers: Any) -> list[Timing]:
        """Return how long each step took, in one run step by step."""
        times: list[Timing] = []
        start = 0.0
        count = len(self.forward)

        def note(node: Node, _: Any, answer: Any) -> None:
            nonlocal start
            if answer is not None:
                seconds = time.perf_counter() - start
                times.append(Timing(node, "forward" if len(times) < count else "backward", seconds))
            start = time.perf_counter()

        self.run_forward(arrays, note)
        if self.requests:
            self.run_backward(arrays, head_gradients, buffers, note)
        return times

    def text(self) -> str:
        """Return the program as text: the source that runs, or the steps, as long as nothing has run."""
        if self.emitted is not None:
            return self.emitted.described()
        steps = [*self.forward, *self.backward]
        return "\n".join(f"{node.name} = {node.kind}({', '.join(map(repr, node.inputs))})" for node in steps)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _last_uses(self) -> dict[Value, int]:
        steps = [*self.forward, *self.backward]
        ends = dict.fromkeys([*self.heads, *self.gradients.values()], len(steps))
        return last_uses(steps, ends)

    def _interpret(self, steps: Sequence[Node], env: dict[Node, Any], observer: Observer | None, start: int) -> None:
        known = self._run_forward is not None
        for number, node in enumerate(steps, start):
            arguments = [_read(env, value) for value in node.inputs]
            if observer is not None:
                observer(node, arguments, None)
            try:
                answer = env[node] = self._calls[node](*arguments)
            except Exception as error:
                raise_at(place_of(node), error)
            if not known:
                self._facts[node] = observe(node, answer, [value.node for value in node.inputs], self._facts, env)
            if observer is not None:
                observer(node, arguments, answer)
            for source in dict.fromkeys(value.node for value in node.inputs):
                if source.operator is not None:
                    self._release(env, source, number)
            self._release(env, node, number)

    def _release(self, env: dict[Node, Any], node: Node, number: int) -> None:
        """Forget an answer, or some of several outputs, once nothing after the step `number` reads it."""
        answer, last = env.get(node), self.last_uses
        whole = last.get(Value(node, ANSWER), -1)
        if isinstance(answer, tuple):
            ends = [max(whole, last.get(Value(node, index), -1)) for index in range(len(answer))]
            answer = tuple(one if end > number else None for one, end in zip(answer, ends, strict=True))
            env[node] = answer
            if not any(end > number for end in ends):
                del env[node]
        elif max(whole, last.get(Value(node), -1)) <= number:
            env.pop(node, None)

    def _compile(self) -> None:
        self.emitted = Emitter(self, self._facts, self._calls)
        self._run_forward, self._run_backward = self.emitted.compile()

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            node = self.emitted.step_of(error) if self.emitted is not None else None
            if node is None:
                raise
            raise_at(place_of(node), error)


def step_call(node: Node) -> Callable[..., Any]:
    """Return the function from the raw inputs of a node to its raw answer."""
    operator, attributes = node.operator, node.attributes
    if operator is CONSTANT:
        return lambda: attributes["value"]
    if isinstance(operator, PullBack):
        return operator.forward
    if not operator.builtin:
        return lambda *raws: dispatch.run(operator, raws, attributes)
    if operator.keeps_dtype:
        return lambda *raws: dispatch.run_keeping_dtype(operator, raws, attributes)
    if attributes:
        return functools.partial(operator.forward, **attributes)
    forward: Callable[..., Any] = operator.forward
    return forward


def _as_contiguous(arrays: Sequence[numpy.ndarray], states: Collection[int] = ()) -> Sequence[numpy.ndarray]:
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


def store(buffer: numpy.ndarray, gradient: Any, request: str) -> None:
    """Write a gradient where it is asked for, or add it."""
    if request == "add":
        buffer += gradient
    else:
        numpy.copyto(buffer, gradient)


def place_of(node: Node) -> str:
    """Return which node of the user's graph a step belongs to, for use in a message."""
    if isinstance(node.operator, PullBack):
        return f"backward of {node.operator.node.described()}"
    return node.described()


def _read(env: Mapping[Node, Any], value: Value) -> Any:
    answer = env[value.node]
    return answer[value.index] if isinstance(answer, tuple) and value.index != ANSWER else answer


def _fact_of_given(node: Node, array: Any) -> Fact:
    return Fact(numpy.shape(array), array.dtype, array.strides, frozenset([node]), 0, 1, array.flags.c_contiguous)
