"""`Executor`: a symbol with arrays for its variables, which runs it and takes gradients back."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.switches import is_enabled
from minpy.context import Context
from minpy.core.array import as_raw
from minpy.core.buffers import Memory, memory_of, note_write, note_written
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, MXNetError, ShapeError, describe, nearest
from minpy.core.extensions import extension
from minpy.graph.compiled import Compiled, ValueFacts, infer_from_arrays, require_everything
from minpy.graph.frame import Frame, start
from minpy.graph.interpreting import ObservedName, Observer
from minpy.graph.ir import CONSTANT, Node, Value
from minpy.graph.lowering import merged
from minpy.graph.parameter_roles import layer_parameters
from minpy.graph.program import Program
from minpy.graph.timing import profile
from minpy.ndarray.creation import array as make_array
from minpy.ndarray.creation import zeros
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops.inference.partial_shapes import complete, show_shape
from minpy.symbol.profiling import Profile
from minpy.symbol.sharing import Shared
from minpy.symbol.symbol import Symbol

if TYPE_CHECKING:
    from minpy.backends.explanation import Explanations

__all__ = ["Executor", "missing_text"]


class Executor:
    """Runs a symbol on its arrays, forward and backward. Made by `Symbol.bind` and `Symbol.simple_bind`.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays : list
        NDArrays in the order of `list_arguments` and `list_auxiliary_states`; gradients that are not asked for are
        None.
    outputs : list of NDArray
        Of the latest `forward` (zeros before the first); the next one overwrites them.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> executor = (x * x).bind(mx.cpu(), {'x': mx.nd.array([1, 2])}, args_grad={'x': mx.nd.zeros((2,))})
    >>> executor.forward(is_train=True)[0].asnumpy()
    array([1., 4.], dtype=float32)
    >>> executor.backward(mx.nd.ones((2,)))
    >>> executor.grad_dict['x'].asnumpy()
    array([2., 4.], dtype=float32)
    """

    # That of the latest forward. A call takes it out of the instance's dict, in one step, so that no other thread's
    # call uses it meanwhile.
    _frame: Frame | None = None

    def __init__(
        self,
        symbol: Symbol,
        context: Context,
        arguments: Sequence[NDArray],
        gradients: Sequence[NDArray | None],
        requests: Sequence[str],
        states: Sequence[NDArray],
        facts: ValueFacts | None = None,
        places: Sequence[Context] | None = None,
    ) -> None:
        self._symbol = symbol
        self._context = context
        self._places = places  # of the outputs; where the arguments are, unless groups of nodes lie elsewhere
        self.arg_arrays = list(arguments)
        self.grad_arrays = list(gradients)
        self.aux_arrays = list(states)
        self._grad_reqs = list(requests)
        self._compiled = compiled = Compiled(symbol.values, keeps_states=True)
        compiled.parameters = layer_parameters(compiled.order)
        self._argument_nodes, self._state_nodes = compiled.arguments, compiled.states
        self._names = [node.name for node in compiled.arguments]
        self._state_names = [node.name for node in compiled.states]
        self._grad_req = {
            node: request
            for node, request, array in zip(compiled.arguments, self._grad_reqs, self.grad_arrays, strict=True)
            if request != "null" and array is not None
        }
        self._programs: dict[bool, Program] = {}
        self._monitor: Callable[..., None] | None = None
        self._monitor_all = False
        if facts is None:
            arrays = [array._data for array in (*self.arg_arrays, *self.aux_arrays)]
            facts = infer_from_arrays(compiled.order, compiled.variables, arrays, "of the array that is bound")
        require_everything(compiled.order, facts)
        self._inferred = facts
        self._shapes, self._dtypes = facts
        # The raw arrays that have been looked at; and gradients that share memory, see `Shared`.
        self._seen_arrays: list[numpy.ndarray] = []
        self._new_arrays: dict[Node, numpy.ndarray] = {}  # those not yet compared with gradients
        self._seen_gradients: list[tuple[int, numpy.ndarray]] | None = None
        self._gradients: dict[Node, numpy.ndarray] = {}
        self._gradient_memories: list[Memory] = []
        self._unshared_head: numpy.ndarray | None = None  # one that shares no memory with the gradients
        self._shared: Shared | None = None
        self._ones: dict[int, numpy.ndarray] = {}
        self.outputs: list[NDArray] = [
            self._new(numpy.zeros(self._shapes[value], self._dtypes.get(value, numpy.float32)), index)
            for index, value in enumerate(symbol.values)
        ]

    def __repr__(self) -> str:
        return f"<Executor of {self._symbol!r}: {', '.join(self._names)}>"

    def __reduce__(self) -> Any:
        """Return how executors are pickled and copied: bound anew, as what runs belongs to this one."""
        arrays = self.arg_arrays, self.grad_arrays, self._grad_reqs, self.aux_arrays
        return Executor, (self._symbol, self._context, *arrays, None, self._places)

    # -- arrays by name ------------------------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments' arrays by name."""
        return dict(zip(self._names, self.arg_arrays, strict=True))

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The gradients' arrays by the names of their arguments."""
        return dict(zip(self._names, self.grad_arrays, strict=True))

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """The auxiliary states' arrays by name."""
        return dict(zip(self._state_names, self.aux_arrays, strict=True))

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    # -- running -----------------------------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
            Whether operators run as in training; needed for `backward`.
        **kwargs : NDArray or array_like
            New values of arguments, copied into their arrays first.

        Returns
        -------
        list of NDArray
            The outputs, which the next call overwrites.

        Raises
        ------
        ArgumentError, ShapeError
            For unknown arguments, or values of another shape.
        """
        for name, value in kwargs.items():
            self._assign(name, value)
        program = self._programs.get(is_train)
        if program is None or program.steps.refers:
            program = self._program(bool(is_train))
        raws = self._raws()
        frame: Frame | None = self.__dict__.pop("_frame", None)  # its memory may serve this call
        if frame is not None and self._monitor is None and frame.serves(program):
            heads = frame.call_again(raws)
        else:
            del frame
            heads, frame = start(program, raws, self._observer() if self._monitor is not None else None)
        outputs = self.outputs
        for output, head in zip(outputs, heads, strict=True):
            output._data = head if type(head) is numpy.ndarray else numpy.asarray(head)
        self._frame = frame
        return outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute the gradients of the outputs with respect to the arguments, into `grad_arrays`.

        They are those of the latest `forward`, in training or not, and may be computed again: with the random numbers
        of that forward, and without moving states or calling users' forward functions once more.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray or dict of str to NDArray, optional
            The outputs' gradients; ones, if left out, which loss layers do not look at. Of a list, what is beyond the
            outputs is ignored, as in MXNet.
        is_train : bool
            Accepted for MXNet's sake.

        Raises
        ------
        MXNetError
            If there was no `forward` before.
        ShapeError
            If a gradient does not have its output's shape.
        MutationError
            If an array that the gradients depend on was changed after `forward`.
        """
        frame: Frame | None = self.__dict__.pop("_frame", None)
        if frame is None:
            raise MXNetError(
                "Executor.backward: call forward(is_train=True) first: what it computes are the gradients of the "
                "latest forward, unless that, or an earlier backward of it, failed."
            )
        try:
            heads = self._head_gradients(out_grads)
            if not self._grad_req:
                self._frame = frame
                return
            buffers = self._buffers()
            if out_grads is not None:  # what is given may be one of the gradients themselves
                heads = self._unshared(heads, buffers)
            if not frame.program.steps.grad_req:
                # The program of prediction with a backward part is used from now on.
                program = self._compiled.with_gradients(frame.program, self._raws(), self._grad_req)
                self._programs[False] = program
                frame.differentiate(program)
        except BaseException:
            self._frame = frame
            raise
        frame.backward(heads, buffers)  # if it fails, part of the gradients may have been added
        self._frame = frame
        if self._shared is not None:
            self._shared.finish()
        note_written(self._gradient_memories)

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into the arrays of arguments and auxiliary states, by name.

        Raises
        ------
        ArgumentValueError
            For a name that the symbol does not have, unless `allow_extra_params`.
        ShapeError
            For a value of another shape. Nothing has changed then.
        """
        copied = []
        for values, arrays, noun in (
            (arg_params, self.arg_dict, "argument"),
            (aux_params or {}, self.aux_dict, "auxiliary state"),
        ):
            for name, value in values.items():
                if name in arrays:
                    target = arrays[name]
                    copied.append((_fitting(value, target, f"copy_params_from: {noun} {name!r}"), target))
                elif not allow_extra_params:
                    raise ArgumentValueError(
                        f"copy_params_from: the symbol has no {noun} {name!r}; it has {', '.join(arrays) or 'none'}."
                        f"{nearest(name, arrays)} Pass allow_extra_params=True to leave out what it does not have."
                    )
        for raw, target in copied:
            _write(raw, target)

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """Return an executor for other shapes, which shares the arrays whose shapes stay.

        Parameters
        ----------
        partial_shaping : bool
            Whether arguments that are not named may change their shapes, too.
        allow_up_sizing : bool
            Whether arrays may become larger.
        **kwargs : tuple of int
            New shapes of arguments.

        Raises
        ------
        ShapeError
            If shapes change that may not.
        """
        shapes = self._symbol._infer_shape("infer_shape", (), kwargs, self._dtypes).known
        arguments: list[Any] = [shapes.get(Value(node)) for node in self._argument_nodes]
        states: list[Any] = [shapes.get(Value(node)) for node in self._state_nodes]
        if not complete([*arguments, *states]):
            raise ShapeError(
                f"Executor.reshape: {', '.join(kwargs) or 'nothing'} is not enough to infer all shapes; "
                f"{missing_text(self._symbol, kwargs)}"
            )

        def again(name: str, array: Any, shape: tuple[int, ...], named: bool) -> Any:
            if array is None or array.shape == shape:
                return array
            if not (named or partial_shaping):
                raise ShapeError(
                    f"Executor.reshape: {name!r} would change from {array.shape} to {shape}, and was not named. Pass "
                    "partial_shaping=True if that is meant."
                )
            size = int(numpy.prod(shape))
            if size > array.size:
                if not allow_up_sizing:
                    raise ShapeError(
                        f"Executor.reshape: {name!r} would grow from {array.shape} to {shape}. Pass "
                        "allow_up_sizing=True to give it new memory."
                    )
                return zeros(shape, array.context, array.dtype)
            return array._like(array._data.reshape(-1)[:size].reshape(shape))

        def all_again(names: Sequence[str], arrays: Sequence[Any], new_shapes: Sequence[Any]) -> list[Any]:
            rows = zip(names, arrays, new_shapes, strict=True)
            return [again(name, array, shape, name in kwargs) for name, array, shape in rows]

        arrays = all_again(self._names, self.arg_arrays, arguments)
        gradients = all_again(self._names, self.grad_arrays, arguments)
        auxiliary = all_again(self._state_names, self.aux_arrays, states)
        facts = ValueFacts(shapes, self._dtypes)
        executor = Executor(
            self._symbol, self._context, arrays, gradients, self._grad_reqs, auxiliary, facts, self._places
        )
        executor.set_monitor_callback(self._monitor, self._monitor_all)
        return executor

    def set_monitor_callback(self, callback: Callable[[str, NDArray], None] | None, monitor_all: bool = False) -> None:
        """Let `callback(name, array)` see every output of every node while `forward` runs; None ends it.

        With `monitor_all` it also sees the inputs, before each node that reads them. Arrays are copies. The name may be
        decoded, as the bytes that MXNet gives are. `reshape` returns an executor with the same callback.
        """
        if (self._monitor is None) is not (callback is None):
            self._programs.clear()  # a monitor sees users' operators as one step each
        self._monitor = callback
        self._monitor_all = monitor_all

    def profile(self, out_grads: Any = None, is_train: bool = True, repeat: int = 10) -> Profile:
        """Return how long each node took, or, of native code, each kernel, product and call, as a table.

        Parameters
        ----------
        out_grads
            As for `backward`.
        is_train : bool
            Whether to run as in training, with the backward part.
        repeat : int
            How often; the times are medians.
        """
        saved = [array._data.copy() for array in self.aux_arrays]
        self.forward(is_train)
        program = self._program(bool(is_train))
        heads = self._head_gradients(out_grads) if program.steps.grad_req else []
        spare = {
            node: numpy.zeros_like(array._data)
            for node, array in zip(self._argument_nodes, self.grad_arrays, strict=True)
            if array is not None
        }
        runs: Any
        if is_enabled() and program.executable("native") is not None:
            from minpy.backends.native.reports.profile_kernels import profile_native  # it compiles every kernel alone

            runs = profile_native(program, self._raws(), heads, spare, repeat)
        else:
            runs = [profile(program, self._raws(), heads, spare) for _ in range(repeat)]
        for array, before in zip(self.aux_arrays, saved, strict=True):
            numpy.copyto(array._data, before)
            note_write(array._data)
        self._frame = None
        return Profile(runs)

    def explain(self) -> Explanations:
        """Return what became of its programs: which operators are which kernel, what stayed a call and why, the costs.

        Returns
        -------
        tuple of Explanation
            Of the latest program first. It prints as text, and each has a `picture`.

        Examples
        --------
        >>> import minpy as mx
        >>> executor = mx.sym.exp(mx.sym.var('x'), name='y').simple_bind(mx.cpu(), x=(2,))
        >>> _ = executor.forward()
        >>> print(executor.explain())  # doctest: +ELLIPSIS
        y (prediction, without gradients): Python, because it has not run often enough: ...
        """
        return self._compiled.explain()

    def get_optimized_symbol(self) -> Symbol:
        """Return the graph that it runs, as a symbol: calls that compute the same are one.

        Programs fuse operators further; `explain` and `debug_str` say how, as no symbol can.

        Returns
        -------
        Symbol
            With the arguments and outputs of the one that was bound, which stays as it is.

        Examples
        --------
        >>> import minpy as mx
        >>> x = mx.sym.var('x')
        >>> executor = (mx.sym.exp(x * 2) + mx.sym.tanh(x * 2)).simple_bind(mx.cpu(), x=(2,))
        >>> len(executor.get_optimized_symbol().get_internals().list_outputs())  # x, x * 2, exp, tanh, +
        5
        """
        return Symbol(merged(self._symbol.values))

    def export_onnx(
        self,
        path: str | os.PathLike[str],
        inputs: str | Sequence[str] = "data",
        *,
        dynamic: bool | Sequence[Any] = False,
        opset: int | None = None,
        check: bool = True,
    ) -> str:
        """Write the graph, in predict mode, with what is bound as an ONNX model that was run and compared with it.

        Parameters
        ----------
        path : str or PathLike
        inputs : str or list of str
            The arguments that are inputs of the model; all others become parts of it, as they are now.
        dynamic, opset, check
            As for `HybridBlock.export_onnx`.

        Returns
        -------
        str
            `path`.

        Raises
        ------
        MissingDependencyError
            If onnx is not installed.
        ArgumentError
            If there is no such argument.
        ExportError
            If a node has no equal in ONNX, or the model computes something else: no file is written.
        """
        return str(extension("Executor.export_onnx")(self, path, inputs, dynamic, opset, check))

    def debug_str(self) -> str:
        """Return what runs: the program's plan as text, of training if that has run, else of prediction."""
        if not self._programs:
            self._program(False)
        return self._programs[max(self._programs)].text()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _program(self, is_train: bool) -> Program:
        program = self._programs.get(is_train)
        if program is None or not program.steps.is_valid():
            program = self._programs[is_train] = self._compiled.program(
                self._raws(),
                is_train,
                self._grad_req if is_train else None,
                repeatable=bool(self._grad_req),
                facts=self._inferred,
                inline=self._monitor is None,
            )
        return program

    def _raws(self) -> list[numpy.ndarray]:
        raws = [array._data for array in self.arg_arrays]
        if self.aux_arrays:
            raws += [array._data for array in self.aux_arrays]
        seen = self._seen_arrays
        if len(raws) != len(seen) or not all(map(is_, raws, seen)):
            self._check_arrays(raws)
        return raws

    def _check_arrays(self, raws: list[numpy.ndarray]) -> None:
        """Refuse arrays that do not fit the program, where users have put others into `arg_arrays`."""
        nodes = [*self._argument_nodes, *self._state_nodes]
        if len(raws) != len(nodes):
            raise ArgumentError(f"{self!r}: there are {len(raws)} arrays for {len(nodes)} variables.")
        for node, raw in zip(nodes, raws, strict=True):
            self._require_bound_kind(f"the array of {node.name!r}", node, raw)
        seen = {id(raw) for raw in self._seen_arrays}
        if self._grad_req:
            self._new_arrays |= {node: raw for node, raw in zip(nodes, raws, strict=True) if id(raw) not in seen}
        self._seen_arrays = list(raws)

    def _buffers(self) -> dict[Node, numpy.ndarray]:
        """Return the raw arrays into which gradients are asked."""
        if self._new_arrays or self._has_new_gradients():
            rows = [
                (position, node, array._data)
                for position, (node, array) in enumerate(zip(self._argument_nodes, self.grad_arrays, strict=True))
                if array is not None and node in self._grad_req
            ]
            for _, node, raw in rows:
                self._require_bound_kind(f"the gradient of {node.name!r}", node, raw)
            nodes = [*self._argument_nodes, *self._state_nodes]
            seen = {id(raw) for raw in self._gradients.values()}
            new_rows = [(node, raw) for _, node, raw in rows if id(raw) not in seen]
            self._require_unshared([*zip(nodes, self._seen_arrays, strict=True)], new_rows)
            self._require_unshared(self._new_arrays.items(), [(node, raw) for _, node, raw in rows])
            self._new_arrays = {}
            self._gradients = {node: raw for _, node, raw in rows}
            self._seen_gradients = [(position, raw) for position, _, raw in rows]
            self._shared = Shared.of(self._gradients, self._grad_req)
            self._gradient_memories = [memory_of(raw) for raw in self._gradients.values()]
            self._unshared_head = None
        return self._gradients if self._shared is None else self._shared.buffers()

    def _unshared(self, heads: list[numpy.ndarray], buffers: Mapping[Node, numpy.ndarray]) -> list[numpy.ndarray]:
        """Return head gradients, those copied that share memory with an array that is written to."""
        if len(heads) == 1 and heads[0] is self._unshared_head and buffers is self._gradients:
            return heads
        copied = [head.copy() if any(_share(head, buffer) for buffer in buffers.values()) else head for head in heads]
        if len(heads) == 1 and copied[0] is heads[0] and buffers is self._gradients:
            self._unshared_head = heads[0]
        return copied

    def _has_new_gradients(self) -> bool:
        """Tell whether others have been put into `grad_arrays` than those that have been looked at."""
        arrays, seen = self.grad_arrays, self._seen_gradients
        try:
            # A list, which costs less here than a generator.
            return seen is None or True in [arrays[position]._data is not raw for position, raw in seen]  # type: ignore[union-attr]
        except (AttributeError, IndexError):  # None, or nothing, is there
            return True

    def _require_unshared(
        self, arrays: Iterable[tuple[Node, numpy.ndarray]], gradients: Collection[tuple[Node, numpy.ndarray]]
    ) -> None:
        """Refuse gradients in the memory of arrays that backward still reads, as `bind` does."""
        for node, raw in arrays:
            for of, gradient in gradients:
                if _share(raw, gradient):
                    raise ArgumentError(
                        f"{self!r}: the gradient of {of.name!r} shares memory with the array of {node.name!r} now, "
                        "which backward still reads. Give the gradient an array of its own, such as "
                        "mx.nd.zeros(shape)."
                    )

    def _require_bound_kind(self, noun: str, node: Node, raw: numpy.ndarray) -> None:
        """Refuse an array of another shape or dtype than the variable was bound with."""
        shape, dtype = self._shapes[Value(node)], self._dtypes[Value(node)]
        if raw.shape != shape:
            raise ShapeError(f"{self!r}: {noun} has shape {raw.shape} now; expected {shape}, with which it was bound.")
        if raw.dtype != dtype:
            raise DTypeError(f"{self!r}: {noun} has dtype {raw.dtype} now; expected {dtype}, with which it was bound.")

    def _new(self, data: numpy.ndarray, index: int) -> NDArray:
        like = self.arg_arrays[0] if self.arg_arrays else None
        if self._places is None and like is not None:
            return like._like(data)
        context = self._context if self._places is None else self._places[index]
        array: NDArray = place(NDArray if like is None else type(like), data, context)
        return array

    def _assign(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise ArgumentError(
                f"Executor.forward: the symbol has no argument {name!r}; it has {', '.join(self._names)}."
                + nearest(name, self._names)
            )
        target = self.arg_arrays[self._names.index(name)]
        _write(_fitting(value, target, f"Executor.forward: argument {name!r}"), target)

    def _head_gradients(self, out_grads: Any) -> list[numpy.ndarray]:
        outputs = self.outputs
        if len(outputs) == 1 and isinstance(out_grads, NDArray):
            raw, data = out_grads._data, outputs[0]._data
            if raw.shape == data.shape and raw.dtype == data.dtype:
                return [raw]
        names = self._symbol.list_outputs()
        gradients: Any = out_grads
        if isinstance(out_grads, dict):
            unknown = [name for name in out_grads if name not in names]
            if unknown:
                raise ArgumentError(
                    f"Executor.backward: no output is named {unknown[0]!r}.{nearest(unknown[0], names)}"
                )
            gradients = [out_grads.get(name) for name in names]
        elif not isinstance(out_grads, (list, tuple)):
            gradients = [None] * len(names) if out_grads is None else [out_grads]
        if len(gradients) > len(names):
            gradients = gradients[: max(len(names), 1)]
        if len(gradients) != len(names):
            raise ArgumentError(
                f"Executor.backward: {len(gradients)} gradient(s) for {len(names)} output(s): {', '.join(names)}."
            )
        heads = []
        for index, (name, gradient, output) in enumerate(zip(names, gradients, outputs, strict=True)):
            data = output._data
            if gradient is None:
                if index not in self._ones or self._ones[index].dtype != data.dtype:
                    self._ones[index] = numpy.ones(data.shape, data.dtype)
                heads.append(self._ones[index])
                continue
            raw = as_raw(gradient)
            if raw.shape != data.shape:
                raise ShapeError(
                    f"Executor.backward: the gradient of {name} has shape {raw.shape}; expected {data.shape}, the "
                    "output's."
                )
            heads.append(raw.astype(data.dtype, copy=False))
        return heads

    def _observer(self) -> Observer:
        monitor, inputs_too = self._monitor, self._monitor_all
        assert monitor is not None

        def show(name: str, raw: Any) -> None:
            monitor(ObservedName(name), make_array(raw, dtype=raw.dtype))

        def observe(node: Node, arguments: Sequence[Any], outputs: Any) -> None:
            if node.operator is CONSTANT:
                return
            if outputs is not None:
                arrays = outputs if isinstance(outputs, tuple) else (outputs,)
                for name, array in zip(node.output_names(), arrays, strict=False):
                    show(f"{node.name}_{name}", array)
            elif inputs_too:
                for name, value, array in zip(node.input_names(), node.inputs, arguments, strict=True):
                    if value.node.operator is None:
                        show(value.node.name, array)
                    show(f"{node.name}_{name}", array)

        return observe


def _share(left: numpy.ndarray, right: numpy.ndarray) -> bool:
    """Tell whether two arrays may share memory."""
    # Two that each have allocated their memory do not.
    if left.base is None and right.base is None:
        return left is right
    return numpy.may_share_memory(left, right)


def _fitting(value: Any, target: NDArray, subject: str) -> Any:
    """Return the numbers of a value that is to be written into an array."""
    try:
        raw = as_raw(value)
    except (TypeError, ValueError):
        raw = None
    if raw is None or raw.dtype.kind not in "biufc":
        raise DTypeError(f"{subject} is {describe(value)}; expected an array of numbers.")
    if raw.shape != target.shape:
        raise ShapeError(f"{subject} has shape {raw.shape}; expected {target.shape}, with which it was bound.")
    return raw


def _write(raw: Any, target: NDArray) -> None:
    numpy.copyto(target._data, raw, casting="unsafe")
    note_write(target._data)


def missing_text(symbol: Symbol, shapes: Mapping[str, Any]) -> str:
    """Return which shapes cannot be inferred from the given ones, in words."""
    arguments, _, states = symbol.infer_shape_partial(**shapes)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    missing = [
        f"{name} {show_shape(tuple(length or -1 for length in shape) or None)}"
        for name, shape in zip(names, [*arguments, *states], strict=True)
        if not shape or 0 in shape
    ]
    return f"not known: {', '.join(missing) or 'shapes inside the graph'}. Give shapes by name, as in data=(32, 784)."
