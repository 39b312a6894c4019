"""`PythonModule` and `PythonLossModule`: modules without parameters, whose computation is written in Python."""

from __future__ import annotations

import logging
from typing import Any

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, NotReadyError, describe
from minpy.initializer import Uniform
from minpy.module.base_module import _OPTIMIZER_PARAMS, BaseModule, Binding
from minpy.module.descriptions import parse_descriptions
from minpy.namespaces import module_functions

__all__ = ["BaseModule", "PythonLossModule", "PythonModule", "Uniform"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class PythonModule(BaseModule):
    """A module without parameters. Classes override `forward`, `backward`, and `_compute_output_shapes`.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
    logger : Logger or module

    Examples
    --------
    >>> import minpy as mx
    >>> class Half(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [('half', self.data_shapes[0].shape)]
    ...     def forward(self, data_batch, is_train=None):
    ...         self.half = data_batch.data[0] / 2
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return [self.half]
    >>> module = Half(['data'], [], ['half'])
    >>> module.bind([('data', (2, 1))])
    >>> module.init_params()
    >>> module.predict(mx.nd.ones((2, 1))).asnumpy().tolist()
    [[0.5], [0.5]]
    """

    def __init__(self, data_names: Any, label_names: Any, output_names: Any, logger: Any = logging) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names) if isinstance(data_names, tuple) else data_names
        self._label_names = list(label_names) if isinstance(label_names, tuple) else label_names
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        """The names of the data that the module takes."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """The descriptions of the data that the module is bound for."""
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """The descriptions of the labels that the module is bound for."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        """The names and shapes of the outputs."""
        return self._output_shapes

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        self.params_initialized = True

    def update(self) -> None:
        """Do nothing: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise NotReadyError(
                f"{type(self).__name__}.update_metric: it has one context; give labels of whole batches."
            )
        eval_metric.update_dict(
            dict(zip(self._label_names, labels, strict=False)),
            dict(zip(self._output_names, self.get_outputs(), strict=True)),
        )

    def _bind(self, binding: Binding) -> None:
        if binding.grad_req != "write":
            raise ArgumentError(
                f"{type(self).__name__}.bind: grad_req is {binding.grad_req!r}; a module in Python writes."
            )
        label_names = (self._label_names or []) if binding.label_shapes is not None else []
        self._data_shapes, self._label_shapes = parse_descriptions(
            self._data_names, label_names, binding.data_shapes, binding.label_shapes
        )
        self.for_training = binding.for_training  # on which the shapes of outputs may depend
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> list[Any]:
        """Return the names and shapes of outputs, from `data_shapes` and `label_shapes`."""
        raise self._not_written("_compute_output_shapes()")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = _OPTIMIZER_PARAMS,
        force_init: bool = False,
    ) -> None:
        self.optimizer_initialized = True

    def install_monitor(self, mon: Any) -> None:
        """Do nothing: there is no executor."""


class PythonLossModule(PythonModule):
    """A loss whose gradient is written in Python. Its output is its data, as it comes.

    Parameters
    ----------
    name : str
        The output is called ``name_output``.
    data_names, label_names : list of str
        One each.
    logger : Logger or module
    grad_func : callable, optional
        A function of data and labels that returns the gradient of data; classes may override `_backward_impl` instead.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> loss.bind([('data', (2,))], [('softmax_label', (2,))])
    >>> loss.forward(mx.io.DataBatch([mx.nd.array([3, 4])], [mx.nd.array([1, 1])]), is_train=True)
    >>> loss.backward()
    >>> loss.get_input_grads()[0].asnumpy()
    array([2., 3.], dtype=float32)
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        grad_func: Any = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        self._name = name
        for argument, names in (("data_names", data_names), ("label_names", label_names)):
            if len(names) != 1:
                raise ArgumentError(f"PythonLossModule: {argument} is {list(names)!r}; expected one name.")
        if grad_func is not None and not callable(grad_func):
            raise ArgumentError(
                f"PythonLossModule: grad_func is {describe(grad_func)}; expected a function of data and labels."
            )
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> list[Any]:
        return [(f"{self._name}_output", self._data_shapes[0].shape)]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if is_train is None:
            is_train = self.for_training
        if is_train:
            if not data_batch.label:
                raise NotReadyError("PythonLossModule.forward: the batch has no label, and training needs it.")
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._require_merged(merge_multi_context)
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        if out_grads is not None:
            raise ArgumentError("PythonLossModule.backward: a loss has no out_grads.")
        if not self.for_training:
            raise NotReadyError("backward: the module was bound with for_training=False. Bind it for training.")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Compute `_scores_grad`; override it, or give `grad_func`."""
        if self._grad_func is None:
            raise self._not_written("_backward_impl(), and was given no grad_func")
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, nd.NDArray) else nd.array(gradient)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._require_merged(merge_multi_context)
        return [self._scores_grad]

    def _require_merged(self, merge_multi_context: bool) -> None:
        if merge_multi_context is not True:
            raise NotReadyError(f"{type(self).__name__} has one context: merge_multi_context=True.")
