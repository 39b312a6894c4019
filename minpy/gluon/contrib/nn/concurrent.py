"""`Concatenate` and `HybridConcatenate` by the names that they had first: `Concurrent`, `HybridConcurrent`."""

from minpy.core.docstrings import documented
from minpy.gluon.nn.concatenation import PARAMETERS, Concatenate, HybridConcatenate

__all__ = ["Concurrent", "HybridConcurrent"]


@documented(parameters=PARAMETERS.format(name="contrib.nn.Concurrent", hybridize=""))
class Concurrent(Concatenate):
    """Blocks that are called on the same input, and their outputs joined.

    {parameters}
    """


@documented(parameters=PARAMETERS.format(name="contrib.nn.HybridConcurrent", hybridize="\n>>> net.hybridize()"))
class HybridConcurrent(HybridConcatenate):
    """Blocks that are called on the same input, and their outputs joined: all of it can become one graph.

    {parameters}
    """
