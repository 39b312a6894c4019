"""`BucketingModule`: modules of several lengths that share their parameters."""

from __future__ import annotations

import logging
from typing import Any

import numpy

from minpy import context as ctx
from minpy import ndarray as nd
from minpy import symbol as sym
from minpy.core.errors import ArgumentError, FileFormatError, NotReadyError, describe
from minpy.initializer import Uniform
from minpy.model import load_params
from minpy.model.checkpoint import epoch_file
from minpy.module.base_module import BaseModule, Binding
from minpy.module.descriptions import check_all_input_names
from minpy.module.module import Module
from minpy.name import NameManager
from minpy.namespaces import module_functions

__all__ = ["BaseModule", "BucketingModule", "Module", "Uniform", "ctx", "load_params"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class BucketingModule(BaseModule):
    """Modules for inputs of several lengths (buckets), one each, which share parameters, gradients and optimizer.

    Parameters
    ----------
    sym_gen : callable
        A function of a bucket's key; returns its symbol, and the names of its data and labels.
    default_bucket_key : object
        Of the largest bucket, whose parameters all others use.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        As for `Module`.

    Raises
    ------
    ArgumentError
        Without a default bucket, or if `sym_gen` returns something else.

    Examples
    --------
    >>> import minpy as mx
    >>> def sym_gen(length):
    ...     rows = mx.sym.Embedding(mx.sym.var('data'), input_dim=10, output_dim=2, name='embed')
    ...     net = mx.sym.FullyConnected(mx.sym.mean(rows, axis=1), num_hidden=2, name='fc')
    ...     return mx.sym.SoftmaxOutput(net, name='softmax'), ['data'], ['softmax_label']
    >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=8)
    >>> module.bind([('data', (4, 8))], [('softmax_label', (4,))])
    >>> module.init_params()
    >>> module.switch_bucket(3, [('data', (4, 3))], [('softmax_label', (4,))])
    >>> module.data_shapes[0].shape
    (4, 3)
    """

    _params_to_set: tuple[Any, Any] | None = None  # of a checkpoint, or from before it was bound anew

    def __init__(
        self,
        sym_gen: Any,
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = ctx.cpu(),  # noqa: B008 - as MXNet's signature shows
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise NotReadyError("BucketingModule: say default_bucket_key=..., the key of the largest bucket.")
        if not callable(sym_gen):
            raise ArgumentError(
                f"BucketingModule: sym_gen is {describe(sym_gen)}; expected a function of a bucket's key, which "
                "returns symbol, data_names and label_names."
            )
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        # Symbols of a checkpoint, which go before those of `sym_gen`.
        self._loaded: dict[Any, Any] = {}
        symbol, data_names, label_names = self._call_sym_gen(default_bucket_key)
        check_all_input_names(
            symbol, data=data_names, label=label_names, state=state_names, fixed_param=fixed_param_names
        )
        self._compression_params = compression_params
        self._fixed_param_names = list(fixed_param_names or [])
        self._state_names = list(state_names or [])
        self._context = context
        self._work_load_list = work_load_list
        self._group2ctxs = group2ctxs
        self._monitor: Any = None
        self._grad_req: Any = None
        self._reset_bind()

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None

    def _call_sym_gen(self, *args: Any, **kwargs: Any) -> Any:
        with NameManager():  # so that names without a number of their own are equal in all buckets
            result = self._sym_gen(*args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 3:
            raise ArgumentError(
                f"BucketingModule: sym_gen({', '.join(map(repr, args))}) returned {describe(result)}; expected symbol, "
                "data_names and label_names."
            )
        return self._loaded.get(args[0], result[0]) if args else result[0], result[1], result[2]

    def _module(self, bucket_key: Any) -> Module:
        symbol, data_names, label_names = self._call_sym_gen(bucket_key)
        return Module(
            symbol,
            data_names,
            label_names,
            logger=self.logger,
            context=self._context,
            work_load_list=self._work_load_list,
            fixed_param_names=self._fixed_param_names,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
            compression_params=self._compression_params,
        )

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """The names of the data of the current bucket."""
        if self.binded:
            return self._curr_module.data_names
        return list(self._call_sym_gen(self._default_bucket_key)[1])

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs of the current bucket."""
        if self.binded:
            return self._curr_module.output_names
        return list(self._call_sym_gen(self._default_bucket_key)[0].list_outputs())

    @property
    def data_shapes(self) -> list[Any]:
        """The descriptions of the data of the current bucket."""
        self._require("data_shapes", initialized=False)
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """The descriptions of the labels of the current bucket."""
        self._require("label_shapes", initialized=False)
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        """The names and shapes of the outputs of the current bucket."""
        self._require("output_shapes", initialized=False)
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Any:
        """The symbol of the current bucket."""
        self._require("symbol", initialized=False)
        return self._curr_module.symbol

    # -- parameters --------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._require("get_params")
        if self._params_dirty:  # what other buckets have and the current one does not may be newer, too
            for module in self._buckets.values():
                if not set(module._param_names) <= set(self._curr_module._param_names):
                    module._sync_params_from_devices()
        self._curr_module._params_dirty = self._params_dirty
        params: tuple[dict[str, Any], dict[str, Any]] = self._curr_module.get_params()
        self._params_dirty = False
        return params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.binded and self._keeps_params("init_params", force_init):
            return
        self._require("init_params", initialized=False)
        self._curr_module.init_params(initializer, arg_params, aux_params, allow_missing, True, allow_extra)
        self._params_dirty = False
        self.params_initialized = True

    _sets_some_params = True

    def _set_some_params(self, arg_params: Any, aux_params: Any, allow_extra: bool) -> None:
        self._curr_module.set_params(arg_params, aux_params, allow_missing=True, allow_extra=allow_extra)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_states")
        return self._curr_module.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._require("set_states")
        self._curr_module.set_states(states, value)

    # -- making ready ------------------------------------------------------------------------------------------------

    def _bind(self, binding: Binding) -> None:
        if binding.shared_module is not None:
            raise ArgumentError("BucketingModule.bind: its buckets share parameters with each other; no shared_module.")
        if self.params_initialized and self.binded:
            self._params_to_set = self.get_params()
        module = self._module(self._default_bucket_key)
        module.bind(*binding[:4], grad_req=binding.grad_req)
        if self._params_to_set is not None:
            module.set_params(*self._params_to_set)
            self._params_to_set = None
        if self.optimizer_initialized:  # before it was bound anew: it goes on
            module.borrow_optimizer(self._curr_module)
        self._reset_bind()
        if self._monitor is not None:
            module.install_monitor(self._monitor)
        self._grad_req = binding.grad_req
        self._curr_module = module
        self._curr_bucket_key = self._default_bucket_key
        self._buckets[self._default_bucket_key] = module

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Make a bucket the current one; its module is made when it is needed first.

        Parameters
        ----------
        bucket_key : object
        data_shapes, label_shapes : list of DataDesc or (name, shape)

        Raises
        ------
        NotReadyError
            Before `bind`.
        ShapeError
            If parameters would have other shapes than in the default bucket.
        """
        if not self.binded:
            self._require("switch_bucket", initialized=False)
        if bucket_key not in self._buckets:
            module = self._module(bucket_key)
            options = {"shared_module": self._buckets[self._default_bucket_key], "grad_req": self._grad_req}
            module.bind(data_shapes, label_shapes, self.for_training, self.inputs_need_grad, **options)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module = self._buckets[bucket_key]
        self._curr_bucket_key = bucket_key

    def _make_optimizer(self, kvstore: Any, optimizer: Any, optimizer_params: Any, force_init: bool) -> None:
        current = self._curr_module
        current._params_dirty = self._params_dirty
        current.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            if module is not current:
                module.borrow_optimizer(current)

    def install_monitor(self, mon: Any) -> None:
        self._require("install_monitor", initialized=False)
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # -- computing ---------------------------------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        self._require("prepare")
        before = self._curr_bucket_key
        shapes = data_batch.provide_data, data_batch.provide_label
        self.switch_bucket(data_batch.bucket_key, *shapes)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._curr_module, self._curr_bucket_key = self._buckets[before], before

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        if not (self.binded and self.params_initialized):
            self._require("forward")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        if not (self.binded and self.params_initialized):
            self._require("backward")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        self._require("update", optimizer=True)
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_outputs")
        return self._curr_module.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_input_grads")
        return self._curr_module.get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._require("update_metric")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def save_checkpoint(self, prefix: Any, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the symbols of all buckets, and the parameters.

        Parameters
        ----------
        prefix : str or PathLike
            The files are ``prefix-KEY-symbol.json`` for each bucket, ``prefix.buckets`` with the keys, which must be
            numbers, and ``prefix-0003.params``.
        epoch : int
        remove_amp_cast : bool
            Whether to leave out the casts of mixed precision.

        Raises
        ------
        ArgumentError
            If keys of buckets are no integers.
        FileAccessError
            If a file cannot be written.
        """
        self._require("save_checkpoint")
        name = epoch_file("BucketingModule.save_checkpoint", prefix, epoch)
        base = name[: name.rindex("-")]
        keys = list(self._buckets)
        odd = [key for key in keys if isinstance(key, bool) or not isinstance(key, (int, numpy.integer))]
        if odd:
            raise ArgumentError(
                f"BucketingModule.save_checkpoint: the key {odd[0]!r} of a bucket is no integer, and such files hold "
                "no others. Save the parameters with save_params, and make the symbols by sym_gen again."
            )
        for key in keys:
            symbol = self._call_sym_gen(key)[0]
            symbol.save(f"{base}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        self.save_params(name)
        nd.save(f"{base}.buckets", [nd.array(keys, dtype=numpy.int32)])

    @staticmethod
    def load(
        prefix: Any, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """Make a module of a checkpoint. Once it is bound it has its parameters.

        Parameters
        ----------
        prefix : str or PathLike
        epoch : int
        sym_gen : callable
            Names data and labels, and makes the symbols of buckets that are not in the checkpoint.
        default_bucket_key : object
        **kwargs
            What `BucketingModule` takes.

        Returns
        -------
        BucketingModule

        Raises
        ------
        NotReadyError
            Without `sym_gen`.
        FileMissingError, FileAccessError, FileFormatError
            If a file is not there, cannot be read, or is damaged.
        """
        if sym_gen is None:
            raise NotReadyError("BucketingModule.load: sym_gen is missing; it names data and labels of the buckets.")
        name = epoch_file("BucketingModule.load", prefix, epoch)
        base = name[: name.rindex("-")]
        keys = nd.load(f"{base}.buckets")
        if not isinstance(keys, list) or len(keys) != 1 or keys[0].ndim != 1:
            raise FileFormatError(
                f"BucketingModule.load: '{base}.buckets' does not hold the keys of buckets, one array of integers. "
                "BucketingModule.save_checkpoint writes it."
            )
        symbols = {int(key): sym.load(f"{base}-{int(key)}-symbol.json") for key in keys[0].asnumpy()}
        arg_params, aux_params = load_params(prefix, epoch)
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, arg_params, aux_params, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Any = None,
        sym_gen: Any = None,
        default_bucket_key: Any = None,
        arg_params: Any = None,
        aux_params: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """Make a module of symbols and parameters. Once it is bound it has them.

        Parameters
        ----------
        sym_dict : dict of object to Symbol
            By the keys of buckets.
        sym_gen : callable
            Names data and labels, and makes the symbols of other buckets.
        default_bucket_key : object
        arg_params, aux_params : dict of str to NDArray
        **kwargs
            What `BucketingModule` takes.

        Returns
        -------
        BucketingModule
        """
        if sym_gen is None:
            raise NotReadyError("BucketingModule.load_dict: sym_gen is missing; it names data and labels of buckets.")
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._loaded = dict(sym_dict or {})
        module._params_to_set = (arg_params or {}, aux_params or {})
        module.params_initialized = True
        return module
