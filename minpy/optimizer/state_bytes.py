"""States of optimizers as bytes: pickles as MXNet writes them, which both read.

Reading a pickle calls whatever it names. What is read here may name only what belongs into such states: arrays, the
optimizers and schedules that the program has defined, containers, and NumPy's scalars, dtypes and arrays. All else
is refused before anything of it is called, so that a file cannot run code. What is written has the names of MXNet's
classes.
"""

from __future__ import annotations

import builtins
import collections
import copyreg
import io
import pickle
import pickletools
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy

from minpy.context import Context, rebuild_context
from minpy.core.errors import ArgumentError, FileFormatError, MXNetError, PicklingError, describe
from minpy.lr_scheduler import LRScheduler
from minpy.ndarray import NDArray
from minpy.ndarray.saving import array_content
from minpy.numpy.array_class import ndarray
from minpy.optimizer.bounds import Budget, require_harmless_call
from minpy.optimizer.optimizer_base import Optimizer

__all__ = ["dump_states", "load_states"]

_PROTOCOL = 3  # the latest that names each class in one piece, as "module name"
_OWN = "minpy.optimizer."
_CONTRIB = ("GroupAdaGrad",)

_BUILTINS = """
bool bytearray bytes complex dict float frozenset int list object set slice str tuple
""".split()  # noqa: SIM905
_KINDS = "biufcSU"  # of dtypes: numbers and strings, of which each bit pattern is harmless
_LONGEST_RANGE = 1 << 20  # a single opcode could make a list of them all


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Return the bytes that protocols before the third write as text."""
    if encoding.replace("-", "") != "latin1":
        raise ValueError(f"bytes are written in latin1, not in {encoding!r}")
    return text.encode("latin1")


class _NumPyArray:
    """Stands for `numpy.ndarray`, which would take any memory for objects if it were called."""


def _empty(kind: Any, shape: Any = (0,), dtype: Any = b"b") -> numpy.ndarray:
    """Return an empty array, whose state is set next."""
    if kind is not _NumPyArray:
        raise ValueError(f"arrays are numpy.ndarray, not {describe(kind)}")
    return numpy.empty(0, "b")


def _dtype(code: Any, align: bool = False, copy: bool = False) -> numpy.dtype:
    """Return a dtype of numbers or strings: memory read as objects could run code."""
    dtype = numpy.dtype(code if isinstance(code, (str, type)) else str(code))
    if dtype.kind not in _KINDS:
        raise ValueError(f"arrays are of numbers or strings, not of dtype {dtype}")
    return numpy.dtype(dtype, align, copy)


def _range(*bounds: int) -> range:
    """Return a range that may be listed."""
    numbers = range(*bounds)
    if len(numbers) > _LONGEST_RANGE:
        raise ValueError(f"{numbers} is too long")
    return numbers


_array = numpy.zeros(1)
_ALLOWED: dict[tuple[str, str], Any] = {
    **{("builtins", name): getattr(builtins, name) for name in _BUILTINS},
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "deque"): collections.deque,
    ("copyreg", "_reconstructor"): copyreg._reconstructor,  # type: ignore[attr-defined]
    ("_codecs", "encode"): _latin1,
    ("builtins", "range"): _range,
    ("numpy", "dtype"): _dtype,
    ("numpy", "ndarray"): _NumPyArray,
    ("numpy.multiarray", "scalar"): _array[0].__reduce__()[0],
    ("numpy.multiarray", "_reconstruct"): _empty,
    ("numpy.numeric", "_frombuffer"): _array.__reduce_ex__(5)[0],
    ("minpy.context", "Context"): Context,
    ("minpy.context", "rebuild_context"): rebuild_context,
    ("minpy.ndarray.ndarray", "NDArray"): NDArray,
    ("minpy.numpy.multiarray", "ndarray"): ndarray,
    ("minpy.lr_scheduler", "LRScheduler"): LRScheduler,
}
_PLAIN_FUNCTIONS = {_latin1, *(value for value in _ALLOWED.values() if isinstance(value, type(_latin1)))}


def load_states(content: bytes | bytearray | memoryview) -> Any:
    """Return what a pickle of states holds.

    Examples
    --------
    >>> from minpy.optimizer.state_bytes import load_states
    >>> load_states(b"cos\\nsystem\\n(S'ls'\\ntR.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.FileFormatError: optimizer states: they name os.system, ...
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ArgumentError(
            f"optimizer states: got {describe(content)}; expected bytes, as Updater.get_states returns them. Of a "
            "file, give what file.read() returns once it is opened in mode 'rb'."
        )
    try:
        return _Reader(content).load()
    except MXNetError:
        raise
    except Exception as error:
        ended = isinstance(error, (EOFError, IndexError))  # of the bytes, or of what they have put on the stack
        reason = "pickle data was truncated" if ended else _short(str(error) or type(error).__name__)
        raise FileFormatError(
            f"optimizer states: {len(content)} bytes that cannot be read as a pickle: {reason}. "
            "The file is damaged, or is none that Updater.get_states or Trainer.save_states has written; parameters "
            "are loaded with nd.load."
        ) from error


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def dump_states(states: Any) -> bytes:
    """Return a pickle of states that MXNet reads, too.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.optimizer.state_bytes import dump_states, load_states
    >>> load_states(dump_states({0: (mx.nd.ones(2), None)}))[0][0].asnumpy()
    array([1., 1.], dtype=float32)
    """
    stream = io.BytesIO()
    try:
        _Writer(stream, _PROTOCOL).dump(states)
    except MXNetError:
        raise
    except Exception as error:
        raise PicklingError(
            f"optimizer states: they cannot be pickled: {error}. States are arrays, numbers and containers of them; "
            "an optimizer and its schedule are instances of classes that stand at the top of a module."
        ) from error
    return _with_names_of_mxnet(stream.getvalue())


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Return how an array, or a context, is written; for other values leave that to Python."""
        if isinstance(value, NDArray):
            return NDArray if value._keeps_dtype else ndarray, (None,), {"handle": bytearray(array_content(value))}
        if isinstance(value, Context):
            return Context, (value.device_type, value.device_id)
        return NotImplemented


def _with_names_of_mxnet(content: bytes) -> bytes:
    """Return a pickle with the names of MXNet's classes in the place of those of ours."""
    pieces, start = [], 0
    for opcode, argument, position in pickletools.genops(content):
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            pieces += [content[start:position], f"c{_module_in_mxnet(module, name)}\n{name}\n".encode()]
            assert position is not None
            start = position + len(f"c{module}\n{name}\n".encode())
    return b"".join([*pieces, content[start:]])


def _module_in_mxnet(module: str, name: str) -> str:
    if module == ndarray.__module__ and name == ndarray.__qualname__:
        return "mxnet.numpy.multiarray"
    if module.startswith(_OWN):
        return "mxnet.optimizer." + ("contrib" if name in _CONTRIB else "optimizer")
    if module in ("minpy.ndarray.ndarray", "minpy.lr_scheduler", "minpy.context"):
        return module.replace("minpy", "mxnet", 1)
    return module.replace("numpy._core.", "numpy.core.", 1)  # which NumPy 1 and 2 both have


def _counting(opcode: bytes, counted: slice) -> Callable[[Any], None]:
    """Return a loader of an opcode that first counts the part of the stack that it stores."""
    read = pickle._Unpickler.dispatch[opcode[0]]

    def load(reader: Any) -> None:
        reader._budget.spend(reader.stack[counted])
        read(reader)

    return load


def _calling(opcode: bytes, size: int) -> Callable[[Any], None]:
    """Return a loader of an opcode that calls: it first checks the call, the top `size` entries of the stack."""
    read = pickle._Unpickler.dispatch[opcode[0]]

    def load(reader: Any) -> None:
        function, arguments, *keywords = reader.stack[-size:]
        reader._require_call(function, (*arguments, *(value for named in keywords for value in named.values())))
        read(reader)

    return load


class _Reader(pickle._Unpickler):
    """Reads pickles opcode by opcode: the reader written in C has no hook before `BUILD`."""

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: _calling(pickle.REDUCE, 2),
        pickle.NEWOBJ[0]: _calling(pickle.NEWOBJ, 2),
        pickle.NEWOBJ_EX[0]: _calling(pickle.NEWOBJ_EX, 3),
        pickle.SETITEM[0]: _counting(pickle.SETITEM, slice(-2, -1)),
        pickle.SETITEMS[0]: _counting(pickle.SETITEMS, slice(None, None, 2)),
        pickle.ADDITEMS[0]: _counting(pickle.ADDITEMS, slice(None)),
        pickle.FROZENSET[0]: _counting(pickle.FROZENSET, slice(None)),
    }

    def __init__(self, content: bytes | bytearray | memoryview) -> None:
        self._file = io.BytesIO(content)
        self._bytes = self._file.getbuffer().nbytes
        self._budget = Budget(self._bytes)
        super().__init__(self._file, encoding="latin1")

    def load(self) -> Any:
        """Return what the pickle holds: a tree that can be walked."""
        states = super().load()
        self._budget.spend_whole(states)
        return states

    def _instantiate(self, cls: Any, arguments: Any) -> None:
        self._require_call(cls, arguments)
        super()._instantiate(cls, arguments)  # type: ignore[misc]

    def _require_call(self, function: Any, arguments: Any) -> None:
        self._budget.spend(arguments)
        require_harmless_call(function, arguments)

    def load_bytearray8(self) -> None:
        """Read bytes, having checked that they are there before memory is allocated."""
        (length,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        if length > self._bytes:
            raise EOFError
        self.append(bytearray(self.read(length)))  # type: ignore[attr-defined]

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def load_build(self) -> None:
        """Set the state of an object that the pickle has made: no class, and no dtype to another meaning."""
        target, new_state = self.stack[-2:]  # type: ignore[attr-defined]
        self._budget.spend([new_state])
        if isinstance(target, (type, partial)):
            raise pickle.UnpicklingError(f"it changes {describe(target)}")
        if isinstance(target, numpy.dtype):
            meaning = target.__reduce__()[2]
            if not isinstance(new_state, tuple) or (new_state[0], *new_state[2:]) != (meaning[0], *meaning[2:]):
                raise pickle.UnpicklingError(f"it changes what the dtype {target} means")
        super().load_build()  # type: ignore[misc]

    dispatch[pickle.BUILD[0]] = load_build

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names, if it belongs there."""
        real = {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
        if real.startswith("mxnet."):
            real = "minpy." + real.removeprefix("mxnet.")
        for inner in ("numpy.core.", "numpy._core."):
            real = real.replace(inner, "numpy.") if real.startswith(inner) else real
        allowed = _ALLOWED.get((real, name))
        if allowed is None and real == "numpy" and isinstance(getattr(numpy, name, None), type):
            scalar = getattr(numpy, name)
            harmless = issubclass(scalar, numpy.generic) and not issubclass(scalar, (numpy.void, numpy.object_))
            allowed = scalar if harmless else None
        if allowed is None:
            allowed = next((cls for cls in _defined() if _is_named(cls, real, name)), None)
        if allowed is None:
            raise FileFormatError(
                f"optimizer states: they name {module}.{name}, which is none of the classes that belong there: arrays, "
                "optimizers, learning-rate schedules, containers and NumPy's scalars. Nothing of it was run. If it is "
                "an optimizer or a schedule of yours, define it before you load them, derived from "
                "mx.optimizer.Optimizer or mx.lr_scheduler.LRScheduler; if you do not know where the file comes from, "
                "do not use it."
            )
        # A function could be given attributes by what is read; an object around it, made for this, may be.
        return partial(allowed) if allowed in _PLAIN_FUNCTIONS else allowed


def _is_named(cls: type, module: str, name: str) -> bool:
    if cls.__qualname__ != name:
        return False
    ours = cls.__module__.startswith(_OWN) and f"{module}.".startswith(_OWN)
    return ours or cls.__module__ == module


def _defined(bases: tuple[type, ...] = (Optimizer, LRScheduler)) -> Iterator[type]:
    """Yield the classes of optimizers and schedules that there are; of equal names the latest first."""
    for base in bases:
        yield from _defined(tuple(reversed(base.__subclasses__())))
        yield base
