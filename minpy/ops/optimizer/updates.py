"""Updates of weights by an optimizer. They write: into `out` (usually the weight itself), and into their state.

An update is several passes over arrays that are larger than the caches. Here all steps are done on one block of the
arrays after another, so that each array is read from memory once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core import dispatch
from minpy.core.array import Array, note_write
from minpy.core.attributes import bind
from minpy.core.errors import ArgumentError, ShapeError, describe, describe_arguments, operator_error
from minpy.core.nodes import Leaf
from minpy.core.operator import Operator
from minpy.core.state import state
from minpy.ops.dtypes import require_floats
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.registry import OPERATORS

__all__ = ["Update", "sgd_mom_update", "sgd_update"]

_BLOCK = 1 << 18  # elements; smaller ones stay in faster caches, but then the calls cost more than they save


class Update(Operator):
    """An operator that changes its states in place, and writes the new weight into `out`, without a copy in between.

    `forward(weight, grad, *states, **attributes)` returns the new weight, of fresh memory; `step(out, weight, grad,
    *states, **attributes)` does the work on a block of them.
    """

    def __init__(self, forward: Callable[..., Any], step: Callable[..., None]) -> None:
        super().__init__(forward, builtin=True)
        self.step = step
        self.def_grad_zero()
        self.def_infer_shape(same_shape)
        OPERATORS[self.__name__] = self

    def __call__(self, /, *arguments: Any, **attributes: Any) -> Any:
        out, name = attributes.pop("out", None), None
        inputs: Any = arguments
        if not dispatch.needs_no_binding(self, arguments, attributes):
            given = tuple(attributes)
            name = attributes.pop("name", None)
            inputs, attributes = bind(self.__name__, self.signature, arguments, attributes, positional_attributes=True)
            if len(inputs) == len(arguments) and tuple(attributes) == given:
                self.keywords_bound.add((len(arguments), *given))
        raws = [value._data if isinstance(value, Array) else value for value in inputs]
        like = inputs[0]
        if not isinstance(like, Array):
            like = next((value for value in inputs if isinstance(value, Array)), None)
            if like is None and any(dispatch.kind_of(type(value)) > dispatch.ARRAY for value in inputs):
                return super().__call__(*inputs, **attributes, name=name, out=out)
        weight: Any = raws[0]
        for raw in raws:
            if type(raw) is not np.ndarray or raw.shape != weight.shape:
                self._require_fit(raws)
        if out is None:
            result = np.empty_like(weight)
        elif out is like is inputs[0] and (out._node is None or (type(out._node) is Leaf and not state.recording)):
            result = weight
            note_write(result)
        else:
            result = self._receiver(out, weight)
        try:
            if result.size <= 2 * _BLOCK:
                self.step(result, *raws, **attributes)
            else:
                self.apply(result, raws, attributes)
        except Exception as error:
            require_floats(self.__name__, weight, argument="weight")
            arrays = describe_arguments(self.signature.inputs, raws)
            raise operator_error(error, f"{self.__name__}: failed on {arrays}, {attributes}") from error
        for raw in raws[2:]:
            note_write(raw)
        if out is not None:
            return out
        return result if like is None else like._like(result)

    def _receiver(self, out: Any, weight: np.ndarray) -> np.ndarray:
        """Return the memory of `out`, which is taken off the tape if it may be written."""
        result: np.ndarray = dispatch.target_of(self, out)
        if result.shape != weight.shape:
            raise ShapeError(
                f"{self.__name__}: out has shape {result.shape}, weight {weight.shape}; they must be equal."
            )
        if isinstance(out, Array) and out._node is not None and (state.recording or type(out._node) is not Leaf):
            out._receive(result, None)  # refuses a recorded array, or takes it off the tape
        else:
            note_write(result)
        return result

    def _require_fit(self, raws: list[Any]) -> None:
        for name, raw in zip(self.signature.inputs, raws, strict=True):
            if not isinstance(raw, np.ndarray):
                raise ArgumentError(f"{self.__name__}: {name} is {describe(raw)}; expected an NDArray or NumPy array.")
            if raw.shape != raws[0].shape:
                raise ShapeError(
                    f"{self.__name__}: {name} is {describe(raw)}, weight {describe(raws[0])}; shapes must be equal."
                )

    def apply(self, out: np.ndarray, raws: list[np.ndarray], attributes: dict[str, Any]) -> None:
        """Run `step` on the arrays, block by block where they are large and their memory allows it."""
        size = out.size
        if size <= 2 * _BLOCK or not (out.flags.c_contiguous and all(raw.flags.c_contiguous for raw in raws)):
            self.step(out, *raws, **attributes)
            return
        flat = [out.reshape(-1), *[raw.reshape(-1) for raw in raws]]
        for start in range(0, size, _BLOCK):
            block = slice(start, start + _BLOCK)
            self.step(*[array[block] for array in flat], **attributes)


def _rescaled(
    weight: np.ndarray, grad: np.ndarray, factor: float, wd: float, rescale: float, clip: float
) -> np.ndarray:
    """Return factor · (clipped rescaled gradient + wd · weight), in fresh memory."""
    scratch = np.empty(weight.shape, weight.dtype)
    if clip < 0 and not wd:
        np.multiply(grad, factor * rescale, out=scratch, casting="same_kind")
        return scratch
    np.multiply(grad, rescale, out=scratch, casting="same_kind")
    if clip >= 0:
        np.clip(scratch, -clip, clip, out=scratch)
    scratch *= factor
    if wd:
        scratch += weight * weight.dtype.type(factor * wd)
    return scratch


def _sgd_step(
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    np.subtract(weight, _rescaled(weight, grad, lr, wd, rescale_grad, clip_gradient), out=out)


def _sgd_mom_step(
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> None:
    factor = lr * rescale_grad
    if clip_gradient < 0 and not wd and abs(factor) > 1e-6 and mom.dtype.itemsize > 2:
        # (For smaller factors mom / factor might overflow.)
        # momentum · mom - factor · grad as -factor · (mom · momentum / -factor + grad): in place, with no other array.
        mom *= momentum / -factor
        mom += grad
        mom *= -factor
    else:
        mom *= momentum
        mom -= _rescaled(weight, grad, lr, wd, rescale_grad, clip_gradient)
    np.add(weight, mom, out)


def _sgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    """Return the weight after a step of gradient descent: weight - lr · (grad + wd · weight).

    Parameters
    ----------
    weight, grad : NDArray
        Of equal shapes.
    lr : float
        The learning rate.
    wd : float
        Weight decay.
    rescale_grad : float
        Multiplies the gradient first.
    clip_gradient : float
        Then clips it to [-clip_gradient, clip_gradient]; not if negative.
    lazy_update : bool
        Accepted and not used: gradients are dense.
    out : NDArray, optional
        Where to write the result; usually the weight.

    Returns
    -------
    NDArray
        `out`, or a new array.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DTypeError
        If the weight is not floating point.

    Examples
    --------
    >>> from minpy import nd
    >>> weight = nd.array([1, 2])
    >>> nd.sgd_update(weight, nd.array([1, -1]), lr=0.5, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    """
    require_floats("sgd_update", weight, argument="weight")
    in_one = clip_gradient < 0 and not wd
    step = (grad * (lr * rescale_grad if in_one else rescale_grad)).astype(weight.dtype, copy=False)
    if clip_gradient >= 0:
        step = np.clip(step, -clip_gradient, clip_gradient)
    if not in_one:
        step = step * lr
    if wd:
        step = step + weight * weight.dtype.type(lr * wd)
    return weight - step


def _sgd_update_kernel(weight: Any, grad: Any, **attributes: Any) -> np.ndarray:
    require_floats("sgd_update", weight, argument="weight")
    out = np.empty_like(weight)
    sgd_update.apply(out, [weight, grad], attributes)
    return out


def _sgd_mom_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    """Return the weight after a step with momentum: mom = momentum · mom - lr · (grad + wd · weight); weight + mom.

    Parameters
    ----------
    weight, grad, mom : NDArray
        Of equal shapes; `mom` is changed in place.
    lr : float
        The learning rate.
    momentum : float
    wd : float
        Weight decay.
    rescale_grad : float
        Multiplies the gradient first.
    clip_gradient : float
        Then clips it to [-clip_gradient, clip_gradient]; not if negative.
    lazy_update : bool
        Accepted and not used: gradients are dense.
    out : NDArray, optional
        Where to write the result; usually the weight.

    Returns
    -------
    NDArray
        `out`, or a new array.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DTypeError
        If the weight is not floating point.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> nd.sgd_mom_update(weight, nd.array([1, -1]), mom, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([1.5, 2.5], dtype=float32)
    >>> mom.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    require_floats("sgd_mom_update", weight, argument="weight")
    out = np.empty_like(weight)
    sgd_mom_update.apply(
        out,
        [weight, grad, mom],
        {
            "lr": lr,
            "momentum": momentum,
            "wd": wd,
            "rescale_grad": rescale_grad,
            "clip_gradient": clip_gradient,
            "lazy_update": lazy_update,
        },
    )
    return out


_sgd_update.__name__ = _sgd_update.__qualname__ = "sgd_update"
_sgd_mom_update.__name__ = _sgd_mom_update.__qualname__ = "sgd_mom_update"
sgd_update = Update(_sgd_update, _sgd_step)
sgd_update.def_kernel(_sgd_update_kernel)
sgd_mom_update = Update(_sgd_mom_update, _sgd_mom_step)
