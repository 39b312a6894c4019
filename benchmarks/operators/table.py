"""What is measured: by operator, its inputs at a small and at a large size.

Imported by every library's interpreter, so it imports nothing but NumPy. Each library's way of calling an operator
stands in a file of its own: `in_mxnet.py` (for minpy and MXNet alike), `in_torch.py`, `in_jax.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("small", "large")
MODES = ("forward", "both")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """An operator: the shapes of its inputs at both sizes, and how their values are drawn.

    Parameters
    ----------
    small, large : tuple of shapes
    indices : mapping of int to int
        The inputs that are whole numbers in [0, bound): positions, labels, lengths. They get no gradient.
    low, high : float
        Other values lie in [low, high).
    gradient : bool
        Whether the operator is measured with its backward, too.
    random : bool
        Whether the answers are drawn, so that libraries' answers are not compared.
    """

    small: tuple[Shape, ...]
    large: tuple[Shape, ...]
    indices: tuple[tuple[int, int, int], ...] = ()  # input, bound at the small size, bound at the large one
    low: float = -1.0
    high: float = 1.0
    gradient: bool = True
    random: bool = False

    def inputs(self, size: str) -> list[Any]:
        """Return the inputs of a size: float32, the same in every library."""
        draw = np.random.RandomState(5)
        bounds = {position: bound[SIZES.index(size)] for position, *bound in self.indices}
        arrays = []
        for position, shape in enumerate(getattr(self, size)):
            if position in bounds:
                arrays.append(draw.randint(0, bounds[position], shape).astype("float32"))
            else:
                arrays.append(draw.uniform(self.low, self.high, shape).astype("float32"))
        return arrays


def heads(shape: Shape) -> Any:
    """Return head gradients: all different, for those that are equal are what normalisations give no gradient for."""
    return np.cos(np.arange(int(np.prod(shape)), dtype="float32")).reshape(shape)


_ONE = Measured(((4, 4),), ((1024, 1024),))
_POSITIVE = Measured(((4, 4),), ((1024, 1024),), low=0.1, high=2.0)
_TWO = Measured(((4, 4), (4, 4)), ((1024, 1024), (1024, 1024)))
_ROW = Measured(((4, 4), (1, 4)), ((1024, 1024), (1, 1024)), low=0.5, high=1.5)
_MADE = Measured(((4, 4),), ((1024, 1024),), gradient=False)
_IMAGES = Measured(((2, 3, 8, 8),), ((32, 64, 56, 56),))

# In the order in which programs use them, more or less.
OPERATORS: dict[str, Measured] = {
    "zeros": _MADE,
    "ones_like": _MADE,
    "arange": _MADE,
    "concat": _TWO,
    "stack": _TWO,
    "split": _ONE,
    "slice_axis": _ONE,
    "reshape": _ONE,
    "expand_dims": _ONE,
    "transpose": _ONE,
    "swapaxes": Measured(((2, 3, 4),), ((64, 128, 128),)),
    "tile": Measured(((4, 4),), ((512, 512),)),
    "softmax": _ONE,
    "log_softmax": _ONE,
    "where": Measured(((4, 4), (4, 4), (4, 4)), ((1024, 1024),) * 3, indices=((0, 2, 2),)),
    "broadcast_add": _ROW,
    "broadcast_sub": _ROW,
    "broadcast_mul": _ROW,
    "broadcast_div": _ROW,
    "elemwise_add": _TWO,
    "elemwise_mul": _TWO,
    "maximum": _TWO,
    "sum": _ONE,
    "sum_axis": _ONE,
    "mean": _ONE,
    "max": _ONE,
    "norm": _ONE,
    "argmax": Measured(((4, 4),), ((1024, 1024),), gradient=False),
    "topk": Measured(((4, 4),), ((1024, 1024),), gradient=False),
    "sort": _ONE,
    "clip": _ONE,
    "abs": _ONE,
    "exp": _ONE,
    "log": _POSITIVE,
    "sqrt": _POSITIVE,
    "square": _ONE,
    "power": Measured(((4, 4), (4, 4)), ((1024, 1024), (1024, 1024)), low=0.5, high=1.5),
    "relu": _ONE,
    "sigmoid": _ONE,
    "tanh": _ONE,
    "erf": _ONE,
    "LeakyReLU": _ONE,
    "gelu": _ONE,
    "cast": Measured(((4, 4),), ((1024, 1024),), gradient=False),
    "dot": Measured(((4, 4), (4, 4)), ((768, 768), (768, 768))),
    "batch_dot": Measured(((2, 4, 4), (2, 4, 4)), ((64, 128, 128), (64, 128, 128))),
    "FullyConnected": Measured(((4, 8), (4, 8), (4,)), ((256, 1024), (1024, 1024), (1024,))),
    "Convolution": Measured(((2, 3, 8, 8), (4, 3, 3, 3), (4,)), ((16, 64, 56, 56), (64, 64, 3, 3), (64,))),
    "max_pooling": _IMAGES,
    "avg_pooling": _IMAGES,
    "BatchNorm": Measured(((2, 3, 8, 8), (3,), (3,)), ((32, 64, 56, 56), (64,), (64,))),
    "LayerNorm": Measured(((4, 8), (8,), (8,)), ((1024, 1024), (1024,), (1024,))),
    "Dropout": Measured(((4, 4),), ((1024, 1024),), random=True),
    "Embedding": Measured(((2, 3), (10, 4)), ((64, 128), (10000, 256)), indices=((0, 10, 10000),)),
    "take": Measured(((4, 4), (3,)), ((10000, 256), (8192,)), indices=((1, 4, 10000),)),
    "gather_nd": Measured(((4, 4), (2, 3)), ((1024, 1024), (2, 65536)), indices=((1, 4, 1024),)),
    "pick": Measured(((4, 4), (4,)), ((8192, 1024), (8192,)), indices=((1, 4, 1024),)),
    "one_hot": Measured(((4,),), ((8192,),), indices=((0, 4, 256),), gradient=False),
    "SequenceMask": Measured(((4, 3, 4), (3,)), ((128, 64, 256), (64,)), indices=((1, 4, 128),)),
    "uniform": Measured(((4, 4),), ((1024, 1024),), gradient=False, random=True),
    "normal": Measured(((4, 4),), ((1024, 1024),), gradient=False, random=True),
}
