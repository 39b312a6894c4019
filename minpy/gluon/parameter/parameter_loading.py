"""Parameters filled from the arrays of a file: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from minpy import ndarray as nd
from minpy.core.errors import MXNetError, ParametersError, nearest
from minpy.gluon.parameter.misfits import table_of
from minpy.gluon.parameter.parameter import Parameter

__all__ = ["Options", "filled", "read_file"]


def read_file(filename: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a file by name."""
    arrays = nd.load(filename)
    if isinstance(arrays, dict):
        return arrays
    if not arrays:
        return {}
    raise MXNetError(
        f"{os.fspath(filename)!r} holds {len(arrays)} array(s) without names; parameters are read by name. Load them "
        "with nd.load, and call set_data."
    )


class Options(NamedTuple):
    """How arrays are taken: see `Block.load_parameters`."""

    where: str  # what messages call the file
    ctx: Any  # where parameters that are not initialized get their values
    allow_missing: bool
    ignore_extra: bool
    cast_dtype: bool
    dtype_source: str
    # Whether nobody else has the arrays, as they were just read: parameters without values take them as they are.
    owned: bool = False


def filled(
    parameters: Mapping[str, Parameter], arrays: Mapping[str, Any], options: Options, present: Container[str]
) -> None:
    """Give parameters the arrays of their names: all of them, or none if something does not fit.

    Parameters are by their names in the file; names that are `present` do not count as missing.
    """
    where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source, owned = options
    missing = [] if allow_missing else [name for name in parameters if name not in present]
    extra = [] if ignore_extra else [name for name in arrays if name not in parameters]
    shared_arrays = {name: array for name, array in arrays.items() if name in parameters}
    misfits: dict[str, MXNetError] = {}
    for name, array in shared_arrays.items():
        try:
            parameters[name]._check_load(array, ctx, cast_dtype, dtype_source, where)
        except MXNetError as error:
            misfits[name] = error
    problem: MXNetError | None = None
    if missing:
        problem = ParametersError(
            f"{len(missing)} parameter(s) are missing in the {where}: {_listed(missing)}. It has {_listed(arrays)}."
            f"{nearest(missing[0], arrays)} Give allow_missing=True to leave them as they are."
        )
    elif extra:
        problem = ParametersError(
            f"The {where} has {len(extra)} name(s) that the block has not: {_listed(extra)}. The block has "
            f"{_listed(parameters)}.{nearest(extra[0], parameters)} Give ignore_extra=True to leave them out."
        )
    elif misfits:
        problem = next(iter(misfits.values()))
    if problem is not None:
        if len(misfits) > 1 or bool(missing) + bool(extra) + bool(misfits) > 1:
            problem = type(problem)(f"{problem}\n{table_of(parameters, arrays, missing, extra, misfits)}")
        raise problem
    for name, array in shared_arrays.items():
        parameters[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source, owned=owned)


def _listed(names: Any) -> str:
    shown = [repr(name) for name in names]
    if not shown:
        return "none"
    return ", ".join(shown) if len(shown) <= 8 else f"{', '.join(shown[:7])} and {len(shown) - 7} more"
