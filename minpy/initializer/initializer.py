"""`Initializer`, the base class: the choice by a name's ending, JSON, verbosity, the registry."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe
from minpy.ndarray import random
from minpy.registry import get_alias_func, get_create_func, get_register_func

__all__ = ["InitDesc", "Initializer", "alias", "bilinear", "create_initializer", "is_same", "plain", "register"]

_LOGGER = logging.getLogger(__name__)


class InitDesc(str):
    """A parameter's name, with what its initialization depends on: what initializers are called with.

    Parameters
    ----------
    name : str
    attrs : dict, optional
        Attributes of the parameter's variable. `'__init__'` is its own initializer (an instance, a name, or what
        `dumps` returned), which comes before any choice by the name.
    global_init : Initializer, optional
        What initializes parameters that have none of their own.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((2,))
    >>> mx.init.One()(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None, global_init: Any = None) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = {} if attrs is None else attrs
        desc.global_init = global_init
        return desc


class Initializer:
    """The base of initializers: call one with a name and an array, and it fills the array as the name's ending says.

    `weight` is what the initializer is for: `_init_weight`, which derived classes define. `bias`, `beta` and `min`
    are 0, `gamma` and `max` are 1; other names have no default, and have to be given an initializer of their own.

    Parameters
    ----------
    **kwargs
        The arguments of the derived class: what `dumps` writes, and by which two initializers are equal.

    Examples
    --------
    >>> import minpy as mx
    >>> class Ramp(mx.init.Initializer):
    ...     def __init__(self, step=1):
    ...         super().__init__(step=step)
    ...         self.step = step
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = self.step * mx.nd.arange(arr.size).reshape(arr.shape)
    >>> weight = mx.nd.zeros((3,))
    >>> Ramp(2)(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy(), Ramp(2).dumps()
    (array([0., 2., 4.], dtype=float32), '["ramp", {"step": 2}]')
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[Any], str] | None = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[Any], str] | None = None) -> Initializer:
        """Switch on, or off, that a line is logged (by `logging`, as INFO) for each parameter that is initialized.

        Parameters
        ----------
        verbose : bool
        print_func : callable, optional
            Says in a string what there is to say of an array; the root of the mean of its squares if left out.

        Returns
        -------
        Initializer
            This one.

        Examples
        --------
        >>> import minpy as mx
        >>> initializer = mx.init.Xavier().set_verbosity(True, lambda arr: str(arr.shape))
        """
        self._verbose = verbose
        self._print_func = _root_mean_square if print_func is None else print_func
        return self

    def _verbose_print(self, desc: str, init: Any, arr: Any) -> None:
        if self._verbose and self._print_func:
            _LOGGER.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """Return the initializer as JSON: its name and its arguments, of which `mx.init.create` makes it again.

        Returns
        -------
        str

        Examples
        --------
        >>> import minpy as mx
        >>> mx.init.Uniform(0.5).dumps()
        '["uniform", {"scale": 0.5}]'
        >>> mx.init.create(mx.init.Uniform(0.5).dumps()) == mx.init.Uniform(0.5)
        True
        """
        try:
            return json.dumps([type(self).__name__.lower(), plain(self._kwargs)])
        except TypeError as error:
            raise ArgumentError(
                f"{type(self).__name__}.dumps: an argument cannot be written as JSON ({error}); numbers, strings, "
                f"lists, dicts, arrays and initializers can."
            ) from None

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return is_same(self._kwargs, vars(other)["_kwargs"])

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, desc: str, arr: Any) -> None:
        """Fill an array.

        Parameters
        ----------
        desc : InitDesc
            The parameter's name and attributes. A plain string is taken too, with the choice by name that old
            programs expect (and a DeprecationWarning).
        arr : NDArray
            Of any shape and dtype; written in place.

        Raises
        ------
        ArgumentError
            If `desc` is no string.
        ArgumentValueError
            If the name says nothing, and its attributes neither.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        chosen = desc.attrs.get("__init__", "")
        if not (isinstance(chosen, str) and chosen == ""):
            initializer = chosen if hasattr(chosen, "_init_weight") else create_initializer(chosen)
            initializer._init_weight(desc, arr)
            self._verbose_print(desc, chosen, arr)
            return
        for ending, method in _BY_ENDING:
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, ending, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: str, arr: Any) -> None:
        """Fill an array whose parameter is known by a plain string, with more names than there are for descriptions."""
        if not isinstance(name, str):
            raise ArgumentError(
                f"{type(self).__name__}: the name must be a string, or an mx.init.InitDesc; got {describe(name)}."
            )
        if not isinstance(arr, Array):
            raise ArgumentError(
                f"{type(self).__name__}: what is to be initialized as {name!r} must be an NDArray, got {describe(arr)}."
            )
        warnings.warn(
            f"an initializer is called with the string {name!r}: write initializer(mx.init.InitDesc({name!r}), array).",
            DeprecationWarning,
            stacklevel=3,
        )
        if name.startswith("upsampling"):
            self._init_bilinear(name, arr)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            self._init_loc_bias(name, arr)
        else:
            methods = (method for ending, method in _BY_ENDING_OF_STRINGS if name.endswith(ending))
            getattr(self, next(methods, "_init_default"))(name, arr)

    def _init_bilinear(self, name: str, arr: Any) -> None:
        arr[...] = bilinear(type(self).__name__, name, arr.shape)

    def _init_loc_bias(self, name: str, arr: Any) -> None:
        if arr.shape != (6,):
            raise ShapeError(
                f"{type(self).__name__}: {str(name)!r} is the bias of a spatial transformer's localization, the 2 × 3 "
                f"matrix of an affine transformation; expected shape (6,), got {arr.shape}."
            )
        arr[...] = numpy.array([1.0, 0, 0, 0, 1, 0])

    def _init_zero(self, _: str, arr: Any) -> None:
        arr[...] = 0.0

    def _init_one(self, _: str, arr: Any) -> None:
        arr[...] = 1.0

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_weight(self, name: str, arr: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} does not say how to initialize weights ({str(name)!r}): define "
            f"_init_weight(self, name, arr), which writes into arr[:]."
        )

    def _init_quantized_weight(self, _: str, arr: Any) -> None:
        arr[...] = random.randint(-127, 128, shape=(1,)).item()

    def _init_default(self, name: str, _: Any) -> None:
        raise ArgumentValueError(
            f"{type(self).__name__}: the name {str(name)!r} does not say how to initialize it. Names that end in "
            f"'weight' are initialized by {type(self).__name__}, those in 'bias', 'beta' or 'min' with 0, those in "
            f"'gamma' or 'max' with 1. Give this one an initializer of its own, as in "
            f"mx.sym.var({str(name)!r}, init=mx.init.Zero()), or rename it."
        )


_BY_ENDING = [
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
]
_BY_ENDING_OF_STRINGS = [
    *_BY_ENDING[:6],
    ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
]

_alias = get_alias_func(Initializer, "initializer")
create_initializer = get_create_func(Initializer, "initializer")
_register = get_register_func(Initializer, "initializer")


def alias(*aliases: str) -> Callable[[type], type]:
    """Return a decorator that registers an initializer under further names.

    Parameters
    ----------
    *aliases : str

    Returns
    -------
    callable

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.init.alias('nothing')
    ... class Nothing(mx.init.Initializer):
    ...     pass
    >>> type(mx.init.create('nothing')) is Nothing
    True
    """
    decorate: Callable[[type], type] = _alias(*aliases)
    return decorate


def register(klass: type) -> type:
    """Register an initializer under its class's name in lower case, by which `create`, and files, can name it.

    Parameters
    ----------
    klass : type
        Derived from `Initializer`.

    Returns
    -------
    type
        The class: `register` is a decorator.

    Raises
    ------
    ArgumentError
        If it is not derived from `Initializer`.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.init.register
    ... class Half(mx.init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 0.5
    >>> weight = mx.nd.zeros((2,))
    >>> mx.init.create('half')(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    registered: type = _register(klass)
    return registered


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays as lists, NumPy's numbers as Python's, initializers as their JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Array):
        return value._data.tolist()
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.tolist()
    return value.dumps() if isinstance(value, Initializer) else value


def is_same(value: Any, other: Any) -> bool:
    """Return whether two arguments are equal, arrays element by element."""
    return bool(plain(value) == plain(other))


def bilinear(caller: str, name: str, shape: tuple[int, ...]) -> numpy.ndarray:
    """Return the weights of a deconvolution that enlarges images by bilinear interpolation: float32.

    With k the last extent, f = ⌈k/2⌉ and c = (2f - 1 - f mod 2) / 2f, the element at row y and column x is
    (1 - |x/f - c|)(1 - |y/f - c|), in every channel (Long, Shelhamer, Darrell, "Fully convolutional networks for
    semantic segmentation", 2015, section 4.1).
    """
    if len(shape) < 4:
        raise ShapeError(
            f"{caller}: {str(name)!r} cannot hold a bilinear interpolation: expected the shape (channels, channels, "
            f"height, width) of a deconvolution's weight, got {shape}."
        )
    f = -(-shape[3] // 2)
    c = (2 * f - 1 - f % 2) / (2 * f) if f else 0.0
    across = 1 - abs(numpy.arange(shape[3]) / max(f, 1) - c)
    down = 1 - abs(numpy.arange(shape[2]) / max(f, 1) - c)
    values = numpy.multiply.outer(down, across).astype(numpy.float32)
    return numpy.broadcast_to(values.reshape((1, 1, *values.shape, *(1,) * (len(shape) - 4))), shape)


def _root_mean_square(arr: Any) -> str:
    values = arr.asnumpy()
    return str(numpy.linalg.norm(values) / values.dtype.type(sqrt(values.size)))
