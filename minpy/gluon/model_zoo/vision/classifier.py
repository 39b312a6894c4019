"""The base of the zoo's networks, their weights from files, and the functions that make variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from minpy.context import cpu
from minpy.core.docstrings import documented
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock
from minpy.gluon.model_zoo.model_store import ROOT, get_model_file

__all__ = ["CPU", "PRETRAINED", "ROOT", "Classifier", "prepared", "variant"]

CPU = cpu()

PRETRAINED = """
pretrained : bool
    Whether its weights are read from a file in `root`.
ctx : Context
    Where they are put.
root : str
    The folder of the file.
"""

Network = TypeVar("Network", bound=HybridBlock)


class Classifier(HybridBlock):
    """A network of `features`, which its layers compute of images, and `output`, which makes scores of them."""

    features: nn.HybridSequential
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def prepared(net: Network, name: str, pretrained: bool, ctx: Any, root: str) -> Network:
    """Return a network, with its weights from a file if it is to be a pretrained one."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net


def variant(
    name: str, network: type[Network], title: str, call: str, shown: str, make: Callable[..., Any], *settings: Any
) -> Callable[..., Network]:
    """Return the function of that name that makes a network with some settings.

    Its docstring says `title`, that `call` is the same, and what is shown of the network that it makes.
    """

    @documented(title=title, call=call, example=f">>> {name}(classes=10){shown}")
    def constructor(**kwargs: Any) -> Network:
        """Return {title}: `{call}`, which says what it takes.

        Examples
        --------
        {example}
        """
        net: Network = make(*settings, **kwargs)
        return net

    constructor.__name__ = constructor.__qualname__ = name
    constructor.__module__ = network.__module__
    constructor.__annotations__["return"] = network.__name__
    return constructor
