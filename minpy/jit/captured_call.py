"""A call of a user's function run on proxies: the graph of what it computed, what it read and what it returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

import numpy

from minpy.capture import steps
from minpy.capture.capture import Capture
from minpy.capture.captured_run import run_captured
from minpy.capture.foreign import DictProxy, ListProxy
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import CONSTANT_TYPES, ArrayKind, Reads, kind_of
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import Scalars, is_dynamic, pinned
from minpy.core.array import FRONT_ENDS, Array
from minpy.graph.ir import CONSTANT, Node, Value, topological
from minpy.jit.pytrees import Nest, flatten, is_named

__all__ = ["ArrayGroup", "CapturedCall", "Result", "capture_call"]


class Result(NamedTuple):
    """A leaf of what a function returns."""

    # 'output', an array that is computed; 'argument' or 'read', an array that was given or that the function refers to,
    # itself; 'constant'.
    kind: str
    value: Any  # the position among the outputs, the arguments or the arrays that were read; or the constant
    scalar: bool = False  # whether NumPy gives a scalar
    cls: Any = None  # the class of ours that a computed array has; None: `numpy.ndarray`


class ArrayGroup(Protocol):
    """Arrays that a call reads together, guarded by one clock: while it stands still, nothing has changed."""

    nodes: list[Node]  # the variables of the graph
    clock: Any  # what has a `count` of changes
    arrays: tuple[Any, ...]
    count: int  # the clock's, as of when everything was compared last

    @property
    def kinds(self) -> list[ArrayKind]:
        """What the arrays are."""

    def holds(self) -> bool:
        """Tell whether everything is as it was, and look up the arrays anew."""

    def failure(self) -> str | None:
        """Return in words what has changed; None if nothing has."""


class CapturedCall(NamedTuple):
    """The result of capturing a call."""

    outputs: list[Value]  # what is returned and computed, then the final values of arguments that are changed
    writes: dict[int, int]  # the position among the outputs of what each changed argument becomes
    contiguous: list[int]  # the positions of the arguments that must lie in the order of C
    results: list[Result]
    spec: Nest | None  # how these are nested
    inputs: list[Node]  # the variables of the arrays among the arguments
    kinds: list[ArrayKind]  # what these are
    reads: Reads
    group: ArrayGroup | None  # arrays that are read together: the parameters of blocks
    scalars: Scalars  # the numbers that are inputs
    recorder: Recorder
    containers: frozenset[int]  # the ids of lists, tuples and dicts that were read


class _Call(Capture):
    """A capture of one call, whose results become outputs while it goes on."""

    def __init__(self, title: str, dynamic: Set[int], dynamic_reads: Set[Any], watched: bool) -> None:
        super().__init__(title)
        self.recorder.watched = watched
        self.shadow.dynamic = frozenset(dynamic_reads)
        self.recorder.of_user = False  # sums are those of our operators, which lose fewer digits
        self.arrays: list[Any] = []
        self.proxies: dict[int, int] = {}
        self._dynamic = dynamic
        self._count = 0

    def argument(self, value: Any, name: str | None = None) -> Any:
        """Return the proxy of an argument; numbers that change become inputs."""
        if type(value) in (list, tuple, dict) or is_named(type(value)):
            return super().argument(value, name)
        position, self._count = self._count, self._count + 1
        if position in self._dynamic and is_dynamic(value):
            return self.shadow.scalars.proxy(value, "argument", position)
        if isinstance(value, Array) and (self.like is None or value._precedence > self.like._precedence):
            self.like = value  # what is computed has its class and context
        proxy = super().argument(value, name)
        if isinstance(value, (numpy.ndarray, Array)) and id(proxy) not in self.proxies:
            self.proxies[id(proxy)] = len(self.arrays)
            self.arrays.append(value)
        return proxy

    def forget_arrays(self) -> None:
        """Let go of all arrays of the call, and of those that were read: what was captured outlives them."""
        self.arrays.clear()
        self.recorder.gradients.clear()
        self.like = self.outermost = None

    def _captured(self, outputs: Any) -> Any:
        run = super()._captured(outputs)
        return run_captured(self.recorder, self._finished, outputs, run)

    def _finished(self, result: Any, run: Any) -> CapturedCall:
        recorder, reads = self.recorder, self.reads
        leaves: list[Any] = []
        if isinstance(result, (ListProxy, DictProxy)):
            raise recorder.refuse("it returns a list or a dict that it did not make")
        spec = flatten(result, leaves)
        variables = {value.node: ("argument", position) for position, value in enumerate(run.inputs)}
        variables.update((node, ("read", position)) for position, node in enumerate(reads.nodes))
        kinds = list(map(kind_of, self.arrays))
        classes = {value.node: kind.cls for value, kind in zip(run.inputs, kinds, strict=True)}
        classes.update((row.node, row.kind.cls) for row in reads.array_rows)
        group = None if self.surroundings is None else self.surroundings.arrays
        if group is not None:
            classes.update((node, kind.cls) for node, kind in zip(group.nodes, group.kinds, strict=True))
            first = len(reads.nodes)
            variables.update((node, ("read", first + position)) for position, node in enumerate(group.nodes))
        outputs: list[Value] = []
        results: list[Result] = []
        result_of: dict[int, Result] = {}
        for leaf in map(pinned, leaves):
            inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
            if not isinstance(inner, ArrayProxy):
                if not isinstance(leaf, CONSTANT_TYPES):
                    raise recorder.refuse(f"it returns a {type(leaf).__name__}")
                results.append(Result("constant", leaf))
                continue
            leaf_output = result_of.get(id(leaf))
            if leaf_output is None:
                if id(leaf) in self.proxies:
                    leaf_output = Result("argument", self.proxies[id(leaf)])
                elif inner.value.node in variables and not inner.chain:
                    front = FRONT_ENDS["mxnet"] if isinstance(leaf, NDArrayProxy) else leaf.front
                    if front is not None and classes[inner.value.node] in {*FRONT_ENDS.values()} - {front}:
                        raise recorder.refuse("it returns an array that it was given, as one of another class")
                    leaf_output = Result(*variables[inner.value.node])
                else:
                    value = self._unaliased(inner, outputs)
                    leaf_output = Result("output", len(outputs), inner.scalar, _class_of(leaf, value, classes))
                    outputs.append(value)
                result_of[id(leaf)] = leaf_output
            results.append(leaf_output)
        writes = {}
        for position, value in run.writes:
            writes[position] = len(outputs)
            outputs.append(value)
        self._require_order(outputs)
        nodes = [value.node for value in run.inputs]
        return CapturedCall(
            outputs,
            writes,
            sorted(run.contiguous),
            results,
            spec,
            nodes,
            kinds,
            reads,
            group,
            self.shadow.scalars,
            recorder,
            self._containers_read(),
        )

    def _require_order(self, outputs: Sequence[Value]) -> None:
        """Refuse calls of operators that are not captured, if a graph would leave one out, or change their order.

        They act, maybe: they print, or draw random numbers.
        """
        declared = self.recorder.declared
        if not declared:
            return
        order = topological(outputs)
        names = [node.operator.__name__ for node in declared]
        for node, name in zip(declared, names, strict=True):
            if node not in order:
                raise self.recorder.refuse(
                    f"it calls {name}, an operator of a user that cannot be captured, for nothing"
                )
        positions = [order.index(node) for node in declared]
        if positions != sorted(positions):
            raise self.recorder.refuse(
                f"it calls {', '.join(names)}, operators of a user that cannot be captured, and a graph would call "
                "them in another order"
            )

    def _containers_read(self) -> frozenset[int]:
        values = [value for value, _ in self.shadow.proxies.values()]
        return frozenset(id(value) for value in values if isinstance(value, (list, tuple, dict)) and value != ())

    def _unaliased(self, proxy: ArrayProxy, outputs: Sequence[Value]) -> Value:
        """Return the value of an array that is returned: in memory of its own."""
        value = proxy.value
        if not proxy.is_view and value.node.operator not in (None, CONSTANT) and value not in outputs:
            return value
        copy = steps.make_step(numpy.array, (steps.Slot(0),), {})
        node = self.recorder.node(copy, [value])
        while Value(node) in outputs:
            node = self.recorder.node(copy, [Value(node)])
        self.recorder.facts.setdefault(node, (proxy.shape, proxy.dtype))
        return Value(node)


def capture_call(
    function: Callable[..., Any],
    title: str,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    dynamic: Set[int] = frozenset(),
    dynamic_reads: Set[Any] = frozenset(),
) -> CapturedCall:
    """Run a function on proxies of its arguments; where it does what cannot be captured, nothing has happened.

    `dynamic`: the positions, among the leaves of the arguments, of numbers which change: they become inputs of the
    graph. `dynamic_reads`: the places of such numbers among what the function reads.
    """
    for watched in (False, True):
        capture = _Call(title, dynamic, dynamic_reads, watched)
        capture.outermost = function
        try:
            positional = [capture.argument(value, f"argument {position}") for position, value in enumerate(arguments)]
            named = {key: capture.argument(value, key) for key, value in keywords.items()}
            captured: Any = capture.run(function, *positional, **named)
            return captured
        except CaptureRefused:
            if not capture.shadow.must_watch:
                raise
        finally:
            capture.forget_arrays()
    raise AssertionError("a capture that is watched has asked to be")


def _class_of(leaf: Any, value: Value, classes: dict[Node, type]) -> Any:
    """Return the class of ours that a computed array has: that of the arrays that it was computed from."""
    if isinstance(leaf, NDArrayProxy):
        return FRONT_ENDS["mxnet"]
    if leaf.front is not None:
        return leaf.front
    for node in topological([value]):
        cls = classes.get(node)
        if cls is not None and issubclass(cls, Array):
            return cls
    return None
