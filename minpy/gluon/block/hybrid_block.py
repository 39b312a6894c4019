"""`HybridBlock`: a block that can be run as it is written, or become a graph."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy import ndarray as nd
from minpy import symbol
from minpy.context import Context, current_context
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    ContextError,
    MXNetError,
    NotTraceableError,
    NoValueError,
    ShapeError,
    UnknownShapeError,
    describe,
)
from minpy.core.state import TRACES, Scope, questions, state, tracing
from minpy.core.switches import is_np_array
from minpy.gluon.block.block import Block
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.changes import Changes, Returned, of_numpy
from minpy.gluon.block.draws import Draws
from minpy.gluon.block.guards import CHANGES, Guards
from minpy.gluon.block.modes import AsWritten, Modes
from minpy.gluon.block.nesting import _flatten, _regroup
from minpy.gluon.block.optimizing import LOCK, Given, Optimizations, stand_ins
from minpy.gluon.block.places import place_in_program
from minpy.gluon.block.steps import Step, taken_options
from minpy.gluon.block.templates import Keywords, Unkeyed, filled, functions_in, key_of, split, template_of
from minpy.gluon.block.traced import Trace, Traced
from minpy.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from minpy.gluon.parameter.shapes import is_complete
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol

if TYPE_CHECKING:
    from minpy.graph.native.explaining import Explanations

__all__ = ["HybridBlock"]

_MOST_GRAPHS = 32
# Attributes of all blocks, which say nothing of what one computes.
_INTERNAL = frozenset(
    """
    _active _asks_for_classes _asks_for_recording _asks_for_shapes _asks_for_training _backend _backend_opts
    _cached_graph _cached_op _cached_op_args _callback _changes _children _empty_prefix _flags _forward_hooks
    _forward_pre_hooks _graphs _guards _in_format _lasting _monitor_all _name _optimizations _out_format _params
    _prefix _reg_params _retraced _scope
    """.split()  # noqa: SIM905
)

# Those that say what it has become.
_OF_GRAPHS = """
    _active _asks_for_classes _asks_for_recording _asks_for_shapes _asks_for_training _backend _backend_opts
    _cached_graph _cached_op _cached_op_args _flags _graphs _guards _in_format _lasting _optimizations _out_format
    """.split()  # noqa: SIM905


class HybridBlock(Block):
    """A block whose computation can become a graph: `hybridize()` makes it one, at the next call.

    A subclass says in `hybrid_forward(self, F, x, *args, **parameters)` what it computes, with functions of `F` only:
    that is `mx.nd`, or `mx.sym` while the graph is made. Its parameters are given by the names of the attributes.

    Parameters
    ----------
    prefix : str, optional
        What stands in front of the names of its parameters; see `Block`.
    params : ParameterDict, optional
        Parameters to share.

    Examples
    --------
    >>> import minpy as mx
    >>> class Scaled(mx.gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.factor = self.params.get('factor', shape=(1,), init='ones')
    ...     def hybrid_forward(self, F, x, factor):
    ...         return F.broadcast_mul(x, factor + 1)
    >>> net = Scaled()
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    """

    # Whether it defines `forward`, and not `hybrid_forward`: MXNet 2's way, with `mx.np`.
    _is_written_as_forward: ClassVar[bool] = False
    # Whether it stands for a function that is compiled: messages are of that then.
    _is_function: ClassVar[bool] = False
    # Plain attributes that what it computes does not depend on, beside those of all blocks.
    _not_compared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__mro__[: cls.__mro__.index(HybridBlock)]
        written = any("forward" in vars(one) for one in own)
        # A forward of the library's own knows symbols, as `hybrid_forward` does.
        symbolic = any(
            "hybrid_forward" in vars(one) or ("forward" in vars(one) and one.__module__.startswith("minpy.gluon."))
            for one in own
        )
        cls._is_written_as_forward = written and not symbolic

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._flags: list[tuple[str, Any]] = []
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}
        self._optimizations = Optimizations()
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        self._asks_for_training = self._asks_for_recording = self._asks_for_shapes = self._asks_for_classes = False
        self._retraced = 0
        self._clear_cached_op()

    def _clear_cached_op(self) -> None:
        """Forget what the block was traced to: the next call traces it again."""
        self._graphs: dict[Any, CachedGraph] = {}
        self._guards: Guards | None = None
        self._cached_graph: tuple[Any, ...] = ()
        self._cached_op: Any = None
        self._cached_op_args: list[Any] = []
        self._lasting: dict[str, Any] = {}
        self._in_format: Any = None
        self._out_format: Any = None

    def __getstate__(self) -> dict[str, Any]:
        forgotten: dict[str, Any] = {
            "_graphs": {},
            "_guards": None,
            "_cached_graph": (),
            "_cached_op": None,
            "_cached_op_args": [],
            "_lasting": {},
        }
        return {**vars(self), **forgotten}

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _INTERNAL:
            CHANGES.note(self)
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        CHANGES.note(self)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block one of those inside; see `Block.register_child`.

        Raises
        ------
        ArgumentError
            If it is no HybridBlock.
        """
        if not isinstance(block, HybridBlock):
            what = repr(block) if isinstance(block, Block) else describe(block)
            name_here = self.name or type(self).__name__
            raise ArgumentError(
                f"{name_here}: a child of a HybridBlock must be a HybridBlock, got {what}. Derive it from HybridBlock "
                "(a function: gluon.nn.HybridLambda), or derive the whole from Block (Sequential, not "
                "HybridSequential)."
            )
        super().register_child(block, name)
        CHANGES.note(self)
        self._clear_cached_op()

    # -- hybridizing -----------------------------------------------------------------------------------------------

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        compile: bool = True,
        fast_math: bool = False,
        **kwargs: Any,
    ) -> None:
        """Let the next call trace the block to a graph, which is run from then on.

        Where llvmlite is installed (`pip install "minpy[compile]"`), the graph becomes native code when it has been
        called twice with the same shapes: see `explain`.

        Parameters
        ----------
        active : bool
            Whether to do so, or to run the block as it is written again.
        backend : str, optional
            A partitioner or a pass, by its name: the graph goes through it at the next call. See `optimize_for`.
        clear : bool
            Whether a graph that is there, and the backends that it has gone through, are forgotten. If not, `backend`
            is applied to what those before have made.
        static_alloc, static_shape : bool
            Together: whether native operators that have a state keep it over calls. Each call has one of its own
            otherwise. Apart from that they are not needed, as memory is planned in any case, and outputs always have
            memory of their own.
        inline_limit, forward_bulk_size, backward_bulk_size
            Taken, and not needed.
        compile : bool
            Whether the graph may become native code.
        fast_math : bool
            Whether native code may contract `a * b + c` into one rounding: faster, and other in the last bit.
        **kwargs
            Options of the backend. Where there are none those given before stay.

        Examples
        --------
        >>> import minpy as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize(mx.init.One())
        >>> net.hybridize(static_alloc=True, static_shape=True)
        >>> net(mx.nd.ones((1, 3))).asnumpy().tolist()
        [[3.0, 3.0]]
        """
        flags = {"static_alloc": static_alloc, "static_shape": static_shape, "inline_limit": inline_limit}
        flags |= {} if compile else {"compile": False}
        flags |= {"fast_math": True} if fast_math else {}
        bulks = {"forward_bulk_size": forward_bulk_size, "backward_bulk_size": backward_bulk_size}
        self._hybridize_itself(active, backend, clear, flags, bulks, kwargs)
        super().hybridize(active, **flags, **bulks)

    def _hybridize_itself(
        self,
        active: bool,
        backend: str | None,
        clear: bool,
        flags: Mapping[str, Any],
        bulks: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        """Hybridize the block without those inside."""
        if backend is not None and not isinstance(backend, str):
            raise ArgumentError(
                f"{self.name}: the backend is {describe(backend)}; expected the name of a partitioner or a pass, or "
                "None."
            )
        inherits = not options
        if options:
            self._backend_opts = dict(options)
        self._backend = backend
        self._active = active
        self._flags = [*flags.items(), *((name, size) for name, size in bulks.items() if size is not None)]
        if clear:
            self._clear_cached_op()
            self._optimizations = Optimizations()
        if active and backend is not None:
            taken = taken_options(backend, self._backend_opts) if inherits else self._backend_opts
            self._optimizations.steps.append(Step(backend, taken))
            for graph in self._graphs.values():
                graph.is_settled = False
        if active and (self._forward_hooks or self._forward_pre_hooks):
            self._warn_of_hooks()

    def _warn_of_hooks(self) -> None:
        warnings.warn(
            f"{self.name} is hybridized and has hooks: inside a hybridized block they are called once, when it is "
            "traced, and with symbols.",
            stacklevel=4,
        )

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Hybridize the block, and let its graph go through a partitioner or a pass, now. The block is not run.

        Backends are given the inputs and the parameters, by their names. A parameter that a pass makes belongs to the
        graph: it is used, has a gradient, and is exported, but is none of `collect_params()`. One that it takes out of
        the graph is a parameter of the block as before.

        Parameters
        ----------
        x, *args : NDArray or Symbol
            What the block is to be called with, or variables that may say their shapes: `mx.sym.var('x', shape=...)`.
        backend : str
            The name of what `mx.library.load` or `minpy.graph.register_partitioner` and `register_pass` have brought.
        clear : bool
            Whether backends that the block has gone through before are forgotten. If not, this one is applied to what
            they have made.
        static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            Taken, and not needed; see `hybridize`.
        **kwargs
            Options of the backend. Where there are none those given before stay.

        Raises
        ------
        ArgumentValueError
            Without `backend`.
        MXNetError
            If the backend fails, or a parameter is not initialized. The block stays as it was.

        Examples
        --------
        >>> import minpy as mx
        >>> @mx.graph.register_pass('sigmoid-for-tanh', replace=True)
        ... def sigmoid_for_tanh(graph):
        ...     for node in graph:
        ...         if node.op == 'tanh':
        ...             node.op = 'sigmoid'
        >>> net = mx.gluon.nn.HybridLambda('tanh')
        >>> x = mx.nd.zeros((1,))
        >>> net.optimize_for(x, backend='sigmoid-for-tanh')
        >>> float(net(x).asscalar())
        0.5
        """
        if backend is None:
            raise ArgumentValueError(
                'Must specify "backend" to optimize_for: the name of a partitioner or of a pass. To hybridize the '
                "block without one, call hybridize()."
            )
        flags = {"static_alloc": static_alloc, "static_shape": static_shape, "inline_limit": inline_limit}
        bulks = {"forward_bulk_size": forward_bulk_size, "backward_bulk_size": backward_bulk_size}
        before = {name: vars(self)[name] for name in _OF_GRAPHS if name in vars(self)}
        self._optimizations = self._optimizations.followed()
        self._graphs = dict(self._graphs)
        try:
            self._hybridize_itself(True, backend, clear, flags, bulks, kwargs)
            self._optimize(self._as_called(x, *args))
        except BaseException:
            vars(self).update(before)
            for graph in self._graphs.values():
                graph.is_settled = graph.applied == len(self._optimizations.steps)
            raise
        super().hybridize(True, **flags, **bulks)

    def cast(self, dtype: Any) -> None:
        """Convert the parameters of the block, and of those inside, to another dtype."""
        self._clear_cached_op()
        self._optimizations.cast(dtype)
        super().cast(dtype)

    # -- tracing ---------------------------------------------------------------------------------------------------

    def _get_graph(self, *args: Any) -> tuple[Any, ...]:
        """Return (inputs, out): the variables for the arguments, and the symbol that the block computes of them."""
        if not self._cached_graph:
            self._cached(args)
        return self._cached_graph

    def _cached(self, args: Sequence[Any]) -> tuple[CachedGraph, list[Any]]:
        """Return the graph for such arguments, traced if it is not there, and the arguments in a flat list."""
        if self._guards is not None and not self._guards.hold():
            self._clear_cached_op()
            self._retraced += 1
        leaves: list[Any]
        form: Any
        for one in args:
            if not isinstance(one, NDArray):
                leaves, form = self._taken_apart(args)
                break
        else:
            leaves, form = [*args], None  # arrays and nothing else, as it is mostly
        graph = self._graphs.get(self._key(leaves, form))
        if graph is None:
            graph = self._trace_noting(leaves, self._taken_apart(args)[1] if form is None else form, form)
        return graph, leaves

    def _taken_apart(self, args: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the arrays among nested arguments, and the form that they are in."""
        if self._is_written_as_forward:
            leaves: list[Any] = []
            form = template_of(args, leaves, (NDArray, numpy.ndarray))
            like = next(leaf for leaf in leaves if isinstance(leaf, NDArray))
            return [leaf if isinstance(leaf, NDArray) else like._like(leaf) for leaf in leaves], form
        return _flatten(args, "input")

    def _key(self, leaves: Sequence[Any], form: Any) -> Any:
        """Return what a graph is for: the form of arguments, and what tracing has asked for."""
        known = len(leaves) if form is None else key_of(form) if self._is_written_as_forward else repr(form)
        if self._is_function:
            known = known, *[leaf._data.dtype for leaf in leaves]
        if self._asks_for_classes:
            known = known, *[numpy.ndarray if id(leaf._data) in of_numpy.ids else type(leaf) for leaf in leaves]
        if not self._asks_for_training and not self._asks_for_shapes and not self._asks_for_recording:
            return known, is_np_array()
        key: list[Any] = [known, is_np_array()]
        if self._asks_for_training:
            key.append(bool(state.training))
        if self._asks_for_recording:
            key.append(state.recording == 1)
        if self._asks_for_shapes:
            key += [None if leaf is None else (leaf.shape, leaf.dtype, leaf.context) for leaf in leaves]
        return tuple(key)

    def _trace_noting(self, leaves: list[Any], form: Any, short: Any) -> CachedGraph:
        """Trace the block, and note what the graph is for."""
        blocks: dict[int, Block] = {}
        self.apply(lambda block: blocks.setdefault(id(block), block))
        attributes = [(block, dict(vars(block))) for block in blocks.values()]
        # As things are before the trace: what that changes is seen at the next call.
        if self._guards is not None and self._guards.are_full:
            self._clear_cached_op()
        guards = self._guards or Guards(blocks.values(), _INTERNAL)
        if self._is_written_as_forward:
            guards.note_given(functions_in(form))
        before = questions.training, questions.recording
        questions.training = questions.recording = False
        recording = 1 if state.recording == 1 else 2
        draws = Draws(self._functions_traced(blocks.values()), blocks.values(), self._is_function)
        try:
            with Scope(recording, int(state.training)), Modes(self.name), draws:  # type: ignore[arg-type]
                graph = self._trace_forward(leaves, form) if self._is_written_as_forward else self._trace(leaves, form)
            _restore(attributes, self.name)
            self._heed(draws)
            asked = questions.training, questions.recording
        except BaseException:
            _restore(attributes, None)
            if self._is_function:  # it runs as it is written next, and changes what it changes once
                guards.restore()
            raise
        finally:
            questions.training = before[0] or questions.training
            questions.recording = before[1] or questions.recording
        if (asked[0] and not self._asks_for_training) or (asked[1] and not self._asks_for_recording):
            self._asks_for_training |= asked[0]
            self._asks_for_recording |= asked[1]
            self._graphs.clear()
        key = self._key(leaves, short)
        while len(self._graphs) >= _MOST_GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        graph.is_settled = not self._optimizations.steps
        self._prepare(graph)
        if graph.changes is not None:
            graph.changes.guards = guards
        self._graphs[key] = graph
        self._guards = guards
        if not self._cached_graph:
            self._in_format = form
            self._show(graph)
        return graph

    @staticmethod
    def _functions_traced(blocks: Iterable[Block]) -> Iterator[Callable[..., Any]]:
        """Return what users have written of some blocks."""
        for block in blocks:
            yield type(block).forward
            if isinstance(block, HybridBlock):
                yield type(block).hybrid_forward

    def _heed(self, draws: Draws) -> None:
        """Warn that a trace holds numbers that were drawn once; of a function that is compiled it is an error."""
        if not draws.found:
            return
        if self._is_function:
            draws.undo()
            raise NotTraceableError(
                f"it {draws.found}, and a graph would hold what that gave once. Draw with minpy.np.random, or take the "
                "numbers as an argument."
            )
        if draws.is_random:
            warnings.warn(
                f"{self.name} is hybridized, and its forward {draws.found}: every call uses the numbers that were "
                "drawn when it was traced. Draw with mx.np.random (F.random in hybrid_forward), give the numbers as an "
                "argument, or leave the block that does it unhybridized: call hybridize(False) on it.",
                stacklevel=6,
            )

    def _prepare(self, graph: CachedGraph) -> None:
        if {("static_alloc", True), ("static_shape", True)} <= {*self._flags}:
            graph.compiled.keep_states()
        graph.compiled.compiles = ("compile", False) not in self._flags
        graph.compiled.fast_math = ("fast_math", True) in self._flags

    def explain(self) -> Explanations:
        """Return what became of the block's graph: which operators are which kernel, what stayed a call, and why.

        Returns
        -------
        tuple of Explanation
            One for each program that the graph has become, the latest first: for shapes, with and without gradients. It
            prints as text; each has its kernels with what they cost, the memory, how long compiling took, and a
            `picture`.

        Raises
        ------
        ArgumentError
            If the block has not been called since it was hybridized.

        Examples
        --------
        >>> import minpy as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3, prefix='dense_')
        >>> net.initialize()
        >>> net.hybridize()
        >>> _ = net(mx.nd.ones((1, 3)))
        >>> print(net.explain())  # doctest: +ELLIPSIS
        dense_fwd (prediction, without gradients): Python, because it has not run often enough: ...
        """
        from minpy.graph.native.explaining import Explanations  # nobody who only runs blocks needs it

        if not self._graphs:
            raise ArgumentError(
                f"{self.name}.explain: the block has no graph. Call hybridize(), and the block on arrays, three times "
                "for one that is compiled."
            )
        return Explanations(one for graph in self._graphs.values() for one in graph.compiled.explain())

    def _show(self, graph: CachedGraph) -> None:
        """Make a graph the one that is exported."""
        self._lasting = graph.lasting()
        self._cached_graph = ([one for one in graph.inputs if one is not None], graph.out)
        self._cached_op = graph.operator
        self._cached_op_args = [(type(one) is int, one) for one in graph.sources]

    def _input_variables(self, leaves: Sequence[Any]) -> list[str]:
        return ["data"] if len(leaves) == 1 else [f"data{index}" for index in range(len(leaves))]

    def _trace(self, leaves: Sequence[Any], form: Any) -> CachedGraph:
        """Return the graph that `hybrid_forward` makes of symbols."""
        written: list[Block] = []
        self.apply(lambda block: written.append(block) if getattr(block, "_is_written_as_forward", False) else None)
        if not written:
            return self._trace_symbols(leaves, form, None)
        like = next(leaf for leaf in leaves if leaf is not None)
        with self._trace_of(like) as trace:
            return self._trace_symbols(leaves, form, trace)

    def _trace_symbols(self, leaves: Sequence[Any], form: Any, trace: Trace | None) -> CachedGraph:
        inputs: list[Any] = [
            None if leaf is None else symbol.var(name)
            for leaf, name in zip(leaves, self._input_variables(leaves), strict=True)
        ]
        if trace is not None:  # which children are given that define `forward`
            for one, leaf in zip(inputs, leaves, strict=True):
                if leaf is not None:
                    trace.know(one, leaf)
        if is_np_array():
            inputs = [None if one is None else one.as_np_ndarray() for one in inputs]
        grouped = _regroup(inputs, form)[0]
        own = {name: self._variable(parameter) for name, parameter in self._reg_params.items()}
        try:
            with self.name_scope():
                out = self.hybrid_forward(symbol, *grouped, **own)
        except NoValueError as error:
            raise NotTraceableError(
                f"{self.name} is hybridized, and at {place_in_program(error)} it asks for what only arrays have: "
                f"{error} Choose with F.where or F.contrib.cond, keep arrays with "
                "self.params.get_constant; or leave the block that does it unhybridized: call "
                "hybridize(False) on it, or derive it from Block."
            ) from error
        found, out_form = _flatten(out, "output")
        self._out_format = out_form
        out_symbols = [one for one in found if one is not None]
        if not out_symbols:
            raise ArgumentError(f"{self.name}: hybrid_forward returned {describe(out)}; expected symbols.")
        rebuild = None if out_form == 0 else _Regrouping(out_form, found)
        group = out_symbols[0] if len(out_symbols) == 1 else Group(out_symbols)
        captured = () if trace is None else trace.captured
        if trace is not None:
            self._note_shapes_asked(trace)
        return CachedGraph(self.name, inputs, group, rebuild, self._parameters_by_name(), captured)

    def _trace_forward(self, leaves: Sequence[Any], form: Any) -> CachedGraph:
        """Return the graph that `forward` makes of stand-ins for arrays."""
        with self._trace_of(leaves[0]) as trace:
            trace.is_of_numpy = self._is_function and all(id(leaf._data) in of_numpy.ids for leaf in leaves)
            given = [
                trace.argument(name, leaf) for name, leaf in zip(self._input_variables(leaves), leaves, strict=True)
            ]
            inputs = [one.symbol for one in given]
            arguments = filled(form, given)
            out = self._call_as_written(*split(arguments))
            if self._is_function and not _is_filled(arguments, form, given):
                raise NotTraceableError(
                    "it changes a list or dict that it is given, which a graph cannot. Return what is to be in there."
                )
            changes = Changes(given, inputs)
            found: list[Any] = []
            out_form = template_of(trace.unwrapped(changes.marked(out)), found, (Symbol, Returned))
        if not found and not changes:
            raise ArgumentError(f"{self.name}: forward returned {describe(out)}; expected arrays.")
        self._out_format = out_form
        rebuild = lambda values: filled(out_form, values)
        heads = changes.heads(found) if self._is_function else found
        group = heads[0] if len(heads) == 1 and len(heads[0].values) == 1 else Group(heads)
        self._note_shapes_asked(trace)
        parameters = self._parameters_by_name()
        return CachedGraph(
            self.name,
            inputs,
            group,
            rebuild,
            parameters,
            trace.captured,
            changes if changes else None,
            [place for _, place in changes.places] if self._is_function and not changes else None,
        )

    def _trace_of(self, like: NDArray) -> Trace:
        in_numpy = is_np_array() or not _is_of_mxnet(like)
        return Trace(self.name, in_numpy, like, self._parameters_by_name(), self._is_function)

    def _note_shapes_asked(self, trace: Trace) -> None:
        if trace.asked_for_shapes and not self._asks_for_shapes:
            self._asks_for_shapes = True
            self._graphs.clear()
        if trace.asked_for_classes and not self._asks_for_classes:
            self._asks_for_classes = True
            self._graphs.clear()

    def _parameters_by_name(self) -> dict[str, Any]:
        return {parameter.name: parameter for parameter in self.collect_params().values()}

    def _variable(self, parameter: Any) -> Symbol:
        variable: Symbol = parameter.var()
        return variable.as_np_ndarray() if is_np_array() else variable

    # -- inference -------------------------------------------------------------------------------------------------

    def infer_shape(self, *args: Any) -> None:
        """Complete the shapes of all parameters from those of the inputs.

        Parameters
        ----------
        *args : NDArray, or nested lists of them
        """
        if self._is_written_as_forward and not self._active:
            raise ShapeError(
                f"{self.name}: parameters have shapes that are not known yet ({self._unknown()}), and a block that "
                "defines forward says how they follow from its arguments in a method: `def infer_shape(self, x): "
                "self.weight.shape = (self.units, x.shape[1])`. Define it, or give the shapes when parameters are made."
            )
        self._infer("shape", args)

    def _unknown(self) -> str:
        return ", ".join(
            f"{parameter.name} {parameter.shape}"
            for parameter in self._reg_params.values()
            if not is_complete(parameter._shape)
        )

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of all parameters from those of the inputs.

        Parameters
        ----------
        *args : NDArray, or nested lists of them
        """
        self._infer("dtype", args)

    def _infer(self, what: str, args: Sequence[Any]) -> None:
        graph, leaves = self._cached(args)
        names = graph.out.list_inputs()
        given = {
            one.name: getattr(leaf, what)
            for one, leaf in zip(graph.inputs, leaves, strict=True)
            if one is not None and one.name in names
        }
        infer = graph.out.infer_shape_partial if what == "shape" else graph.out.infer_type_partial
        arguments, _, states = infer(**given)
        names = [*graph.out.list_arguments(), *graph.out.list_auxiliary_states()]
        found = dict(zip(names, [*arguments, *states], strict=True))
        for parameter in graph.parameters:
            value = found.get(parameter.name)
            if value is not None:
                setattr(parameter, what, value)

    def _infer_attrs(self, infer_fn: str, attr: str, *args: Any) -> None:
        """Set an attribute, 'shape' or 'dtype', of all parameters from those of the inputs."""
        self._infer(attr, args)

    def _deferred_infer_shape(self, *args: Any) -> None:
        """Infer shapes for parameters that wait for them."""
        try:
            self.infer_shape(*args)
        except (ShapeError, MXNetError) as error:
            raise ShapeError(
                f"{self.name}: parameters cannot be initialized, as their shapes cannot be inferred. {error}"
            ) from error

    def _initialize_deferred(self, args: Sequence[Any]) -> None:
        """Give all parameters values that wait for their shapes, now that there are inputs."""
        self._deferred_infer_shape(*args)
        for parameter in self.collect_params().values():
            parameter._finish_deferred_init()

    # -- calls -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the block computes; see `Block.__call__`."""
        if TRACES and tracing.trace is not None:
            return self._call_in_trace(tracing.trace, args, kwargs)
        if self._is_written_as_forward:
            return self._call_written(args, kwargs)
        if self._forward_pre_hooks or self._forward_hooks:
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what `hybrid_forward` computes: of arrays, of symbols, or by the graph that the block has become.

        Parameters
        ----------
        x, *args : NDArray or Symbol, or nested lists of them
        """
        first = x if isinstance(x, (NDArray, Symbol)) else self._first(x, args)
        if isinstance(first, NDArray):
            if self._active and not tracing.as_written:
                return self._call_cached_op(x, *args)
            context = first.context
            try:
                own = {name: parameter.data(context) for name, parameter in self._reg_params.items()}
            except DeferredInitializationError:
                self._deferred_infer_shape(x, *args)
                for parameter in self._params.values():
                    parameter._finish_deferred_init()
                own = {name: parameter.data(context) for name, parameter in self._reg_params.items()}
            if context == current_context():
                return self.hybrid_forward(nd, x, *args, **own)
            with context:
                return self.hybrid_forward(nd, x, *args, **own)
        own = {name: self._variable(parameter) for name, parameter in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbol, x, *args, **own)

    def _call_written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a block that defines `forward`, outside of traces."""
        if not self._active or tracing.as_written:
            return self._call_as_written(args, kwargs)
        if kwargs:
            bound = inspect.signature(self.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = (*bound.args, Keywords(bound.kwargs)) if bound.kwargs else bound.args
        for before in [*self._forward_pre_hooks.values()]:
            before(self, split(args)[0])
        leaves: list[Any] = []
        template_of(args, leaves)
        out = self._call_cached_op(*args) if leaves else self._call_as_written(*split(args))
        for after in [*self._forward_hooks.values()]:
            after(self, split(args)[0], out)
        return out

    def _call_as_written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `forward`, with parameters whose shapes it says are known by what it is called on."""
        waiting = [parameter for parameter in self._reg_params.values() if parameter._deferred_init]
        if waiting:
            says = tracing.trace is None or type(self).infer_shape is not HybridBlock.infer_shape
            if says and any(not is_complete(parameter._shape) for parameter in waiting):
                asked = tracing.trace is not None and tracing.trace.asked_for_shapes
                self.infer_shape(*args)
                if tracing.trace is not None:  # what it says holds from now on, and for all arguments
                    tracing.trace.asked_for_shapes = asked
            if tracing.trace is None:
                for parameter in waiting:
                    parameter._finish_deferred_init()
        if tracing.trace is not None:
            return self.forward(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _call_in_trace(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the block while one that it is inside of is traced."""
        if self._is_written_as_forward:
            symbols: list[Any] = []
            template_of((args, kwargs), symbols, Symbol)
            if not symbols:
                return self._call_as_written(args, kwargs)
            # In `hybrid_forward` of a block around it.
            given = [trace.wrapped(one, trace.in_numpy, "an argument") for one in (args, kwargs)]
            return trace.unwrapped(self._call_as_written(*given))
        leaves: list[Any] = []
        template_of((args, kwargs), leaves, (Traced, NDArray))
        if not leaves:  # symbols: what `hybrid_forward` of a block around it computes
            return super().__call__(*args, **kwargs)
        in_numpy = trace.in_numpy if isinstance(leaves[0], NDArray) else leaves[0]._in_numpy
        return trace.call(super().__call__, args, kwargs, in_numpy)

    def _first(self, x: Any, args: Sequence[Any]) -> Any:
        """Return the first array or symbol among nested arguments."""
        leaves, _ = _flatten([x, *args], "input")
        found = [leaf for leaf in leaves if leaf is not None]
        if not found:
            raise ArgumentError(f"{self.name}: no argument is an NDArray or a Symbol.")
        contexts: list[Context] = list(dict.fromkeys(one.context for one in found if isinstance(one, NDArray)))
        if len(contexts) > 1:
            raise ContextError(
                f"{self.name}: its arguments are on different contexts, {', '.join(map(str, contexts))}. Move them to "
                "one with as_in_context()."
            )
        return found[0]

    def _call_cached_op(self, *args: Any) -> Any:
        """Call the graph that the block has become."""
        try:
            graph, leaves = self._cached(args)
        except Unkeyed:
            return self._call_as_it_is(args)
        if not graph.is_settled:
            if graph.has_no_program:
                return self._call_as_it_is(args)
            graph = self._optimize(args)
        try:
            if self._callback is not None:
                graph.observe(leaves, self._callback, self._monitor_all, state.training)
            return graph(leaves)
        except DeferredInitializationError:
            self._initialize_deferred(args)
            return self._call_cached_op(*args)
        except UnknownShapeError:  # shapes depend on values, as those of boolean_mask do
            graph.has_no_program = True
            graph.is_settled = False
            return self._call_as_it_is(args)

    def _as_called(self, *args: Any) -> tuple[Any, ...]:
        """Return what the graph is called with, when the block is called with `args`."""
        return args

    def _optimize(self, args: Sequence[Any]) -> CachedGraph:
        """Return the graph for such arguments when it has gone through all steps; it takes the other's place."""
        args, symbols = stand_ins(self.name, args, self._contexts)
        if symbols:
            self._require_traceable(symbols)
        with LOCK:
            try:
                graph, leaves = self._cached(args)
            except Unkeyed as error:
                raise ArgumentError(
                    f"{self.name} cannot be optimized for {self._backend!r}: among its arguments there is {error}. "
                    "Give it to the block when it is made, or call hybridize() without a backend."
                ) from error
            if graph.is_settled:  # by another thread
                return graph
            given = Given(leaves, symbols)
            try:
                optimized = self._optimizations.apply(graph, given, self._parameters_by_name())
            except DeferredInitializationError:
                if any(shape is None for shape, _ in symbols.values()):
                    raise
                self._initialize_deferred(args)
                optimized = self._optimizations.apply(graph, given, self._parameters_by_name())
            self._prepare(optimized)
            for key, one in self._graphs.items():
                if one is graph:
                    self._graphs[key] = optimized
                    break
            if self._cached_graph and self._cached_graph[1] is graph.out:
                self._show(optimized)
            return optimized

    def _contexts(self) -> list[Context]:
        """Return the devices of the first of its parameters that is initialized."""
        for parameter in self.collect_params().values():
            if parameter._data is not None or parameter._deferred_init:
                return parameter.list_ctx()
        return []

    def _require_traceable(self, symbols: Mapping[int, tuple[Any, Any]]) -> None:
        """Raise `ArgumentError` for symbols without shapes, if the graph may depend on them."""
        if all(shape is not None for shape, _ in symbols.values()):
            return
        written: list[Block] = []
        self.apply(lambda block: written.append(block) if getattr(block, "_is_written_as_forward", False) else None)
        if written:
            raise ArgumentError(
                f"{self.name}.optimize_for: a variable has no shape, and {written[0].name} defines forward, which may "
                "ask for it. Give arrays, or variables with shapes: mx.sym.var('x', shape=(2, 3))."
            )

    def _call_as_it_is(self, args: Sequence[Any]) -> Any:
        """Run the block unhybridized, and those inside as well."""
        if self._optimizations.steps:
            names = ", ".join(repr(step.backend) for step in self._optimizations.steps)
            raise NotTraceableError(
                f"{self.name} is optimized for {names}, and has no graph that can be run: shapes in it depend on "
                "values (boolean_mask), or arguments are no arrays. Call hybridize() without a backend, or optimize a "
                "block inside that has none of this."
            )
        with AsWritten():
            return self._call_as_written(*split(args)) if self._is_written_as_forward else self.forward(*args)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return what the block computes, with functions of `F`. Subclasses define it.

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        x, *args : NDArray or Symbol
        **kwargs : NDArray or Symbol
            The block's own parameters, by the names of its attributes.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no hybrid_forward: define `def hybrid_forward(self, F, x, ...): ...` in the "
            "class; or `forward`, with mx.np."
        )

    # -- files -----------------------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str], epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write the graph and the parameters in the form that MXNet, `SymbolBlock.imports` and `Module` read.

        Parameters
        ----------
        path : str or PathLike
            The files are `path-symbol.json` and `path-0000.params`.
        epoch : int
            The number in the second name.
        remove_amp_cast : bool
            Whether casts of automatic mixed precision are left out.

        Returns
        -------
        (str, str)
            The names of the files.

        Raises
        ------
        MXNetError
            If the block has not been called since it was hybridized.
        """
        if not self._cached_graph:
            raise MXNetError(
                f"{self.name}.export: there is no graph yet. Call hybridize(), then the block with a batch of data, "
                "and then export."
            )
        out: Symbol = self._cached_graph[1]
        sources = {**self._parameters_by_name(), **self._lasting}
        arrays = {}
        for kind, found in (("arg", out.list_arguments()), ("aux", out.list_auxiliary_states())):
            for name in found:
                if name in sources:
                    source = sources[name]
                    arrays[f"{kind}:{name}"] = source._reduce() if isinstance(source, Parameter) else source
        names = f"{os.fspath(path)}-symbol.json", f"{os.fspath(path)}-{epoch:04d}.params"
        out.save(names[0], remove_amp_cast=remove_amp_cast)
        nd.save(names[1], arrays)
        return names

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call a function on what operators compute, in this block or in the hybridized ones inside.

        Parameters
        ----------
        callback : callable
            `callback(name of the node and output, operator's name, NDArray)`.
        monitor_all : bool
            Whether it is called on inputs, too.
        """
        self._callback, self._monitor_all = callback, monitor_all
        for child in self._children.values():
            child._callback, child._monitor_all = callback, monitor_all


def _is_filled(value: Any, template: Any, given: Sequence[Any]) -> bool:
    """Tell whether a value is still what `filled` has made of a template and stand-ins."""
    found: list[Any] = []
    try:
        is_same = key_of(template_of(value, found, Traced)) == key_of(template)
    except Unkeyed:
        return False
    return is_same and all(one is other for one, other in zip(found, given, strict=True))


def _restore(attributes: Sequence[tuple[Block, dict[str, Any]]], name: str | None) -> None:
    """Give blocks back what a trace has replaced by stand-ins, which have no values.

    Raises
    ------
    NotTraceableError
        If there were any, with the name of the block that was traced.
    """
    found = ""
    for block, before in attributes:
        for key, value in [*vars(block).items()]:
            if key in _INTERNAL or value is before.get(key) or not isinstance(value, (Traced, list, tuple, dict)):
                continue
            leaves: list[Any] = []
            template_of(value, leaves, Traced)
            if leaves:
                found = f"{block.name} stores what it computes in an attribute, {key!r}"
                vars(block).pop(key)
                vars(block).update({key: before[key]} if key in before else {})
    if found and name is not None:
        raise NotTraceableError(
            f"{name} is hybridized, and the forward of {found}: a graph cannot. Return it, and give it back as an "
            "argument; or leave the block that does it unhybridized: call hybridize(False) on it."
        )


def _is_of_mxnet(array: Any) -> bool:
    return bool(array._keeps_dtype)


class _Regrouping:
    """Puts the outputs of a graph together as `hybrid_forward` returned them."""

    def __init__(self, form: Any, leaves: Sequence[Any]) -> None:
        self._form = form
        self._counts = [0 if leaf is None else len(leaf.values) for leaf in leaves]

    def __call__(self, values: list[Any]) -> Any:
        if 0 in self._counts:
            left = iter(values)
            values = [value for count in self._counts for value in ([next(left) for _ in range(count)] or [None])]
        return _regroup(values, self._form)[0]
