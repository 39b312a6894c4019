"""`mx.executor_manager`: executors on several devices, each with its part of a batch, as `FeedForward` trains them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.buffers import note_write
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe
from minpy.io import DataDesc
from minpy.namespaces import module_functions
from minpy.ndarray.creation import zeros
from minpy.symbol import Symbol

__all__ = ["DataDesc", "DataParallelExecutorGroup", "DataParallelExecutorManager"]
__dir__, __getattr__ = module_functions(__name__, __all__)


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Return the part of a batch that each device gets, in proportion to its load."""
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    if sum(counts) < batch_size:
        counts[-1] += batch_size - sum(counts)
    slices = []
    end = 0
    for count in counts:
        begin, end = min(end, batch_size), int(min(end + count, batch_size))
        if begin >= end:
            raise ArgumentValueError(
                f"a batch of {batch_size} cannot be split over {len(work_load_list)} devices with loads "
                f"{list(work_load_list)}: some would get nothing. Use a larger batch, or fewer contexts."
            )
        slices.append(slice(begin, end))
    return slices


def _check_arguments(symbol: Symbol) -> None:
    """Refuse a symbol with two variables of one name."""
    for kind, names in (("argument", symbol.list_arguments()), ("auxiliary state", symbol.list_auxiliary_states())):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ArgumentValueError(
                f"two {kind}s are named {', '.join(map(repr, twice))}, and parameters are known by name. Give layers "
                f"different names; there are {', '.join(names)}."
            )


def _load_general(data: Sequence[Any], targets: Sequence[Any]) -> None:
    """Copy arrays into others, or parts of them into lists of (slice, array)."""
    for source, target in zip(data, targets, strict=False):
        raw = as_raw(source)
        rows = target if isinstance(target, (list, tuple)) else [(slice(0, len(raw)), target)]
        for part, array in rows:
            piece = raw[part]
            if piece.shape != array.shape:
                raise ShapeError(
                    f"the batch has {describe(source)}, of which {piece.shape} is for an array of {array.shape}; "
                    "expected batches of the size with which the executors are bound."
                )
            numpy.copyto(array._data, piece, casting="unsafe")
            note_write(array._data)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the data of a batch."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the labels of a batch."""
    _load_general(batch.label, targets)


class _OnDevices:
    """What executors on several devices do together, each with its part of a batch."""

    train_execs: list[Any]
    slices: list[slice]

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs on all devices.

        Parameters
        ----------
        is_train : bool
        """
        for executor in self.train_execs:
            executor.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients on all devices."""
        for executor in self.train_execs:
            executor.backward()

    def update_metric(self, metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Let a metric see labels and outputs, device by device.

        Parameters
        ----------
        metric : EvalMetric
        labels : list of NDArray
        pre_sliced : bool
            Whether labels are a list of such lists, one for each device.
        """
        for place, (executor, part) in enumerate(zip(self.train_execs, self.slices, strict=True)):
            own_labels = labels[place] if pre_sliced else [label[part] for label in labels]
            metric.update(own_labels, executor.outputs)


class DataParallelExecutorGroup(_OnDevices):
    """Executors of one symbol on several devices.

    Parameters
    ----------
    sym : Symbol
    arg_names, param_names : list of str
    ctx : list of Context
    slices : list of slice
        The part of the batch of each device.
    train_data : DataIter
        Its `provide_data` and `provide_label` are the inputs.
    shared_group : DataParallelExecutorGroup, optional
        Whose arrays of parameters are used.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Any],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        _check_arguments(sym)
        inputs = [*train_data.provide_data, *train_data.provide_label]
        self.data_names = [desc[0] for desc in train_data.provide_data]
        self.label_names = [desc[0] for desc in train_data.provide_label]
        self.aux_names = sym.list_auxiliary_states()
        names = sym.list_arguments()
        self.param_idx = [place for place, name in enumerate(names) if name in param_names]
        self.param_names = [names[place] for place in self.param_idx]
        self.slices = list(slices)
        self.output_names = sym.list_outputs()
        self.train_execs: list[Any] = []
        for place, (context, part) in enumerate(zip(ctx, slices, strict=True)):
            shapes = {desc[0]: (part.stop - part.start, *tuple(desc[1])[1:]) for desc in inputs}
            dtypes = {desc.name: desc.dtype for desc in inputs if isinstance(desc, DataDesc)}
            requests = {name: "write" if name in self.param_names else "null" for name in names}
            executor = sym.simple_bind(context, grad_req=requests, type_dict=dtypes, **shapes)
            if shared_group is not None:
                executor = self._sharing(sym, context, executor, requests, shared_group.train_execs[place])
            self.train_execs.append(executor)
        executors = self.train_execs
        arguments = [executor.arg_dict for executor in executors]
        rows = list(zip(self.slices, arguments, strict=True))
        self.data_arrays = [[(part, table[name]) for part, table in rows] for name in self.data_names]
        self.label_arrays = [[(part, table[name]) for part, table in rows] for name in self.label_names]
        self.param_arrays = [[executor.arg_arrays[place] for executor in executors] for place in self.param_idx]
        self.grad_arrays = [[executor.grad_arrays[place] for executor in executors] for place in self.param_idx]
        self.aux_arrays = [
            [executor.aux_arrays[place] for executor in executors] for place in range(len(self.aux_names))
        ]

    def _sharing(self, sym: Symbol, context: Any, own: Any, requests: Mapping[str, str], other: Any) -> Any:
        """Return an executor like another one, with the parameters of a third."""
        arguments, gradients, states = other.arg_dict, other.grad_dict, other.aux_dict
        arrays = []
        for name, array in own.arg_dict.items():
            shared = arguments.get(name) if name in self.param_names else None
            arrays.append(array if shared is None or shared.shape != array.shape else shared)
        grads = [
            gradients.get(name) if name in self.param_names and gradients.get(name) is not None else own.grad_dict[name]
            for name in own.arg_dict
        ]
        auxiliary = [states.get(name, array) for name, array in own.aux_dict.items()]
        return sym.bind(context, arrays, grads, dict(requests), auxiliary)

    def load_data_batch(self, data_batch: Any) -> None:
        """Put a batch into the arrays of all devices.

        Parameters
        ----------
        data_batch : DataBatch
        """
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays)


class DataParallelExecutorManager(_OnDevices):
    """Executors on several devices, of one symbol or, with `sym_gen`, of one for each bucket.

    Parameters
    ----------
    symbol : Symbol
    ctx : list of Context
    train_data : DataIter
    arg_names, param_names, aux_names : list of str
    work_load_list : list of number, optional
        How large the part of each device is, in proportion.
    logger : Logger, optional
    sym_gen : callable, optional
        A function of a bucket's key that returns its symbol.

    Raises
    ------
    ArgumentError
        If there are not as many loads as devices.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.executor_manager import DataParallelExecutorManager
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1, name='fc'))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones(4), 4, label_name=net.list_arguments()[-1])
    >>> manager = DataParallelExecutorManager(
    ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ['fc_weight', 'fc_bias'], [])
    >>> [array.shape for array in manager.param_arrays[0]]
    [(1, 2), (1, 2)]
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Any],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ) -> None:
        (logging if logger is None else logger).info("Start training with %s", str(ctx))
        loads = [1] * len(ctx) if work_load_list is None else list(work_load_list)
        if len(loads) != len(ctx):
            raise ArgumentError(
                f"work_load_list has {len(loads)} entries for {len(ctx)} contexts; give one for each context."
            )
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.arg_names = arg_names
        self.param_names = param_names
        self.aux_names = aux_names
        self.ctx = ctx
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.execgrp = DataParallelExecutorGroup(symbol, arg_names, param_names, ctx, self.slices, train_data)
        self.curr_execgrp: Any = None
        if sym_gen is not None:
            self.execgrp_bucket = {train_data.default_bucket_key: self.execgrp}

    def install_monitor(self, monitor: Any) -> None:
        """Let a monitor see the inner arrays of all executors.

        Parameters
        ----------
        monitor : Monitor
        """
        if self.sym_gen is not None:
            raise ArgumentError("install_monitor: there are executors for each bucket. Use mx.mod.BucketingModule.")
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Copy parameters to all devices.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        """
        for executor in self.execgrp.train_execs:
            executor.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any]) -> None:
        """Write the means of parameters over all devices into arrays.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            The arrays that are written to.
        """
        names = self.execgrp.param_names
        for targets, keys, blocks in (
            (arg_params, names, self.param_arrays),
            (aux_params, self.execgrp.aux_names, self.aux_arrays),
        ):
            for name, block in zip(keys, blocks, strict=True):
                total = block[0]._data
                if len(block) > 1:
                    total = sum((array._data for array in block[1:]), total) / numpy.asarray(len(block), total.dtype)
                target = targets.get(name)
                if target is None:
                    target = targets[name] = zeros(total.shape, dtype=total.dtype)  # type: ignore[index]
                numpy.copyto(target._data, total, casting="unsafe")
                note_write(target._data)

    @property
    def param_arrays(self) -> list[Any]:
        """Of each parameter, the arrays on all devices."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[Any]:
        """Of each parameter, the gradients on all devices."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[Any]:
        """Of each auxiliary state, the arrays on all devices."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Put a batch into the arrays of all devices.

        Parameters
        ----------
        data_batch : DataBatch
        """
        if self.sym_gen is None:
            self.curr_execgrp = self.execgrp
        else:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = DataParallelExecutorGroup(
                    self.sym_gen(key), self.arg_names, self.param_names, self.ctx, self.slices, data_batch, self.execgrp
                )
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)
        self.train_execs = self.curr_execgrp.train_execs
