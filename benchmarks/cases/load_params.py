"""Loading a `.params` file of 102 MB, the 161 arrays of ResNet-50, beside one `.npy` of the same bytes."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

STAGES = ((3, 64, 256), (4, 128, 512), (6, 256, 1024), (3, 512, 2048))  # units, inner channels, channels
VERSION_2 = 0xF993FAC9


def shapes() -> list[tuple[int, ...]]:
    """The shapes of ResNet-50's parameters: convolutions, and gamma and beta of their normalization."""
    found: list[tuple[int, ...]] = [(64, 3, 7, 7), (64,), (64,)]
    before = 64
    for units, inner, channels in STAGES:
        for unit in range(units):
            layers = [(inner, before, 1), (inner, inner, 3), (channels, inner, 1)]
            layers += [(channels, before, 1)] if unit == 0 else []
            for filters, depth, kernel in layers:
                found += [(filters, depth, kernel, kernel), (filters,), (filters,)]
            before = channels
    return [*found, (1000, before), (1000,)]


def inputs() -> tuple[Array, ...]:
    """All values of the file, one after the other."""
    return (np.random.RandomState(0).uniform(-1, 1, sum(map(np.prod, shapes()))).astype(np.float32),)


def expected(values: Array) -> tuple[Array, ...]:
    """What must be loaded: the values."""
    return (values,)


def file_of(values: Array) -> tuple[Path, Any]:
    """A file as MXNet writes it, and the folder that lives as long as it is needed."""
    folder = tempfile.TemporaryDirectory(prefix="minpy-benchmark-")
    path, all_shapes, place = Path(folder.name) / "net.params", shapes(), 0
    with open(path, "wb") as file:
        file.write(struct.pack("<QQQ", 0x112, 0, len(all_shapes)))
        for shape in all_shapes:
            file.write(struct.pack(f"<Iii{len(shape)}qiii", VERSION_2, 0, len(shape), *shape, 1, 0, 0))
            file.write(values[place : place + int(np.prod(shape))].tobytes())
            place += int(np.prod(shape))
        file.write(struct.pack("<Q", len(all_shapes)))
        for number in range(len(all_shapes)):
            name = f"arg:weight{number}".encode()
            file.write(struct.pack("<Q", len(name)) + name)
    return path, folder


case = Case(
    "loading the parameters of ResNet-50, 102 MB that the system holds in memory",
    inputs,
    expected,
    targets={"numpy": 1.5, "mxnet": 1.0},
    rtol=0,
    atol=0,
)


def loaded_by(library: Any, values: Array) -> Checked:
    path, folder = file_of(values)

    def step() -> Any:
        assert folder
        found = library.nd.load(str(path))
        library.nd.waitall()
        return found

    return step, lambda found: (np.concatenate([array.asnumpy().ravel() for array in found.values()]),)


@case.implementation("minpy")
def with_minpy(values: Array) -> Checked:
    import minpy as mx

    return loaded_by(mx, values)


@case.implementation("mxnet")
def with_mxnet(values: Array) -> Checked:
    import mxnet as mx

    return loaded_by(mx, values)


@case.implementation("numpy")
def with_numpy(values: Array) -> Checked:
    folder = tempfile.TemporaryDirectory(prefix="minpy-benchmark-")
    path = Path(folder.name) / "net.npy"
    np.save(path, values)

    def step() -> Array:
        assert folder
        return np.load(path)

    return step, lambda found: (found,)
