"""`Model`: layers, what is computed with them, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import minpy.numpy as np
from minpy import autograd
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, nearest
from minpy.nn import layers
from minpy.nn.building.layer import Config, Layer
from minpy.nn.building.module import Module, function_named
from minpy.nn.model import ModelBase

__all__ = ["Model"]


class Model(ModelBase):
    """A model of layers: derive from it, assign layers to its attributes, and define `forward(*arrays, mode)`.

    Layers may be assigned in containers, in lists and tuples, or as another model, which then shares its parameters.

    Parameters
    ----------
    loss : str or callable, optional
        A function of `minpy.nn.layers`, or one of what `forward` returns and the labels; or define the method `loss`.
        Without either, the model returns what `forward` does.

    Attributes
    ----------
    params, aux_params : dict of str to array
        They are there after the first call, or if they are loaded.
    update_configs : dict of str to dict
        The settings of updates that layers were given, by the parameters' names.

    Raises
    ------
    ArgumentError
        If two layers have one name, or the loss is not known.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> from minpy.nn import modules
    >>> from minpy.nn.model_builder import Model
    >>> class Line(Model):
    ...     def __init__(self):
    ...         super().__init__(loss='l2_loss')
    ...         self.line = modules.FullyConnected(num_hidden=1, name='line')
    ...     def forward(self, X, mode):
    ...         return self.line(X)
    >>> model = Line()
    >>> model(np.zeros((2, 1)), labels=np.array([[1.0], [3.0]]), reduce_array=True)
    5.0
    >>> model.backward()['line_bias']
    array([-4.], dtype=float32)
    """

    def __init__(self, loss: str | Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.update_configs: dict[str, Config] = {}
        self._modules: list[Module] = []
        self._attached: dict[str, Any] = {}
        self._attach_all = False
        self._results: Any = None
        if loss is not None:
            self.loss = _loss_of(loss)  # type: ignore[method-assign]

    def __setattr__(self, attr: str, value: Any) -> None:
        if not attr.startswith("_"):
            self._register(value)
        object.__setattr__(self, attr, value)

    def _register(self, value: Any) -> None:
        if isinstance(value, Model):
            for module in value._modules:
                self._adopt(module)
            for arrays, other_arrays in ((self.params, value.params), (self.aux_params, value.aux_params)):
                arrays.update(other_arrays)
            value.params, value.aux_params, value._attached = self.params, self.aux_params, self._attached
        elif isinstance(value, Module):
            self._adopt(value)
        elif isinstance(value, (list, tuple)):
            for element in value:
                self._register(element)

    def _adopt(self, module: Module) -> None:
        """Make a module, and those inside, part of the model."""
        names = {layer.name for layer in _layers_of(*self._modules)}
        for layer in _layers_of(module):
            if layer.name in names:
                raise ArgumentError(
                    f"{type(self).__name__}: there is a layer {layer.name!r} already; give another name=, and assign a "
                    "layer once."
                )
            names.add(layer.name)
        self._modules.append(module)
        module._affiliate_to(self)

    def __call__(
        self,
        forward_args: Any = None,
        forward_kwargs: Mapping[str, Any] | None = None,
        labels: Any = None,
        loss_kwargs: Mapping[str, Any] | None = None,
        forward: Callable[..., Any] | None = None,
        loss: str | Callable[..., Any] | None = None,
        attach_all: bool = True,
        reduce_array: bool = False,
    ) -> Any:
        """Return the loss, or without one what `forward` returns, and record it for `backward`.

        Parameters
        ----------
        forward_args : array or tuple of arrays
        forward_kwargs : dict, optional
            `mode` is added to it: 'training'.
        labels : array or tuple of arrays, optional
        loss_kwargs : dict, optional
        forward, loss : callable, optional
            In place of the model's; `loss` may be a name in `minpy.nn.layers`.
        attach_all : bool
            Whether `backward` returns the gradients of all parameters; otherwise of those that `attach` is called with.
        reduce_array : bool
            Whether results of one element are returned as numbers.
        """
        self._attached.clear()
        self._attach_all = attach_all
        run = forward or self.forward
        of_results = self._loss() if loss is None else _loss_of(loss)
        with autograd.record():
            if attach_all:
                for name in self.params:
                    self._attach_parameter(name)
            data = (_wrapped(value) for value in _as_tuple(forward_args))
            results = run(*data, **{**(forward_kwargs or {}), "mode": "training"})
            if of_results is not None:
                wrapped = (_wrapped(value) for value in _as_tuple(labels))
                results = of_results(*_as_tuple(results), *wrapped, **(loss_kwargs or {}))
        self._results = results
        if not reduce_array:
            return results
        return tuple(map(_number, results)) if isinstance(results, tuple) else _number(results)

    def backward(self, upstream: Any = None) -> dict[str, Any]:
        """Return the gradients of the last call's results by the parameters' names.

        Parameters
        ----------
        upstream : array or tuple of arrays, optional
            The gradients of the results; ones if left out.

        Raises
        ------
        ArgumentError
            If the model has not been called, or no parameter is attached.
        """
        if self._results is None or not self._attached:
            raise ArgumentError(
                f"{type(self).__name__}.backward: there is nothing to differentiate; call the model first, with data."
            )
        heads = list(_as_tuple(self._results))
        upstreams = None if upstream is None else [_wrapped(value) for value in _as_tuple(upstream)]
        gradients = autograd.grad(heads, list(self._attached.values()), upstreams)
        self._results = None
        return dict(zip(self._attached, gradients, strict=True))

    def attach(self, name: str, array: Any) -> Model:
        """Let `backward` return the gradient of an array, under a name; to be called in `forward`. Return the model."""
        array.attach_grad()
        self._attached[name] = array
        return self

    def detach(self, name: str) -> Model:
        """Let `backward` return no gradient of what is attached under a name; return the model."""
        if name not in self._attached:
            raise ArgumentError(
                f"{type(self).__name__}.detach: nothing is attached as {name!r}.{nearest(name, self._attached)}"
            )
        del self._attached[name]
        return self

    def grad_and_loss(self, data: Any, labels: Any) -> tuple[dict[str, Any], Any]:
        """Return the gradients by the parameters' names, and the loss, for arrays or tuples of arrays."""
        loss = self(data, labels=labels)
        return self.backward(), loss

    def training(self) -> None:
        """Let all layers behave as in training."""
        for module in self._modules:
            module.training()

    def inference(self) -> None:
        """Let all layers behave as in prediction."""
        for module in self._modules:
            module.inference()

    def forward_batch(self, batch: Any, mode: str) -> Any:
        """Return the output for a batch of an iterator, whose `mode` is 'train' or 'test': what a solver calls."""
        is_training = mode == "train"
        (self.training if is_training else self.inference)()
        try:
            return self.forward(*batch.data, mode="training" if is_training else "inference")
        finally:
            self.training()

    def loss_batch(self, batch: Any, forward_outputs: Any) -> Any:
        """Return the loss for a batch."""
        loss = self._loss()
        if loss is None:
            raise ArgumentError(f"{type(self).__name__} has no loss; give Model(loss='softmax_loss'), or define one.")
        return loss(*_as_tuple(forward_outputs), *batch.label)

    def draw(self, batch: Any) -> None:
        """Make the parameters that are not there yet, for the shapes of a batch's data."""
        self.forward_batch(batch, "test")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's output for arrays of data; `mode` is 'training' or 'inference'. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, X, mode).")

    def _loss(self) -> Callable[..., Any] | None:
        """Return the loss; None if there is none."""
        is_defined = "loss" in vars(self) or type(self).loss is not ModelBase.loss
        return self.loss if is_defined else None

    def _attach_parameter(self, name: str) -> None:
        """Attach a gradient to a new parameter, if a call is being recorded."""
        if self._attach_all and autograd.is_recording():
            self.attach(name, self.params[name])


def _layers_of(*modules: Module) -> Iterator[Layer]:
    for module in modules:
        if isinstance(module, Layer):
            yield module
        yield from _layers_of(*module._inner())


def _loss_of(loss: str | Callable[..., Any]) -> Callable[..., Any]:
    return function_named(layers, loss, "Model: the loss") if isinstance(loss, str) else loss


def _as_tuple(values: Any) -> tuple[Any, ...]:
    if values is None:
        return ()
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _wrapped(value: Any) -> Any:
    return value if isinstance(value, Array) else np.array(value)


def _number(value: Any) -> Any:
    return value._data.item() if isinstance(value, Array) and value.size == 1 else value
