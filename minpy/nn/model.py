"""Models that name their parameters, and say how they run and what their loss is."""

from __future__ import annotations

import io
from typing import Any

import numpy

import minpy.numpy as np
from minpy.core.errors import ArgumentError
from minpy.files import write_whole
from minpy.namespaces import module_functions

__all__ = ["ModelBase", "ParamsNameNotFoundError"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class ParamsNameNotFoundError(ArgumentError, ValueError):
    """A parameter that a file lacks.

    Examples
    --------
    >>> issubclass(ParamsNameNotFoundError, ValueError)
    True
    """


class ModelBase:
    """A model of named parameters: derive from it, and define `forward` and `loss`.

    Attributes
    ----------
    params, aux_params : dict of str to array
        The parameters, and those that training does not move by gradients; a solver's `init` makes them.
    param_configs : dict of str to dict
        For each parameter its `shape`, and perhaps `init_rule` and `init_config`.
    aux_param_configs : dict of str to array
        The first values of the others.

    Examples
    --------
    >>> from minpy.nn import layers
    >>> class Linear(ModelBase):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.add_param('w', (4, 2)).add_param('b', (2,), init_rule='constant')
    ...     def forward(self, X, mode):
    ...         return layers.affine(X, self.params['w'], self.params['b'])
    ...     def loss(self, predict, y):
    ...         return layers.softmax_loss(predict, y)
    >>> sorted(Linear().param_configs)
    ['b', 'w']
    """

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.param_configs: dict[str, dict[str, Any]] = {}
        self.aux_params: dict[str, Any] = {}
        self.aux_param_configs: dict[str, Any] = {}

    def add_param(self, name: str, shape: tuple[int, ...], **kwargs: Any) -> ModelBase:
        """Add a parameter of a shape, perhaps with `init_rule` and `init_config`; return the model."""
        return self.add_params({name: {"shape": shape, **kwargs}})

    def add_params(self, param_dict: dict[str, dict[str, Any]]) -> ModelBase:
        """Add parameters by name, each a dictionary with its `shape`; return the model."""
        for name, config in param_dict.items():
            if name in self.param_configs:
                raise ArgumentError(f"add_param: there is a parameter {name!r} already; choose another name.")
            self.param_configs[name] = config
        return self

    def add_aux_param(self, name: str, value: Any) -> ModelBase:
        """Add a parameter that gradients do not move, with its first value; return the model."""
        if name in self.aux_param_configs:
            raise ArgumentError(f"add_aux_param: there is a parameter {name!r} already; choose another name.")
        self.aux_param_configs[name] = value
        return self

    def forward(self, X: Any, mode: str) -> Any:
        """Return the model's output for an array of data; `mode` is 'train' or 'test'. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, X, mode).")

    def loss(self, predict: Any, y: Any) -> Any:
        """Return the loss of what `forward` returned, for labels. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no loss(self, predict, y).")

    def forward_batch(self, batch: Any, mode: str) -> Any:
        """Return the output for a batch: of its first data, unless redefined."""
        return self.forward(batch.data[0], mode)

    def loss_batch(self, batch: Any, forward_outputs: Any) -> Any:
        """Return the loss for a batch: of its first label, unless redefined."""
        return self.loss(forward_outputs, batch.label[0])

    def save(self, prefix: str) -> None:
        """Write all parameters into the file `{prefix}.params`, a NumPy archive (MinPy's was HDF5)."""
        arrays: dict[str, Any] = {f"param_{name}": numpy.asarray(value) for name, value in self.params.items()}
        arrays |= {f"aux_param_{name}": numpy.asarray(value) for name, value in self.aux_params.items()}
        buffer = io.BytesIO()
        numpy.savez(buffer, **arrays)
        write_whole(f"{prefix}.params", iter([buffer.getvalue()]))

    def load(self, prefix: str) -> None:
        """Read the parameters that `save` wrote, or MinPy's (which takes h5py).

        Raises
        ------
        ParamsNameNotFoundError
            If the file lacks a parameter that the model has configured.
        ArgumentError
            If MinPy wrote the file, and h5py is not installed.
        """
        archive = _read(f"{prefix}.params")
        loaded = []
        for kind, values, configs in (
            ("param_", self.params, self.param_configs),
            ("aux_param_", self.aux_params, self.aux_param_configs),
        ):
            arrays = {key.removeprefix(kind): archive[key] for key in archive if key.startswith(kind)}
            absent = [name for name in {**configs, **values} if name not in arrays]
            if absent:
                raise ParamsNameNotFoundError(f"{prefix}.params has no parameter {', '.join(map(repr, absent))}.")
            loaded.append((values, arrays))
        for values, arrays in loaded:
            values.update((name, np.array(value)) for name, value in arrays.items())


def _read(path: str) -> dict[str, numpy.ndarray]:
    """Return the arrays in a file that this or MinPy's `save` wrote."""
    with open(path, "rb") as file:
        is_hdf5 = file.read(4) == b"\x89HDF"
    if not is_hdf5:
        with numpy.load(path) as archive:
            return dict(archive)
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise ArgumentError(
            f"{path} was written by MinPy, in HDF5, and h5py is not installed. Install it: pip install h5py"
        ) from error
    with h5py.File(path, "r") as archive:
        return {key: numpy.asarray(archive[key]) for key in archive}
