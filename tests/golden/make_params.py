"""Writes `params/*.params`: files of arrays as MXNet 1.9.1 writes them, or, for the older versions, reads them.

Run under MXNet 1.9.1, not under the library itself. ``FILES`` needs NumPy only: the tests take their values from it.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

PARAMS = Path(__file__).resolve().parent / "params"
DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the values of every golden array of a dtype and shape: small, some negative, some no integers."""
    plain = (np.arange(np.prod(shape, dtype=int)) * 0.75 - 1).reshape(shape)
    return (plain > 0 if dtype == "bool" else np.abs(plain) if dtype == "uint8" else plain).astype(dtype)


# File: its arrays, under their names in a dict, and whether it is written under np_shape.
FILES: dict[str, tuple[Any, bool]] = {
    "empty": ([], False),
    "single": (values("float32", (2, 3)), False),
    "list": ([values("float32", (3,)), values("int64", (2, 1, 2))], False),
    "dtypes": ({dtype: values(dtype, (2, 3)) for dtype in DTYPES}, False),
    "names": (
        {"arg:b": values("float32", (1,)), "aux:größe": values("float64", (2,)), "": values("int8", (1,))},
        False,
    ),
    "np_shape": (
        {
            "scalar": values("float32", ()),
            "empty": values("float64", (0, 3)),
            "plain": values("float16", (2, 2)),
            **{f"scalar_{dtype}": values(dtype, ()) for dtype in ("float16", "int64", "bool")},
        },
        True,
    ),
}
# The versions that MXNet 1.9.1 reads, but no longer writes.
OLDER: dict[str, list[np.ndarray]] = {
    "version_1": [values("float32", (2, 3)), values("uint8", (4,))],
    "version_0": [values("float32", (2, 3)), values("int32", (4,)), values("float16", (1, 1, 2))],
}
SPARSE = ("csr", "row_sparse")


def older_file(name: str) -> bytes:
    """Returns the content of a file of version 1, or of none."""
    content = struct.pack("<QQQ", 0x112, 0, len(OLDER[name]))
    for array in OLDER[name]:
        if name == "version_1":
            content += struct.pack(f"<Ii{array.ndim}q", 0xF993FAC8, array.ndim, *array.shape)
        else:
            content += struct.pack(f"<I{array.ndim}I", array.ndim, *array.shape)
        content += struct.pack("<iii", 1, 0, DTYPES.index(array.dtype.name)) + array.tobytes()
    return content + struct.pack("<Q", 0)


def main() -> None:
    """Makes the golden files."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    PARAMS.mkdir(exist_ok=True)

    def convert(data: Any) -> Any:
        if isinstance(data, dict):
            return {name: convert(array) for name, array in data.items()}
        if isinstance(data, list):
            return [convert(array) for array in data]
        return mx.nd.array(data.reshape(-1), dtype=data.dtype).reshape(data.shape)

    for name, (data, np_shape) in FILES.items():
        with mx.util.np_shape(np_shape):
            mx.nd.save(str(PARAMS / f"{name}.params"), convert(data))
    for name, arrays in OLDER.items():
        path = PARAMS / f"{name}.params"
        path.write_bytes(older_file(name))
        for got, expected in zip(mx.nd.load(str(path)), arrays, strict=True):
            if got.dtype != expected.dtype or not np.array_equal(got.asnumpy(), expected):
                raise SystemExit(f"{name}: MXNet reads {got}, expected {expected}")
    for kind in SPARSE:
        dense = mx.nd.array(values("float32", (3, 2)))
        mx.nd.save(str(PARAMS / f"{kind}.params"), {"dense": dense, "sparse": dense.tostype(kind)})
    total = sum(path.stat().st_size for path in PARAMS.iterdir())
    print(f"{len(list(PARAMS.iterdir()))} files, {total} bytes")


if __name__ == "__main__":
    main()
