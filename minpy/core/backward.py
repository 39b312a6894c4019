"""`backward`: from heads to leaves, over the tape's walk."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from minpy.core.array import Array, as_raw, now
from minpy.core.buffers import SOLE_LOCAL, SOLE_SLOT, note_write
from minpy.core.errors import GradientError, NotRecordedError, describe
from minpy.core.nodes import Leaf, Node
from minpy.core.state import state
from minpy.core.tape_walk import gradients

__all__ = ["backward", "head_gradient", "require_recorded"]


@lru_cache(None)
def _read_only_one(dtype: numpy.dtype) -> numpy.ndarray:
    ones = numpy.ones(1, dtype)
    ones.setflags(write=False)
    return ones


def head_gradient(head: Array, gradient: Any) -> numpy.ndarray:
    """Return the raw gradient to start with at `head`: the given one, or ones."""
    data = head._data
    if gradient is None:
        if data.size > 4096:  # no pass over memory for ones: every element is the same one
            return numpy.ndarray(data.shape, data.dtype, _read_only_one(data.dtype), strides=(0,) * data.ndim)
        ones = numpy.empty(data.shape, data.dtype)
        ones.fill(1)
        return ones
    value = as_raw(gradient)
    if value.shape != data.shape:
        raise GradientError(
            f"head gradient of shape {value.shape} for a head of shape {data.shape}: they must be equal. "
            "Leave it out to start with ones."
        )
    return value if value.dtype is data.dtype else value.astype(data.dtype, copy=False)


def require_recorded(head: Array, name: str = "backward") -> Any:
    """Return the node of `head`, or raise the error that says why there is none."""
    if head._node is None:
        raise NotRecordedError(
            f"{name}: this array ({describe(head._data)}) was not computed under autograd.record() from an array that "
            "needs a gradient. Call x.attach_grad() on the inputs, then compute inside `with autograd.record():`. (An "
            "array that was changed in place outside record() afterwards is no longer recorded, either.)"
        )
    return head._node


def backward(
    heads: Sequence[Array],
    head_gradients: Sequence[Any] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of `heads` with respect to every leaf, and write them into the leaves' gradients.

    Nothing is written if anything fails.
    """
    if len(heads) == 1 and not retain_graph:
        node = heads[0]._node
        if type(node) is Node and node.operator.takes_buffers and _compute_in_leaves(heads[0], node, head_gradients):
            return
    nodes = [*map(require_recorded, heads)]
    if head_gradients is None:
        head_gradients = [None] * len(nodes)
    cotangents = [*map(head_gradient, heads, head_gradients)]
    training, state.training = state.training, train_mode
    try:
        leaf_gradients = gradients(nodes, cotangents, retain_graph=retain_graph)
    finally:
        state.training = training
    del cotangents
    for leaf in list(leaf_gradients):
        _store(leaf, leaf_gradients, leaf)


def _compute_in_leaves(head: Array, node: Node, head_gradients: Sequence[Any] | None) -> bool:
    """Let the operator of a node whose inputs are all leaves write their gradients itself, if it can.

    Such an operator is a compiled graph; for a small one, most of the cost of backward would be the walk.
    """
    if node.parents is None or type(node.dtype) is tuple:
        return False
    cotangent = None
    if head_gradients is not None and head_gradients[0] is not None:
        cotangent = head_gradient(head, head_gradients[0])
    if not node.operator.compute_in_leaves(node, cotangent):
        return False
    for leaf in node.parents:
        if leaf is not None:
            leaf.fresh = True
    node.parents = node.arguments = node.result = None  # type: ignore[assignment]
    node.freed = now()
    return True


def _store(leaf: Leaf, leaf_gradients: dict[Any, Any], key: Any) -> None:
    """Write `leaf_gradients[key]` into the gradient of `leaf`, by handing the buffer over where it is not shared.

    Copying a large gradient costs a pass over memory. It is avoided when the tape holds the only reference to the
    new buffer and the gradient array the only one to the old.
    """
    target = leaf.gradient
    if target is None or leaf.request == "null":
        return
    leaf.fresh = True
    gradient = leaf_gradients.pop(key)
    if leaf.request == "add":
        target._data += gradient
        note_write(target._data)
    elif gradient is target._data:  # computed in place already
        return
    elif (
        sys.getrefcount(gradient) == SOLE_LOCAL
        and sys.getrefcount(target._data) == SOLE_SLOT
        and gradient.base is None
        and gradient.flags.carray
    ):
        target._data = gradient
    else:
        numpy.copyto(target._data, gradient)
        note_write(target._data)
