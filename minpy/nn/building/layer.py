"""`Layer`: a module with parameters, which it makes for the first data that it sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, nearest
from minpy.nn import init as init_rules
from minpy.nn.building.module import Module, Owner, function_named

__all__ = ["Config", "Layer", "Shape"]

Shape = tuple[int, ...]
Config = dict[str, Any]

# How parameters begin, by what is in their names; others are 0.
_FIRST_VALUES: dict[str, Config] = {
    "weight": {"init_rule": "xavier"},
    "gamma": {"init_rule": "constant", "value": 1},
    "moving_var": {"init_rule": "constant", "value": 1},
}


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
    >>> from minpy.nn.model_builder import Layer, Model
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
        for local, full_name in (
            *self._global.items(),
            *((f"_{local}", full_name) for local, full_name in aux.items()),
        ):
            setattr(self, local, full_name)
        self._global |= aux
        self._model: Owner | None = None
        self._mode = "training"
        self._init_configs = {
            full_name: self._get_default_init_config(local) for local, full_name in self._global.items()
        }
        self._update_configs: dict[str, Config] = {full_name: {} for full_name in self._param_names}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what `forward` does; before the first time the parameters are made, for these arguments."""
        model = self._model
        if model is None:
            raise ArgumentError(
                f"{self._name} is no part of a model: assign it to an attribute of one, or what it is in."
            )
        missing = [name for name in self._param_names if name not in model.params]
        missing += [name for name in self._aux_param_names if name not in model.aux_params]
        if missing:
            self._make(set(missing), args, kwargs)
        return self.forward(*args, **kwargs)

    def _make(self, missing: set[str], args: Any, kwargs: Any) -> None:
        assert self._model is not None
        arrays = Array, numpy.ndarray
        shapes = [value.shape for value in args if isinstance(value, arrays)]
        named = {key: value.shape for key, value in kwargs.items() if isinstance(value, arrays)}
        for names, shapes_of, values in (
            (self._param_names, self.param_shapes, self._model.params),
            (self._aux_param_names, self.aux_param_shapes, self._model.aux_params),
        ):
            all_shapes = shapes_of(*shapes, **named) if names else {}
            for name, shape in all_shapes.items():
                if name in missing:
                    config = self._init_configs[name]
                    rule = function_named(init_rules, config["init_rule"], f"{self._name}: the init rule")
                    values[name] = rule(shape, config)
                    missing.discard(name)
                    if values is self._model.params:
                        self._model._attach_parameter(name)
        if missing:
            raise ArgumentError(
                f"{self._name}: no shape is known of {', '.join(sorted(missing))}; {type(self).__name__}.param_shapes "
                "and aux_param_shapes return those of all parameters."
            )

    @staticmethod
    def _get_default_init_config(param_name: str) -> Config:
        """Return how a parameter begins: weights by Xavier's rule, gammas and variances with 1, others with 0."""
        for word, config in _FIRST_VALUES.items():
            if word in param_name:
                return dict(config)
        return {"init_rule": "constant", "value": 0}

    def _register_init_configs(self, init_configs: Mapping[Any, Any] | None) -> None:
        """Take settings of first values: {'weight': {'value': 1}}, or {'value': 1} for all."""
        self._register(self._init_configs, init_configs)

    def _register_update_configs(self, update_configs: Mapping[Any, Any] | None) -> None:
        """Take settings of updates: {'weight': {'learning_rate': 0.1}}, or {'learning_rate': 0.1} for all."""
        self._register(self._update_configs, update_configs)

    def _register(self, configs: dict[str, Config], settings: Mapping[Any, Any] | None) -> None:
        changes: list[tuple[str, Config]] = []
        for key, value in (settings or {}).items():
            keys: tuple[str, ...] = key if isinstance(key, tuple) else (key,)
            names = [self._global.get(name, name) for name in keys]
            if isinstance(value, Mapping):
                unknown = [name for name in names if name not in configs]
                if unknown:
                    raise ArgumentError(
                        f"{self._name} has no parameter {unknown[0]!r}; it has {', '.join(self._global) or 'none'}."
                        + nearest(unknown[0], self._global)
                    )
                changes += [(name, dict(value)) for name in names]
            else:  # for all parameters
                for config in configs.values():
                    config[names[0]] = value
        for name, config in changes:
            configs[name].update(config)

    def _get_param(self, param_name: str) -> Any:
        return self._owner().params[param_name]

    def _get_params(self, *param_names: str) -> tuple[Any, ...]:
        return tuple(map(self._get_param, param_names))

    def _get_aux_param(self, aux_param_name: str) -> Any:
        return self._owner().aux_params[aux_param_name]

    def _get_aux_params(self, *aux_param_names: str) -> tuple[Any, ...]:
        return tuple(map(self._get_aux_param, aux_param_names))

    def _owner(self) -> Owner:
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

    def _affiliate_to(self, model: Owner) -> None:
        self._model = model
        model.update_configs.update(self._update_configs)
