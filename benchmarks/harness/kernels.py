"""The native code of an executor alone: its calls, with the arrays that the executor gives them."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from harness.case import Step

__all__ = ["calls_alone"]


def calls_alone(step: Step) -> Callable[[], None]:
    """Return what calls the native code that a step of `bound_gradients` calls, in its order, and nothing around it.

    The arrays of the executor hold its results afterwards. RuntimeError where the step is not native code.
    """
    executor: Any = step.executor  # type: ignore[attr-defined]
    for _ in range(4):
        step()
    native = executor._frame._context.bound
    if executor._frame.program.executable("native") is None:
        raise RuntimeError(f"the executor runs Python: {executor._frame.program.why_fallback()}")
    calls: list[tuple[Any, ...]] = []
    cells = [cell for part in (native.forward, native.backward) for cell in part.__closure__]
    replaced = [(cell, cell.cell_contents) for cell in cells if isinstance(cell.cell_contents, BuiltinFunctionType)]
    replaced = [(cell, function) for cell, function in replaced if function.__name__.startswith("launch")]
    for cell, function in replaced:
        cell.cell_contents = _noting(calls, function)
    step()
    for cell, function in replaced:
        cell.cell_contents = function
    if len(calls) == 2:
        (first, first_arrays), (second, second_arrays) = calls

        def both() -> None:
            first(*first_arrays)
            second(*second_arrays)

        return both

    def all_of_them() -> None:
        for function, arrays in calls:
            function(*arrays)

    return all_of_them


def _noting(calls: list[tuple[Any, ...]], function: Callable[..., Any]) -> Callable[..., Any]:
    def note(*arrays: Any) -> Any:
        calls.append((function, arrays))
        return function(*arrays)

    return note
