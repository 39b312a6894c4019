"""`Updater`: moves a model's parameters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from minpy.core.errors import ArgumentError, nearest
from minpy.nn import optim
from minpy.nn.building.layer import Config
from minpy.nn.building.model import Model
from minpy.nn.building.module import function_named

__all__ = ["Updater"]


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
    >>> import minpy.numpy as np
    >>> from minpy.nn import modules
    >>> from minpy.nn.model_builder import Model, Updater
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
        return _Settings(self._configs[self._checked_name(param_name)])

    def __setitem__(self, param_name: str, configs: Mapping[str, Any]) -> None:
        self._configs[self._checked_name(param_name)] = copy.deepcopy(dict(configs))

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
            config = self._configs[self._checked_name(name)]
            if "update_rule" not in config:
                raise ArgumentError(
                    f"Updater: {name} has no update rule; give Updater(model, update_rule='sgd'), or one of "
                    f"{', '.join(optim.__all__)}."
                )
            rule = function_named(optim, config["update_rule"], "Updater: the update rule")
            params = self._model.params
            params[name], changed = rule(params[name], gradient, config)
            config.update(changed)

    def _checked_name(self, name: str) -> str:
        if name not in self._configs:
            raise ArgumentError(
                f"Updater: the model has no parameter {name!r}; it has {', '.join(self._configs) or 'none'}."
                + nearest(name, self._configs)
            )
        return name
