"""`Graphs`: what a hybridized block was traced to, a graph for everything that tracing has asked for."""

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

_MOST = 32


class _Latest(NamedTuple):
    """The graph of the latest call, of arrays only, and what it holds for as long as nothing is changed anywhere."""

    graph: CachedOp
    changes: int
    kinds: tuple[type, ...]
    modes: tuple[Any, ...]


class Graphs(dict[Any, CachedOp]):
    """The graphs of one block, by what each is for: see `key`. All of them hold for the same surroundings.

    Attributes
    ----------
    guards : Guards or None
        What they hold for; None: there is none.
    asks_for_recording : bool
        Whether what the block computes depends on whether it is recorded.
    history : GraphHistory
        Why each of them was traced, those that were forgotten included.
    """

    def __init__(self) -> None:
        super().__init__()
        self.guards: Guards | None = None
        self.asks_for_recording = False
        self._asks_for_training = self._asks_for_shapes = False
        self._latest: _Latest | None = None
        self.history = GraphHistory()
        self.frozen: set[str] = set()  # what has been warned of: its changes are not noticed

    def latest_for(self, args: Sequence[Any]) -> CachedOp | None:
        """Return the graph of the latest call, if it is the one for some arguments; None if it takes a closer look."""
        latest = self._latest
        if (
            latest is not None
            and latest.changes == CHANGES.count
            and latest.kinds == tuple(map(type, args))
            and latest.modes == (switches.array, state.training)
            and (self.guards is None or self.guards.are_of_attributes or self.guards.refers_to_the_same())
        ):
            return latest.graph
        return None

    def forget_latest(self) -> None:
        """Let the next call take a closer look."""
        self._latest = None

    def find(self, block: Any, args: Sequence[Any]) -> tuple[CachedOp, list[Any]]:
        """Return the graph for some arguments, traced if it is not there, and these in a flat list.

        Parameters
        ----------
        block : HybridBlock
            Whose graphs they are.
        args : sequence
            What it is called with.

        Raises
        ------
        Unhashable
            If there is something among them that may change without its being seen.
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
        nested: Any = None
        for argument in args:
            if not isinstance(argument, NDArray):
                leaves, nested = _taken_apart(block, args)
                form = key_of(nested) if block._is_written_as_forward else repr(nested)
                break
        else:
            leaves, form = [*args], len(args)  # arrays and nothing else, as it is mostly
        graph = self.get(self.key(form, leaves))
        if graph is None:
            began, is_first = perf_counter(), not self
            graph = self._add(block, leaves, _taken_apart(block, args)[1] if nested is None else nested, form)
            self.history.note_trace(block, args, leaves, form, self._asked(), is_first, perf_counter() - began)
        elif nested is None and self._may_be_latest():
            modes = switches.array, state.training
            self._latest = _Latest(graph, CHANGES.count, tuple(map(type, args)), modes)
        return graph, leaves

    def _may_be_latest(self) -> bool:
        """Tell whether a graph holds as long as no change is counted, for arrays of the same classes."""
        asks = self._asks_for_shapes or self.asks_for_recording
        return not asks and self.guards is not None

    def _add(self, block: Any, leaves: list[Any], nested: Any, form: Any) -> CachedOp:
        """Trace the block, and keep its graph; where there are many, the oldest goes."""
        graph, guards = traced(block, leaves, nested)
        while len(self) >= _MOST:
            del self[next(iter(self))]
        graph.is_settled = not block._optimizations.steps
        block._prepare(graph)
        self[self.key(form, leaves)] = graph
        self.guards = guards
        if not block._cached_graph:
            block._in_format = nested
            block._show(graph)
        return graph

    def key(self, form: Any, leaves: Sequence[Any]) -> Any:
        """Return what a graph is for: a form of arguments, and what tracing has asked for.

        Parameters
        ----------
        form : hashable
            How the arguments are nested; their number, where they are not.
        leaves : sequence of NDArray or None
            The arguments, in a flat list.
        """
        # What signs mean, and operators return, depends on which of them have NumPy's semantics.
        kinds: Any
        if len(leaves) == 1:
            kinds = leaves[0] is None or leaves[0]._keeps_dtype
        else:
            kinds = tuple([leaf is None or leaf._keeps_dtype for leaf in leaves])
        if not self._asks_for_training and not self._asks_for_shapes and not self.asks_for_recording:
            return form, is_np_array(), kinds
        key: list[Any] = [form, is_np_array(), kinds]
        if self._asks_for_training:
            key.append(bool(state.training))
        if self.asks_for_recording:
            key.append(state.recording == 1)
        if self._asks_for_shapes:
            key += [None if leaf is None else (leaf.shape, leaf.dtype, leaf.context) for leaf in leaves]
        return tuple(key)

    def note_asked(self, training: bool = False, recording: bool = False, shapes: bool = False) -> None:
        """Note what a trace has asked for. Graphs that were not told apart by that are forgotten."""
        before = self._asked()
        self._asks_for_training |= training
        self.asks_for_recording |= recording
        self._asks_for_shapes |= shapes
        if self._asked() != before:
            self.clear()
            self._latest = None

    def _asked(self) -> tuple[bool, ...]:
        return self._asks_for_training, self.asks_for_recording, self._asks_for_shapes

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
        """Return others with the same graphs."""
        copied = Graphs()
        copied.restore(self)
        return copied

    def restore(self, copied: Graphs) -> None:
        """Become what others are: a copy from before."""
        self.clear()
        self.update(copied)
        vars(self).update(vars(copied))


def _taken_apart(block: Any, args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the arrays among nested arguments, and how they are nested."""
    return arrays_and_spec(args) if block._is_written_as_forward else _flatten(args, "input")
