"""The walk that takes gradients back through recorded calls (`minpy.core.nodes`).

Reverse mode is iterative and ordered by sequence number, so depth is bounded by memory alone.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy

from minpy.core import aligned
from minpy.core.array import Array, Shaped, now
from minpy.core.buffers import is_unseen, last_write, written_since
from minpy.core.errors import GradientError, GraphFreedError, MutationError, MXNetError, describe, in_place_of
from minpy.core.gradient_rules import OutputBuffer, Unstaged
from minpy.core.nodes import Leaf, Node, Output, connect
from minpy.core.state import state
from minpy.core.sums import sum_to

__all__ = ["conform", "gradients", "reachable"]

numpy_array = numpy.ndarray
_by_sequence = attrgetter("sequence")
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


def gradients(
    heads: Sequence[Any],
    head_gradients: Sequence[Any],
    targets: Iterable[Any] | None = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    since: int = 0,
) -> dict[Any, Any]:
    """Return the gradients of the heads with respect to leaves, or to the nodes `targets`.

    Parameters
    ----------
    heads : sequence of nodes
    head_gradients : sequence of numpy.ndarray or Array
        One for each head, of the head's shape and dtype.
    targets : iterable of nodes, optional
        The nodes whose gradients are wanted; by default every leaf that the heads depend on.
    retain_graph : bool
        Keep the graph for another walk; otherwise it is freed once the walk has succeeded.
    create_graph : bool
        Record the rules themselves, so that the results can be differentiated again. Gradients are then Arrays.
    since : int
        Go no further back than this sequence number: what was recorded earlier counts as constant. Targets that are
        older are reached, and not passed.

    Returns
    -------
    dict
        Node to gradient (numpy.ndarray, or Array with `create_graph`); nodes that no gradient reached are absent.

    Raises
    ------
    GraphFreedError, MutationError
        Before anything is computed.
    NoGradientError, GradientError
        When the walk comes to a gradient that is not defined, or to a rule that returns what cannot be its argument's
        gradient. The graph is then kept, and no array has been written.
    """
    if targets is None and not create_graph and len(heads) == 1 and not since:
        results = _walk_alone(heads[0], head_gradients[0], retain_graph)
        if results is not None:
            return results
    target_set = None if targets is None else set(targets)
    order = reachable(heads, since, target_set or ())
    if target_set is not None:
        order = _leading_to(target_set, order)
    newest_write = last_write()
    for node in reversed(order):  # oldest first: what was recorded after the last write cannot be stale
        if node.sequence > newest_write:
            break
        if type(node) is Leaf or node.sequence < since:
            continue
        if node.operator is not None:
            _refuse_overwritten(node)
        if getattr(node, "changed", 0) and _is_used_since(node, order, heads):
            warnings.warn(_CHANGED.format(describe(node)), stacklevel=4)

    pending: dict[Any, Any] = dict(zip(heads, head_gradients, strict=True))
    if len(pending) < len(heads):  # one of them is there twice
        pending.clear()
        for node, gradient in zip(heads, head_gradients, strict=True):
            _add(pending, node, gradient)
    recording, state.recording = state.recording, create_graph
    try:
        if target_set is None and not create_graph:
            results = _walk(order, pending)
        else:
            results = _walk_to(target_set, order, pending, create_graph, since)
    finally:
        state.recording = recording
    if not retain_graph:
        time = now()
        for node in order:
            if node.parents:
                node.parents = node.arguments = node.result = None
                node.freed = time
    return results


def _walk_alone(node: Any, gradient: Any, retain_graph: bool) -> dict[Any, Any] | None:
    """Take a raw gradient back through the only node of a graph, as `gradients` does through many.

    Returns None if the node does not stand on leaves alone, or if something was changed in place since its call.
    """
    operator = node.operator
    if operator is None or node.parents is None or node.sequence <= last_write():
        return None
    for parent in node.parents:
        if parent is not None and type(parent) is not Leaf:
            return None
    pending: dict[Any, Any] = {}
    zeros: set[Any] = set()
    output_buffers = None
    if operator.takes_buffers:
        output_buffers = _output_buffers(node, {parent for parent in node.parents if parent is not None})
    recording, state.recording = state.recording, False
    try:
        if operator.direct and not output_buffers:
            _walk_direct(node, operator, gradient, pending, zeros)
        else:
            _walk_general(node, gradient, pending, zeros, output_buffers)
    finally:
        state.recording = recording
    if zeros:
        for leaf in zeros.difference(pending):
            pending[leaf] = numpy.zeros(leaf.shape, leaf.dtype)
    if len(pending) > 1:  # latest first, as `reachable` has them
        pending = {leaf: pending.pop(leaf) for leaf in sorted(pending, key=_by_sequence, reverse=True)}
    if not retain_graph and node.parents:
        node.parents = node.arguments = node.result = None
        node.freed = now()
    return pending


def _last_taking_buffers(order: Sequence[Any]) -> Any:
    """Return the node that is walked last but for leaves, if it takes buffers for its gradients."""
    for node in reversed(order):
        if type(node) is not Leaf:
            return node if node.operator is not None and node.operator.takes_buffers else None
    return None


def _output_buffers(
    node: Node, leaves: Iterable[Any], pending: Mapping[Any, Any] = _NOTHING
) -> dict[int, OutputBuffer] | None:
    """Return where the gradients of a node's arguments may be computed; None if that is nowhere.

    These are buffers of leaves that nobody else knows, and each is the place of one gradient only. It is the last node
    of a walk to `leaves`, after which nothing fails; `pending` has the gradients that others have computed.
    """
    parents = node.parents or ()
    large = {
        position: (leaf, leaf.gradient)
        for position, leaf in enumerate(parents)
        if type(leaf) is Leaf
        and leaf.request == "write"
        and leaf.gradient is not None
        and leaf.gradient._data.nbytes >= aligned.LARGE
    }
    if not large:
        return None
    once, often = set[int](), set[int]()
    for identity in (*[id(leaf.gradient) for leaf in leaves], *map(id, parents)):
        (often if identity in once else once).add(identity)
    buffers: dict[int, numpy.ndarray] = {}
    for position, (leaf, target) in large.items():
        if leaf in pending or id(target) in often or id(leaf) in often or not is_unseen(target):
            continue
        if target._data.flags.carray and aligned.is_large(target._data):  # in C's order, and one may write to it
            buffers[position] = target._data
    if not buffers:
        return None
    return {
        position: OutputBuffer(parent.shape, parent.dtype, buffers.get(position))
        for position, parent in enumerate(parents)
        if parent is not None and not node.operator.is_zero(position)
    }


def _walk(order: Sequence[Any], pending: dict[Any, Any]) -> dict[Any, Any]:
    """Take raw gradients back to every leaf."""
    leaf_gradients: dict[Any, Any] = {}
    zeros: set[Any] = set()  # reached, but only by gradients that are zero
    last = _last_taking_buffers(order)
    for node in order:
        gradient = pending.pop(node, None)
        operator = node.operator
        if gradient is None:
            if node in zeros:
                if type(node) is Leaf:
                    leaf_gradients[node] = numpy.zeros(node.shape, node.dtype)
                elif operator is not None and operator.starts_gradients and _has_rules(node):
                    _walk_general(node, _zeros(node), pending, zeros)
                    continue
                zeros.update(node.parents)
        elif operator is None:
            if type(node) is Leaf:
                leaf_gradients[node] = gradient
            else:
                _add_output(pending, node, gradient)
        elif node is last:
            leaves = [leaf for leaf in order if type(leaf) is Leaf]
            if _may_compute_in_leaves(node, leaves, pending) and operator.compute_in_leaves(node, gradient):
                computed = [leaf for leaf in node.parents if leaf is not None]
                leaf_gradients.update((leaf, leaf.gradient._data) for leaf in computed)
                zeros.difference_update(computed)
                continue
            _walk_general(node, gradient, pending, zeros, _output_buffers(node, leaves, pending))
        elif operator.direct:
            _walk_direct(node, operator, gradient, pending, zeros)
        else:
            _walk_general(node, gradient, pending, zeros)
    return leaf_gradients


def _may_compute_in_leaves(node: Node, leaves: Sequence[Leaf], pending: Mapping[Any, Any]) -> bool:
    """Tell whether the last node of a walk to `leaves` may write into gradients, for all that the others do there."""
    if type(node.dtype) is tuple or not pending.keys().isdisjoint(node.parents or ()):
        return False
    return len({id(leaf.gradient) for leaf in leaves}) == len(leaves)


def _walk_direct(node: Node, operator: Any, gradient: Any, pending: dict[Any, Any], zeros: set[Any]) -> None:
    """Take a raw gradient back through a node with one rule an argument.

    This is most of what a backward pass costs. What goes wrong is found out afterwards, on the general path.
    """
    arguments, result, rules = node.arguments, node.result, operator.raw_rules
    function: Any = None
    count = 3 if node.attributes else len(arguments)
    if type(node.dtype) is tuple:
        _walk_general(node, gradient, pending, zeros)
        return
    if operator.guarded:
        gradient = gradient.view()
        gradient.setflags(write=False)
    try:
        for index, parent in enumerate(node.parents):  # type: ignore[arg-type]
            if parent is None:
                continue
            rule = rules[index]
            if rule is None:  # direct operators have a rule, or a zero gradient
                zeros.add(parent)
                continue
            if count == 2:
                function = rule(result, arguments[0], arguments[1])
            elif count == 1:
                function = rule(result, arguments[0])
            else:
                function = rule(result, *arguments, **node.attributes)
            part = function(gradient)
            if type(part) is not numpy_array or part.shape != parent.shape or part.dtype is not parent.dtype:
                part = conform(part, operator, index, node, parent)
            previous = pending.get(parent)
            pending[parent] = part if previous is None else previous + part
    except MXNetError:
        raise
    except Exception as error:
        raise in_place_of(_rule_error(node, operator, index, function, gradient, error), error) from None


def _rule_error(node: Any, operator: Any, index: int, function: Any, gradient: Any, error: Exception) -> Exception:
    """Return the error to raise for one in a rule, or in the `function` that the rule has returned."""
    if type(error) is Unstaged:
        return operator.unstaged(index, error.args[0])
    if function is not None and not callable(function):
        return operator.unstaged(index, function)
    return operator.rule_error(error, index, _told(node), function, gradient)


def _walk_general(
    node: Any,
    gradient: Any,
    pending: dict[Any, Any],
    zeros: set[Any],
    output_buffers: dict[int, OutputBuffer] | None = None,
) -> None:
    operator = node.operator
    requires_grad = []
    for index, parent in enumerate(node.parents):
        if parent is not None:
            if operator.is_zero(index):
                zeros.add(parent)
            else:
                requires_grad.append(index)
    if requires_grad:
        parts = _vjp(node, gradient, requires_grad, False, output_buffers)
        for index, part in zip(requires_grad, parts, strict=True):
            parent = node.parents[index]
            if type(part) is not numpy_array or part.shape != parent.shape or part.dtype is not parent.dtype:
                part = conform(part, operator, index, node, parent)
            previous = pending.get(parent)
            pending[parent] = part if previous is None else previous + part


def _has_rules(node: Any) -> bool:
    """Tell whether all gradients that a node needs are known."""
    operator = node.operator
    return all(parent is None or operator.has_rule(index) for index, parent in enumerate(node.parents))


def _zeros(node: Any) -> Any:
    """Return an upstream gradient of zeros: an array, or a slot for each of several outputs."""
    return [None] * len(node.shape) if type(node.dtype) is tuple else numpy.zeros(node.shape, node.dtype)


def _walk_to(
    targets: set[Any] | None, order: Sequence[Any], pending: dict[Any, Any], create_graph: bool, since: int
) -> dict[Any, Any]:
    """Take gradients back to the nodes `targets` (None: every leaf), recording the rules if asked to.

    Nodes older than the sequence number `since` are not passed.
    """
    results: dict[Any, Any] = {}
    in_order = set(order)
    for node in order:
        gradient = pending.pop(node, None)
        if gradient is None:
            if node.operator is None or not (node.operator.starts_gradients and _has_rules(node)):
                continue
            gradient = _zeros(node)
            if create_graph and type(gradient) is numpy_array:
                gradient = connect(gradient, None)
        if type(node) is Leaf if targets is None else node in targets:
            results[node] = gradient
        if node.sequence < since:
            continue
        operator = node.operator
        if operator is not None:
            requires_grad = [
                index for index, parent in enumerate(node.parents) if parent in in_order and not operator.is_zero(index)
            ]
            parts = _vjp(node, gradient, requires_grad, create_graph) if requires_grad else ()
            for index, part in zip(requires_grad, parts, strict=True):
                parent = node.parents[index]
                part = conform(part, operator, index, node, parent)
                if create_graph and not isinstance(part, Array):
                    part = connect(part, None)
                _add(pending, parent, part)
        elif type(node) is Output and node.parents is not None and node.parents[0] in in_order:
            _add_output(pending, node, gradient)
    return results


def _vjp(
    node: Any,
    gradient: Any,
    requires_grad: Sequence[int],
    create_graph: bool,
    output_buffers: dict[int, OutputBuffer] | None = None,
) -> Sequence[Any]:
    """Return the gradients of the arguments of `node` at the positions `requires_grad`; buffers may hold some."""
    arguments, result = node.arguments, node.result
    several = type(node.dtype) is tuple
    if several:
        gradient = tuple(
            slot if slot is not None else numpy.zeros(shape, dtype)
            for slot, shape, dtype in zip(gradient, node.shape, node.dtype, strict=True)
        )
    if create_graph:
        arguments = [
            connect(value, parent) if parent is not None and isinstance(value, numpy_array) else value
            for value, parent in zip(arguments, node.parents, strict=True)
        ]
        if several and result is not None:
            outputs = [Output(node, index, value) for index, value in enumerate(result)]
            result = tuple(connect(value, output) for value, output in zip(result, outputs, strict=True))
        elif result is not None:
            result = connect(result, node)
    if node.operator.guarded:
        arguments = _told(node, arguments)
    if output_buffers is None:
        return node.operator.vjp(result, arguments, node.attributes, gradient, requires_grad)
    return node.operator.vjp(result, arguments, node.attributes, gradient, requires_grad, output_buffers)


def _told(node: Any, arguments: Sequence[Any] | None = None) -> list[Any]:
    """Return the arguments of a node with shapes in the place of those that no rule reads: for messages."""
    return [
        Shaped(parent.shape, parent.dtype) if value is None and parent is not None else value
        for value, parent in zip(node.arguments if arguments is None else arguments, node.parents, strict=True)
    ]


def _add(pending: dict[Any, Any], node: Any, gradient: Any) -> None:
    previous = pending.get(node)
    pending[node] = gradient if previous is None else previous + gradient


def _add_output(pending: dict[Any, Any], output: Output, gradient: Any) -> None:
    assert output.parents is not None
    node = output.parents[0]
    slots = pending.setdefault(node, [None] * len(node.shape))
    slots[output.index] = gradient if slots[output.index] is None else slots[output.index] + gradient


def reachable(heads: Iterable[Any], since: int = 0, ends: Collection[Any] = ()) -> list[Any]:
    """Return every node that the heads depend on, latest first; none older than the sequence number `since`.

    Of those that are older, the `ends` are among them which a younger node was computed from.
    """
    seen = set(heads)
    stack = list(seen)
    order = []
    freed = []
    while stack:
        node = stack.pop()
        parents = node.parents
        if parents is None:
            freed.append(node)
            continue
        order.append(node)
        for parent in parents:
            if parent is not None and parent not in seen:
                if parent.sequence >= since:
                    seen.add(parent)
                    stack.append(parent)
                elif parent in ends:
                    seen.add(parent)
                    order.append(parent)
    if freed:
        _refuse_freed(freed, order, heads)
    order.sort(key=_by_sequence, reverse=True)
    return order


def _refuse_freed(freed: Iterable[Any], order: Iterable[Any], heads: Iterable[Any]) -> None:
    """Raise if a gradient would have to go through a graph that is freed.

    What was computed of freed arrays afterwards takes them as constants, as the state of a recurrent network that goes
    on from batch to batch, unless nothing else is left to differentiate. Nor is there anything to say where gradients
    are zero (as behind `BlockGrad`).
    """
    times = {node: node.freed for node in freed}
    for node in order:
        if type(node) is Output and node.parents[0] in times:  # type: ignore[index]
            times[node] = times[node.parents[0]]  # type: ignore[index]
    reached = set(times).intersection(heads)
    constants: set[Any] = set()
    for node in order:
        if node in times:
            continue
        for index, parent in enumerate(node.parents):
            if parent in times and not (node.operator is not None and node.operator.is_zero(index)):
                (constants if node.sequence > times[parent] else reached).add(parent)
    if constants and not any(type(node) is Leaf for node in order):
        reached |= constants
    for node in reached:
        where = f"operator {node.operator.__name__}" if node.operator is not None else "one of several outputs"
        raise GraphFreedError(
            f"the graph of this array was freed by an earlier backward (at {where}). Pass retain_graph=True to "
            "every backward but the last, or record the computation again."
        )


def _leading_to(targets: set[Any], order: Sequence[Any]) -> list[Any]:
    """Return the nodes of `order` that are wanted, or that depend on one that is."""
    leading = set(targets)
    for node in reversed(order):
        if any(parent in leading for parent in node.parents or () if parent is not None):
            leading.add(node)
    return [node for node in order if node in leading]


def _refuse_overwritten(node: Node) -> None:
    """Raise if a value that the gradient needs has been changed in place since the call of `node`."""
    operator = node.operator
    outputs = node.result if type(node.result) is tuple else (node.result,)
    saved = [*zip(operator.argument_names(len(node.arguments)), node.arguments, strict=True)]
    saved += [("its output", value) for value in outputs]
    for position, (name, value) in enumerate(saved):
        if written_since(value, node.sequence) and _is_read(node, position):
            raise MutationError(
                f"{operator.__name__}: {name} ({describe(value)}) was changed in place after it was recorded, and the "
                "gradient needs its old value. Change a copy (x = x.copy()), or make the change after backward."
            )


_CHANGED = (
    "backward passes through an array ({}) that was changed in place after it was recorded, where nothing was recorded "
    "(outside record(), or in pause()). As in MXNet, the gradient is that of the recorded computation, as if the array "
    "had not been changed. If the new values are constants, write them into a detached copy (h = h.detach().copy()); "
    "if they were computed from the old ones, do that inside record(), with a new array (h = h + 1)."
)


def _is_used_since(node: Any, order: Sequence[Any], heads: Sequence[Any]) -> bool:
    """Tell whether a head was computed from the array at a node after that was changed, or is that array."""
    if node in heads:
        return True
    newer = itertools.takewhile(lambda later: later.sequence > node.changed, order)
    return any(parent is node for later in newer for parent in later.parents)


def _is_read(node: Node, position: int) -> bool:
    """Tell whether a rule that backward will run reads the argument at a position; beyond the last: the answer."""
    operator = node.operator
    requires_grad = [i for i, parent in enumerate(node.parents or ()) if parent is not None and not operator.is_zero(i)]
    arguments, reads_result = operator.values_read(requires_grad)
    return reads_result if position >= len(node.arguments) else arguments is None or position in arguments


def conform(part: Any, operator: Any, index: int, node: Node, parent: Any) -> Any:
    """Return what a rule returned as a gradient of its argument's shape and dtype.

    Broadcasting is undone here, once for all operators: a gradient of the output's shape is summed over the axes
    along which the argument was broadcast.

    Raises
    ------
    GradientError
        If the rule returned something else than an array, or a shape that is not the argument's.
    """
    if isinstance(part, Array):
        data = part._data
    elif isinstance(part, (numpy_array, numpy.generic, float, int, complex)):
        part = data = numpy.asarray(part)
    else:
        raise GradientError(
            f"{operator.describe_rule(index)} returned {describe(part)}; expected an array of shape {parent.shape}, "
            "the gradient of its argument. "
            + (
                "The upstream gradient of several outputs is a tuple: use g[0], g[1]."
                if isinstance(part, tuple) and type(getattr(node, "dtype", None)) is tuple
                else "Does every path of the rule return the gradient?"
            )
        )
    if data.dtype.kind not in "fciub":
        raise GradientError(
            f"{operator.describe_rule(index)} returned an array of dtype {data.dtype}; expected numbers "
            f"({parent.dtype}, the dtype of its argument)."
        )
    shape = parent.shape
    if data.shape != shape:
        if data.size == 1 and shape in ((), (1,)):
            part = part.reshape(shape)
        elif data.shape == node.shape and _broadcasts(shape, data.shape):
            part = sum_to(part, shape)
        else:
            raise GradientError(
                f"{operator.describe_rule(index)} returned a gradient of shape {data.shape}; expected {shape}, "
                f"the shape of its argument {operator.argument_name(index)!r}. The output's shape is {node.shape}."
            )
    if data.dtype != parent.dtype:
        if data.dtype.kind == "c" and parent.dtype.kind != "c":
            part = part.real
        part = part.astype(parent.dtype)
    return part


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (b, 1) for a, b in zip(reversed(shape), reversed(to), strict=False))
