"""`DataParallelExecutorGroup`: the executors of a module, one on each context, each with its part of the batch."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy import context as ctx
from minpy import ndarray as nd
from minpy.core.buffers import note_write
from minpy.core.errors import ArgumentError, NotReadyError, ShapeError, describe
from minpy.executor_manager import _split_input_slice
from minpy.graph.ir import Value, variables
from minpy.io import DataDesc
from minpy.module.batch_parts import batch_axis, load_inputs, merged, part_of
from minpy.module.resuming import resume_after
from minpy.namespaces import module_functions
from minpy.symbol import Symbol
from minpy.symbol.binding import infer_facts
from minpy.symbol.context_groups import context_groups, groups_of_each, place_nodes

__all__ = ["DataDesc", "DataParallelExecutorGroup", "ctx"]
__dir__, __getattr__ = module_functions(__name__, __all__)

# How many sets of input shapes keep their executors: for training, for the last batch and for validation.
_MAX_BOUND = 3


class DataParallelExecutorGroup:
    """Executors of one symbol on several contexts, which share a batch.

    Parameters
    ----------
    symbol : Symbol
    contexts : list of Context
    workload : list of number
        How large the part of each context is, in proportion.
    data_shapes, label_shapes : list of DataDesc
        Of whole batches.
    param_names : list of str
        The arguments that are no inputs.
    for_training : bool
        Whether gradients are computed.
    inputs_need_grad : bool
        Whether those of data are.
    shared_group : DataParallelExecutorGroup, optional
        Whose arrays of parameters and their gradients are used.
    logger : Logger
    fixed_param_names : list of str, optional
        Parameters without gradients.
    grad_req : str, or list or dict of str
        'write', 'add' or 'null'.
    state_names : list of str, optional
        Arguments that keep their values from batch to batch.
    group2ctxs : dict or list of dict, optional
        Where the groups of `AttrScope(ctx_group=...)` lie, for each context.

    Attributes
    ----------
    execs : list of Executor
    param_arrays, grad_arrays, aux_arrays : list of list of NDArray
        Of each parameter or state, one on each context; gradients may be None.
    data_arrays, label_arrays : list of list of (slice, NDArray)
        Where parts of batches are put.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Any],
        workload: Sequence[Any],
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = workload
        self.param_names = list(param_names)
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.group2ctxs = groups_of_each(group2ctxs, len(self.contexts))
        self.data_names = [desc.name for desc in data_shapes]
        self.grad_req = self._requests(grad_req)
        self.num_outputs = len(self.output_names)
        self.output_layouts = [batch_axis(symbol[name].attr("__layout__")) for name in self.output_names]
        self.batch_size: Any = None
        self.slices: list[slice] = []
        self.execs: list[Any] = []
        self._bound: OrderedDict[Any, list[Any]] = OrderedDict()
        self._monitors: list[Any] = []
        self._lacks_labels = False
        self.rounds_before = 0  # how many updates a resumed training has behind it
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req: Any) -> dict[str, str]:
        """Return what is done with the gradient of each argument."""
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise ArgumentError(
                    f"bind: grad_req has {len(grad_req)} entries for {len(self.arg_names)} arguments: "
                    f"{', '.join(self.arg_names)}."
                )
            return dict(zip(self.arg_names, grad_req, strict=True))
        by_name = grad_req if isinstance(grad_req, Mapping) else {}
        common = "write" if isinstance(grad_req, Mapping) else grad_req
        if common not in ("write", "add", "null"):
            raise ArgumentError(
                f"bind: grad_req is {describe(grad_req)}; expected 'write', 'add' or 'null', or a list or dict of them."
            )
        requests = {}
        for name in self.arg_names:
            if name in self.param_names:
                requests[name] = "null" if name in self.fixed_param_names else common
            else:
                requests[name] = common if name in self.data_names and self.inputs_need_grad else "null"
        requests.update(by_name)
        return requests

    # -- binding -----------------------------------------------------------------------------------------------------

    def decide_slices(self, data_shapes: Sequence[Any]) -> list[int]:
        """Set the part of the batch of each context, and return the axes along which inputs are cut.

        Parameters
        ----------
        data_shapes : list of DataDesc

        Returns
        -------
        list of int
            -1 for inputs that each context gets whole.

        Raises
        ------
        ShapeError
            If inputs do not have one batch size.
        """
        axes = [batch_axis(getattr(desc, "layout", "NCHW")) for desc in data_shapes]
        for desc, axis in zip(data_shapes, axes, strict=True):
            if axis == -1:
                continue
            if len(desc.shape) <= axis:
                raise ShapeError(
                    f"bind: {desc.name!r} has shape {tuple(desc.shape)}; expected an axis for the batch at {axis}."
                )
            size = desc.shape[axis]
            if self.batch_size is None:
                self.batch_size = size
                self.slices = _split_input_slice(size, self.workload)
            elif size != self.batch_size:
                raise ShapeError(
                    f"bind: {desc.name!r} has shape {tuple(desc.shape)}, whose axis {axis} says a batch of {size}; "
                    f"expected {self.batch_size}, as the inputs before it have."
                )
        return axes

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Make an executor on each context.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc
        shared_group : DataParallelExecutorGroup, optional
            Whose arrays of parameters are used.
        reshape : bool
            Whether the arrays of this group go on.

        Raises
        ------
        ShapeError
            If shapes contradict each other, or are not enough.
        """
        before = self.batch_size, self.slices
        self.batch_size = None
        try:
            layouts = self.decide_slices(data_shapes)
            label_layouts = self.decide_slices(label_shapes) if label_shapes else []
            if self.batch_size is None:  # every context gets everything
                self.batch_size, self.slices = 0, [slice(0, 0)] * len(self.contexts)
            inputs = [*data_shapes, *(label_shapes or [])]
            key = tuple((desc.name, tuple(desc.shape), numpy.dtype(desc.dtype)) for desc in inputs)
            execs = self._bound.pop(key, None)
            if execs is None or not reshape:
                axes = [*layouts, *label_layouts]
                execs = [
                    self._bind_ith_exec(index, self._sliced_shape(inputs, index, axes), shared_group, reshape)
                    for index in range(len(self.contexts))
                ]
        except BaseException:
            self.batch_size, self.slices = before
            raise
        if not reshape:
            self._bound.clear()
        self._bound[key] = execs
        while len(self._bound) > _MAX_BOUND:
            self._bound.popitem(last=False)
        if execs is not self.execs:
            self._watch(execs)
        self.execs = execs
        self.data_layouts, self.label_layouts = layouts, label_layouts
        self.data_shapes, self.label_shapes = list(data_shapes), label_shapes
        self.data_names = [desc.name for desc in data_shapes]
        self.label_names = [desc.name for desc in label_shapes or []]
        self._collect_arrays()

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Take batches of other shapes; parameters stay.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc

        Raises
        ------
        ShapeError
            If parameters would have other shapes.
        """
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    def _sliced_shape(self, shapes: Sequence[Any], i: int, major_axis: Sequence[int]) -> list[Any]:
        """Return the descriptions of the parts of inputs on one context."""
        parts = []
        for desc, axis in zip(shapes, major_axis, strict=True):
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            parts.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
        return parts

    def _bind_ith_exec(
        self, i: int, inputs: Sequence[Any], shared_group: DataParallelExecutorGroup | None, reshape: bool
    ) -> Any:
        """Bind the executor of one context, with arrays of its own or of others."""
        names = [desc.name for desc in inputs]
        unknown = [name for name in names if name not in self.arg_names]
        if unknown:
            raise ArgumentError(
                f"bind: shapes are given for {', '.join(map(repr, unknown))}, and the symbol has no such argument; "
                f"its arguments that are no parameters: {', '.join(n for n in self.arg_names if n in names) or 'none'}."
            )
        shapes = {desc.name: tuple(desc.shape) for desc in inputs}
        dtypes = {desc.name: desc.dtype for desc in inputs}
        context, groups = self.contexts[i], self.group2ctxs[i]
        executors = [
            *([self.execs[i]] if reshape else []),
            *([shared_group.execs[i]] if shared_group is not None else []),
        ]
        if not executors:
            return self.symbol.simple_bind(
                context, grad_req=self.grad_req, type_dict=dtypes, group2ctx=groups, **shapes
            )
        where = place_nodes("bind", self.symbol, context, context_groups("bind", groups))
        inferred = infer_facts(self.symbol, dtypes, shapes)
        symbol_names = self.symbol.list_arguments(), self.symbol.list_auxiliary_states()
        nodes, state_nodes = variables(self.symbol.order)
        arguments: list[Any] = []
        gradients: list[Any] = []
        for name, node in zip(symbol_names[0], nodes, strict=True):
            shape, dtype = inferred.shapes[Value(node)], inferred.dtypes[Value(node)]
            # Inputs have arrays of their own, as both groups may be in use; states go on if they fit.
            is_own = name in shapes or name not in self.param_names
            array = None if is_own else self._shared(executors, "arg_dict", name, shape)
            if reshape and name in self.state_names:
                state = self.execs[i].arg_dict[name]
                array = state if state.shape == tuple(shape) and state.dtype == dtype else None
            gradient = None
            if self.grad_req[name] != "null":
                gradient = None if is_own else self._shared(executors, "grad_dict", name, shape)
                gradient = nd.zeros(shape, where[node], dtype) if gradient is None else gradient
            arguments.append(nd.zeros(shape, where[node], dtype) if array is None else array)
            gradients.append(gradient)
        states = []
        for name, node in zip(symbol_names[1], state_nodes, strict=True):
            shape, dtype = inferred.shapes[Value(node)], inferred.dtypes[Value(node)]
            array = self._shared(executors, "aux_dict", name, shape)
            states.append(nd.zeros(shape, where[node], dtype) if array is None else array)
        requests = [self.grad_req[name] for name in symbol_names[0]]
        return self.symbol.bind(context, arguments, gradients, requests, states, group2ctx=groups)

    def _shared(self, executors: Sequence[Any], table: str, name: str, shape: Any) -> Any:
        """Return the array of a parameter that an executor has already; None if none does."""
        for executor in executors:
            array = getattr(executor, table).get(name)
            if array is None:
                continue
            if array.shape != tuple(shape):
                raise ShapeError(
                    f"bind: {name!r} has shape {array.shape} in what is shared, and would have {tuple(shape)} with "
                    f"the shapes given. Only sizes that no parameter depends on may change: the batch, say, or the "
                    f"length of sequences."
                )
            return array
        return None

    def _collect_arrays(self) -> None:
        """Gather the arrays of all executors by parameter."""
        execs = self.execs
        arguments = [executor.arg_dict for executor in execs]
        gradients = [executor.grad_dict for executor in execs]
        states = [executor.aux_dict for executor in execs]
        self.data_arrays = [[(s, t[n]) for s, t in zip(self.slices, arguments, strict=True)] for n in self.data_names]
        self.label_arrays = [[(s, t[n]) for s, t in zip(self.slices, arguments, strict=True)] for n in self.label_names]
        self.state_arrays = [[table[name] for table in arguments] for name in self.state_names]
        present = [name for name in self.arg_names if name in self.param_names]
        self.param_arrays = [[table[name] for table in arguments] for name in present]
        self.grad_arrays = [[table[name] for table in gradients] for name in present] if self.for_training else None
        self.input_grad_arrays = (
            [[table.get(name) for table in gradients] for name in self.data_names] if self.inputs_need_grad else None
        )
        self.aux_arrays = [[table[name] for table in states] for name in self.aux_names]
        # What one context updates, as lists that an updater takes.
        self.updates: tuple[list[int], list[Any], list[Any]] | None = None
        if self.for_training and len(execs) == 1 and self.grad_arrays is not None:
            rows = [
                (index, gradient[0], weight[0])
                for index, (weight, gradient) in enumerate(zip(self.param_arrays, self.grad_arrays, strict=True))
                if gradient[0] is not None
            ]
            self.updates = tuple(list(part) for part in zip(*rows, strict=True)) if rows else ([], [], [])  # type: ignore[assignment]

    # -- parameters --------------------------------------------------------------------------------------------------

    def set_params(
        self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any] | None, allow_extra: bool = False
    ) -> None:
        """Copy parameters to all contexts.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_extra : bool
            Whether names that the symbol does not have are left out.
        """
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, Any], aux_params: dict[str, Any]) -> None:
        """Write the means of parameters over all contexts into arrays.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            The arrays that are written to.
        """
        names = [name for name in self.arg_names if name in self.param_names]
        for target, keys, blocks in (
            (arg_params, names, self.param_arrays),
            (aux_params, self.aux_names, self.aux_arrays),
        ):
            for name, block in zip(keys, blocks, strict=True):
                raw = block[0]._data
                if len(block) > 1:
                    raw = sum((array._data for array in block[1:]), raw) / numpy.asarray(len(block), raw.dtype)
                array = target.get(name)
                if array is None:
                    target[name] = nd.array(raw, ctx.cpu(), raw.dtype)
                else:
                    numpy.copyto(array._data, raw, casting="unsafe")
                    note_write(array._data)

    # -- running -----------------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Put a batch into the arrays of all contexts, and run.

        Parameters
        ----------
        data_batch : DataBatch, or a list of one for each context
        is_train : bool, optional
            By default whether the group was bound for training.
        """
        load_inputs("data", data_batch, self.data_arrays, self.data_layouts, self.data_names)
        if is_train is None:
            is_train = self.for_training
        if self.label_arrays:
            self._lacks_labels = not load_inputs(
                "label", data_batch, self.label_arrays, self.label_layouts, self.label_names
            )
        if self.rounds_before and is_train:
            rounds, self.rounds_before = self.rounds_before, 0
            for executor in self.execs:
                resume_after(executor, rounds)
        for executor in self.execs:
            executor.forward(is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients on all contexts.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Of whole batches.

        Raises
        ------
        NotReadyError
            If the group is not for training, or the batch had no labels.
        """
        if not self.for_training:
            raise NotReadyError("backward: the module was bound with for_training=False. Bind it for training.")
        if self._lacks_labels and out_grads is None:
            raise NotReadyError(
                f"backward: the batch of the latest forward had no label, and the gradients depend on "
                f"{', '.join(map(repr, self.label_names))}. Give DataBatch(data, label), or bind without label_shapes."
            )
        if out_grads is None or len(self.execs) == 1:
            for executor in self.execs:
                executor.backward(out_grads)
            return
        grads = out_grads if isinstance(out_grads, (list, tuple)) else [out_grads]
        for executor, part in zip(self.execs, self.slices, strict=True):
            executor.backward(
                [part_of(grad, part, axis) for grad, axis in zip(grads, self.output_layouts, strict=False)]
            )

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Let a metric see labels and outputs, context by context.

        Parameters
        ----------
        eval_metric : EvalMetric
        labels : list of NDArray
        pre_sliced : bool
            Whether labels are a list of such lists, one for each context.
        """
        for index, (executor, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            if pre_sliced:
                own_labels = labels[index]
            elif len(self.execs) == 1:
                own_labels = labels or ()
            else:
                axes = self.label_layouts or [0] * len(labels or ())
                own_labels = [part_of(label, part, axis) for label, axis in zip(labels or (), axes, strict=False)]
            predictions = OrderedDict(zip(self.output_names, executor.outputs, strict=True))
            eval_metric.update_dict(OrderedDict(zip(self.label_names, own_labels, strict=False)), predictions)

    # -- results -----------------------------------------------------------------------------------------------------

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the names and shapes of outputs for whole batches."""
        shapes = []
        for name, output, axis in zip(self.output_names, self.execs[0].outputs, self.output_layouts, strict=True):
            shape = list(output.shape)
            if axis >= 0 and len(self.execs) > 1:
                shape[axis] = self.batch_size
            shapes.append((name, tuple(shape)))
        return shapes

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """Return the outputs of the latest forward.

        Parameters
        ----------
        merge_multi_context : bool
            Whether those of all contexts are put together; else each is a list of one on each context.
        begin, end : int
            Which outputs.

        Returns
        -------
        list of NDArray, or of list of NDArray
        """
        part = slice(begin, self.num_outputs if end is None else end)
        if merge_multi_context and len(self.execs) == 1:
            return list(self.execs[0].outputs[part])
        rows = [list(row) for row in zip(*(executor.outputs[part] for executor in self.execs), strict=True)]
        return merged(rows, self.output_layouts[part]) if merge_multi_context else rows

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of data.

        Parameters
        ----------
        merge_multi_context : bool
            Whether those of all contexts are put together.

        Returns
        -------
        list of NDArray, or of list of NDArray
        """
        if self.input_grad_arrays is None:
            raise NotReadyError("get_input_grads: the module was bound without inputs_need_grad=True. Bind it with it.")
        if merge_multi_context:
            return merged(self.input_grad_arrays, self.data_layouts)
        return self.input_grad_arrays

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the arguments that keep their values from batch to batch.

        Parameters
        ----------
        merge_multi_context : bool
            Refused where it is true: states of contexts stay apart.

        Returns
        -------
        list of list of NDArray
            Of each state, one on each context.
        """
        if merge_multi_context:
            raise ArgumentError(
                "get_states: states of several contexts are not put together. Call get_states(merge_multi_context="
                "False), which returns a list for each state, with one array for each context."
            )
        return self.state_arrays

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Write the arguments that keep their values from batch to batch.

        Parameters
        ----------
        states : list of list of NDArray, optional
            As `get_states` returns.
        value : float, optional
            For all of them.

        Raises
        ------
        ArgumentError
            Unless one of both is given.
        """
        if (states is None) is (value is None):
            raise ArgumentError("set_states: give states, or a value for all of them: one of both.")
        for index, arrays in enumerate(self.state_arrays):
            for device, array in enumerate(arrays):
                array[:] = value if states is None else states[index][device]

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor see the inner arrays of all executors.

        Parameters
        ----------
        mon : Monitor
        """
        self._monitors.append(mon)
        for executor in self.execs:
            mon.install(executor)

    def _watch(self, execs: Sequence[Any]) -> None:
        """Let what watches the executors from before see these: callbacks of their own, and monitors."""
        for executor, before in zip(execs, self.execs, strict=False):
            executor.set_monitor_callback(before._monitor, before._monitor_all)
        for monitor in self._monitors:
            for executor in self.execs:
                executor.set_monitor_callback(None)
                if executor in getattr(monitor, "exes", ()):
                    monitor.exes.remove(executor)
            for executor in execs:
                monitor.install(executor)
