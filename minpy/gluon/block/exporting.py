"""Blocks written to files that need no Python class: a graph and its arrays."""

from __future__ import annotations

import os
from typing import Any

from minpy import ndarray as nd
from minpy.core.errors import MXNetError
from minpy.gluon.parameter import Parameter
from minpy.symbol import Symbol

__all__ = ["export"]


def export(block: Any, path: str | os.PathLike[str], epoch: int, remove_amp_cast: bool) -> tuple[str, str]:
    """Write the graph and the arrays of a block. See `HybridBlock.export`."""
    if not block._cached_graph:
        raise MXNetError(
            f"{block.name}.export: there is no graph yet. Call hybridize(), then the block with a batch of data, "
            "and then export."
        )
    out: Symbol = block._cached_graph[1]
    sources = {**block._parameters_by_name(), **block._lasting}
    arrays = {}
    for kind, found in (("arg", out.list_arguments()), ("aux", out.list_auxiliary_states())):
        for name in found:
            if name in sources:
                source = sources[name]
                arrays[f"{kind}:{name}"] = source._reduce() if isinstance(source, Parameter) else source
    names = f"{os.fspath(path)}-symbol.json", f"{os.fspath(path)}-{epoch:04d}.params"
    out.save(names[0], remove_amp_cast=remove_amp_cast)
    nd.save(names[1], arrays)
    return names
