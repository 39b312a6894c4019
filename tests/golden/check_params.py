"""Proves that MXNet 1.9.1 reads what minpy writes, bit for bit. In two steps, on demand:

``python tests/golden/check_params.py write FOLDER`` under minpy writes files, and their values beside them;
``python tests/golden/check_params.py read FOLDER`` under MXNet 1.9.1 loads the files and compares the values, then
saves the arrays itself and compares the bytes.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
SHAPES = ((1,), (7,), (3, 5), (2, 1, 4), (1, 1, 1, 1), (2, 3, 2, 1, 2), (1,) * 9, (300, 200))
NP_SHAPES = ((), (0,), (0, 3), (2, 0, 4))


def write(folder: Path) -> None:
    """Writes random arrays: files for each dtype and kind of shape, without and with names, and mixed ones."""
    import minpy as mx

    generator = np.random.default_rng(0)

    def draw(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        if dtype == "bool":
            return generator.integers(0, 2, shape).astype(bool)
        count = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        return np.frombuffer(generator.bytes(count), dtype).reshape(shape)  # NaNs and infinities too

    cases: dict[str, list[np.ndarray]] = {}
    for dtype in DTYPES:
        cases[f"legacy_{dtype}"] = [draw(dtype, shape) for shape in SHAPES]
        cases[f"np_{dtype}"] = [draw(dtype, shape) for shape in SHAPES + NP_SHAPES]
    for number in range(20):
        kind, shapes = ("np", SHAPES + NP_SHAPES) if number % 2 else ("legacy", SHAPES)
        picks = generator.integers(0, [len(DTYPES), len(shapes)], (10, 2))
        cases[f"{kind}_mixed{number}"] = [draw(DTYPES[i], shapes[j]) for i, j in picks]
        if kind == "np":
            cases[f"{kind}_mixed{number}"].append(draw("float32", ()))
    for name, raws in cases.items():
        arrays = [mx.nd.array(raw, dtype=raw.dtype) for raw in raws]
        np.savez(folder / f"{name}.npz", *raws)
        mx.nd.save(folder / f"{name}_list.params", arrays)
        mx.nd.save(folder / f"{name}_dict.params", {f"arg:größe_{i}": array for i, array in enumerate(arrays)})
    for name in ("empty_list", "empty_dict"):
        mx.nd.save(folder / f"legacy_{name}.params", [] if name == "empty_list" else {})
        np.savez(folder / "legacy_empty.npz")
    transposed = draw("float32", (4, 6))
    np.savez(folder / "legacy_view.npz", transposed[::2, 1:], transposed.T)
    array = mx.nd.array(transposed)
    mx.nd.save(folder / "legacy_view_list.params", [array[::2, 1:], array.T])
    print(f"wrote {len(list(folder.glob('*.params')))} files")


def read(folder: Path) -> None:
    """Loads all files under MXNet, and compares values and bytes."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"the reference is MXNet 1.9.1, this is {mx.__version__}")
    files = arrays = 0
    for path in sorted(folder.glob("*.params")):
        case = path.stem.rpartition("_")[0]
        with np.load(folder / f"{case}.npz") as archive:
            expected = [archive[f"arr_{i}"] for i in range(len(archive.files))]
        with mx.util.np_shape(path.stem.startswith("np_")):
            for loaded in (mx.nd.load(str(path)), mx.nd.load_frombuffer(path.read_bytes())):
                compare(path.name, loaded, expected)
            again = folder / "again.bin"
            mx.nd.save(str(again), loaded)
            if again.read_bytes() != path.read_bytes():
                raise SystemExit(f"{path.name}: MXNet writes other bytes")
        files += 1
        arrays += len(expected)
    mx.npx.set_np()
    for path in sorted(folder.glob("np_*.params")):
        with np.load(folder / f"{path.stem.rpartition('_')[0]}.npz") as archive:
            compare(path.name, mx.nd.load(str(path)), [archive[f"arr_{i}"] for i in range(len(archive.files))])
    print(f"MXNet reads {files} files with {arrays} arrays as minpy wrote them, and writes the same bytes")


def compare(name: str, loaded: Any, expected: list[np.ndarray]) -> None:
    """Ends the program if the arrays are not those expected."""
    if isinstance(loaded, dict):
        if list(loaded) != [f"arg:größe_{i}" for i in range(len(expected))]:
            raise SystemExit(f"{name}: names are {list(loaded)}")
        loaded = list(loaded.values())
    if len(loaded) != len(expected):
        raise SystemExit(f"{name}: {len(loaded)} arrays, expected {len(expected)}")
    for position, (array, raw) in enumerate(zip(loaded, expected, strict=True)):
        got = array.asnumpy()
        got = np.asarray(got, dtype=array.dtype)
        if (got.shape, got.dtype, got.tobytes()) != (raw.shape, raw.dtype, raw.tobytes()):
            raise SystemExit(f"{name}: array {position} is {got!r}, expected {raw!r}")


if __name__ == "__main__":
    commands = {"write": write, "read": read}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    commands[sys.argv[1]](target)
