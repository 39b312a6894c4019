"""Models made of layers that find the shapes of their parameters themselves, when they see their first data.

A `Model` has layers as attributes (those in `minpy.nn.modules`, and one's own), and a `forward` that calls them. A call
of the model records; its `backward` returns the gradients by the parameters' names; an `Updater` moves the parameters.
A `minpy.nn.solver.Solver` trains it too.

Examples
--------
>>> import minpy.numpy as np
>>> from minpy.nn import modules
>>> class TwoLayers(Model):
...     def __init__(self):
...         super().__init__(loss='softmax_loss')
...         self.net = Sequential(
...             modules.FullyConnected(num_hidden=8, name='hidden'), modules.ReLU(),
...             modules.FullyConnected(num_hidden=3, name='scores'),
...         )
...     def forward(self, X, mode):
...         return self.net(X)
>>> model = TwoLayers()
>>> loss = model(np.ones((5, 4)), labels=np.array([0, 1, 2, 1, 0]))
>>> gradients = model.backward()
>>> {name: value.shape for name, value in sorted(gradients.items())}
{'hidden_bias': (8,), 'hidden_weight': (8, 4), 'scores_bias': (3,), 'scores_weight': (3, 8)}
>>> update = Updater(model, update_rule='sgd', learning_rate=0.01)
>>> update(gradients)
>>> float(model(np.ones((5, 4)), labels=np.array([0, 1, 2, 1, 0]))) < float(loss)
True
"""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy

import minpy.numpy as np
from minpy import autograd
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, nearest
from minpy.namespaces import listing
from minpy.nn import init as init_rules
from minpy.nn import layers, optim
from minpy.nn.model import ModelBase

__all__ = ["Add", "Binary", "Container", "Layer", "Model", "Module", "Mul", "Parallel", "Sequential", "Sub", "Updater"]
__dir__ = listing(__all__)

Shape = tuple[int, ...]
Config = dict[str, Any]

_counters: dict[str, Iterator[int]] = {}

# How parameters begin, by what is in their names; others are 0.
_FIRST_VALUES: dict[str, Config] = {
    "weight": {"init_rule": "xavier"},
    "gamma": {"init_rule": "constant", "value": 1},
    "moving_var": {"init_rule": "constant", "value": 1},
}


def _function(module: Any, name: str, what: str) -> Callable[..., Any]:
    known = module.__all__
    if name not in known:
        raise ArgumentError(f"{what} {name!r} is not known; there are {', '.join(known)}.{nearest(name, known)}")
    found: Callable[..., Any] = getattr(module, name)
    return found


# -- what models are made of -------------------------------------------------------------------------------------------


class Module:
    """What models are made of: layers, and containers of them. `a + b`, `a - b` and `a * b` combine what two return.

    Parameters
    ----------
    name : str, optional
        By default the class's `_module_name` and a number.

    Attributes
    ----------
    name : str

    Examples
    --------
    >>> from minpy.nn import modules
    >>> (modules.Identity(name='x') + modules.Tanh(name='y'))
    x add y
    """

    _module_name: ClassVar[str] = "module"

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            counter = _counters.setdefault(self._module_name, itertools.count())
            name = f"{self._module_name}{next(counter)}"
        self._name = name

    @property
    def name(self) -> str:
        """The name, which those of its parameters begin with."""
        return self._name

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...).")

    def training(self) -> None:
        """Behave as in training from now on."""
        for module in self._inner():
            module.training()

    def inference(self) -> None:
        """Behave as in prediction from now on."""
        for module in self._inner():
            module.inference()

    def __add__(self, other: Module) -> Module:
        return Add(self, other)

    def __sub__(self, other: Module) -> Module:
        return Sub(self, other)

    def __mul__(self, other: Module) -> Module:
        return Mul(self, other)

    def _inner(self) -> list[Module]:
        """Return the modules directly inside."""
        return []

    def _affiliate_to(self, model: Model) -> None:
        """Become a part of a model."""
        for module in self._inner():
            module._affiliate_to(model)


class Container(Module):
    """A module made of modules; it has no parameters of its own.

    Examples
    --------
    >>> issubclass(Sequential, Container)
    True
    """


class Sequential(Container):
    """Modules one after the other, each of which gets what the one before returned.

    Parameters
    ----------
    *args : Module
    name : str, optional

    Raises
    ------
    ArgumentError
        For what is no module.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> net = Sequential(modules.ReLU(name='a'), modules.Tanh(name='b'))
    >>> net.append(modules.Logistic(name='c'))
    >>> net, len(net)
    ([a, b, c], 3)
    """

    _module_name = "sequential"

    def __init__(self, *args: Module, name: str | None = None) -> None:
        super().__init__(name)
        self._modules: list[Module] = []
        self._model: Model | None = None
        for module in args:
            self.append(module)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.insert(len(self._modules), module)

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at an index."""
        if not isinstance(module, Module):
            raise ArgumentError(
                f"{self._name}: {type(module).__name__} is no module; give layers of minpy.nn.modules, or containers."
            )
        if self._model is not None:
            self._model._adopt(module)
        self._modules.insert(index, module)

    def pop(self, index: int = -1) -> Module:
        """Take a module out, by default the last one, and return it; the model keeps its parameters."""
        return self._modules.pop(index)

    def reverse(self) -> None:
        """Put the modules into the opposite order."""
        self._modules.reverse()

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, index: int) -> Module:
        return self._modules[index]

    def __repr__(self) -> str:
        return repr(self._modules)

    def forward(self, *args: Any) -> Any:
        """Return what the last module returns; a tuple that one returns is the arguments of the next."""
        for module in self._modules:
            result = module(*args)
            args = result if isinstance(result, tuple) else (result,)
        return args[0] if len(args) == 1 else args

    def _inner(self) -> list[Module]:
        return self._modules

    def _affiliate_to(self, model: Model) -> None:
        self._model = model
        super()._affiliate_to(model)


class Parallel(Container):
    """Modules side by side, which all get the same arguments.

    Examples
    --------
    >>> issubclass(Add, Parallel)
    True
    """

    _module_name = "parallel"


class Binary(Parallel):
    """Two modules side by side, and what makes one result of theirs.

    Parameters
    ----------
    left, right : Module
    operator : callable
        Takes both results.
    name : str, optional

    Examples
    --------
    >>> import minpy.numpy as np
    >>> from minpy.nn import modules
    >>> both = Binary(modules.Identity(), modules.Identity(), np.maximum)
    >>> isinstance(both, Parallel)
    True
    """

    _module_name = "binary"

    def __init__(self, left: Module, right: Module, operator: Callable[[Any, Any], Any], name: str | None = None):
        super().__init__(name)
        self._left, self._right, self._operator = left, right, operator

    def __repr__(self) -> str:
        return f"{self._left!r} {self._module_name} {self._right!r}"

    def forward(self, *args: Any) -> Any:
        """Return the operator's result."""
        return self._operator(self._left(*args), self._right(*args))

    def _inner(self) -> list[Module]:
        return [self._left, self._right]


class Add(Binary):
    """The sum of what two modules return: `left + right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Add(modules.Identity(name='x'), modules.ReLU(name='y'))
    x add y
    """

    _module_name = "add"

    def __init__(self, left: Module, right: Module, name: str | None = None) -> None:
        super().__init__(left, right, operator.add, name)


class Sub(Binary):
    """The difference of what two modules return: `left - right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Sub(modules.Identity(name='x'), modules.ReLU(name='y'))
    x sub y
    """

    _module_name = "sub"

    def __init__(self, left: Module, right: Module, name: str | None = None) -> None:
        super().__init__(left, right, operator.sub, name)


class Mul(Binary):
    """The product of what two modules return: `left * right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Mul(modules.Identity(name='x'), modules.ReLU(name='y'))
    x mul y
    """

    _module_name = "mul"

    def __init__(self, left: Module, right: Module, name: str | None = None) -> None:
        super().__init__(left, right, operator.mul, name)


class Layer(Module):
    """A module with parameters, which belong to the model: derive from it, and define `forward` and `param_shapes`.

    Parameters
    ----------
    params, aux_params : sequence of str
        What the layer calls its parameters, and those that gradients do not move. The model's names for them begin with
        the layer's: they are the attributes of those names, with `_` before an auxiliary one.
    name : str, optional

    Attributes
    ----------
    param_dict, aux_param_dict : dict of str to array
        The parameters by the model's names.

    Raises
    ------
    ArgumentError
        If it is called and is no part of a model.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> class Scale(Layer):
    ...     _module_name = 'scale'
    ...     def __init__(self, name=None):
    ...         super().__init__(params=('gamma',), name=name)
    ...     def param_shapes(self, shape):
    ...         return {self.gamma: shape[1:]}
    ...     def forward(self, X):
    ...         return X * self._get_param(self.gamma)
    >>> model = Model()
    >>> model.scale = Scale(name='s')
    >>> model.scale(np.ones((2, 3))).shape, model.params
    ((2, 3), {'s_gamma': array([1., 1., 1.], dtype=float32)})
    """

    _module_name = "layer"

    def __init__(
        self, params: Iterable[str] | None = None, aux_params: Iterable[str] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        self._module_param_names = tuple(params or ())
        self._module_aux_param_names = tuple(aux_params or ())
        self._param_names = tuple(f"{self._name}_{param}" for param in self._module_param_names)
        self._aux_param_names = tuple(f"{self._name}_{param}" for param in self._module_aux_param_names)
        self._global = dict(zip(self._module_param_names, self._param_names, strict=True))
        aux = dict(zip(self._module_aux_param_names, self._aux_param_names, strict=True))
        for local, known in (*self._global.items(), *((f"_{local}", known) for local, known in aux.items())):
            setattr(self, local, known)
        self._global |= aux
        self._model: Model | None = None
        self._mode = "training"
        self._init_configs = {known: self._get_default_init_config(local) for local, known in self._global.items()}
        self._update_configs: dict[str, Config] = {known: {} for known in self._param_names}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what `forward` does; before the first time the parameters are made, for these arguments."""
        model = self._model
        if model is None:
            raise ArgumentError(
                f"{self._name} is no part of a model: assign it to an attribute of one, or what it is in."
            )
        wanted = [name for name in self._param_names if name not in model.params]
        wanted += [name for name in self._aux_param_names if name not in model.aux_params]
        if wanted:
            self._make(set(wanted), args, kwargs)
        return self.forward(*args, **kwargs)

    def _make(self, wanted: set[str], args: Any, kwargs: Any) -> None:
        assert self._model is not None
        arrays = Array, numpy.ndarray
        shapes = [value.shape for value in args if isinstance(value, arrays)]
        named = {key: value.shape for key, value in kwargs.items() if isinstance(value, arrays)}
        for names, shapes_of, values in (
            (self._param_names, self.param_shapes, self._model.params),
            (self._aux_param_names, self.aux_param_shapes, self._model.aux_params),
        ):
            found = shapes_of(*shapes, **named) if names else {}
            for name, shape in found.items():
                if name in wanted:
                    config = self._init_configs[name]
                    rule = _function(init_rules, config["init_rule"], f"{self._name}: the init rule")
                    values[name] = rule(shape, config)
                    wanted.discard(name)
                    if values is self._model.params:
                        self._model._made(name)
        if wanted:
            raise ArgumentError(
                f"{self._name}: no shape is known of {', '.join(sorted(wanted))}; {type(self).__name__}.param_shapes "
                "and aux_param_shapes return those of all parameters."
            )

    @staticmethod
    def _get_default_init_config(param_name: str) -> Config:
        """Return how a parameter begins: weights by Xavier's rule, gammas and variances with 1, others with 0."""
        for part, config in _FIRST_VALUES.items():
            if part in param_name:
                return dict(config)
        return {"init_rule": "constant", "value": 0}

    def _register_init_configs(self, init_configs: Mapping[Any, Any] | None) -> None:
        """Take settings of first values: {'weight': {'value': 1}}, or {'value': 1} for all."""
        self._register(self._init_configs, init_configs)

    def _register_update_configs(self, update_configs: Mapping[Any, Any] | None) -> None:
        """Take settings of updates: {'weight': {'learning_rate': 0.1}}, or {'learning_rate': 0.1} for all."""
        self._register(self._update_configs, update_configs)

    def _register(self, configs: dict[str, Config], given: Mapping[Any, Any] | None) -> None:
        own: list[tuple[str, Config]] = []
        for key, value in (given or {}).items():
            keys: tuple[str, ...] = key if isinstance(key, tuple) else (key,)
            names = [self._global.get(name, name) for name in keys]
            if isinstance(value, Mapping):
                unknown = [name for name in names if name not in configs]
                if unknown:
                    raise ArgumentError(
                        f"{self._name} has no parameter {unknown[0]!r}; it has {', '.join(self._global) or 'none'}."
                        + nearest(unknown[0], self._global)
                    )
                own += [(name, dict(value)) for name in names]
            else:  # for all parameters
                for config in configs.values():
                    config[names[0]] = value
        for name, config in own:
            configs[name].update(config)

    def _get_param(self, param_name: str) -> Any:
        return self._parts().params[param_name]

    def _get_params(self, *param_names: str) -> tuple[Any, ...]:
        return tuple(map(self._get_param, param_names))

    def _get_aux_param(self, aux_param_name: str) -> Any:
        return self._parts().aux_params[aux_param_name]

    def _get_aux_params(self, *aux_param_names: str) -> tuple[Any, ...]:
        return tuple(map(self._get_aux_param, aux_param_names))

    def _parts(self) -> Model:
        if self._model is None:
            raise ArgumentError(f"{self._name} is no part of a model, which has its parameters.")
        return self._model

    @property
    def param_dict(self) -> dict[str, Any]:
        """The parameters by the model's names."""
        return {name: self._get_param(name) for name in self._param_names}

    @property
    def aux_param_dict(self) -> dict[str, Any]:
        """The parameters that gradients do not move, by the model's names."""
        return {name: self._get_aux_param(name) for name in self._aux_param_names}

    def param_shapes(self, *args: Shape, **kwargs: Shape) -> dict[str, Shape]:
        """Return the shapes of all parameters by the model's names, for the shapes of the arguments. To be defined."""
        return {}

    def aux_param_shapes(self, *args: Shape, **kwargs: Shape) -> dict[str, Shape]:
        """Return the shapes of all auxiliary parameters by the model's names. To be defined if there are any."""
        return {}

    def training(self) -> None:
        """Behave as in training from now on."""
        self._mode = "training"

    def inference(self) -> None:
        """Behave as in prediction from now on."""
        self._mode = "inference"

    def _affiliate_to(self, model: Model) -> None:
        self._model = model
        model.update_configs.update(self._update_configs)


# -- models ------------------------------------------------------------------------------------------------------------


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
    >>> from minpy.nn import modules
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
            for own, other in ((self.params, value.params), (self.aux_params, value.aux_params)):
                own.update(other)
            value.params, value.aux_params, value._attached = self.params, self.aux_params, self._attached
        elif isinstance(value, Module):
            self._adopt(value)
        elif isinstance(value, (list, tuple)):
            for element in value:
                self._register(element)

    def _adopt(self, module: Module) -> None:
        """Make a module, and those inside, part of the model."""
        known = {one.name for one in _layers_of(*self._modules)}
        for layer in _layers_of(module):
            if layer.name in known:
                raise ArgumentError(
                    f"{type(self).__name__}: there is a layer {layer.name!r} already; give another name=, and assign a "
                    "layer once."
                )
            known.add(layer.name)
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
                    self._made(name)
            given = (_wrapped(value) for value in _as_tuple(forward_args))
            results = run(*given, **{**(forward_kwargs or {}), "mode": "training"})
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
        given = None if upstream is None else [_wrapped(value) for value in _as_tuple(upstream)]
        found = autograd.grad(heads, list(self._attached.values()), given)
        self._results = None
        return dict(zip(self._attached, found, strict=True))

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

    def _made(self, name: str) -> None:
        """Attach a parameter to what is being recorded."""
        if self._attach_all and autograd.is_recording():
            self.attach(name, self.params[name])


def _layers_of(*modules: Module) -> Iterator[Layer]:
    for module in modules:
        if isinstance(module, Layer):
            yield module
        yield from _layers_of(*module._inner())


def _loss_of(loss: str | Callable[..., Any]) -> Callable[..., Any]:
    return _function(layers, loss, "Model: the loss") if isinstance(loss, str) else loss


def _as_tuple(values: Any) -> tuple[Any, ...]:
    if values is None:
        return ()
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _wrapped(value: Any) -> Any:
    return value if isinstance(value, Array) else np.array(value)


def _number(value: Any) -> Any:
    return value._data.item() if isinstance(value, Array) and value.size == 1 else value


# -- updates -----------------------------------------------------------------------------------------------------------


class _Settings:
    """A parameter's settings as attributes."""

    def __init__(self, config: Config) -> None:
        object.__setattr__(self, "_config", config)

    def __getattr__(self, attr: str) -> Any:
        if attr not in self._config:
            raise AttributeError(f"there is no setting {attr!r}; there are {', '.join(self._config) or 'none'}.")
        return self._config[attr]

    def __setattr__(self, attr: str, value: Any) -> None:
        self._config[attr] = value


class Updater:
    """Moves a model's parameters by their gradients, each by its rule and with its settings.

    `updater.learning_rate = 0.1` is a setting of all parameters, `updater['fc_weight'].learning_rate = 0.1` of one.

    Parameters
    ----------
    model : Model
    **kwargs
        Settings of all parameters: `update_rule`, the name of a function of `minpy.nn.optim`, and what that takes. They
        go before those given to layers as `update_configs`.

    Raises
    ------
    ArgumentError
        When it is called: for a parameter without a rule, or an unknown one.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> model = Model()
    >>> model.fc = modules.FullyConnected(num_hidden=1, name='fc')
    >>> update = Updater(model, update_rule='sgd', learning_rate=0.5)
    >>> update['fc_bias'].learning_rate = 0.25
    >>> _ = model.fc(np.ones((1, 1)))
    >>> update({'fc_bias': np.array([1.0])})
    >>> model.params['fc_bias']
    array([-0.25], dtype=float32)
    """

    def __init__(self, model: Model, **kwargs: Any) -> None:
        object.__setattr__(self, "_configs", copy.deepcopy(model.update_configs))
        object.__setattr__(self, "_model", model)
        for attr, value in kwargs.items():
            setattr(self, attr, value)

    def __getattr__(self, attr: str) -> Any:
        if attr.startswith("_"):
            raise AttributeError(attr)
        values = [config[attr] for config in self._configs.values() if attr in config]
        if not values or any(value != values[0] for value in values[1:]):
            how = "differs between parameters" if values else "is no setting of any parameter"
            raise AttributeError(f"Updater: {attr!r} {how}; see updater[name].{attr}.")
        return values[0]

    def __setattr__(self, attr: str, value: Any) -> None:
        for config in self._configs.values():
            config[attr] = value

    def __getitem__(self, param_name: str) -> Any:
        return _Settings(self._configs[self._known(param_name)])

    def __setitem__(self, param_name: str, configs: Mapping[str, Any]) -> None:
        self._configs[self._known(param_name)] = copy.deepcopy(dict(configs))

    def keys(self) -> Any:
        """Return the parameters' names."""
        return self._configs.keys()

    def values(self) -> Any:
        """Return the parameters' settings."""
        return self._configs.values()

    def items(self) -> Any:
        """Return the parameters' names and settings."""
        return self._configs.items()

    def __call__(self, grad_dict: Mapping[str, Any]) -> None:
        """Move the parameters whose gradients are given by name."""
        for name, gradient in grad_dict.items():
            config = self._configs[self._known(name)]
            if "update_rule" not in config:
                raise ArgumentError(
                    f"Updater: {name} has no update rule; give Updater(model, update_rule='sgd'), or one of "
                    f"{', '.join(optim.__all__)}."
                )
            rule = _function(optim, config["update_rule"], "Updater: the update rule")
            params = self._model.params
            params[name], changed = rule(params[name], gradient, config)
            config.update(changed)

    def _known(self, name: str) -> str:
        if name not in self._configs:
            raise ArgumentError(
                f"Updater: the model has no parameter {name!r}; it has {', '.join(self._configs) or 'none'}."
                + nearest(name, self._configs)
            )
        return name
