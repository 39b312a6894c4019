"""Notes what proxies do as nodes of a graph, and where in the user's code a capture ends."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.core.errors import NotTraceableError
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import CONSTANT, Node, Value

__all__ = ["LIMIT", "Notes", "Recorder", "has_handlers"]

# More nodes than this make a graph that costs more than it saves: loops over the rows of an array.
LIMIT = 2000
# With what the handling of errors begins: the first since Python 3.11, where comprehensions and generators clean up
# without it, the others before.
_HANDLING = {dis.opmap[name] for name in ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH") if name in dis.opmap}


@dataclass
class Notes:
    """What is known of a program's steps beside what they compute."""

    # The line of a user's code that a step comes from, where one is known.
    places: dict[Node, SourceLocation] = field(default_factory=dict)
    # Why users' operators, and gradient rules, are called as they are.
    refusals: dict[Node, CaptureRefused] = field(default_factory=dict)

    def add(self, recorder: Recorder) -> None:
        """Take over the places of the steps of a capture."""
        self.places.update((node, place) for node, place in recorder.places.items() if place is not None)

    def move(self, node: Node, to: Node) -> None:
        """Say of a node what is known of another one, which it stands for."""
        if node in self.places:
            self.places.setdefault(to, self.places[node])
        if node in self.refusals:
            self.refusals.setdefault(to, self.refusals[node])


class Recorder:
    """What one captured call shares: where its nodes go, and whose code runs."""

    def __init__(self, builder: GraphBuilder, title: str, proxy_class: Any, limit: int = LIMIT) -> None:
        self.proxy_class = proxy_class  # of arrays: a `BaseArrayProxy`
        self.builder = builder
        self.title = title
        self.limit = limit
        self.capture: Any = None  # the `Capture` that it belongs to, if any
        # The steps, in the order of their first use; the line that each comes from; which of `steps.KINDS` it is; the
        # shape and dtype of its (first) output; NumPy's function, where a call of that became an operator.
        self.nodes: list[Node] = []
        self.places: dict[Node, SourceLocation | None] = {}
        self.kinds: dict[Node, str] = {}
        self.facts: dict[Node, tuple[tuple[int, ...], Any]] = {}
        self.functions: dict[Node, Any] = {}
        self.outputs: dict[Value, tuple[tuple[int, ...], Any]] = {}  # shape and dtype of those somebody asked for
        self.codes: set[types.CodeType] = set()  # of users' functions: where a step is said to have happened
        self.written: list[Any] = []  # the storages that were written to
        # What gives the proxy of the gradient of an array that was read; what is in such arrays, where it may be asked
        # for; those that are files in memory. All by the ids of storages.
        self.gradients: dict[int, Callable[[], Any]] = {}
        self.elements: dict[int, Any] = {}
        self.mapped: set[int] = set()
        # Gives what the outputs of a user's operator are, for a node and the shapes and dtypes of its inputs; without,
        # users' operators are not called. And calls of those that cannot be captured: their rules say what they give.
        self.facts_of_user: Any = None
        self.declared: list[Node] = []
        self.of_user = False  # whether sums are NumPy's, to the last bit, and not those of our operators
        self.shadowed = False  # whether what runs is a shadow of a user's function, and no definition of ours
        self.writes = self.draws = False  # whether arguments may be written to; operators draw, or have states
        self.freezes = False  # whether what cannot be noted is what it is now, and does not end the capture
        self.falls_back = False  # whether the function runs as written where a step fails, and may catch the error
        self.paused = False  # whether what is computed now has no gradient
        # Whether proxies look who asks for attributes that arrays have not; None: nobody can begin anew with such.
        self.watched: bool | None = None
        self.failed = self.ended = False  # whether something was refused; whether nothing can be noted any more
        self.refusal: CaptureRefused | None = None  # the first one: it stands, even if the captured function caught it

    def made(self, result: Any, *arguments: Any) -> Any:
        """Return what a call gives, as users' code may see it; by the call's arguments."""
        return result

    def number_class(self, cls: type) -> type:
        """Return a class of NumPy's numbers, as users' code may call it."""
        return cls

    def require_going_on(self) -> None:
        """Raise a `NotTraceableError` where something is done to a proxy after its capture."""
        if self.ended:
            raise NotTraceableError(
                f"{self.title}: what stood for an array while this was captured is used after that. It was stored "
                "somewhere; store what the captured function returns instead."
            )

    def refuse(self, reason: str, place: SourceLocation | None = None) -> CaptureRefused:
        """Return the exception to raise where something cannot be noted."""
        self.failed = True
        error = CaptureRefused(reason, place or self.place())
        if self.refusal is None:
            self.refusal = error
        return error

    def place(self) -> SourceLocation | None:
        """Return the line of the user's code that runs; None if none does."""
        frame = next(self._user_frames(), None)
        return None if frame is None else SourceLocation(frame.f_code.co_filename, frame.f_lineno)

    def _user_frames(self) -> Iterator[types.FrameType]:
        """Yield the frames of users' functions that run, from the inside out."""
        frame: types.FrameType | None = sys._getframe(1) if self.codes else None
        while frame is not None:
            if frame.f_code in self.codes:
                yield frame
            frame = frame.f_back

    def node(
        self,
        operator: Any,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any] | None = None,
        kind: str = "call",
        name: str | None = None,
        called: str | None = None,
    ) -> Node:
        """Return a node of the graph, the one that is there already if it computes the same."""
        self.require_going_on()
        node = self.builder.node(operator, inputs, attributes or {}, name or self.title, called)
        if node not in self.places:
            self.nodes.append(node)
            self.places[node] = self.place()
            self.kinds[node] = kind = "elementwise" if operator.elementwise else kind
            may_fail = kind == "call" and not self.falls_back
            if may_fail and any(has_handlers(frame.f_code) for frame in self._user_frames()):
                raise self.refuse("it has a try or with statement around a step that may fail")
            if len(self.nodes) > self.limit:
                raise self.refuse(f"it has more than {self.limit} steps: is there a loop over rows?")
        return node

    def constant(self, value: Any) -> Value:
        """Return the value of a number or an array that does not change."""
        self.require_going_on()
        return Value(self.builder.node(CONSTANT, (), {"value": value}, "constant"))


def has_handlers(code: types.CodeType) -> bool:
    """Tell whether code has a `try` or `with` statement."""
    return not _HANDLING.isdisjoint(code.co_code[::2])
