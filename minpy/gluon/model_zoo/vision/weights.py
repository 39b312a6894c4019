"""Weights for networks of the zoo."""

from __future__ import annotations

from typing import Any, TypeVar

from minpy.context import cpu
from minpy.gluon.block import HybridBlock
from minpy.gluon.model_zoo.model_store import ROOT, get_model_file

__all__ = ["CPU", "ROOT", "prepared"]

CPU = cpu()

Network = TypeVar("Network", bound=HybridBlock)


def prepared(net: Network, name: str, pretrained: bool, ctx: Any, root: str) -> Network:
    """Return a network, with its weights from a file if it is to be a pretrained one."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net
