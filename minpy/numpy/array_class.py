"""`ndarray`: the same arrays with NumPy's semantics. It is what gradient rules run on when they are recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.bridge.sequence_arguments import as_array
from minpy.core.array import Array, register_front_end
from minpy.core.buffers import share
from minpy.core.errors import MutationError
from minpy.core.followed import is_followed
from minpy.core.nodes import Leaf
from minpy.core.operator import Operator
from minpy.ndarray.methods import ARITHMETIC, COMPARISONS, install_arithmetic, install_comparisons
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.numpy_table.table import METHODS

__all__ = ["ndarray"]

_NUMPY_1 = numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0"

if TYPE_CHECKING:
    from minpy.numpy.members import NumPyMembers  # a stub: what is installed below
else:
    NumPyMembers = NDArray


class ndarray(NumPyMembers):
    """An array on the tape with NumPy's semantics: zero-dimensional results, boolean comparisons, views.

    An in-place change of a recorded array is recorded too: the array stands for the new value from then on.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.array([1.0, 2.0]).sum()
    array(3., dtype=float32)
    """

    __module__ = "minpy.numpy"  # where it is found by its name: this module goes by the same one
    __slots__ = ()

    _precedence: ClassVar[int] = 1
    _copies_views: ClassVar[bool] = False
    _keeps_dtype: ClassVar[bool] = False
    _scalar_shape: ClassVar[tuple[int, ...]] = ()
    _records_changes: ClassVar[bool] = True

    @property
    def dtype(self) -> numpy.dtype:
        """The dtype of the elements."""
        return self._data.dtype

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return numpy.transpose(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return numpy.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return numpy.imag(self)

    @property
    def flat(self) -> Any:
        """An iterator over the elements."""
        return iter(self.reshape(-1))

    def __repr__(self) -> str:
        text = repr(self._data)
        return (
            text
            if self.context.device_type == "cpu" and not self.context.device_id
            else (f"{text[:-1]}, ctx={self.context})")
        )

    def __str__(self) -> str:
        return str(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __index__(self) -> int:
        return self._data.__index__()

    def __complex__(self) -> complex:
        return complex(self._number("complex(x)"))

    def as_np_ndarray(self) -> Any:
        """Return the array itself."""
        return self

    def as_nd_ndarray(self) -> Any:
        """Return the same buffer, and place on the tape, with MXNet's semantics."""
        data = self._data.reshape(-1) if not self._data.ndim else self._data
        array = place(NDArray, data, self.context, self._node)
        share(self, array)
        return array

    def _element_of_number(self, key: int) -> Any:
        """Return the number for 0, with a warning: full reductions had the shape (1,) in MinPy."""
        if key not in (0, -1):
            return super()._element_of_number(key)
        warnings.warn(
            f"x[{key}] of an array of shape (), which is one number: x.item() returns it. It is accepted because "
            "np.sum(x) and its kin had the shape (1,) in MinPy.",
            stacklevel=3,
        )
        return self[()] if self._node is not None else self._data[()]

    def copy(self, order: str = "C") -> Any:
        """Return a copy, in row-major order or as `order` says ('C', 'F', 'A' or 'K'); recorded."""
        copied: Any = numpy.copy
        return copied(self, order=order)

    def flatten(self, order: str = "C") -> Any:  # type: ignore[override]
        """Return a copy with one dimension; recorded."""
        flat: Any = numpy.ravel
        return flat(self, order=order).copy()

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """Return the array in another shape, as `numpy.reshape` does."""
        target = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return numpy.reshape(self, options.pop("shape", target), **options)

    def reshape_view(self, *shape: Any, **options: Any) -> Any:
        """Return the same memory in another shape, as `reshape` does."""
        return self.reshape(*shape, **options)

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes permuted, as `numpy.transpose` does."""
        chosen = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return numpy.transpose(self, chosen or None)

    def _in_place_error(self, change: str) -> MutationError:
        reason = "a variable (attach_grad)" if type(self._node) is Leaf else "an input of a function"
        return MutationError(
            f"{change} changes {reason} in place, inside a recorded computation: its old value is still needed. "
            "Start with a copy: x = x.copy()."
        )

    @staticmethod
    def _general(operator: Operator, x: Any, y: Any) -> Any:
        for value in (x, y):
            if isinstance(value, (str, bytes, type(None), dict)):
                return NotImplemented
        if _NUMPY_1:  # where a zero-dimensional float32 array and a Python number make float64
            x, y = _as_weak(x, y), _as_weak(y, x)
        return operator(_as_operand(operator, x), _as_operand(operator, y))


def _as_operand(operator: Operator, value: Any) -> Any:
    """Return a list in the place of an array as an array: recorded, if something in it is."""
    if not isinstance(value, (list, tuple)):
        return value
    return as_array(operator.__name__, value) if is_followed(value) else numpy.asarray(value)


def _as_weak(value: Any, array: Any) -> Any:
    if type(value) in (int, float) and isinstance(array, Array) and not array.ndim and array._data.dtype.kind == "f":
        return numpy.asarray(value, array._data.dtype)
    return value


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return function(self, *arguments, **keywords)

    method.__doc__ = f"Return `numpy.{function.__name__}` of the array."
    return method


def _sign(ufunc: numpy.ufunc, reflected: bool = False) -> Callable[..., Any]:
    """Return the method for a sign that only NumPy's semantics have."""
    if ufunc.nin == 1:
        return lambda self: ufunc(self)
    return (lambda self, other: ufunc(other, self)) if reflected else (lambda self, other: ufunc(self, other))


def _set(name: str, method: Callable[..., Any]) -> None:
    """Make a function a method, under the name by which help shows it and pickle finds it."""
    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    setattr(ndarray, name, method)


SIGNS: dict[str, Any] = {
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "floordiv": numpy.floor_divide,
    "matmul": numpy.matmul,
    "invert": numpy.invert,
}

for _name, _ufunc in SIGNS.items():
    _set(f"__{_name}__", _sign(_ufunc))
    if _ufunc.nin == 2:
        _set(f"__r{_name}__", _sign(_ufunc, reflected=True))

for _name, _function in METHODS.items():
    _set(_name, _method(_function))

register_front_end("numpy", ndarray)
install_arithmetic(ndarray, {**ARITHMETIC})
install_comparisons(ndarray, {name: (ufunc, ufunc) for name, (_, ufunc) in COMPARISONS.items()})
