"""`Capture`: a user's function run once on proxies, so that what it computes, reads and changes becomes a graph.

A capture has no effects, and depends on nothing that is not noted. What cannot be done so is refused before it happens:
then the function is to run as it is written.

    capture = Capture("energy")
    proxies = [capture.argument(value) for value in (x, w)]
    captured = capture.run(energy, *proxies)

Whoever holds what was captured makes sure, at each later call, that

- all of `captured.reads` hold, and the arrays read are of the same kind;
- the arguments are of the same classes, dtypes, shapes, and one object where they were one object, arrays that were
  read included; and that no two of them overlap if there are `writes`;
- the arguments at `captured.contiguous` lie in the order of C.

A program that raises an exception has changed nothing: the function is to run as written then, as it may catch it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy

from minpy.capture.abstract_evaluation import Fact
from minpy.capture.captured_run import run_captured
from minpy.capture.forwards import facts_of
from minpy.capture.nd_proxy import NDArrayProxy, wrapped
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.read_containers import require_own
from minpy.capture.reads import Reads
from minpy.capture.recorder import Recorder
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.values import ARGUMENT, Storage
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.differentiation.trees import leaves_of
from minpy.graph.builder import GraphBuilder
from minpy.graph.ir import Node, Value, variable

__all__ = ["Capture", "Captured", "Policy"]


class Policy(Enum):
    """What becomes of what a capture cannot note.

    REFUSE
        The capture ends, before anything has happened.
    FREEZE
        It is what it is now: a graph that is exported, or given to a backend, is of the present. Functions of others
        are called once; what is stored outside, in attributes and lists, is there for the capture, and for nobody else.
    """

    REFUSE = "refuse"
    FREEZE = "freeze"


class Captured(NamedTuple):
    """What came of a function that was run on proxies."""

    # What it returned: a nest of lists, tuples and dicts of its own, with proxies (`ArrayProxy`, `NDArrayProxy`) in the
    # place of arrays. A proxy that `Capture.argument` gave is that argument itself.
    outputs: Any
    reads: Reads  # what it referred to
    inputs: list[Value]  # the variables of the arrays that were given, in that order; an array given again has one
    writes: list[tuple[int, Value]]  # of each input that it changed, the position and the last value
    contiguous: frozenset[int]  # the positions of the arguments that must lie in the order of C: views of them need it
    recorder: Recorder  # its steps; nothing can be added any more but through `recorder.builder`


class Capture:
    """One run of a function on proxies.

    `title`: what messages and nodes are called after. `draws`: whether operators that draw numbers, have auxiliary
    states, or act as in training may be called. `writes`: whether arguments may be changed in place.

    Examples
    --------
    >>> import numpy
    >>> def step(w, g):
    ...     w -= 0.5 * g
    ...     return w.sum()
    >>> capture = Capture("step")
    >>> w, g = capture.argument(numpy.ones(3)), capture.argument(numpy.ones(3))
    >>> captured = capture.run(step, w, g)
    >>> captured.outputs.shape, [position for position, value in captured.writes]
    ((), [0])
    """

    def __init__(self, title: str, *, draws: bool = False, writes: bool = True, policy: Policy = Policy.REFUSE) -> None:
        self.title = title
        self.reads = Reads()
        self.recorder = Recorder(GraphBuilder(), title, ArrayProxy)
        self.recorder.freezes = policy is Policy.FREEZE
        if self.recorder.freezes:  # nothing is compared with a call as written
            self.recorder.limit = sys.maxsize
        self.recorder.draws, self.recorder.writes, self.recorder.falls_back = draws, writes, True
        self.shadow = ShadowFunctions(self.recorder, self.reads, "forward", wrapped)
        self.shadow.capture = self.recorder.capture = self
        # What blocks and parameters in the capture share; what is captured, if that is a block, which has been called
        # already; and an array of ours among the arguments, whose class and context others get.
        self.surroundings: Any = None
        self.outermost: Any = None
        self.like: Any = None
        self.inputs: list[Value] = []
        self.recorder.facts_of_user = self._facts_of_user
        self._storages: list[Storage] = []

    def argument(self, value: Any, name: str | None = None) -> Any:
        """Return the proxy of an argument, which messages call by a name; refuse what has none.

        An array becomes an input; the same array again is the same proxy. A list, tuple or dict becomes a nest of the
        proxies of what is in it, which the function may not change. Of another object the proxy notes what is read;
        numbers and other constants are themselves, and are noted nowhere.
        """
        name = name or f"argument {len(self._storages)}"
        if not isinstance(value, (numpy.ndarray, Array)):
            return self.shadow.argument(value, self.argument, name)
        entry = self.shadow.proxies.get(id(value))
        if entry is None:
            entry = self.shadow.proxies[id(value)] = value, self._array(value, name)
        return entry[1]

    def _facts_of_user(self, node: Node, facts: Any) -> list[Fact]:
        """Return what a user's operator gives; its function is captured for that, and what it reads is noted."""
        reads = Reads()
        output_facts = facts_of(node, facts, reads)
        reads.forget_arrays()
        self.reads.adopt(reads)
        return output_facts

    def _array(self, value: Any, name: str) -> Any:
        buffer, cls = raw_of(value), self.shadow.array_class(value, name, numpy.memmap)
        position = len(self.inputs)
        variable_of = variable(f"argument{position}")
        self.inputs.append(variable_of)
        fact = Fact(buffer.shape, buffer.dtype, False)
        self.recorder.outputs[variable_of] = buffer.shape, buffer.dtype
        contiguous = frozenset([position]) if buffer.flags.c_contiguous else None
        storage = Storage(variable_of, None, fact, ARGUMENT, contiguous)
        self._storages.append(storage)
        if type(value) is numpy.memmap:
            self.recorder.mapped.add(id(storage))
        front = cls if cls is FRONT_ENDS["numpy"] else None
        proxy = ArrayProxy(self.recorder, variable_of, fact, storage, front=front)
        return NDArrayProxy(proxy) if cls is FRONT_ENDS["mxnet"] else proxy

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Captured:
        """Run a function on what `argument` gave, and end the capture.

        Raises
        ------
        CaptureRefused
            If it does what cannot be captured: with the reason, and the line. Nothing has happened then.
        """
        refusal: CaptureRefused | None = None
        try:
            shadow = self.shadow.function(function)
            outputs = run_captured(self.recorder, self._outputs, shadow, args, kwargs)
            return self._captured(outputs)
        except CaptureRefused as error:
            refusal = CaptureRefused(error.reason, error.place)
        finally:
            try:
                self.shadow.close()
            finally:
                self.recorder.ended = True
                self.recorder.facts_of_user = None
        del args, kwargs  # whoever keeps the error keeps this frame, and no proxy
        raise refusal

    def _outputs(self, shadow: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a shadow returns, all views read once more: there are no steps after that."""
        outputs = self.shadow.run(shadow, args, kwargs)
        require_own(self.shadow, outputs)
        for leaf in leaves_of(outputs):
            inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
            if isinstance(inner, ArrayProxy):
                inner.value  # noqa: B018
        return outputs

    def _captured(self, outputs: Any) -> Captured:
        written = self.recorder.written
        writes = [(position, storage.value) for position, storage in enumerate(self._storages) if storage in written]
        contiguous = frozenset(position for storage in written for position in storage.assumed)
        return Captured(outputs, self.reads, self.inputs, writes, contiguous, self.recorder)
