"""MinPy's arrays and numbers: what its users find in `minpy.array`.

`Array` is `minpy.numpy.ndarray` with what MinPy's own had besides: `get_data`, `mark_for_bp`, and an element 0 of a
number, as full reductions had the shape (1,) in MinPy. `minpy.core.grad` gives arrays of this kind to the functions
that it differentiates, and what is computed from one is one. All arrays of `minpy.numpy` count as `Array`s in
`isinstance`; `wrap` makes them ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.array_variants import ArrayType, number_types
from minpy.context import Context, current_context, resolve_context
from minpy.core.array import PLAIN_CLASSES
from minpy.core.array import Array as AnyArray
from minpy.core.buffers import share
from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import module_functions
from minpy.ndarray.methods import ARITHMETIC, install_arithmetic
from minpy.ndarray.placement import place
from minpy.numpy.array_class import ndarray

if TYPE_CHECKING:
    from minpy.tape import Tape

__all__ = ["Array", "Number", "Value", "wrap"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_NUMBERS = tuple(kind for kinds in number_types.values() for kind in kinds)


class _Kind(type):
    """Lets arrays that are not of a class count as its instances, where they do what its instances do."""

    _covered: ClassVar[tuple[type, ...]] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, cls._covered)


class Value(metaclass=_Kind):
    """What arrays and numbers have in common.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> isinstance(np.ones(2), Value), isinstance(wrap(3), Value), isinstance('text', Value)
    (True, True, False)
    """

    __slots__ = ()

    _covered: ClassVar[tuple[type, ...]] = (ndarray,)

    @property
    def context(self) -> Context:
        """The device."""
        return current_context()

    @property
    def id(self) -> int:
        """A number that no other value has while this one is there."""
        return id(self)

    def wait_to_read(self) -> None:
        """Wait for nothing: values are computed when an operator returns."""

    def is_marked_for_bp(self, tape: Tape | None) -> bool:
        """Tell whether a tape that records finds the way back to this value."""
        return tape is not None and tape.is_recording and getattr(self, "_node", None) is not None

    def mark_for_bp(self, tape: Tape) -> None:
        """Let what is computed from this value be differentiated with respect to it."""
        raise ArgumentError(
            f"mark_for_bp: {self!r} is a number, which has no place on a tape; take np.array({self!r})."
        )


class Number(Value, float):
    """A number, as MinPy's gradients and losses of numbers are: a float that has `asnumpy()`, and `val`.

    Parameters
    ----------
    val : number
        An int stays one in `val`, and in what is computed with ints.
    context : Context, optional
        Accepted and not used.

    Examples
    --------
    >>> Number(3) * 2, Number(2.5).asnumpy()
    (6, 2.5)
    """

    _covered = ()
    _val: Any

    def __new__(cls, val: Any, context: Context | None = None) -> Number:
        """Return the number as a float that knows what it was made from."""
        number = float.__new__(cls, val)
        number._val = val.item() if isinstance(val, numpy.generic) else val
        return number

    @property
    def val(self) -> Any:
        """The number as it was given: an int or a float."""
        return self._val

    def asnumpy(self) -> Any:
        """Return the number itself."""
        return self.val

    def get_data(self, dtype: int) -> Any:
        """Return the number itself, whichever kind of array is asked for."""
        return self.val

    def __index__(self) -> int:
        return operator.index(self.val)

    def __str__(self) -> str:
        return str(self.val)

    def __repr__(self) -> str:
        return repr(self.val)

    def __reduce__(self) -> tuple[type[Number], tuple[Any]]:
        return Number, (self.val,)


def _of_numbers(compute: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    def method(self: Number, *operands: Any) -> Any:
        values = [self.val, *(operand.val if type(operand) is Number else operand for operand in operands)]
        result = compute(*(reversed(values) if reflected else values))
        return Number(result) if type(result) in (int, float) else result

    return method


for _name in ("neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _of_numbers(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Number, f"__{_name}__", _of_numbers(getattr(operator, _name)))
    setattr(Number, f"__r{_name}__", _of_numbers(getattr(operator, _name), reflected=True))


class Array(ndarray, Value):
    """An array of `minpy.numpy` with what MinPy's own had besides.

    Parameters
    ----------
    data : numpy.ndarray or NDArray
        The values, which are not copied.
    atype : int
        `ArrayType.NUMPY` or `ArrayType.MXNET`: what `data` is. It is not needed here.
    context : Context, optional

    Examples
    --------
    >>> import numpy
    >>> import minpy.numpy as np
    >>> x = Array(numpy.array([1.0, 2.0]), ArrayType.NUMPY)
    >>> np.sum(np.log(x))[0]  # of shape (1,) in MinPy, a number here
    array(0.69314718)
    >>> x.get_data(ArrayType.NUMPY), x.get_data(ArrayType.MXNET).shape
    (array([1., 2.]), (2,))
    """

    __slots__ = ()

    _precedence: ClassVar[int] = 2
    _covered = (ndarray,)

    def __new__(cls, data: Any, atype: int = ArrayType.NUMPY, context: Context | None = None) -> Any:
        """Return an array of this kind around the data."""
        raw = data._data if isinstance(data, AnyArray) else numpy.asarray(data)
        return place(cls, raw, resolve_context(context))

    def __init__(self, *_: Any, **__: Any) -> None:
        """Do nothing: `__new__` has made it."""

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int and key in (0, -1) and not self._data.ndim:
            key = ()
        return super().__getitem__(key)

    def has_type(self, atype: int) -> bool:
        """Tell that there are values of a kind of array: of both, always."""
        return atype in (ArrayType.NUMPY, ArrayType.MXNET)

    def get_data(self, dtype: int) -> Any:
        """Return the values as an array of a kind, which shares this one's memory.

        Parameters
        ----------
        dtype : int
            `ArrayType.NUMPY` for a numpy.ndarray, `ArrayType.MXNET` for an NDArray.

        Raises
        ------
        ArgumentError
            For another number.
        """
        if not self.has_type(dtype):
            raise ArgumentError(f"get_data: {describe(dtype)} is no kind of array; take ArrayType.NUMPY or .MXNET.")
        return self._data if dtype == ArrayType.NUMPY else self.as_nd_ndarray()

    def get_data_mutable(self, dtype: int) -> Any:
        """Return what `get_data` does; writes to it are writes to this array."""
        return self.get_data(dtype)

    def mark_for_bp(self, tape: Tape) -> None:
        """Let what is computed from this array be differentiated with respect to it, by `tape.get_gradient`."""
        self.attach_grad()


install_arithmetic(Array, {**ARITHMETIC})  # as fast as that of the class above
PLAIN_CLASSES.add(Array)


def wrap(data: Any) -> Any:
    """Return an array as an `Array`, and a number as a `Number`; anything else as it is.

    Parameters
    ----------
    data : object
        The memory of an array is shared, and its place on the tape kept.

    Examples
    --------
    >>> import numpy
    >>> type(wrap(numpy.ones(2))).__name__, type(wrap(2.0)).__name__, wrap(None), wrap('text')
    ('Array', 'Number', None, 'text')
    """
    kind = type(data)
    if kind in _NUMBERS:
        return Number(data)
    if issubclass(kind, numpy.ndarray):
        return place(Array, data, resolve_context(None))
    if not issubclass(kind, AnyArray) or issubclass(kind, Array):
        return data
    array = place(Array, data._data, data.context, data._node)
    share(data, array)
    return array
