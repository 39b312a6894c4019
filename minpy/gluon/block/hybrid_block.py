"""`HybridBlock`: a block that can be run as it is written, or become a graph."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from minpy import ndarray as nd
from minpy import symbol
from minpy.context import current_context
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    MXNetError,
    NotTraceableError,
    ShapeError,
    UnknownShapeError,
    describe,
)
from minpy.core.extensions import extension
from minpy.core.numpy_semantics import is_np_array
from minpy.core.source_lines import warn_at_program
from minpy.core.state import TRACES, state, tracing
from minpy.gluon.block import block_files
from minpy.gluon.block.argument_specs import Keywords, Unhashable, flatten, split
from minpy.gluon.block.autograd_scopes import EagerBlocks
from minpy.gluon.block.block import Block
from minpy.gluon.block.block_capture import BlockCapture
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.forward import graph_of_forward
from minpy.gluon.block.graphs import Graphs
from minpy.gluon.block.hybrid_forward import first_of, graph_of_hybrid_forward, written_as_forward
from minpy.gluon.block.inferring import infer, initialize_waiting, require_rule
from minpy.gluon.block.internal_attributes import INTERNAL, SavedState
from minpy.gluon.block.optimization_steps import Step, taken_options
from minpy.gluon.block.optimizing import Optimizations, optimized
from minpy.gluon.block.own_functions import enter
from minpy.gluon.block.specializing import BlockSpecialized
from minpy.gluon.change_counter import CHANGES
from minpy.gluon.parameter import DeferredInitializationError, ParameterDict
from minpy.jit.entry import MISS, RUN_EAGERLY
from minpy.ndarray import NDArray
from minpy.ops.nn.data_axes import wrong_axes
from minpy.symbol import Symbol

if TYPE_CHECKING:
    from minpy.backends.explanation import Explanations

__all__ = ["HybridBlock"]


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
    # Plain attributes that what it computes does not depend on, beside those of all blocks.
    _not_compared: ClassVar[frozenset[str]] = frozenset()
    # The names of the axes that the first input must have; none: it may have any.
    _input_axes: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_classes = cls.__mro__[: cls.__mro__.index(HybridBlock)]
        with_forward = [own_class for own_class in own_classes if "forward" in vars(own_class)]
        # A forward of the library's own knows symbols, as `hybrid_forward` does.
        takes_symbols = any("hybrid_forward" in vars(own_class) for own_class in own_classes) or any(
            own_class.__module__.startswith("minpy.gluon.") for own_class in with_forward
        )
        cls._is_written_as_forward = bool(with_forward) and not takes_symbols

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._flags: list[tuple[str, Any]] = []
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}
        self._optimizations = Optimizations()
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        self._graphs = Graphs()
        self._clear_cached_op()

    def __capture__(self, capture: Any) -> Any:
        enter()
        return BlockCapture.of(capture.shadow).proxy_of(self, self.name)

    def _clear_cached_op(self) -> None:
        """Forget what the block was traced to: the next call traces it again."""
        self._graphs.forget()
        self._specialized: Any = None
        self._is_captured: bool | None = None
        self._cached_graph = ()
        self._cached_op: Any = None
        self._cached_op_args: list[Any] = []
        self._lasting: dict[str, Any] = {}
        self._in_format: Any = None
        self._out_format: Any = None

    def __getstate__(self) -> dict[str, Any]:
        forgotten: dict[str, Any] = {
            "_graphs": Graphs(),
            "_cached_graph": (),
            "_cached_op": None,
            "_cached_op_args": [],
            "_lasting": {},
            "_specialized": None,
        }
        return {**vars(self), **forgotten}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if not isinstance(vars(self).get("_graphs"), Graphs):  # as earlier versions wrote it
            self._graphs = Graphs()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in INTERNAL:
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
            shown = repr(block) if isinstance(block, Block) else describe(block)
            name_here = self.name or type(self).__name__
            raise ArgumentValueError(
                f"{name_here}: a child of a HybridBlock must be a HybridBlock, got {shown}. Derive it from HybridBlock "
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

        Where llvmlite is installed (`pip install llvmlite`), the graph becomes native code when it has been
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
            backend_options = taken_options(backend, self._backend_opts) if inherits else self._backend_opts
            self._optimizations.steps.append(Step(backend, backend_options))
            for graph in self._graphs.values():
                graph.is_settled = False
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warn_at_program(
                f"{self.name} is hybridized and has hooks: inside a hybridized block they are called once, when it is "
                "traced, and with symbols."
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
        before = SavedState(self)
        try:
            self._hybridize_itself(True, backend, clear, flags, bulks, kwargs)
            self._optimize(self._as_called(x, *args))
        except BaseException:
            before.restore()
            raise
        super().hybridize(True, **flags, **bulks)

    def cast(self, dtype: Any) -> None:
        """Convert the parameters of the block, and of those inside, to another dtype."""
        self._clear_cached_op()
        self._optimizations.cast(dtype)
        super().cast(dtype)

    # -- tracing ---------------------------------------------------------------------------------------------------

    @property
    def _cached_graph(self) -> tuple[Any, ...]:
        """The variables for the arguments, and the symbol that the block computes of them; () if there is none."""
        graph: tuple[Any, ...] = vars(self)["_cached_graph"]
        if not graph and self._specialized is not None:
            arguments = self._specialized.example_arguments()
            if arguments is not None:
                self._graphs.find(self, arguments)
                graph = vars(self)["_cached_graph"]
        return graph

    @_cached_graph.setter
    def _cached_graph(self, graph: tuple[Any, ...]) -> None:
        vars(self)["_cached_graph"] = graph

    def _get_graph(self, *args: Any) -> tuple[Any, ...]:
        """Return (inputs, out): the variables for the arguments, and the symbol that the block computes of them."""
        if not self._cached_graph:
            self._graphs.find(self, args)
        return self._cached_graph

    def _prepare(self, graph: CachedOp) -> None:
        """Give a graph the options that the block was hybridized with."""
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
        from minpy.backends.explanation import Explanations  # nobody who only runs blocks needs it

        if not self._graphs and (self._specialized is None or not self._specialized.specializations):
            raise ArgumentError(
                f"{self.name}.explain: the block has no graph. Call hybridize(), and the block on arrays, three times "
                "for one that is compiled."
            )
        graphs: list[Any] = [*self._graphs.values()]
        if self._specialized is not None:
            graphs = [*self._specialized.specializations, *graphs]
        return Explanations(explanation for graph in graphs for explanation in graph.compiled.explain())

    def explain_retraces(self) -> str:
        """Return why the block was captured, each time, and why it runs as it is written, if it does.

        Returns
        -------
        str
            A line for each capture, or graph of symbols: what was another than before it. Then a line for each name
            that a `hybrid_forward` refers to, and of which changes are not noticed.

        Raises
        ------
        ArgumentError
            If there is nothing to explain: the block was not captured.

        Examples
        --------
        >>> import minpy as mx
        >>> class Doubled(mx.gluon.HybridBlock):
        ...     __module__ = '__main__'  # a program's own block, and none of the library's
        ...     def forward(self, x):
        ...         return x * 2
        >>> net = Doubled(prefix='net_')
        >>> net.hybridize()
        >>> _ = net(mx.np.ones((2, 3))), net(mx.np.ones((4, 3)))
        >>> print(net.explain_retraces())  # doctest: +ELLIPSIS
        net: 2 specializations, 2 captures, ... ms
        1  first call                                     x float32 (2, 3)
        2  argument x: shape was (2, 3), is (4, 3)
        """
        specialized, graphs = self._specialized, self._graphs
        texts = [] if specialized is None else [specialized.history.text(self.name, len(specialized.specializations))]
        if graphs.history.count:
            texts.append(graphs.history.text(self.name, len(graphs)))
        if not texts:
            raise ArgumentError(
                f"{self.name}.explain_retraces: it was not captured. Call hybridize(), and the block on arrays; if it "
                "is inside of another block that is hybridized, ask that one."
            )
        frozen: list[str] = []
        self.apply(lambda block: frozen.extend(sorted(getattr(getattr(block, "_graphs", None), "frozen", ()))))
        texts += [f"frozen: {name}, as it was: its changes are not noticed" for name in dict.fromkeys(frozen)]
        return "\n".join(texts)

    def _show(self, graph: CachedOp) -> None:
        """Make a graph the one that is exported."""
        self._lasting = graph.lasting_inputs()
        self._cached_graph = ([source for source in graph.inputs if source is not None], graph.out)
        self._cached_op = graph.operator
        self._cached_op_args = [(type(source) is int, source) for source in graph.sources]

    def _input_variables(self, leaves: Sequence[Any]) -> list[str]:
        return ["data"] if len(leaves) == 1 else [f"data{index}" for index in range(len(leaves))]

    def _trace(self, leaves: Sequence[Any], form: Any) -> CachedOp:
        """Return the graph that the block's forward makes of what stands for its arguments."""
        make = graph_of_forward if self._is_written_as_forward else graph_of_hybrid_forward
        return make(self, leaves, form)

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
        if self._is_written_as_forward:
            require_rule(self, not self._active)
        infer(self, "shape", args)

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of all parameters from those of the inputs.

        Parameters
        ----------
        *args : NDArray, or nested lists of them
        """
        infer(self, "dtype", args)

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
            return tracing.trace.call(self, args, kwargs)
        if self._is_written_as_forward:
            specialized = self._specialized
            # What most calls take, without a further call: each costs what a small kernel does.
            is_plain = not (self._forward_hooks or self._forward_pre_hooks or self._optimizations.steps)
            is_plain = is_plain and specialized is not None and self._active and self._callback is None
            if is_plain and not tracing.eager:
                result = specialized.latest(args, kwargs)
                return specialized.dispatch(args, kwargs) if result is MISS or result is RUN_EAGERLY else result
            return self._call_written(args, kwargs)
        if self._forward_pre_hooks or self._forward_hooks:
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what `hybrid_forward` computes: of arrays, of symbols, or by the graph that the block has become.

        Parameters
        ----------
        x, *args : NDArray or Symbol, or nested lists of them
        """
        if self._active and self._is_captured is False and self._callback is None and not tracing.eager:
            arguments = (x, *args)
            graph = self._graphs.latest_for(arguments)
            if graph is not None and graph.is_settled and not self._input_axes:
                try:
                    return graph(arguments)
                except (DeferredInitializationError, UnknownShapeError):
                    self._graphs.forget_latest()  # what comes next knows what to do about it
        first = x if isinstance(x, (NDArray, Symbol)) else first_of(self.name, [x, *args])
        if isinstance(first, NDArray):
            if self._input_axes and first._data.ndim != len(self._input_axes):
                raise wrong_axes(f"{type(self).__name__} {self.name!r}: ", first.shape, self._input_axes)
            if self._active and not tracing.eager:
                if self._is_captured is not False and self._captures():
                    return self._call_captured((x, *args), {})
                return self._call_cached_op(x, *args)
            return self._computed(first, x, *args)
        own_params = {name: self._variable(parameter) for name, parameter in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbol, x, *args, **own_params)

    def _computed(self, first: NDArray, x: Any, *args: Any) -> Any:
        """Return what `hybrid_forward` computes of arrays, of which `first` is one."""
        context = first.context
        try:
            own_params = {name: parameter.data(context) for name, parameter in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(x, *args)
            for parameter in self._params.values():
                parameter._finish_deferred_init()
            own_params = {name: parameter.data(context) for name, parameter in self._reg_params.items()}
        if context == current_context():
            return self.hybrid_forward(nd, x, *args, **own_params)
        with context:
            return self.hybrid_forward(nd, x, *args, **own_params)

    def _call_written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a block that defines `forward`, outside of traces."""
        if not self._active or tracing.eager:
            initialize_waiting(self, args)
            return super().__call__(*args, **kwargs)
        captures = self._captures()
        if kwargs and not captures:
            bound = inspect.signature(self.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = (*bound.args, Keywords(bound.kwargs)) if bound.kwargs else bound.args
        positional = split(args)[0]
        for before in [*self._forward_pre_hooks.values()]:
            before(self, positional)
        if captures:
            out = self._call_captured(args, kwargs)
        else:
            leaves: list[Any] = []
            flatten(args, leaves)
            out = self._call_cached_op(*args) if leaves else self._called_eagerly(*split(args))
        for after in [*self._forward_hooks.values()]:
            after(self, positional, out)
        return out

    def _captures(self) -> bool:
        """Tell whether calls are captured: of blocks that define `forward`, or hold such, if nobody looks inside."""
        if self._callback is not None or self._optimizations.steps:
            return False
        if self._is_written_as_forward:
            return True
        if self._is_captured is None:
            self._is_captured = bool(written_as_forward(self))
        return self._is_captured

    def _call_captured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the graph that the block was captured to, or the block as it is written."""
        specialized = self._specialized
        if specialized is None:
            specialized = self._specialized = BlockSpecialized(self, self._called_eagerly)
        result = specialized.latest(args, kwargs)
        return specialized.dispatch(args, kwargs) if result is MISS or result is RUN_EAGERLY else result

    def _called_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the block as it is written, with the graphs of those inside, and without its hooks."""
        if not self._is_written_as_forward:
            return self._computed(first_of(self.name, args), *args)
        initialize_waiting(self, args)
        return self.forward(*args, **kwargs)

    def _call_cached_op(self, *args: Any) -> Any:
        """Call the graph that the block has become."""
        try:
            graph, leaves = self._graphs.find(self, args)
        except Unhashable:
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

    def _optimize(self, args: Sequence[Any]) -> CachedOp:
        """Return the graph for such arguments when it has gone through all steps; it takes the other's place."""
        return optimized(self, args)

    def _call_as_it_is(self, args: Sequence[Any]) -> Any:
        """Run the block unhybridized, and those inside as well."""
        if self._optimizations.steps:
            names = ", ".join(repr(step.backend) for step in self._optimizations.steps)
            raise NotTraceableError(
                f"{self.name} is optimized for {names}, and has no graph that can be run: shapes in it depend on "
                "values (boolean_mask), or arguments are no arrays. Call hybridize() without a backend, or optimize a "
                "block inside that has none of this."
            )
        with EagerBlocks():
            return self._called_eagerly(*split(args)) if self._is_written_as_forward else self.forward(*args)

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
        return block_files.export(self, path, epoch, remove_amp_cast)

    def export_onnx(
        self,
        path: str | os.PathLike[str],
        *example_inputs: Any,
        dynamic: bool | Sequence[Any] = False,
        opset: int | None = None,
        check: bool = True,
    ) -> str:
        """Write the block, in predict mode, as an ONNX model that was run and compared with it.

        Parameters
        ----------
        path : str or PathLike
        *example_inputs : array
            What the block is called with: of the shapes and dtypes of the model's inputs.
        dynamic : bool or list of tuple
            Whether the first axes may have any length; or a shape for each input, with the name of a length, or None,
            for an axis that may have any.
        opset : int, optional
            The version of ONNX's operators, 13 or later; by default the newest that is stable.
        check : bool
            Whether the model is run, by onnxruntime or onnx's reference evaluator, and compared, for two sizes of each
            dynamic axis.

        Returns
        -------
        str
            `path`.

        Raises
        ------
        MissingDependencyError
            If onnx is not installed.
        ExportError
            If the block does what has no equal in ONNX, or the model computes something else: no file is written.
        """
        return str(extension("HybridBlock.export_onnx")(self, path, example_inputs, dynamic, opset, check))

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
