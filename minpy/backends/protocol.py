"""What a backend is: it makes executables of lowered graphs, and these make contexts, in which calls run.

A program runs step by step at first, which tells what its arrays look like. With these facts each backend that is
selected is asked for an executable, the best one as soon as the program has run often enough for it to be worth while.
A backend may decline, and say why: then the next one is asked, and the interpreter runs what nobody takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy

from minpy.backends.explanation import Explanation
from minpy.graph.ir import Node, Value

__all__ = [
    "ArgumentMismatch",
    "ArrayFact",
    "Backend",
    "Context",
    "Declined",
    "Executable",
    "Facts",
    "LoweredGraph",
    "Options",
    "Residuals",
    "StepCalls",
]

# What runs a step on raw arrays, by its node: operators with states have one for each call in flight.
StepCalls = Callable[[Node], Callable[..., Any]]


class LoweredGraph(Protocol):
    """A graph as a backend gets it; `minpy.graph.schedule.Steps` is one."""

    @property
    def variables(self) -> Sequence[Node]:
        """The variables, in the order in which arrays are given for them."""

    @property
    def outputs(self) -> Sequence[Value]:
        """What the forward part returns."""

    @property
    def forward(self) -> Sequence[Node]:
        """The steps of the forward part, each after its inputs."""

    @property
    def backward(self) -> Sequence[Node]:
        """The steps of the backward part, each after its inputs."""

    @property
    def cotangents(self) -> Sequence[Value]:
        """Variables of the backward part: the cotangents of the outputs."""

    @property
    def gradients(self) -> Mapping[Node, Value]:
        """The gradients that the backward part computes, by variable."""

    @property
    def grad_req(self) -> Mapping[Node, str]:
        """What is asked for, by variable: to 'write' a gradient or 'add' it. Without any there is no backward part."""

    @property
    def states(self) -> Collection[int]:
        """The positions of variables that steps change."""

    @property
    def saved_for_replay(self) -> Mapping[Node, None]:
        """The steps that must not run again, as they would give something else: what they gave is returned."""

    @property
    def stored(self) -> Mapping[int, int]:
        """The positions of outputs that may be computed where the values of variables lie, and of these variables."""

    @property
    def training(self) -> bool:
        """Whether steps behave as in training."""


@dataclass(frozen=True, slots=True)
class ArrayFact:
    """What one run told about a node's answer: its shape and layout, and whose memory it shares.

    `shape` is None if the answer is a tuple, of `count` arrays; `parts` are their shapes and dtypes. `shares` are the
    nodes, itself included if it has memory of its own, of `nbytes` bytes.
    """

    shape: tuple[int, ...] | None
    dtype: Any
    strides: tuple[int, ...]
    shares: frozenset[Node]
    nbytes: int
    count: int
    c_contiguous: bool
    parts: tuple[tuple[tuple[int, ...], Any], ...] = ()


class Facts(dict[Node, ArrayFact]):
    """What is known of the variables and of the answers of steps, by node.

    Attributes
    ----------
    covers_backward : bool
        Whether the backward part has run, too; where there is none, what the forward part told is all.
    """

    covers_backward = False


def _no_room() -> None:
    """There is nothing to free."""


class Options(NamedTuple):
    """How a program is to be compiled.

    Attributes
    ----------
    fast_math : bool
        Whether a product and the sum that it goes into may be rounded once.
    parameters : tuple of int
        The positions of variables that seldom change from call to call.
    make_room : callable
        Frees what the program has computed in so far: to be called once it is sure that there will be an executable.
    """

    fast_math: bool = False
    parameters: tuple[int, ...] = ()
    make_room: Callable[[], None] = _no_room


class Declined(NamedTuple):
    """A backend's answer where it makes no executable: why, and whether it may be asked again when more is known."""

    reason: str
    ask_again: bool = False


class ArgumentMismatch(Exception):
    """Raised before anything is done, by code that computes in its arguments (`stored`) and cannot in these.

    They may share memory, or lie in another layout. A call with copies of all of them will do.
    """


# What a forward part leaves for the backward part: the arrays that it used, which may be copies of those given; what
# it keeps, a list that backward uses up; and the answers of `saved_for_replay` steps.
Residuals = tuple[Sequence[numpy.ndarray], list[Any], Sequence[Any]]


class Context:
    """What one call at a time computes in: buffers, and functions that know them. A subclass has `forward`."""

    __slots__ = ()

    # Of (arrays, cotangents, targets, kept), computes the gradients of `steps.gradients` in `targets`, in this order;
    # None while there is no backward part: then its steps run one by one.
    backward: Callable[..., None] | None = None

    def forward(
        self, arrays: Sequence[numpy.ndarray], out: Sequence[numpy.ndarray | None] = ()
    ) -> tuple[Sequence[Any], Residuals]:
        """Compute the outputs.

        Parameters
        ----------
        arrays : sequence of numpy.ndarray
            For all variables, of the shapes and dtypes in the facts; of any layout.
        out : sequence of numpy.ndarray or None
            For each output an array, C-contiguous, in which it may be computed: what is returned for it is the array
            itself where that was done, and another one where not.

        Returns
        -------
        sequence of numpy.ndarray
            The outputs, which share memory with nothing else.
        Residuals

        Raises
        ------
        ArgumentMismatch
            Before anything is done: see there.
        """
        raise NotImplementedError

    def answers(self, kept: list[Any]) -> Mapping[Node, Any] | None:
        """Return what the backward part reads of the forward part's answers, by node; None: they are not there."""
        return None


class Executable:
    """A program that a backend has made. A subclass has `context`; any number of threads may use it at once.

    Attributes
    ----------
    cannot_fail_backward : bool
        Whether the backward part calls nothing that could raise: once it writes to targets, it goes through.
    """

    cannot_fail_backward = False

    def context(self, calls: StepCalls) -> Context:
        """Return what one call at a time computes in.

        Parameters
        ----------
        calls : callable
            The functions of steps by node, for this context alone.
        """
        raise NotImplementedError

    def learn_backward(self, facts: Facts) -> None:
        """Make the backward part, of an executable that was made before the facts covered it."""

    def read_by_backward(self) -> Collection[Node]:
        """Return the variables that the backward part reads in place of views of them, beside its steps' inputs."""
        return ()

    def step_of(self, error: BaseException) -> Node | None:
        """Return the step that raised an error; None where that is not known."""
        return None

    def text(self) -> str:
        """Return what runs, as text."""
        return type(self).__name__

    def explain(self, title: str) -> Explanation | None:
        """Return what became of the program, for reports under a title; None if there is nothing to say of it."""
        return None


class Backend(Protocol):
    """What makes executables. One is registered by `minpy.backends.register`.

    Attributes
    ----------
    name : str
        By which it is selected.
    after_rounds : int
        How often a program runs before it is asked: making an executable has a price.
    """

    name: str
    after_rounds: int

    def compile(self, steps: LoweredGraph, facts: Facts, options: Options) -> Executable | Declined:
        """Return an executable for arrays of one set of shapes and dtypes, or why there is none.

        An error that it raises becomes a warning, and the next backend is asked.
        """
