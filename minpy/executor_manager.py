"""`mx.executor_manager`: executors on several devices, each with its part of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from minpy.core.errors import ArgumentValueError
from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.executor_manager", "name", __all__)


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Return the part of a batch that each device gets, in proportion to its load.

    Parameters
    ----------
    batch_size : int
    work_load_list : list of number

    Returns
    -------
    list of slice

    Raises
    ------
    ArgumentValueError
        If a device would get nothing.
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    if sum(counts) < batch_size:
        counts[-1] += batch_size - sum(counts)
    slices = []
    end = 0
    for count in counts:
        begin, end = min(end, batch_size), int(min(end + count, batch_size))
        if begin >= end:
            raise ArgumentValueError(
                f"a batch of {batch_size} cannot be split over {len(work_load_list)} devices with loads "
                f"{list(work_load_list)}: some would get nothing. Use a larger batch, or fewer contexts."
            )
        slices.append(slice(begin, end))
    return slices
