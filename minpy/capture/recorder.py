"""Notes what proxies do as nodes of a graph, and where in the user's code a capture ends."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Mapping, Sequence
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
    """What is known of a program's steps beside what they compute.

    Attributes
    ----------
    places : dict of Node
        The line of a user's code that a step comes from, where one is known.
    refusals : dict of Node
        Why users' operators, and gradient rules, are called as they are.
    """

    places: dict[Node, SourceLocation] = field(default_factory=dict)
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
    """What one captured call shares: where its nodes go, and whose code runs.

    Attributes
    ----------
    nodes : list of Node
        The steps, in the order of their first use.
    of_user : bool
        Whether a user's function is captured: its sums are NumPy's, to the last bit, and not those of our operators.
    shadowed : bool
        Whether what runs is a shadow of a user's function, and no definition of ours.
    refusal : CaptureRefused or None
        The first one: it stands, even if the captured function caught it.
    proxy_class : type
        The class that stands in arrays' places, a `BaseArrayProxy`.
    places, kinds, facts : dict of Node
        The line that each step comes from; which of `steps.KINDS` it is; shape and dtype of its (first) output.
    functions : dict of Node
        The function of NumPy's that a step is the call of which became an operator.
    outputs : dict of Value
        Shape and dtype of each output that somebody asked for.
    codes : set of code
        Of the functions that users wrote: where a step is said to have happened.
    writes, draws : bool
        Whether arguments may be written to; whether operators may draw numbers, have states and act as in training.
    written : list of Storage
        What was written to.
    facts_of_user : callable or None
        Gives what the outputs of a user's operator are, for a node and the shapes and dtypes of its inputs; without,
        users' operators are not called.
    freezes : bool
        Whether what cannot be noted is what it is now, and does not end the capture.
    paused : bool
        Whether what is computed now has no gradient.
    capture : Capture or None
        What it belongs to.
    falls_back : bool
        Whether the function runs as it is written where a step fails, so that it may catch the error.
    failed : bool
        Whether something was refused.
    gradients : dict of int to callable
        What gives the proxy of the gradient of an array that was read, by the id of its storage.
    elements : dict of int to numpy.ndarray
        What is in arrays that were read, by the ids of their storages, where it may be asked for.
    declared : list of Node
        Calls of users' operators that cannot be captured: their rules say what they give.
    mapped : set of int
        The ids of the storages that are files in memory.
    ended : bool
        Whether the capture is over: nothing can be noted any more.
    watched : bool or None
        Whether proxies look who asks for attributes that arrays have not; None: nobody can begin anew with such.
    """

    def __init__(self, builder: GraphBuilder, title: str, proxy_class: Any, limit: int = LIMIT) -> None:
        self.proxy_class = proxy_class
        self.builder = builder
        self.title = title
        self.limit = limit
        self.nodes: list[Node] = []
        self.places: dict[Node, SourceLocation | None] = {}
        self.kinds: dict[Node, str] = {}
        self.facts: dict[Node, tuple[tuple[int, ...], Any]] = {}
        self.functions: dict[Node, Any] = {}
        self.outputs: dict[Value, tuple[tuple[int, ...], Any]] = {}
        self.refusal: CaptureRefused | None = None
        self.of_user = self.shadowed = False
        self.codes: set[types.CodeType] = set()
        self.writes = self.draws = self.ended = self.failed = self.falls_back = False
        self.written: list[Any] = []
        self.facts_of_user: Any = None
        self.freezes = self.paused = False
        self.capture: Any = None
        self.gradients: dict[int, Callable[[], Any]] = {}
        self.elements: dict[int, Any] = {}
        self.declared: list[Node] = []
        self.mapped: set[int] = set()
        self.watched: bool | None = None

    def require_going_on(self) -> None:
        """Raise an error where something is done to a proxy after its capture.

        Raises
        ------
        NotTraceableError
        """
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
        frame: types.FrameType | None = sys._getframe(1) if self.codes else None
        while frame is not None:
            if frame.f_code in self.codes:
                return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None

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
            if kind == "call" and not self.falls_back and self._may_be_caught():
                raise self.refuse("it has a try or with statement around a step that may fail")
            if len(self.nodes) > self.limit:
                raise self.refuse(f"it has more than {self.limit} steps: is there a loop over rows?")
        return node

    def _may_be_caught(self) -> bool:
        """Tell whether a function of the user's that runs may catch the error of a step."""
        frame: types.FrameType | None = sys._getframe(2) if self.codes else None
        while frame is not None:
            if frame.f_code in self.codes and has_handlers(frame.f_code):
                return True
            frame = frame.f_back
        return False

    def constant(self, value: Any) -> Value:
        """Return the value of a number or an array that does not change."""
        self.require_going_on()
        return Value(self.builder.node(CONSTANT, (), {"value": value}, "constant"))


def has_handlers(code: types.CodeType) -> bool:
    """Tell whether code has a `try` or `with` statement."""
    return not _HANDLING.isdisjoint(code.co_code[::2])
