"""`ParameterDict`: parameters by name, under a common prefix, shared or one's own."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy

from minpy import initializer
from minpy import ndarray as nd
from minpy.context import Context
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, UnknownWordError, nearest
from minpy.gluon.parameter.constant import Constant
from minpy.gluon.parameter.parameter import Parameter
from minpy.gluon.parameter.parameter_loading import Options, filled, read_file
from minpy.gluon.parameter.unknown_shapes import as_shape, joined

__all__ = ["ParameterDict"]


class ParameterDict:
    """Parameters by their full names.

    Parameters
    ----------
    prefix : str
        What stands in front of the name of each parameter that it makes.
    shared : ParameterDict, optional
        Where a parameter is looked for before a new one is made.

    Examples
    --------
    >>> import minpy as mx
    >>> params = mx.gluon.ParameterDict('net_')
    >>> params.get('weight', shape=(2, 3))
    Parameter net_weight (shape=(2, 3), dtype=<class 'numpy.float32'>)
    >>> list(params.keys())
    ['net_weight']
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Parameter] = OrderedDict()
        self._shared = shared

    def __repr__(self) -> str:
        lines = "\n".join(f"  {parameter!r}" for parameter in self._params.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self._params[key]
        except KeyError:
            raise KeyError(f"{key!r} is no parameter of these.{nearest(key, self._params)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """Return pairs of names and parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Return the parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What stands in front of the name of each parameter that it makes."""
        return self._prefix

    # -- getting -----------------------------------------------------------------------------------------------------

    def _get_impl(self, name: str) -> Parameter | None:
        """Return a parameter by its full name: one's own, or a shared one, which becomes one's own."""
        if name in self._params:
            return self._params[name]
        if self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
            return self._params[name]
        return None

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """Return the parameter of a name, without the prefix; it is made if it is not there.

        Parameters
        ----------
        name : str
        **kwargs
            What `Parameter` takes. For one that is there, they must be what it has; lengths of its shape that are not
            known are filled in.

        Raises
        ------
        ArgumentError
            If one that is there has other attributes.
        """
        name = self._prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            parameter._owned = True
            return parameter
        for attribute, value in kwargs.items():
            if not hasattr(parameter, attribute):
                setattr(parameter, attribute, value)
                continue
            current = getattr(parameter, attribute)
            if value is None or current is value:
                continue
            difference = (
                f"{self._prefix or 'ParameterDict'}.get: the parameter {name!r} is there with {attribute}={current}; "
                f"{attribute}={value} was asked for. Blocks that share parameters must be made alike."
            )
            if attribute == "shape":
                try:
                    parameter._shape = joined(parameter._shape, as_shape(value, name))
                    continue
                except ValueError:
                    raise ShapeError(difference) from None
            if attribute == "dtype" and numpy.dtype(value) == numpy.dtype(current):
                continue
            if current is not None and current != value:
                raise ArgumentValueError(difference)
        return parameter

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """Return the constant of a name, without the prefix; it is made of `value` if it is not there.

        Raises
        ------
        ArgumentError
            If there is none and no value; if what is there is no constant, or one of other values.
        """
        name = self._prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            if value is None:
                raise UnknownWordError(
                    f"There is no constant {name!r}. Give its value: get_constant({name!r}, value)."
                    f"{nearest(name, self._params)}"
                )
            constant = self._params[name] = Constant(name, value)
            constant._owned = True
            return constant
        if not isinstance(parameter, Constant):
            raise ArgumentError(f"{name!r} is no constant, but {parameter!r}.")
        if value is not None:
            values = value.asnumpy() if isinstance(value, nd.NDArray) else numpy.asarray(value)
            current = parameter.value.asnumpy()  # of float32, mostly, where float64 may be given once more
            if values.shape != current.shape or (values.astype(current.dtype) != current).any():
                raise ArgumentValueError(f"The constant {name!r} is there already, with other values.")
        return parameter

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Take in all parameters of another dict.

        Raises
        ------
        ArgumentError
            If a name stands for another parameter there; nothing is taken in then.
        """
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise ArgumentValueError(
                    f"Two parameters are named {name!r}. Give one of their blocks another prefix, or make them inside "
                    "`with self.name_scope():`."
                )
        self._params.update(other.items())

    # -- what is done to all ------------------------------------------------------------------------------------------

    def initialize(self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Give all parameters values; see `Parameter.initialize`. Their own `init` goes first."""
        if init is None:
            init = initializer.Uniform()
        if verbose:
            init = initializer.create(init)
            init.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move all parameters to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """Return all contexts that a parameter lies on."""
        return list(dict.fromkeys(context for parameter in self.values() for context in parameter.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters, such as `grad_req` or `lr_mult`."""
        for parameter in self.values():
            setattr(parameter, name, value)

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, filename: str | os.PathLike[str], strip_prefix: str = "") -> None:
        """Write all parameters to a file, by their names.

        Parameters
        ----------
        filename : str or PathLike
        strip_prefix : str
            What is taken off the names; all must begin with it.

        Raises
        ------
        ArgumentError
            If a name does not; nothing is written then.
        """
        arrays = {}
        for parameter in self.values():
            if not parameter.name.startswith(strip_prefix):
                raise ArgumentValueError(
                    f"save: strip_prefix is {strip_prefix!r}, with which the name {parameter.name!r} does not begin. "
                    "The parameters may belong to several blocks: use save_parameters() of the block."
                )
            arrays[parameter.name[len(strip_prefix) :]] = parameter._reduce()
        nd.save(filename, arrays)

    def load(
        self,
        filename: str | os.PathLike[str],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read the parameters' values from a file that `save` wrote.

        Parameters
        ----------
        filename : str or PathLike
        ctx : Context or list of Context, optional
            Where those that are not initialized get their values.
        allow_missing : bool
            Whether parameters may be missing in the file.
        ignore_extra : bool
            Whether the file may have names that are not here.
        restore_prefix : str
            What stood in front of the names in the file.
        cast_dtype : bool
            Whether values of another dtype are taken.
        dtype_source : {'current', 'saved'}
            Which dtype they have then.

        Raises
        ------
        MXNetError
            For names that are missing or extra.
        ShapeError, DTypeError
            If a parameter has another shape or dtype. In all cases no parameter is changed.
        """
        arrays, where = read_file(filename), f"file {os.fspath(filename)!r}"
        options = Options(where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, owned=True)
        self._take(arrays, restore_prefix, options)

    def load_dict(
        self,
        param_dict: Mapping[str, Any],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the parameters' values from a dict of arrays; see `load`."""
        where = f"file {filename!r}" if filename is not None else "dict"
        options = Options(where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)
        self._take(param_dict, restore_prefix, options)

    def _take(self, arrays: Mapping[str, Any], restore_prefix: str, options: Options) -> None:
        """Take the parameters' values from arrays, with or without `arg:` and `aux:` before their names."""
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise ArgumentValueError(
                    f"load: restore_prefix is {restore_prefix!r}, with which the name {name!r} does not begin."
                )
        by_full_name = {
            restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): array for name, array in arrays.items()
        }
        filled(self._params, by_full_name, options, by_full_name)
