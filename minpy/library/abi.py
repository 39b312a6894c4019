"""The binary interface of MXNet's extension libraries: symbols, their C signatures, versions, and enumerations.

Nothing of C++ crosses this interface. A library has 30 functions with C linkage; registration returns opaque pointers
to the functions that its author wrote, which are the first argument of the function that calls them.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from minpy.core.dtypes import LIBRARY_DTYPES

__all__ = [
    "CPU",
    "DTYPES",
    "DTYPE_NUMBERS",
    "MXNET_VERSION",
    "NEW_PARAMETER",
    "RANDOM_STATES",
    "SIGNATURES",
    "SPARSE_ALLOCATION",
    "UNKNOWN_DIMENSION",
    "UNKNOWN_TYPE",
    "VERSIONS",
    "WORKSPACE_ALLOCATION",
    "symbols_of",
]

# The supported results of `_opVersion`: those of MXNet 1.7, 1.8, and 1.9.
VERSIONS: Final = (7, 10, 11)
# The argument of `initialize`: MXNet 1.9.1.
MXNET_VERSION: Final = 10901

DTYPES: Final = LIBRARY_DTYPES
DTYPE_NUMBERS: Final = {dtype: number for number, dtype in enumerate(DTYPES)}
UNKNOWN_TYPE: Final = -1
UNKNOWN_DIMENSION: Final = 0xFFFFFFFF  # -1 as an unsigned number, in shape inference
CPU: Final = b"cpu"
RANDOM_STATES: Final = 1024  # random generators of a call on the CPU

_POINTER, _INT, _TEXT, _HANDLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p

# `void* (void* handle, int bytes)`
WORKSPACE_ALLOCATION: Final = ctypes.CFUNCTYPE(_POINTER, _HANDLE, _INT)
# `void (void* handle, int output, int indices, int indptr, void** data, int64_t** indices, int64_t** indptr)`
SPARSE_ALLOCATION: Final = ctypes.CFUNCTYPE(None, _HANDLE, _INT, _INT, _INT, _POINTER, _POINTER, _POINTER)
# `void (const void* handle, const int64_t* shape, int ndim, const char* device, int device_id, int dtype,
# const char* name, int is_argument, void** data)`
NEW_PARAMETER: Final = ctypes.CFUNCTYPE(None, _HANDLE, _POINTER, _INT, _TEXT, _INT, _INT, _TEXT, _INT, _POINTER)

_ATTRIBUTES = (_POINTER, _POINTER, _INT)  # keys, values, how many
_INFERENCE = (_POINTER, *_ATTRIBUTES, _POINTER, _INT, _POINTER, _INT)
# names, how many, data, shapes, dimensions, dtypes, versions, devices, device numbers
_PARAMETERS = (_POINTER, _INT, *(_POINTER,) * 7)
# Of inputs and of outputs: shapes, dimensions, data, dtypes, versions, devices, device numbers, how many; then two
# allocators with their handles, the CUDA stream, the allocator of sparse outputs and its handle; then storage types,
# indices and row starts, how many there are of these; then the generators of random numbers.
_TENSORS = (*(*(_POINTER,) * 7, _INT) * 2, *(_POINTER,) * 19)

# The result, and the arguments, of every function.
SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "_opVersion": (_INT, ()),
    "initialize": (_INT, (_INT,)),
    "_msgSize": (_INT, ()),
    "_msgGet": (None, (_INT, _POINTER)),
    "_opRegSize": (_INT, ()),
    # index, name, is subgraph; contexts, functions, how many: of forward, backward, and states; five functions
    "_opRegGet": (None, (_INT, *(_POINTER,) * 16)),
    "_opCallFree": (None, (_POINTER,)),
    "_opCallParseAttrs": (_INT, (_POINTER, *_ATTRIBUTES, _POINTER, _POINTER)),
    # shapes, dimensions, how many: of inputs; then where new ones of inputs and outputs are put; how many outputs
    "_opCallInferShape": (_INT, (_POINTER, *_ATTRIBUTES, _POINTER, _POINTER, _INT, *(_POINTER,) * 4, _INT)),
    "_opCallInferType": (_INT, _INFERENCE),
    "_opCallInferSType": (_INT, _INFERENCE),
    "_opCallMutateInputs": (_INT, (_POINTER, *_ATTRIBUTES, _POINTER, _POINTER)),
    "_opCallFCompute": (_INT, (_POINTER, *_ATTRIBUTES, *_TENSORS)),
    # device and its number; shapes, dimensions, how many, dtypes: of inputs; where the state is put
    "_opCallCreateOpState": (
        _INT,
        (_POINTER, *_ATTRIBUTES, _TEXT, _INT, _POINTER, _POINTER, _INT, _POINTER, _POINTER),
    ),
    "_opCallDestroyOpState": (None, (_POINTER,)),
    "_opCallFStatefulCompute": (_INT, (_INT, _POINTER, *_TENSORS)),
    "_partRegSize": (_INT, ()),
    "_partRegGetCount": (_INT, (_INT, _POINTER)),
    "_partRegGet": (None, (_INT, _INT, *(_POINTER,) * 5)),
    "_partCallSupportedOps": (_INT, (_POINTER, _TEXT, _INT, _POINTER, *_ATTRIBUTES)),
    "_partCallCreateSelector": (_INT, (_POINTER, _TEXT, _POINTER, *_ATTRIBUTES)),
    "_partCallSelect": (None, (_POINTER, _INT, _POINTER)),
    "_partCallSelectInput": (None, (_POINTER, _INT, _INT, _POINTER)),
    "_partCallSelectOutput": (None, (_POINTER, _INT, _INT, _POINTER)),
    "_partCallFilter": (None, (_POINTER, _POINTER, _INT, _POINTER, _POINTER)),
    "_partCallReset": (None, (_POINTER,)),
    # function, JSON, number, where acceptance is put, options, where attributes are put, arguments, states
    "_partCallReviewSubgraph": (
        _INT,
        (_POINTER, _TEXT, _INT, _POINTER, *_ATTRIBUTES, *(_POINTER,) * 3, *_PARAMETERS, *_PARAMETERS),
    ),
    "_passRegSize": (_INT, ()),
    "_passRegGet": (None, (_INT, _POINTER, _POINTER)),
    # function, JSON, where the new JSON is put, options, name, arguments, states, allocator of parameters, its handle
    "_passCallGraphPass": (
        _INT,
        (_POINTER, _TEXT, _POINTER, *_ATTRIBUTES, _TEXT, *_PARAMETERS, *_PARAMETERS, NEW_PARAMETER, _POINTER),
    ),
}

# The first version that has a symbol.
_SINCE = {"_msgSize": 8, "_msgGet": 8, "_opCallDestroyOpState": 11}
# Before version 10 a state was created from the attributes alone.
_SHORT_CREATION = (_INT, (_POINTER, *_ATTRIBUTES, _POINTER))


def symbols_of(version: int) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the result and the arguments of every function that a library of a version has to have.

    Examples
    --------
    >>> [len(symbols_of(version)) for version in VERSIONS]
    [27, 29, 30]
    >>> len(symbols_of(11)['_opCallFCompute'][1])
    39
    """
    symbols = {name: signature for name, signature in SIGNATURES.items() if _SINCE.get(name, 0) <= version}
    if version < 10:
        symbols["_opCallCreateOpState"] = _SHORT_CREATION
    return symbols
