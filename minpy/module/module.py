"""`Module`: a symbol that is trained, or predicts."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from minpy import context as ctx
from minpy import optimizer as opt
from minpy.core.errors import ArgumentError, NotReadyError, describe
from minpy.files import checked_path, read_file, write_file
from minpy.initializer import InitDesc, Uniform
from minpy.io import DataDesc
from minpy.model import load_checkpoint
from minpy.model.checkpoint import epoch_file
from minpy.model.fitting import require_fit
from minpy.model.kvstore_updates import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from minpy.module.base_module import BaseModule, Binding
from minpy.module.descriptions import check_all_input_names, parse_descriptions
from minpy.module.executor_group import DataParallelExecutorGroup
from minpy.namespaces import module_functions
from minpy.ndarray import zeros
from minpy.optimizer.updater import states_with_progress
from minpy.symbol import Symbol
from minpy.symbol.labels import label_names as label_names_of

__all__ = [
    "BaseModule",
    "DataDesc",
    "DataParallelExecutorGroup",
    "InitDesc",
    "Module",
    "Uniform",
    "ctx",
    "load_checkpoint",
    "opt",
    "zeros",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


class Module(BaseModule):
    """A symbol with its parameters, on one context or several: trained, scored, and asked for predictions.

    Parameters
    ----------
    symbol : Symbol
    data_names, label_names : list of str, optional
        Its arguments that are data, and labels; those that are neither, nor states, are parameters.
    logger : Logger or module
    context : Context or list of Context
        On several, each takes a part of every batch.
    work_load_list : list of number, optional
        How large the part of each context is, in proportion.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Arguments that keep their values from batch to batch; `set_states` writes them.
    group2ctxs : dict or list of dict, optional
        Where the groups of `AttrScope(ctx_group=...)` lie: a dict of contexts for each context of the module, or one
        for all, in which lists have a context for each.
    compression_params : dict, optional
        Refused by stores of one process, which send no gradients.

    Raises
    ------
    ArgumentError
        For names that the symbol does not have; of labels that is a warning.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc'), name='softmax')
    >>> module = mx.mod.Module(net)
    >>> module.bind(data_shapes=[('data', (1, 2))], for_training=False)
    >>> module.set_params({'fc_weight': mx.nd.array([[1, 0], [0, 1]]), 'fc_bias': mx.nd.zeros(2)}, {})
    >>> module.forward(mx.io.DataBatch([mx.nd.array([[0, 0]])]))
    >>> module.get_outputs()[0].asnumpy()
    array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = ctx.cpu(),  # noqa: B008
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        if not isinstance(symbol, Symbol):
            raise ArgumentError(f"Module: symbol is {describe(symbol)}; expected a Symbol, as mx.sym.load returns.")
        self._context = list(context) if isinstance(context, (list, tuple)) else [context]
        if not self._context:
            raise ArgumentError("Module: context is an empty list; expected a Context, or several.")
        loads = [1] * len(self._context) if work_load_list is None else list(work_load_list)
        if len(loads) != len(self._context):
            raise ArgumentError(
                f"Module: work_load_list has {len(loads)} entries for {len(self._context)} contexts; give one for each."
            )
        self._work_load_list = loads
        self._group2ctxs = group2ctxs
        self._symbol = symbol
        self._data_names = _names("data_names", data_names)
        self._label_names = _names("label_names", label_names)
        self._state_names = _names("state_names", state_names)
        self._fixed_param_names = _names("fixed_param_names", fixed_param_names)
        check_all_input_names(
            symbol,
            data=self._data_names,
            label=self._label_names,
            state=self._state_names,
            fixed_param=self._fixed_param_names,
        )
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: Any = None
        self._aux_params: Any = None
        self._params_dirty = False
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: Any = None
        self._updater: Any = None
        self._preload_opt_states: Any = None
        self._grad_req: Any = None
        self._reset_bind()

    # -- checkpoints -------------------------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: Any, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Make a module of a checkpoint. Once it is bound it has its parameters.

        Parameters
        ----------
        prefix : str or PathLike
            How the names of the files begin.
        epoch : int
            Of which epoch.
        load_optimizer_states : bool
            Whether `init_optimizer` reads the states in ``prefix-0003.states``.
        **kwargs
            What `Module` takes.

        Returns
        -------
        Module

        Raises
        ------
        FileMissingError, FileAccessError, FileFormatError
            If a file is not there, cannot be read, or is damaged.

        Examples
        --------
        >>> import os, tempfile
        >>> import minpy as mx
        >>> prefix = os.path.join(tempfile.mkdtemp(), 'net')
        >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1, no_bias=True, name='fc')
        >>> mx.model.save_checkpoint(prefix, 1, net, {'fc_weight': mx.nd.ones((1, 2))}, {})
        >>> module = mx.mod.Module.load(prefix, 1, label_names=None)
        >>> module.bind([('data', (1, 2))], for_training=False)
        >>> module.predict(mx.nd.array([[1, 2]])).asnumpy()
        array([[3.]], dtype=float32)
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params = args
        module._aux_params = auxs
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = epoch_file("Module.load", prefix, epoch, "states")
        return module

    def save_checkpoint(
        self, prefix: Any, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol, the parameters as they are now, and the optimizer's states if asked for.

        Parameters
        ----------
        prefix : str or PathLike
            How the names of the files begin: ``prefix-symbol.json``, ``prefix-0003.params``, ``prefix-0003.states``.
        epoch : int
        save_optimizer_states : bool
        remove_amp_cast : bool
            Whether to leave out the casts of mixed precision.

        Raises
        ------
        NotReadyError
            Before parameters are initialized; with states, before the optimizer is.
        FileAccessError
            If a file cannot be written.
        """
        self._require("save_checkpoint", optimizer=save_optimizer_states)
        name = epoch_file("Module.save_checkpoint", prefix, epoch)
        self._symbol.save(f"{name[: name.rindex('-')]}-symbol.json", remove_amp_cast=remove_amp_cast)
        self.save_params(name)
        logging.info('Saved checkpoint to "%s"', name)
        if save_optimizer_states:
            states = epoch_file("Module.save_checkpoint", prefix, epoch, "states")
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)

    # -- what it is --------------------------------------------------------------------------------------------------

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        # As of the latest batch that had labels: those that have none, to predict for, take the shapes away.
        self._described_labels: Any = None

    @property
    def data_names(self) -> list[str]:
        """The names of the data that the module takes."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels that the module takes."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """The descriptions of the data that the module is bound for."""
        self._require("data_shapes", initialized=False)
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """The descriptions of the labels that the module is bound for; None without labels."""
        self._require("label_shapes", initialized=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        """The names and shapes of the outputs."""
        self._require("output_shapes", initialized=False)
        return self._exec_group.get_output_shapes()

    # -- parameters --------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._require("get_params")
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self._keeps_params("init_params", force_init):
            return
        self._require("init_params", initialized=False)
        if initializer is not None and not callable(initializer):
            raise ArgumentError(
                f"init_params: initializer is {describe(initializer)}; expected an Initializer or None."
            )
        group = self._exec_group
        targets = self._on_first_context()
        values = {"argument": arg_params, "auxiliary state": aux_params}
        checked = {kind: arrays for kind, arrays in targets.items() if values[kind] is not None}
        require_fit("init_params", values, checked, allow_missing=allow_missing)

        attributes = self._symbol.attr_dict()
        params: list[dict[str, Any]] = []
        for kind, target_arrays in targets.items():
            values_of_kind = values[kind] or {}
            arrays = {}
            for name in sorted(target_arrays):
                target = target_arrays[name]
                if name in values_of_kind:
                    arrays[name] = values_of_kind[name].as_in_context(ctx.cpu()).astype(target.dtype)
                    continue
                arrays[name] = array = target.as_in_context(ctx.cpu()).copy()
                if initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), array)
            params.append({name: arrays[name] for name in target_arrays})
        self._store_params(params)
        self.params_initialized = True
        self._params_dirty = False
        group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)

    _sets_some_params = True

    def _set_some_params(self, arg_params: Any, aux_params: Any, allow_extra: bool) -> None:
        expected = self._on_first_context()
        values = {"argument": arg_params, "auxiliary state": aux_params}
        require_fit("set_params", values, expected, allow_missing=True, allow_extra=allow_extra)
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        if self._arg_params is None:
            self._store_params([{}, {}])

    def _store_params(self, params: list[dict[str, Any]]) -> None:
        """Copy parameters into the arrays that are there already: other modules may share these."""
        if self._arg_params is None:
            self._arg_params, self._aux_params = params
            return
        for own, arrays in zip((self._arg_params, self._aux_params), params, strict=True):
            for name, array in arrays.items():
                before = own.get(name)
                if before is not None and before.shape == array.shape and before.dtype == array.dtype:
                    array.copyto(before)
                else:
                    own[name] = array

    def _on_first_context(self) -> dict[str, dict[str, Any]]:
        """Return the arrays of parameters and states on the first context, by name."""
        group = self._exec_group
        names = [name for name in group.arg_names if name in group.param_names]
        return {
            "argument": {name: block[0] for name, block in zip(names, group.param_arrays, strict=True)},
            "auxiliary state": {name: block[0] for name, block in zip(group.aux_names, group.aux_arrays, strict=True)},
        }

    def _sync_params_from_devices(self) -> None:
        """Fetch the parameters from the contexts, and from the store that updates them."""
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False

    # -- making ready ------------------------------------------------------------------------------------------------

    def _bind(self, binding: Binding) -> None:
        data_shapes, label_shapes, for_training, inputs_need_grad, _, shared_module, grad_req = binding
        if self.binded:
            if self.params_initialized and self._params_dirty:
                self._sync_params_from_devices()
            self._reset_bind()
        if not for_training and inputs_need_grad:
            raise ArgumentError("bind: inputs_need_grad=True asks for gradients; bind with for_training=True.")
        # Predictions need no labels; training without those that the module names deserves a warning.
        label_names = self.label_names if for_training or label_shapes else []
        data, labels = parse_descriptions(self.data_names, label_names, data_shapes, label_shapes)
        labels = labels or None
        shared_group = None
        if shared_module is not None:
            if not isinstance(shared_module, Module) or not shared_module.binded:
                raise NotReadyError("bind: shared_module is not bound, or no Module. Bind it first.")
            if not shared_module.params_initialized:
                raise NotReadyError("bind: shared_module has no parameters to share. Call its init_params first.")
            shared_group = shared_module._exec_group
            if len(shared_group.execs) < len(self._context):
                raise ArgumentError(
                    f"bind: shared_module is on {len(shared_group.execs)} context(s), and this module on "
                    f"{len(self._context)}; expected at least as many."
                )
        group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
        )
        before = self._exec_group
        self._exec_group = group
        if shared_module is not None:
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
            self.params_initialized = True
        elif self.params_initialized:  # of a checkpoint, or from before
            targets = self._on_first_context()
            values = {"argument": self._arg_params, "auxiliary state": self._aux_params}
            for label in label_names_of(self._symbol):  # where it has no place among the labels: predictions need none
                if label not in self._arg_params:
                    targets["argument"].pop(label, None)
            try:
                require_fit("bind", values, targets, allow_extra=False)
            except Exception:
                self._exec_group = before
                raise
            group.set_params(self._arg_params, self._aux_params)
        self._data_shapes, self._label_shapes = data, labels
        self._described_labels = labels
        self._grad_req = grad_req
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Take batches of other shapes; parameters stay.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or (name, shape)

        Raises
        ------
        NotReadyError
            Before `bind`.
        ShapeError
            If parameters would have other shapes.
        """
        self._require("reshape", initialized=False)
        label_names = self.label_names if label_shapes else []
        data, labels = parse_descriptions(self.data_names, label_names, data_shapes, label_shapes)
        self._exec_group.reshape(data, labels or None)
        self._data_shapes, self._label_shapes = data, labels or None
        self._described_labels = labels or self._described_labels

    def _make_optimizer(self, kvstore: Any, optimizer: Any, optimizer_params: Any, force_init: bool) -> None:
        if self._params_dirty:
            self._sync_params_from_devices()
        store, update_on_kvstore = _create_kvstore(kvstore, len(self._context), self._arg_params)
        batch_size = self._exec_group.batch_size
        if store is not None and "dist" in store.type and "_sync" in store.type:
            batch_size *= store.num_workers
        rescale_grad = 1.0 / batch_size if batch_size else 1.0
        names = self._exec_group.param_names
        count = 1 if update_on_kvstore else len(self._context)
        idx2name = {index * count + k: name for index, name in enumerate(names) for k in range(count)}
        if isinstance(optimizer, str):
            options = {"rescale_grad": rescale_grad, **dict(optimizer_params)}
            optimizer = opt.create(optimizer, sym=self.symbol, param_idx2name=idx2name, **options)
        elif isinstance(optimizer, opt.Optimizer):
            if optimizer.rescale_grad != rescale_grad:
                warnings.warn(
                    "Optimizer created manually outside Module but rescale_grad is not normalized to "
                    f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale_grad}). Is this intended?",
                    UserWarning,
                    stacklevel=2,
                )
            if not optimizer.idx2name:
                optimizer.idx2name = idx2name.copy()
        else:
            raise ArgumentError(
                f"init_optimizer: optimizer is {describe(optimizer)}; expected a name, such as 'sgd', or an Optimizer."
            )
        updater = None
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if update_on_kvstore:
                store.set_optimizer(optimizer)
            _initialize_kvstore(store, self._exec_group.param_arrays, self._arg_params, names, update_on_kvstore)
        if not update_on_kvstore:
            updater = opt.get_updater(optimizer)
        self._optimizer, self._kvstore = optimizer, store
        self._update_on_kvstore, self._updater = update_on_kvstore, updater
        self.optimizer_initialized = True  # before its states are loaded
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Any) -> None:
        """Use the optimizer of another module, with its states.

        Parameters
        ----------
        shared_module : Module

        Raises
        ------
        NotReadyError
            If it has none.
        """
        if not shared_module.optimizer_initialized:
            raise NotReadyError("borrow_optimizer: shared_module has no optimizer. Call its init_optimizer() first.")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # -- computing ---------------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        if not (self.binded and self.params_initialized):
            self._require("forward")
        if not isinstance(data_batch, list):
            for described, array in zip(self._data_shapes, data_batch.data, strict=False):
                if described.shape != array.shape:
                    self._reshape_for(data_batch)
                    break
        else:
            self._reshape_for_parts(data_batch)
        self._exec_group.forward(data_batch, is_train)

    def _reshape_for(self, data_batch: Any) -> None:
        """Take the shapes of a batch, which are others than those that the module is bound for."""
        data = getattr(data_batch, "provide_data", None) or _descriptions(self._data_shapes, [data_batch.data])
        labels = getattr(data_batch, "provide_label", None) or None
        if labels is None and self._described_labels and getattr(data_batch, "label", None):
            labels = _descriptions(self._described_labels, [data_batch.label])
        self.reshape(data, labels)

    def _reshape_for_parts(self, batches: list[Any]) -> None:
        """Take the shapes of a batch that comes in parts, one for each context."""
        data = _descriptions(self._data_shapes, [batch.data for batch in batches])
        if [description.shape for description in data] == [description.shape for description in self._data_shapes]:
            return
        labels = None
        if self._described_labels and batches[0].label:
            labels = _descriptions(self._described_labels, [batch.label for batch in batches])
        self.reshape(data, labels)

    def backward(self, out_grads: Any = None) -> None:
        if not (self.binded and self.params_initialized):
            self._require("backward")
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        if not (self.binded and self.params_initialized and self.optimizer_initialized):
            self._require("update", optimizer=True)
        self._params_dirty = True
        group = self._exec_group
        if self._update_on_kvstore:
            _update_params_on_kvstore(group.param_arrays, group.grad_arrays, self._kvstore, group.param_names)
        elif self._kvstore is None and group.updates is not None:
            if group.updates[0]:
                self._updater(*group.updates)
        else:
            if group.grad_arrays is None:
                raise NotReadyError("update: the module was bound with for_training=False. Bind it for training.")
            _update_params(
                group.param_arrays,
                group.grad_arrays,
                updater=self._updater,
                num_device=len(self._context),
                kvstore=self._kvstore,
                param_names=group.param_names,
            )

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_outputs")
        return self._exec_group.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_input_grads")
        return self._exec_group.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_states")
        return self._exec_group.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._require("set_states")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        if self._exec_group is None:
            self._require("update_metric")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._require("install_monitor", initialized=False)
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        if not self.binded:
            self._require("prepare", initialized=False)
        if sparse_row_id_fn is not None:
            super().prepare(data_batch, sparse_row_id_fn)

    # -- the optimizer's states --------------------------------------------------------------------------------------

    def save_optimizer_states(self, fname: Any) -> None:
        """Write the states of the optimizer, and how many updates it has made, to a file that MXNet reads, too.

        Parameters
        ----------
        fname : str or PathLike

        Raises
        ------
        NotReadyError
            Before `init_optimizer`.
        FileAccessError
            If the file cannot be written; what was there before is there still.
        """
        self._require("save_optimizer_states", optimizer=True)
        updater = getattr(self._kvstore, "_updater", None) if self._update_on_kvstore else self._updater
        if not isinstance(updater, opt.Updater):  # a store of somebody else's
            self._kvstore.save_optimizer_states(fname)
            return
        path = checked_path("save_optimizer_states", fname)
        content = states_with_progress(updater)
        write_file("save_optimizer_states", path, [content])

    def load_optimizer_states(self, fname: Any) -> None:
        """Read the states of the optimizer from a file, which MXNet may have written.

        Parameters
        ----------
        fname : str or PathLike

        Raises
        ------
        NotReadyError
            Before `init_optimizer`.
        FileMissingError, FileAccessError
            If there is no such file, or it cannot be read.
        FileFormatError
            If it holds no such states.
        """
        self._require("load_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._exec_group.rounds_before = self._kvstore._updater.optimizer.num_update
            return
        path = checked_path("load_optimizer_states", fname)
        content = read_file("load_optimizer_states", path)
        self._updater.set_states(content)
        self._exec_group.rounds_before = self._updater.optimizer.num_update


def _descriptions(described: Any, parts: list[Any]) -> list[DataDesc]:
    """Return descriptions with the shapes of arrays, which are in parts along the axis of the batch."""
    descriptions = []
    for description, *arrays in zip(described, *parts, strict=False):
        shape = list(arrays[0].shape)
        axis = DataDesc.get_batch_axis(description.layout)
        if axis >= 0 and len(arrays) > 1:
            shape[axis] = sum(array.shape[axis] for array in arrays)
        descriptions.append(DataDesc(description.name, tuple(shape), description.dtype, description.layout))
    return descriptions


def _names(argument: str, names: Any) -> list[str]:
    """Return names as a list; None is none."""
    if names is None:
        return []
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ArgumentError(f"Module: {argument} is {describe(names)}; expected a list of names: [{names!r}].")
    return list(names)
