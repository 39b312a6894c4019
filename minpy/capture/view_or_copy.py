"""What is a view of what: told from the function that makes it, and, where strides decide, from those that are known.

A view by `reshape` or `ravel` is one or a copy, as the strides of the array are. They follow from the function's own
steps, and from arguments whose elements lie in the order of C; a capture that writes depends on that then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture import steps
from minpy.capture.recorder import Recorder
from minpy.capture.values import BaseArrayProxy, ViewStep
from minpy.core.operator import Operator
from minpy.numpy_table.table import functions

__all__ = ["called_on", "in_container", "note_order", "viewed"]

# What gives a view of any array, whatever its strides.
_CERTAIN = {
    numpy.imag,  # of real numbers it is none, and may not be written to
    *(function for function, row in functions() if row.view == "always"),
}


def note_order(arrays: Sequence[BaseArrayProxy], results: Sequence[BaseArrayProxy]) -> None:
    """Note of new arrays that their elements lie in the order of C, if those of all arrays that they are made of do."""
    assumed: frozenset[int] = frozenset()
    for array in arrays:
        if array.ndim > 1:
            if array.chain or array.storage.contiguous is None:
                return
            assumed |= array.storage.contiguous
    for result in results:
        if result.storage.contiguous is None:
            result.storage.contiguous = assumed


def viewed(
    recorder: Recorder,
    function: Any,
    spec: Any,
    arrays: Sequence[BaseArrayProxy],
    result: Any,
    owners: Sequence[int | None],
) -> Any:
    """Return the result of a call, or several in a tuple or list, as views of what they are views of.

    `spec`: the arguments of the call, with slots in the place of the arrays. `result`: of the call, each in a storage
    of its own, so far. `owners`: of each, the position of the array that it may be a view of.
    """
    is_certain = function in _CERTAIN or getattr(function, "is_view_of_any", False)

    def view(output: Any, index: int, owner: int | None) -> Any:
        if owner is None or not isinstance(output, BaseArrayProxy) or output.scalar or arrays[owner].scalar:
            return output
        base = arrays[owner]
        fixed = [recorder.proxy_class(recorder, each.value, each.fact, None, each.known) for each in arrays]
        positional, keywords = steps.fill(spec, [*fixed[:owner], steps.Slot(0), *fixed[owner + 1 :]])
        step = ViewStep(function, positional, keywords, index, output.fact, is_certain)
        storage = base.storage
        if isinstance(function, Operator) and not recorder.writes:  # nothing will be written to: no need to run it
            step = step._replace(is_certain=None)
        elif not is_certain:
            are_views, is_writable = _kinds_of_memory(base, step)
            if all(are_views):
                step = step._replace(is_certain=True)
            elif not any(are_views):
                if is_writable:
                    return output
                step = step._replace(is_certain=None)
            elif storage.contiguous is not None:
                output.storage.assumed |= storage.contiguous
                storage.assumed |= storage.contiguous
                if not are_views[0]:
                    return output
        return recorder.proxy_class(
            recorder, output.value, output.fact, storage, output.known, (*base.chain, step), base.front
        )

    if isinstance(result, (tuple, list)):
        return in_container(type(result), [view(output, at, owners[at]) for at, output in enumerate(result)])
    return view(result, 0, owners[0])


def in_container(kind: Any, values: Sequence[Any]) -> Any:
    """Return several results in a list, a tuple, or a named tuple: in a class."""
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def _kinds_of_memory(base: BaseArrayProxy, step: ViewStep) -> tuple[list[bool], bool]:
    """Tell whether a step gives a view if the storage lies in the order of C, with gaps, and in that of Fortran.

    And whether NumPy lets what it gives be written to.
    """
    shape, dtype = base.storage.fact.shape, base.storage.fact.dtype
    with_gaps = numpy.empty(tuple(length + 1 for length in shape), dtype)
    samples = (
        numpy.empty(shape, dtype),
        with_gaps[tuple(slice(length) for length in shape)],
        numpy.empty(shape, dtype, order="F"),
    )
    is_view = []
    for sample in samples:
        part: Any = sample
        with numpy.errstate(all="ignore"):
            for view_step in (*base.chain, step):
                part = called_on(view_step, part)
        is_view.append(numpy.may_share_memory(part, sample))
    return is_view, not isinstance(part, numpy.ndarray) or part.flags.writeable


def called_on(step: ViewStep, sample: numpy.ndarray) -> Any:
    """Return what a step gives for an array of no particular elements."""

    def plain(value: Any) -> Any:
        if isinstance(value, BaseArrayProxy):
            return numpy.zeros(value.shape, value.dtype)[()] if value.known is None else value.known
        if isinstance(value, (list, tuple)):
            return type(value)(map(plain, value))
        return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else value

    arguments, keywords = plain(steps.fill((step.arguments, step.keywords), [sample]))
    result = step.function(*arguments, **keywords)
    return result[step.index] if isinstance(result, (list, tuple)) else result
