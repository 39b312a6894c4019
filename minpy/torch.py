"""`mx.th`: MXNet's calls of Lua Torch's functions, of which there are none: MXNet 1.9.1 is built without them, too.

Arrays go to PyTorch and back through DLPack, without a copy: `torch.from_dlpack(x)`, `nd.from_dlpack(tensor)`.
"""

from __future__ import annotations

from typing import Any

from minpy.namespaces import listing

__all__: list[str] = []
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    advice = (
        ""
        if name.startswith("__")
        else (
            " mx.th calls functions of Lua Torch, where MXNet is built with that; here there are none. PyTorch takes "
            "arrays without a copy: torch.from_dlpack(x), and nd.from_dlpack(tensor) brings them back."
        )
    )
    raise AttributeError(f"minpy.torch has no function {name!r}.{advice}")
