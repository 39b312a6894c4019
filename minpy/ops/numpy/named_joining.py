"""NumPy's functions that join and split arrays, under MXNet's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.inference.rule_parts import numbered
from minpy.ops.numpy.named import named

__all__ = ["cuts"]


@named("_npi_concatenate")
def npi_concatenate(*data: Any, axis: int | None = 0) -> Any:
    """Return arrays joined along an axis; flattened, if that is None."""
    return np.concatenate(list(data), axis=axis)


@named("_npi_stack")
def npi_stack(*data: Any, axis: int = 0) -> Any:
    """Return arrays of one shape joined along a new axis."""
    return np.stack(list(data), axis=axis)


@named("_npi_vstack")
def npi_vstack(*data: Any) -> Any:
    """Return arrays as rows, one below the other."""
    return np.vstack(list(data))


@named("_npi_hstack")
def npi_hstack(*data: Any) -> Any:
    """Return arrays one beside the other."""
    return np.hstack(list(data))


@named("_npi_dstack")
def npi_dstack(*data: Any) -> Any:
    """Return arrays one behind the other."""
    return np.dstack(list(data))


@named("_npi_column_stack")
def npi_column_stack(*data: Any) -> Any:
    """Return arrays as columns."""
    return np.column_stack(list(data))


def cuts(indices: Any, sections: int) -> Any:
    """Return where an array is split, as NumPy takes it: files begin the positions with 0."""
    return int(sections) if sections else [int(index) for index in indices][1:]


def _parts(attributes: dict[str, Any]) -> list[str]:
    sections = int(attributes.get("sections", 0))
    return list(numbered(sections or len(attributes.get("indices", ()))))


@named("_npi_hsplit", outputs=_parts)
def npi_hsplit(
    data: Any, *, indices: tuple[int, ...] = (), axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> Any:
    """Return parts of an array, one beside the other."""
    return tuple(np.split(data, cuts(indices, sections), axis=0 if np.ndim(data) == 1 else 1))


@named("_npi_dsplit", outputs=_parts)
def npi_dsplit(
    data: Any, *, indices: tuple[int, ...] = (), axis: int = 2, squeeze_axis: bool = False, sections: int = 0
) -> Any:
    """Return parts of an array, one behind the other."""
    return tuple(np.split(data, cuts(indices, sections), axis=2))


def _atleast(count: int) -> None:
    def outputs(attributes: dict[str, Any]) -> list[str]:
        number = int(attributes.get("num_args", 1))
        return ["output"] if number == 1 else list(numbered(number))

    def at_least(*arys: Any, num_args: int = 1) -> Any:
        results = [_with_axes(array, count) for array in arys]
        return results[0] if len(results) == 1 else tuple(results)

    at_least.__doc__ = f"Return arrays with {count} axes at least."
    named(f"_np_atleast_{count}d", outputs=outputs, dtype=lambda *dtypes, **_: [*dtypes])(at_least)


def _with_axes(array: Any, count: int) -> Any:
    shape = np.shape(array)
    if len(shape) >= count:
        return np.reshape(array, shape)
    if count == 1:
        return np.reshape(array, (1,))
    if count == 2:
        return np.reshape(array, (1, *(shape or (1,))))
    return np.reshape(array, (1, *shape, 1) if len(shape) == 1 else (*shape, 1) if shape else (1, 1, 1))


for _count in (1, 2, 3):
    _atleast(_count)
