"""`NDArray`: MXNet's array, with MXNet's semantics, around a NumPy buffer.

float32 by default, comparisons give 0 or 1 in the operand's dtype, reductions over everything have shape (1,), basic
slices write through, and in-place changes of a recorded array are errors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.bridge.protocols import NumPyProtocols
from minpy.context import CPU, Context, resolve_context
from minpy.core import aligned
from minpy.core.array import FRONT_ENDS, Array, register_front_end
from minpy.core.backward import backward
from minpy.core.buffers import is_alone, loans, note_write, share
from minpy.core.dispatch import overwrite, read_only_error
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    MutationError,
    MXNetError,
    NoGradientError,
    NotScalarError,
    ShapeError,
    describe,
)
from minpy.core.followed import is_followed
from minpy.core.nodes import Leaf
from minpy.core.numpy_semantics import is_np_shape
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.namespaces import missing
from minpy.ndarray import recorded_writes
from minpy.ndarray.conversion import numeric_array, wrapped
from minpy.ndarray.operands import BASIC, NUMBERS, as_dtype_of, kept_key, key_text, operand, raw_key
from minpy.ndarray.placement import place, rebuild, require_dense
from minpy.ndarray.recorded_writes import receive, record_store, require_writable, unrecorded_write, view_of
from minpy.ndarray.variables import mark_variable
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.numpy.nested_lists import assembled
from minpy.ops.tensor import indexing, mathematics
from minpy.ops.tensor.copies import cast, identity
from minpy.ops.tensor.reshape import reshape_exactly
from minpy.ops.tensor.transpose import transpose

__all__ = ["NDArray"]

if TYPE_CHECKING:
    from typing_extensions import Self

    from minpy.ndarray.members import Members  # a stub: what minpy.ndarray.methods installs
else:
    Members = NumPyProtocols


class NDArray(Members):
    """An array on a device, with MXNet's semantics. Made by `nd.array`, `nd.zeros` and their kin.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x + 1
    <BLANKLINE>
    [[2. 3.]
     [4. 5.]]
    <NDArray 2x2 @cpu(0)>
    """

    __slots__ = ()

    # Results of operators get memory of their own, as in MXNet (NumPy's semantics keep views).
    _copies_views: ClassVar[bool] = True
    _keeps_dtype: ClassVar[bool] = True
    _scalar_shape: ClassVar[tuple[int, ...]] = (1,)
    # Whether what an operator returned may be changed in place under `record`: that is recorded, too.
    _records_changes: ClassVar[bool] = False

    def __init__(self, handle: None = None, writable: bool = True) -> None:
        """Make an array for a pickle of MXNet's to fill in; all others are made by `nd.array` and its kin."""
        if handle is not None:
            raise ArgumentError(
                f"{type(self).__name__}({describe(handle)}): arrays are not made by their class; call nd.array(...)."
            )
        self._data = numpy.empty(0, numpy.float32)
        self._node = None

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._data.shape

    @property
    def dtype(self) -> Any:
        """The NumPy scalar type of the elements, such as `numpy.float32`."""
        return self._data.dtype.type

    @property
    def __numpy_dtype__(self) -> numpy.dtype:
        """What NumPy takes an array for where a dtype is asked for; NumPy 2.4 and newer read no `dtype` of others."""
        return self._data.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim

    @property
    def context(self) -> Context:
        """The device that holds the array."""
        return CPU

    @property
    def ctx(self) -> Context:
        """The device that holds the array; the same as `context`."""
        return self.context

    @property
    def stype(self) -> str:
        """The storage type: always 'default', a dense array."""
        return "default"

    @property
    def writable(self) -> bool:
        """Whether the array may be changed: not if its memory is that of another object that may not, such as bytes."""
        return bool(self._data.flags.writeable)

    @property
    def T(self) -> Self:
        """The array with its axes in reverse order (a copy, as in MXNet)."""
        return transpose(self)

    @property
    def grad(self) -> Any:
        """The array that `backward` writes gradients into; None before `attach_grad`."""
        node = self._node
        return node.gradient if type(node) is Leaf else None

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` has written the gradient since a Trainer used it last, or since this was set to False."""
        node = self._node
        return type(node) is Leaf and node.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if type(self._node) is Leaf:
            self._node.fresh = bool(fresh)

    def __len__(self) -> int:
        if not self._data.ndim:
            raise TypeError("len() of a zero-dimensional array: it has no axis to count.")
        return self._data.shape[0]

    def __bool__(self) -> bool:
        if self._data.size == 0:
            return False
        if self._data.size == 1:
            return bool(self._data.item())
        raise ShapeError(
            f"the truth of an array of shape {self.shape} is ambiguous: it has {self.size} elements. "
            "Reduce it first, for example with (x > 0).sum() or x.min()."
        )

    def __float__(self) -> float:
        return float(self._number("float(x)"))

    def __int__(self) -> int:
        return int(self._number("int(x)"))

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iu":
            raise TypeError(f"only integer arrays of one element index, got {describe(self._data)}.")
        return int(self._number("an index"))

    def _number(self, operation: str) -> Any:
        """Return the only element, for conversions that Python makes unasked: a recorded array has none."""
        if self._node is not None and state.recording:
            raise NoGradientError(
                f"{operation} of a recorded array ({describe(self._data)}) inside autograd.record(): a number has no "
                "gradient. Convert it explicitly with x.asscalar() or x.detach() if no gradient shall flow; write a "
                "function of math or scipy with NumPy's, or as an operator with @customop('numpy')."
            )
        return self._only_element(operation)

    def __hash__(self) -> int:
        return id(self) // 16

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self._data!s}\n<{type(self).__name__} {shape} @{self.context}>"

    def __str__(self) -> str:
        return self.__repr__()

    def __format__(self, specification: str) -> str:
        return (
            format(self._only_element(f"the format {specification!r}").item(), specification)
            if specification
            else str(self)
        )

    def __reduce__(self) -> Any:
        return rebuild, (type(self), self._data, self.context)

    def __iter__(self) -> Iterator[Any]:
        if not self._data.ndim:  # refused here and not at the first item: `np.iterable` asks this
            raise TypeError(
                "iteration over a zero-dimensional array: it has no axis. Use .item() for its value, or .reshape(-1)."
            )
        return map(self.__getitem__, range(self._data.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self._data == (value._data if isinstance(value, Array) else value)).any())

    # -- to and from -----------------------------------------------------------------------------------------------

    def asnumpy(self) -> numpy.ndarray:
        """Return a copy as a `numpy.ndarray`; the copy is not recorded."""
        loan = loans.current
        if loan is not None:
            caller: Any = sys._getframe(1)
            code, frame, any_layout = loan
            if caller.f_code is code and caller.f_back is frame and (any_layout or self._data.flags.c_contiguous):
                return self._data.view()
        return self._data.copy()

    def to_dlpack_for_read(self) -> Any:
        """Return a DLPack capsule that shares the array's memory: see `nd.to_dlpack_for_read`."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> Any:
        """Return a DLPack capsule that shares the array's memory: see `nd.to_dlpack_for_write`."""
        return self.__dlpack__()

    def asscalar(self) -> Any:
        """Return the only element as a NumPy scalar.

        Raises
        ------
        ShapeError
            If there is not exactly one element.
        """
        return self._only_element("asscalar")

    def _only_element(self, operation: str) -> Any:
        if self._data.size != 1:
            raise NotScalarError(f"{operation} needs an array of one element, got shape {self.shape} with {self.size}.")
        return self._data.reshape(-1)[0]

    def item(self, *where: Any) -> Any:
        """Return one element as a Python number."""
        return self._data.item(*where) if where else self._only_element("item").item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self._data.tolist()

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        """Return the array with elements converted; itself if nothing changes and `copy` is False.

        Instead of a dtype there may be an array, whose dtype is meant.
        """
        dtype = numpy.dtype(dtype.dtype if isinstance(dtype, NDArray) else dtype)
        if not copy and dtype == self._data.dtype:
            return self
        return cast(self, dtype=dtype)

    def copy(self) -> Self:
        """Return a copy on the same device; recorded."""
        return identity(self)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def copyto(self, other: Any) -> Any:
        """Copy into another array (converted to its dtype), or to a device.

        Returns
        -------
        NDArray
            `other`, or the new array.

        Raises
        ------
        ShapeError
            If the shapes differ.
        """
        if isinstance(other, Context):
            return self._placed(resolve_context(other), copy=True)
        if not isinstance(other, NDArray):
            raise ArgumentError(f"copyto copies to an NDArray or a Context, got {describe(other)}.")
        if other.shape != self.shape:
            raise ShapeError(f"copyto: cannot copy shape {self.shape} into shape {other.shape}; they must be equal.")
        other[...] = self
        return other

    def as_in_context(self, context: Context) -> Self:
        """Return the array on a device: itself if it is there already."""
        context = resolve_context(context)
        return self if context == self.context else self._placed(context, copy=True)

    as_in_ctx = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """Return the same buffer with MXNet's semantics."""
        return self

    def as_np_ndarray(self) -> Any:
        """Return the same buffer, and place on the tape, with NumPy's semantics."""
        array = place(FRONT_ENDS["numpy"], self._data, self.context, self._node)
        share(self, array)
        return array

    def tostype(self, stype: str) -> Self:
        """Return the array in a storage type; only 'default' (dense) exists."""
        if stype != "default":
            raise ArgumentError(f"tostype({stype!r}): arrays are dense here; only 'default' is supported.")
        return self

    def _placed(self, context: Context, copy: bool = False) -> Any:
        """Return this array's value on a context, recorded if it is."""
        if copy and self._node is None:
            return place(type(self), aligned.copied(self._data), context)
        array = identity(self) if copy else self
        return place(type(self), array._data, context, array._node)

    # -- waiting ---------------------------------------------------------------------------------------------------

    def wait_to_read(self) -> None:
        """Return at once: operations have finished when they return."""

    def wait_to_write(self) -> None:
        """Return at once: operations have finished when they return."""

    # -- gradients -------------------------------------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make the array a variable: allocate a gradient (zeros) that `backward` writes.

        An array that was computed under `record` is cut from its history. Integers may be variables, too: gradients
        reach them through what is computed from them in floating point, and are truncated.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
            Whether each backward replaces the gradient, adds to it, or leaves it alone.
        stype : str, optional
            Storage type of the gradient; only 'default'.

        Raises
        ------
        ArgumentError
            For an unknown `grad_req`, or another storage than a dense one.
        """
        require_dense("attach_grad", stype)
        mark_variable(self, self._like(numpy.zeros_like(self._data)), grad_req)

    def zero_grad(self) -> None:
        """Set the gradient to zero.

        Raises
        ------
        ArgumentError
            If there is none.
        """
        gradient = self.grad
        if gradient is None:
            raise ArgumentError("zero_grad: the array has no gradient; call attach_grad() first.")
        overwrite(gradient, 0)

    def detach(self) -> Self:
        """Return the same buffer without history: no gradient flows through the result."""
        array = self._like(self._data)
        share(self, array)
        return array

    def backward(self, out_grad: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradient of this array with respect to every variable it was recorded from.

        Parameters
        ----------
        out_grad : NDArray, optional
            Head gradient, of this array's shape; ones by default.
        retain_graph : bool
            Keep the graph for another backward.
        train_mode : bool
            Whether the rules run as in training.

        Raises
        ------
        NotRecordedError, GraphFreedError, NoGradientError, MutationError, GradientError
            Before any gradient is written.
        """
        backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    # -- parts -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Self:
        kind = type(key)
        if kind is slice:
            if key.start is key.stop is key.step is None and self._copies_views:
                return self
            parts: Any = (key, ...)
        elif kind is int:
            if not self._data.ndim:
                return self._element_of_number(key)
            self._require_in_range(key)
            parts = (key, ...)
        elif kind is tuple and BASIC.issuperset(map(type, key)):
            parts = key if ... in key else (*key, ...)
        else:
            key = raw_key(key)
            if isinstance(key, numpy.integer):
                self._require_in_range(key)
            if not indexing.is_basic(key):
                return self._gathered(key)
            parts = key if type(key) is tuple else (key,)
            if ... not in parts:
                parts = (*parts, ...)
        data = self._data[parts]  # with an Ellipsis it is a view, never a scalar
        if not data.ndim and self._scalar_shape and not is_np_shape():
            parts = (*parts, None)
            data = data.reshape(self._scalar_shape)
        if self._node is not None and state.recording:
            parts = kept_key(parts)
        return view_of(self, data, indexing.index, {"key": parts})

    def _require_in_range(self, key: Any) -> None:
        size = self._data.shape[0] if self._data.ndim else 0
        if not -size <= key < size and self._data.ndim:
            raise IndexError(f"index {key} is out of range for axis 0 of an array of shape {self.shape}.")

    def _element_of_number(self, key: int) -> Any:
        """Return what `x[key]` is of an array without axes."""
        raise IndexError(f"x[{key}] of an array of shape (), which is one number: x.item() returns it.")

    def _gathered(self, key: Any) -> Any:
        """Return the elements that indices in arrays or a mask choose: a copy."""
        if self._node is not None and state.recording:
            result = indexing.index(self, key=kept_key(key))
            if result._data.ndim or not self._scalar_shape or is_np_shape():
                return result
            return reshape_exactly(result, shape=(1,))
        data = numpy.asarray(self._data[key])
        return self._like(data if data.ndim or is_np_shape() else data.reshape(self._scalar_shape))

    slice_assign = recorded_writes.slice_assign
    slice_assign_scalar = recorded_writes.slice_assign_scalar

    def __setitem__(self, key: Any, value: Any) -> None:
        key = raw_key(key)
        kind = type(value)
        if (kind is list or kind is tuple) and state.recording and is_followed(value):
            value = assembled("x[...] = value", value, self._data.dtype)
        raw = value._data if isinstance(value, Array) else value
        if isinstance(raw, numpy.ndarray):
            if raw.size == 1:
                raw = raw.reshape(())
            elif type(key) is not slice and not indexing.is_basic(key) and numpy.may_share_memory(raw, self._data):
                raw = raw.copy()  # NumPy 1 writes before it has read all of it
        elif isinstance(raw, (str, bytes, dict, set)):
            raise DTypeError(f"cannot assign {describe(raw)} to x[{key_text(key)}]; expected an array or a number.")
        try:
            if state.recording and (self._node is not None or (isinstance(value, Array) and value._node is not None)):
                record_store(self, kept_key(key), value, raw, "x[...] = value")
                return
            data = self._data
            if (type(raw) is int or type(raw) is list) and data.dtype.kind in "iu" and self._keeps_dtype:
                raw = wrapped(raw, data.dtype)
            if type(key) is slice and key == _ALL and isinstance(raw, numpy.ndarray) and raw.dtype != data.dtype:
                numpy.copyto(data, raw, casting="unsafe")
            else:
                data[key] = raw
        except OverflowError:  # numbers that the dtype cannot hold wrap around
            if not self._keeps_dtype:
                raise
            self._data[key] = numeric_array(raw, self._data.dtype)
        except ValueError as error:
            if isinstance(error, MXNetError):
                raise
            if not self._data.flags.writeable:
                raise read_only_error(f"x[{key_text(key)}] = value") from None
            selected = self._data[key].shape
            raise ShapeError(
                f"cannot assign {describe(raw)} to x[{key_text(key)}], which has shape {selected}: {error}."
            ) from None
        self._changed(key)

    def _in_place_error(self, change: str) -> MutationError:
        kind = "a variable (attach_grad)" if type(self._node) is Leaf else "recorded"
        return MutationError(
            f"in-place change ({change}) of an array that is {kind}, inside autograd.record(): {describe(self._data)}. "
            "The gradient would be of a value that no longer exists. Write y = x + 1 instead of x += 1, or make "
            "the change outside record() or inside autograd.pause()."
        )

    def _changed(self, key: Any = ..., replaces: bool = True) -> None:
        """Note that `self[key]` was written, and nothing recorded; whether the old values do not matter any more."""
        memory = note_write(self._data)
        if memory.taped or (self._node is not None and type(self._node) is not Leaf):
            unrecorded_write(self, memory, key, replaces)

    def _receive(self, data: Any, node: Any) -> None:
        """Take the result of a call that was given this array as `out`."""
        if state.recording and (self._node is not None or node is not None):
            receive(self, data, node, "out=x")
            return
        if data is not self._data:
            numpy.copyto(self._data, data, casting="unsafe")
        self._changed()

    def _update(self, operator: Operator, other: Any) -> Any:
        """Compute `x = operator(x, other)` in place, for `+=` and its kin."""
        recorded = state.recording and (
            self._node is not None or (isinstance(other, Array) and other._node is not None)
        )
        if recorded:
            change = f"x {_SIGNS.get(operator.__name__, operator.__name__)}= y"
            require_writable(self, change)
        raw = other._data if isinstance(other, Array) else other
        if isinstance(raw, numpy.ndarray):
            direct = raw.dtype == self._data.dtype and raw.shape == self._data.shape
            direct = direct and (not isinstance(other, NDArray) or other.context == self.context)
        else:
            direct = isinstance(raw, (float, int)) and self._data.dtype.kind == "f"
        ufunc = operator.forward
        if ufunc is numpy.power and self._data.dtype.kind != "f":  # it may refuse when half is written
            direct = False
        if direct and not recorded and isinstance(ufunc, numpy.ufunc):
            try:
                ufunc(self._data, raw, out=self._data)
                is_done = True
            except TypeError:
                is_done = False  # quotients of integers, differences of booleans
            if is_done:
                self._changed(replaces=False)
                return self
        result = self._general(operator, self, other)
        if result is NotImplemented:
            return result
        if result.shape != self.shape:
            raise ShapeError(
                f"in-place {operator.__name__}: the result has shape {result.shape}, x has {self.shape}; "
                "an array cannot grow in place. Write x = x + y."
            )
        if self._data.dtype.kind == "b" != result._data.dtype.kind:
            raise DTypeError(
                f"in-place {operator.__name__}: the result has dtype {result._data.dtype}, which an array of "
                "booleans cannot hold. Write x = x + y, or convert x with astype() first."
            )
        if recorded:
            receive(self, result._data, result._node, change)
        else:
            numpy.copyto(self._data, result._data, casting="unsafe")
            self._changed(replaces=False)
        return self

    @staticmethod
    def _general(operator: Operator, x: Any, y: Any) -> Any:
        """Answer `x @ y` where not both are plain arrays of this class: scalars keep the array's dtype."""
        if isinstance(x, NDArray):
            if type(y) in NUMBERS:
                return _with_number(operator, x, y, True)
            y = operand(y, x)
        else:
            if type(x) in NUMBERS:
                return _with_number(operator, y, x, False)
            x = operand(x, y)
        if x is NotImplemented or y is NotImplemented:
            return NotImplemented
        return operator(x, y)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Self:
        return mathematics.negative(self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return mathematics.absolute(self)

    # -- shapes ----------------------------------------------------------------------------------------------------

    def reshape(self, *new_shape: Any, **options: Any) -> Self:
        """Return the same buffer in another shape: writing to it writes to this array.

        Parameters
        ----------
        new_shape : tuple of int, or ints
            0 copies an axis, -1 is inferred, -2 copies all remaining axes, -3 merges two, -4 splits one in two.
        reverse : bool
            Match the codes from the right.

        Raises
        ------
        ShapeError
            If the number of elements differs.
        """
        reverse = options.pop("reverse", False)
        target = options.pop("shape", None)
        if options:
            raise ArgumentError(f"reshape has no argument {next(iter(options))!r}; it takes shape and reverse.")
        if target is None:
            target = new_shape[0] if len(new_shape) == 1 and not isinstance(new_shape[0], int) else new_shape
        lengths = tuple(target)
        exact = lengths
        if {*map(type, lengths)} != {int} or min(lengths) <= 0 or math.prod(lengths) != self._data.size:
            if isinstance(target, str) or not all(isinstance(length, (int, numpy.integer)) for length in lengths):
                raise ArgumentError(f"reshape: the shape must be a tuple of int, got {describe(target)}.")
            exact = resolve_shape(self.shape, lengths, reverse)
        base = self._data.base
        data = self._data.reshape(exact)
        if data.base is not (self._data if base is None else base) and not numpy.may_share_memory(data, self._data):
            # It is not contiguous (as some operators leave their results), and NumPy has copied it.
            if not is_alone(self) or not self._data.flags.writeable:
                return reshape_exactly(self, shape=exact)
            self._data = data.reshape(self._data.shape)
        return view_of(self, data, reshape_exactly, {"shape": exact})

    def transpose(self, *axes: Any, **options: Any) -> Self:
        """Return the array with its axes permuted; reversed if none are given."""
        chosen = options.pop("axes", axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)
        if options:
            raise ArgumentError(f"transpose has no argument {next(iter(options))!r}; it takes axes.")
        return transpose(self, axes=tuple(chosen or ()))


def _with_number(operator: Operator, array: Any, number: Any, on_right: bool) -> Any:
    """Answer `x @ 2`, or `2 @ x`: the number takes the dtype of the array, or for integers MXNet's own operators do."""
    dtype = array._data.dtype
    if dtype.kind == "f" or operator.with_number is None:
        number = as_dtype_of(number, dtype)
        return operator(array, number) if on_right else operator(number, array)
    if isinstance(number, numpy.generic):
        number = number.item()
    form = operator.with_number[0 if on_right else 1]
    if array._node is not None:
        return form(array, scalar=number)
    return array._like(form.forward(array._data, scalar=number))  # there is nothing to record


_ALL = slice(None)
_SIGNS: dict[Any, str] = {
    "broadcast_add": "+", "broadcast_sub": "-", "broadcast_mul": "*", "broadcast_div": "/", "broadcast_mod": "%",
    "broadcast_power": "**", "floor_divide": "//", "_matmul": "@",
}  # fmt: skip


register_front_end("mxnet", NDArray)

# What MXNet's libraries and tests read in this module: numbers in files and of storage types, and Python's slice.
py_slice = slice
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {number: name for name, number in _STORAGE_TYPE_STR_TO_ID.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}


def __getattr__(name: str) -> Any:
    namespace: Any = sys.modules["minpy.ndarray"]  # in MXNet its functions are in this module
    if not name.startswith("_") and name in namespace.__all__:
        return getattr(namespace, name)
    return missing(__name__, "name", namespace.__all__)(name)
