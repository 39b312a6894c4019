"""`Graphs`: the graphs of symbols that a hybridized block was traced to, by what tracing has asked for."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from minpy.core.numpy_semantics import is_np_array, switches
from minpy.core.state import state
from minpy.gluon.block.argument_specs import key_of
from minpy.gluon.block.attribute_guards import Guards
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.forward import arrays_and_spec
from minpy.gluon.block.nesting import _flatten
from minpy.gluon.block.retraces import GraphHistory
from minpy.gluon.block.symbol_tracing import traced
from minpy.gluon.change_counter import CHANGES
from minpy.ndarray import NDArray

__all__ = ["Graphs"]

_MOST_GRAPHS = 32


class _Latest(NamedTuple):
    """The graph of the latest call, of arrays only, and what it is valid for as long as nothing is changed anywhere."""

    graph: CachedOp
    changes: int
    classes: tuple[type, ...]
    modes: tuple[Any, ...]


class Graphs(dict[Any, CachedOp]):
    """The graphs of one block by their keys. All of them are valid for the same `guards`."""

    def __init__(self) -> None:
        super().__init__()
        self.guards: Guards | None = None  # None where there is no graph
        # Whether what the block computes depends on whether it is recorded, and on more.
        self.asks_for_recording = self._asks_for_training = self.asks_for_shapes = False
        self._latest: _Latest | None = None
        self.history = GraphHistory()  # why each was traced, those that were forgotten included
        self.frozen: set[str] = set()  # names that were warned of: changes of what they mean are not noticed

    def latest_for(self, args: Sequence[Any]) -> CachedOp | None:
        """Return the graph of the latest call, if it is the one for some arguments; None if it takes a closer look."""
        latest = self._latest
        if (
            latest is not None
            and latest.changes == CHANGES.count
            and latest.classes == tuple(map(type, args))
            and latest.modes == (switches.array, state.training)
            and (self.guards is None or self.guards.are_of_attributes or self.guards.refers_to_the_same())
        ):
            return latest.graph
        return None

    def forget_latest(self) -> None:
        """Let the next call take a closer look."""
        self._latest = None

    def find(self, block: Any, args: Sequence[Any]) -> tuple[CachedOp, list[Any]]:
        """Return the graph of `block` for some arguments, traced if it is not there, and these in a flat list.

        Raises `Unhashable` if there is something among them that may change without its being seen.
        """
        latest = self.latest_for(args)
        if latest is not None:
            return latest, [*args]
        self._latest = None
        if self.guards is not None:
            failure = self.guards.failure()
            if failure is not None:
                self.history.failure = failure
                block._clear_cached_op()
        leaves: list[Any]
        form: Any = None
        for argument in args:
            if not isinstance(argument, NDArray):
                leaves, form = _flattened(block, args)
                form_key = key_of(form) if block._is_written_as_forward else repr(form)
                break
        else:
            leaves, form_key = [*args], len(args)  # arrays and nothing else, as it is mostly
        graph = self.get(self._key(form_key, leaves))
        if graph is None:
            began, is_first = perf_counter(), not self
            graph = self._add(block, leaves, _flattened(block, args)[1] if form is None else form, form_key)
            self.history.note_trace(
                block, args, leaves, form_key, self._dependencies(), is_first, perf_counter() - began
            )
        elif form is None and self.guards is not None and not self.asks_for_shapes and not self.asks_for_recording:
            # It is valid as long as no change is counted, for arrays of the same classes.
            modes = switches.array, state.training
            self._latest = _Latest(graph, CHANGES.count, tuple(map(type, args)), modes)
        return graph, leaves

    def _add(self, block: Any, leaves: list[Any], form: Any, form_key: Any) -> CachedOp:
        """Trace the block, and keep its graph; where there are many, the oldest goes."""
        graph, guards = traced(block, leaves, form)
        while len(self) >= _MOST_GRAPHS:
            del self[next(iter(self))]
        graph.is_settled = not block._optimizations.steps
        block._prepare(graph)
        self[self._key(form_key, leaves)] = graph
        self.guards = guards
        if not block._cached_graph:
            block._in_format = form
            block._show(graph)
        return graph

    def _key(self, form_key: Any, leaves: Sequence[Any]) -> Any:
        """Return what a graph is for: how the arguments are nested, and what tracing has asked for."""
        # What signs mean, and operators return, depends on which of them have NumPy's semantics.
        semantics: Any
        if len(leaves) == 1:
            semantics = leaves[0] is None or leaves[0]._keeps_dtype
        else:
            semantics = tuple([leaf is None or leaf._keeps_dtype for leaf in leaves])
        if not self._asks_for_training and not self.asks_for_shapes and not self.asks_for_recording:
            return form_key, is_np_array(), semantics
        key: list[Any] = [form_key, is_np_array(), semantics]
        if self._asks_for_training:
            key.append(bool(state.training))
        if self.asks_for_recording:
            key.append(state.recording == 1)
        if self.asks_for_shapes:
            key += [None if leaf is None else (leaf.shape, leaf.dtype, leaf.context) for leaf in leaves]
        return tuple(key)

    def note_dependency(self, training: bool = False, recording: bool = False, shapes: bool = False) -> None:
        """Note what a trace has asked for. Graphs that were not told apart by that are forgotten."""
        before = self._dependencies()
        self._asks_for_training |= training
        self.asks_for_recording |= recording
        self.asks_for_shapes |= shapes
        if self._dependencies() != before:
            self.clear()
            self._latest = None

    def _dependencies(self) -> tuple[bool, ...]:
        return self._asks_for_training, self.asks_for_recording, self.asks_for_shapes

    def replace(self, graph: CachedOp, replacement: CachedOp) -> None:
        """Put another graph in the place of one."""
        self._latest = None
        for key, current in self.items():
            if current is graph:
                self[key] = replacement
                return

    def forget(self) -> None:
        """Forget all graphs: the next call traces anew. What tracing has asked for is known still."""
        self.clear()
        self.guards = self._latest = None

    def copy(self) -> Graphs:
        copied = Graphs()
        copied.restore(self)
        return copied

    def restore(self, copied: Graphs) -> None:
        """Become what a copy is."""
        self.clear()
        self.update(copied)
        vars(self).update(vars(copied))


def _flattened(block: Any, args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the arrays among nested arguments, and how they are nested."""
    return arrays_and_spec(args) if block._is_written_as_forward else _flatten(args, "input")
