"""`SequentialModule`: modules one after the other."""

from __future__ import annotations

import copy
import logging
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, NotReadyError, describe, nearest
from minpy.initializer import Uniform
from minpy.io import DataDesc
from minpy.module.base_module import BaseModule, Binding
from minpy.namespaces import module_functions

__all__ = ["BaseModule", "SequentialModule", "Uniform"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class SequentialModule(BaseModule):
    """Modules one after the other: each gets the outputs of the one before as its data.

    Parameters
    ----------
    logger : Logger or module

    Examples
    --------
    >>> import minpy as mx
    >>> body = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')
    >>> head = mx.sym.SoftmaxOutput(mx.sym.var('data'), name='softmax')
    >>> net = mx.mod.SequentialModule()
    >>> net = net.add(mx.mod.Module(body, label_names=None))
    >>> net = net.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
    >>> net.bind([('data', (4, 3))], [('softmax_label', (4,))])
    >>> net.init_params()
    >>> net.output_shapes
    [('softmax_output', (4, 2))]
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None
        self._data_shapes: Any = None
        self._meta_keys = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Put a module at the end. All have to be bound again then.

        Parameters
        ----------
        module : BaseModule
        take_labels : bool
            Whether it gets the labels, too.
        auto_wiring : bool
            Whether the outputs of the module before are named as this one's data.

        Returns
        -------
        SequentialModule
            Itself.

        Raises
        ------
        ArgumentValueError
            For other options.
        """
        if not isinstance(module, BaseModule):
            raise ArgumentError(f"SequentialModule.add: expected a module, got {describe(module)}.")
        for key in kwargs:
            if key not in self._meta_keys:
                raise ArgumentValueError(
                    f"SequentialModule.add: there is no option {key!r}.{nearest(key, self._meta_keys)} There are "
                    f"{', '.join(sorted(self._meta_keys))}."
                )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = False
        self.params_initialized = False
        self.optimizer_initialized = False
        return self

    def _takes_labels(self, index: int) -> bool:
        return bool(self._metas[index].get(self.META_TAKE_LABELS))

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """The names of the data of the first module."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs of the last module."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[Any]:
        """The descriptions of the data of the first module."""
        self._require("data_shapes", initialized=False)
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """The descriptions of the labels; None if no module takes them."""
        self._require("label_shapes", initialized=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        """The names and shapes of the outputs of the last module."""
        self._require("output_shapes", initialized=False)
        return self._modules[-1].output_shapes

    # -- parameters --------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._require("get_params")
        arg_params: dict[str, Any] = {}
        aux_params: dict[str, Any] = {}
        for module in self._modules:
            arguments, states = module.get_params()
            arg_params.update(arguments)
            aux_params.update(states)
        return arg_params, aux_params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            return
        self._require("init_params", initialized=False)
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        owners: dict[str, int] = {}
        for index, module in enumerate(self._modules):
            for name in (name for params in module.get_params() for name in params):
                if name in owners:
                    raise NotReadyError(
                        f"SequentialModule.init_params: {name!r} is a parameter of the modules {owners[name]} and "
                        f"{index}, and they are saved by name. Give layers of different modules different names."
                    )
                owners[name] = index
        self.params_initialized = True

    # -- making ready ------------------------------------------------------------------------------------------------

    def _bind(self, binding: Binding) -> None:
        if binding.inputs_need_grad and not binding.for_training:
            raise ArgumentError("bind: inputs_need_grad=True asks for gradients; bind with for_training=True.")
        if binding.shared_module is not None:
            raise ArgumentError("SequentialModule.bind: shared_module cannot be used; give it to the modules inside.")
        if not self._modules:
            raise NotReadyError("SequentialModule.bind: there are no modules. Call add(module) first.")
        self._data_shapes = shapes = binding.data_shapes
        takes_labels = [self._takes_labels(index) for index in range(len(self._modules))]
        self._label_shapes = binding.label_shapes if any(takes_labels) else None
        for index, module in enumerate(self._modules):
            if self._metas[index].get(self.META_AUTO_WIRING):
                names = module.data_names
                if len(names) != len(shapes):
                    raise ArgumentError(
                        f"SequentialModule.bind: module {index} takes {len(names)} data ({', '.join(names)}), and "
                        f"{len(shapes)} are there."
                    )
                shapes = [
                    DataDesc(
                        name, tuple(shape[1]), getattr(shape, "dtype", "float32"), getattr(shape, "layout", "NCHW")
                    )
                    for name, shape in zip(names, shapes, strict=True)
                ]
            # By keyword, as MXNet does: modules of users may take some of these among others.
            module.bind(
                data_shapes=shapes,
                label_shapes=binding.label_shapes if takes_labels[index] else None,
                for_training=binding.for_training,
                inputs_need_grad=bool(binding.inputs_need_grad or (binding.for_training and index > 0)),
                force_rebind=binding.force_rebind,
                shared_module=None,
                grad_req=binding.grad_req,
            )
            shapes = module.output_shapes

    def _make_optimizer(self, kvstore: Any, optimizer: Any, optimizer_params: Any, force_init: bool) -> None:
        for module in self._modules:
            module.init_optimizer(
                kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params, force_init=force_init
            )

    def install_monitor(self, mon: Any) -> None:
        self._require("install_monitor", initialized=False)
        for module in self._modules:
            module.install_monitor(mon)

    # -- computing ---------------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._require("forward")
        batch = copy.copy(data_batch)
        for index, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if index + 1 == len(self._modules):
                break
            batch.data = module.get_outputs()
            if getattr(batch, "provide_data", None):
                names = [shape[0] for shape in module.output_shapes]
                if self._metas[index + 1].get(self.META_AUTO_WIRING):
                    names = self._modules[index + 1].data_names
                batch.provide_data = [
                    DataDesc(name, array.shape, array.dtype) for name, array in zip(names, batch.data, strict=True)
                ]

    def backward(self, out_grads: Any = None) -> None:
        self._require("backward")
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self._require("update", optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_outputs")
        return self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._require("get_input_grads")
        if not self.inputs_need_grad:
            raise NotReadyError("get_input_grads: the module was bound without inputs_need_grad=True. Bind it with it.")
        return self._modules[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._require("update_metric")
        for index, module in enumerate(self._modules):
            if self._takes_labels(index):
                module.update_metric(eval_metric, labels, pre_sliced)
