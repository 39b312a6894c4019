"""`mx.base`: errors, and the types and small functions that programs take from there.

The names of C's types are there for programs that import them; there is no C library behind them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy

from minpy.core.errors import (
    ArgumentError,
    InternalError,
    MissingPartError,
    MXNetError,
    NotImplementedForSymbol,
    describe,
    unsupported,
)
from minpy.namespaces import module_functions

__all__ = [
    "CachedOpHandle",
    "CudaKernelHandle",
    "CudaModuleHandle",
    "DLPackHandle",
    "DataIterCreatorHandle",
    "DataIterHandle",
    "ExecutorHandle",
    "FunctionHandle",
    "KVStoreHandle",
    "MXNetError",
    "NDArrayHandle",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "OpHandle",
    "ProfileHandle",
    "RecordIOHandle",
    "RtcHandle",
    "SymbolHandle",
    "basestring",
    "build_param_doc",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
    "check_call",
    "classproperty",
    "data_dir",
    "data_dir_default",
    "error_types",
    "integer_types",
    "long",
    "mx_float",
    "mx_int",
    "mx_int64",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "register_error",
    "string_types",
    "with_metaclass",
]
__dir__, __getattr__ = module_functions(__name__, __all__)

# What Python 2 told apart.
long = int
basestring = str
string_types = (str,)
integer_types = (int, numpy.int32, numpy.int64)
numeric_types = (float, int, numpy.generic)

# The dtype of arrays for which none is given.
mx_real_t = numpy.float32

# An attribute that is left out.
_Null = None

mx_uint = ctypes.c_uint
mx_int = ctypes.c_int
mx_int64 = ctypes.c_int64
mx_float = ctypes.c_float
mx_float_p = ctypes.POINTER(ctypes.c_float)

# What pointers into MXNet's library are to ctypes: programs cast to them where they hand arrays to C.
CachedOpHandle = CudaKernelHandle = CudaModuleHandle = DLPackHandle = DataIterCreatorHandle = ctypes.c_void_p
DataIterHandle = ExecutorHandle = FunctionHandle = KVStoreHandle = NDArrayHandle = OpHandle = ctypes.c_void_p
ProfileHandle = RecordIOHandle = RtcHandle = SymbolHandle = ctypes.c_void_p

_C = TypeVar("_C", bound=type)


class NotSupportedForSparseNDArray(MXNetError):
    """A function of dense arrays that was called on a sparse one.

    Parameters
    ----------
    function : callable
    alias : str or None
        What it is called as an operator.
    *args
        What it was called with.
    """

    def __init__(self, function: Callable[..., Any], alias: str | None, *args: Any) -> None:
        super().__init__(unsupported(function, alias, args, "sparse arrays"))


# -- errors by name ------------------------------------------------------------------------------------------------

# The classes of errors that texts may begin with.
error_types: dict[str, type[BaseException]] = {
    "InternalError": InternalError,
    "NotImplementedForSymbol": NotImplementedForSymbol,
    "ValueError": ValueError,
    "TypeError": TypeError,
    "AttributeError": AttributeError,
    "IndexError": IndexError,
    "NotImplementedError": NotImplementedError,
}


def register_error(func_name: str | _C | None = None, cls: _C | None = None) -> Any:
    """Make a class of errors known by its name, in `error_types`; usable as a decorator, with or without a name.

    Parameters
    ----------
    func_name : str or type, optional
        The name; by default that of the class.
    cls : type, optional

    Returns
    -------
    type or callable
        The class, or a decorator if none is given.

    Raises
    ------
    ArgumentError
        If what is registered is no class of exceptions.

    Examples
    --------
    >>> from minpy.base import MXNetError, error_types, register_error
    >>> @register_error
    ... class ExampleError(MXNetError):
    ...     pass
    >>> error_types['ExampleError'] is ExampleError
    True
    """
    if isinstance(func_name, type):
        cls, func_name = func_name, func_name.__name__
    name = func_name

    def register(error_class: _C) -> _C:
        if not (isinstance(error_class, type) and issubclass(error_class, BaseException)):
            raise ArgumentError(f"register_error: expected a class of exceptions, got {describe(error_class)}.")
        error_types[name if isinstance(name, str) else error_class.__name__] = error_class
        return error_class

    return register if cls is None else register(cls)


def check_call(ret: int) -> None:
    """Raise if what a function of MXNet's C library returned says that it has failed.

    Raises
    ------
    MXNetError
        If `ret` is not 0. There is no such library here, so nothing is known of the reason.
    """
    if ret != 0:
        raise MXNetError(f"check_call: a C function returned {ret}; there is no C library of MXNet here.")


# -- text, lists, C's arrays ---------------------------------------------------------------------------------------


def py_str(x: bytes) -> str:
    """Return bytes of UTF-8, as C functions give them, as a string.

    Examples
    --------
    >>> py_str(b'data')
    'data'
    """
    return x.decode("utf-8")


def c_str(string: str) -> ctypes.c_char_p:
    """Return a string as ctypes hands it to C: UTF-8 that ends in a zero.

    Examples
    --------
    >>> c_str('data').value
    b'data'
    """
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> Any:
    """Return strings as an array of C's.

    Examples
    --------
    >>> c_str_array(['a', 'b'])[1]
    b'b'
    """
    return (ctypes.c_char_p * len(strings))(*(string.encode("utf-8") for string in strings))


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """Return an array of C's, of a type of ctypes, with these values.

    Examples
    --------
    >>> list(c_array(mx_uint, [1, 2]))
    [1, 2]
    """
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """Return an array of C's, of a type of ctypes, that shares memory with a writable buffer such as `array.array`.

    Examples
    --------
    >>> import array
    >>> numbers = array.array('I', [1, 2])
    >>> c_array_buf(mx_uint, numbers)[0] = 5
    >>> numbers[0]
    5
    """
    return (ctype * len(buf)).from_buffer(buf)


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """Return a list or tuple as it is, anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def build_param_doc(
    arg_names: Iterable[str], arg_types: Iterable[str], arg_descs: Iterable[str], remove_dup: bool = True
) -> str:
    """Return the section of a docstring that describes parameters.

    Parameters
    ----------
    arg_names, arg_types, arg_descs : iterable of str
        One for each parameter.
    remove_dup : bool
        Whether to describe a name that is there twice only once.

    Returns
    -------
    str

    Examples
    --------
    >>> print(build_param_doc(['axis'], ['int'], ['Along which to add up.']))
    Parameters
    ----------
    axis : int
        Along which to add up.
    <BLANKLINE>
    """
    lines = ["Parameters", "----------"]
    seen: set[str] = set()
    for name, kind, text in zip(arg_names, arg_types, arg_descs, strict=True):
        if remove_dup and name in seen:
            continue
        seen.add(name)
        lines.append(f"{name} : {kind}")
        if text:
            lines.append(f"    {text}")
    return "\n".join([*lines, ""])


# -- classes -------------------------------------------------------------------------------------------------------


class classproperty:
    """A property of a class, by a function of it: a decorator.

    Parameters
    ----------
    fget : callable
        `fget(cls)` returns the value.

    Examples
    --------
    >>> class Layer:
    ...     @classproperty
    ...     def kind(cls):
    ...         return cls.__name__.lower()
    >>> Layer.kind
    'layer'
    """

    def __init__(self, fget: Callable[[Any], Any]) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.fget(owner if owner is not None else type(instance))


def with_metaclass(meta: Any, *bases: type) -> type:
    """Return a base that gives classes made from it this metaclass, and these bases.

    Examples
    --------
    >>> class Meta(type):
    ...     pass
    >>> class Layer(with_metaclass(Meta, dict)):
    ...     pass
    >>> type(Layer).__name__, Layer.__bases__
    ('Meta', (<class 'dict'>,))
    """

    class Replacing(type):
        def __new__(cls, name: str, _: Any, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

        @classmethod
        def __prepare__(cls, name: str, _: Any, /, **keywords: Any) -> Any:
            return meta.__prepare__(name, bases)

    return type.__new__(Replacing, "Replaced", (), {})


# -- folders -------------------------------------------------------------------------------------------------------


def data_dir_default() -> str:
    """Return where MXNet keeps what it downloads, unless `MXNET_HOME` says otherwise.

    Returns
    -------
    str
    """
    if os.name == "nt":
        return os.path.join(os.environ.get("APPDATA", os.path.expanduser("~")), "mxnet")
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """Return where what is downloaded is kept: the folder that the environment variable `MXNET_HOME` names.

    Returns
    -------
    str

    Examples
    --------
    >>> import os
    >>> os.environ['MXNET_HOME'] = 'models'
    >>> data_dir()
    'models'
    >>> del os.environ['MXNET_HOME']
    """
    return os.environ.get("MXNET_HOME", data_dir_default())


class _NoLibrary:
    """In place of MXNet's C library: scripts import it, MXNet's own examples among them, and few call it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingPartError(
            f"mx.base._LIB.{name} is of MXNet's C library, which there is none of here: operators are NumPy functions. "
            "Look for the function of minpy that does what is called of it."
        )


_LIB = _NoLibrary()
