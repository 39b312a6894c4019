"""`Block.summary`: a table of what is inside."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minpy.core.errors import NotReadyError
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["print_summary"]

_WIDTH = 80


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_shown(one)}' for key, one in value.items())}}}"
    return str(tuple(value.shape)) if isinstance(value, NDArray) else str(value)


def _shapes(values: Any) -> str:
    shown = _shown(values)
    return shown[1:-1] if isinstance(values, (list, tuple)) else shown


def print_summary(block: Any, inputs: Sequence[Any]) -> None:
    """Print the table of a block that is called on `inputs`. See `Block.summary`."""
    rows: list[tuple[str, str, str]] = [("Input", _shapes(list(inputs)), "0")]
    counted: dict[int, int] = {}
    totals = {"all": 0, "trainable": 0, "shared": 0}
    handles = []

    def note(child: Any, inputs: Any, outputs: Any) -> None:
        if any(isinstance(one, Symbol) for one in inputs):
            return  # shapes are being inferred
        count = 0
        for parameter in child.params.values():
            size = prod(parameter.shape or (0,))
            count += size
            totals["all"] += size
            if parameter.grad_req != "null":
                totals["trainable"] += size
            if id(parameter) in counted:
                totals["shared"] += size
            counted[id(parameter)] = size
        rows.append((f"{type(child).__name__}-{len(rows)}", _shapes(outputs), str(count)))

    def listen(child: Any) -> None:
        if getattr(child, "_active", False):
            raise NotReadyError(
                f"summary: {child.name} is hybridized, so that the blocks inside are not called one by one. Call "
                "summary before hybridize, or hybridize(False)."
            )
        if not child._is_sequence:
            handles.append(child.register_forward_hook(note))

    try:
        block.apply(listen)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    print("-" * _WIDTH)
    print(f"{'Layer (type)':>20}  {'Output Shape':>42} {'Param #':>15}")
    print("=" * _WIDTH)
    for name, shapes, count in rows:
        print(f"{name:>20}  {shapes:>42} {count:>15}")
    print("=" * _WIDTH)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {totals['all']}")
    print(f"   Trainable params: {totals['trainable']}")
    print(f"   Non-trainable params: {totals['all'] - totals['trainable']}")
    print(f"Shared params in forward computation graph: {totals['shared']}")
    print(f"Unique parameters in model: {sum(counted.values())}")
    print("-" * _WIDTH)
