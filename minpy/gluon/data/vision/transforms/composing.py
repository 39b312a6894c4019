"""Transforms one after the other, and by chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.core.state import TRACES, state
from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.data.vision.transforms.tensors import OnBuffers
from minpy.gluon.nn import HybridSequential, Sequential
from minpy.ndarray import NDArray

__all__ = ["Compose", "HybridCompose", "HybridRandomApply", "RandomApply"]


def _checked(name: str, transforms: Any) -> list[Any]:
    if callable(transforms) or not isinstance(transforms, Sequence):
        raise ArgumentError(f"{name}: transforms must be a list of transforms, got {describe(transforms)}.")
    for position, transform in enumerate(transforms):
        if not callable(transform):
            raise ArgumentError(
                f"{name}: the transform at position {position} is {describe(transform)}, which is no function."
            )
    return list(transforms)


class Compose(Sequential):
    """Transforms one after the other.

    Parameters
    ----------
    transforms : list of Block or callable
        Neighbours that can be hybridized make one block; they are run as they are written, as images often differ in
        their shapes, until `hybridize` is called.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.gluon.data.vision import transforms
    >>> steps = transforms.Compose([transforms.Resize(32), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    >>> steps(mx.nd.zeros((48, 40, 3), dtype='uint8')).shape
    (3, 32, 32)
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        steps = [step if isinstance(step, Block) else _Function(step) for step in _checked("Compose", transforms)]
        with self.name_scope():
            for is_hybrid, neighbours in groupby(steps, lambda step: isinstance(step, HybridBlock)):
                blocks: list[Any] = list(neighbours)
                if not is_hybrid or len(blocks) < 2:
                    self.add(*blocks)
                    continue
                together = HybridSequential()
                with together.name_scope():
                    together.add(*blocks)
                self.add(together)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what the last transform returns; further arguments go to the first."""
        for block in self._children.values():
            steps = () if args or not isinstance(x, NDArray) or state.recording or TRACES else _on_buffers(block)
            if steps:
                raw, fresh = x._data, False
                for step in steps:
                    raw, fresh = step.on_buffer(raw, fresh), True
                x = x._like(raw)
                continue
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, args = x[0], tuple(x[1:])
        return (x, *args) if args else x


def _on_buffers(block: Any) -> Sequence[Any]:
    """Return the transforms of a block if all can work on buffers, without wrapping what is in between; else none."""
    if block._forward_hooks or block._forward_pre_hooks:
        return ()
    if type(block) is not HybridSequential:
        return (block,) if isinstance(block, OnBuffers) else ()
    steps: Sequence[Any] = tuple(block._children.values())
    hooked = any(step._forward_hooks or step._forward_pre_hooks for step in steps)
    return steps if not hooked and all(isinstance(step, OnBuffers) for step in steps) else ()


class _Function(Block):
    """A function as a transform."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any) -> Any:
        return self._function(*args)

    def __repr__(self) -> str:
        return repr(self._function)


class HybridCompose(HybridSequential):
    """Transforms one after the other, all of which can be hybridized; MXNet 2 has it.

    Parameters
    ----------
    transforms : list of HybridBlock

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.gluon.data.vision import transforms
    >>> steps = transforms.HybridCompose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    >>> steps.hybridize()
    >>> float(steps(mx.nd.zeros((4, 4, 3), dtype='uint8')).mean().asscalar())
    -2.0
    """

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        for position, transform in enumerate(_checked("HybridCompose", transforms)):
            if not isinstance(transform, HybridBlock):
                raise ArgumentError(
                    f"HybridCompose: the transform at position {position} is {describe(transform)}, and no "
                    "HybridBlock. Use Compose."
                )
        with self.name_scope():
            self.add(*transforms)


class RandomApply(Sequential):
    """A transform that is applied by chance; the chance follows `random.seed`, as in MXNet.

    Parameters
    ----------
    transforms : Block or callable, or a list of them
        With a list, all are applied or none.
    p : float
        How probable it is.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.gluon.data.vision import transforms
    >>> transforms.RandomApply(transforms.Cast('float64'), p=1)(mx.nd.ones(2)).dtype
    <class 'numpy.float64'>
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.p = p
        self.transforms = Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms
        if not callable(self.transforms):
            raise ArgumentError(f"RandomApply: transforms is {describe(transforms)}, which is no function.")

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what the transform makes of x, or x."""
        return x if self.p < random.random() else self.transforms(x)


class HybridRandomApply(HybridBlock):
    """A transform that is applied by chance, also in graphs; the chance follows `mx.random.seed`. MXNet 2 has it.

    Parameters
    ----------
    transforms : HybridBlock
        That keeps the image's shape and dtype.
    p : float
        How probable it is.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.gluon.data.vision import transforms
    >>> bright = transforms.HybridRandomApply(transforms.RandomBrightness(0.5), p=0.8)
    >>> bright(mx.nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            raise ArgumentError(
                f"HybridRandomApply: transforms is {describe(transforms)}, and no HybridBlock. Use RandomApply."
            )
        if not 0 <= p <= 1:
            raise ArgumentValueError(f"HybridRandomApply: p must be between 0 and 1, got {p}.")
        self.p = p
        self.transforms = transforms

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return what the transform makes of x, or x."""
        applied = F.random.uniform(0, 1, shape=(1,)) < self.p
        return F.contrib.cond(applied, lambda: self.transforms(x), lambda: F.identity(x))
