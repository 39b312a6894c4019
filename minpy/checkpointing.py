"""`checkpoint`: functions whose intermediate values are computed again for the gradient, and not kept until then."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from minpy.batching.levels import holds_batched
from minpy.bridge.hips_boxes import is_box
from minpy.core.array import Array, as_raw, now
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import ArgumentError, MutationError, describe
from minpy.core.nodes import attach_outputs, connect, record_node
from minpy.core.state import Scope, state
from minpy.core.tape_walk import gradients, reachable
from minpy.differentiation import recorded_run
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.ops.random.generator import generator

__all__ = ["checkpoint"]

_SAMPLES = 16


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that keeps nothing for its gradient but its arguments, and is run again for the gradient.

    What is computed inside is freed when the call returns, and computed once more in backward: that saves memory, and
    costs time. A chain of n layers, cut into pieces of about the square root of n that are checkpointed, needs memory
    for two such pieces, and one more forward pass.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, or nested dicts, lists and tuples with arrays. It gives the same results for the same
        arguments; random numbers of `minpy.random`, `numpy.random` and `random` are drawn again as they were. Recorded
        arrays that it reads from outside get their gradients, too.

    Returns
    -------
    callable
        Takes what `function` takes, and returns the same.

    Raises
    ------
    MutationError
        In backward, if the function gives other results than before: what it reads has been changed since.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> layers = minpy.checkpoint(lambda x: np.tanh(np.tanh(x)))
    >>> minpy.grad(lambda x: np.sum(layers(x)))(np.zeros(2))
    array([1., 1.])
    """
    if not callable(function):
        raise ArgumentError(
            f"checkpoint: the argument is the function to run again, got {describe(function)}. Write "
            "checkpoint(f)(x), not checkpoint(f(x))."
        )

    @functools.wraps(function)
    def checkpointed(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            from minpy.bridge.hips import through_boxes  # it imports autograd

            return through_boxes(checkpointed, arguments, keywords)
        if not state.recording or holds_batched((arguments, keywords)):
            return function(*arguments, **keywords)
        return _recorded_as_one(function, arguments, keywords)

    return checkpointed


class _Input:
    """Stands for a recorded array among the arguments of a call that is kept."""


_INPUT = _Input()


class _Run:
    """One call that can be repeated: the function, its arguments, and what else its result follows from.

    `inputs` are the recorded arrays among the arguments, without their places on the tape.
    """

    def __init__(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.training = state.training
        self.random_states = _random_states()
        self.inputs: list[Any] = []
        self.call = map_tree(self._kept, (tuple(arguments), dict(keywords)))

    def _kept(self, leaf: Any, _: str) -> Any:
        if isinstance(leaf, Array) and leaf._node is not None:
            self.inputs.append(leaf._like(leaf._data))
            return _INPUT
        return leaf.copy() if isinstance(leaf, numpy.ndarray) else leaf  # its owner may write to it before backward

    def repeat(self, inputs: Sequence[Any]) -> tuple[int, list[Array], Any]:
        """Run the function on recorded arrays; return (when that began, its variables, its result)."""
        since = now()
        variables = [recorded_run.variable(value) for value in inputs]
        remaining = iter(variables)
        positional, named = map_tree(lambda leaf, _: next(remaining) if leaf is _INPUT else leaf, self.call)
        with Scope(True, self.training):
            return since, variables, self.function(*positional, **named)


def _recorded_as_one(function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """Return what a function returns, recorded as one node."""
    run = _Run(function, arguments, keywords)
    recorded = [leaf for leaf in leaves_of((arguments, keywords)) if isinstance(leaf, Array) and leaf._node is not None]
    since, variables, structure = run.repeat(recorded)
    outputs = leaves_of(structure)
    positions = _following(outputs, since)
    outside = _read_outside([outputs[position]._node for position in positions], since, variables)
    parents = [value._node for value in recorded] + list(outside)
    if not positions or not parents:
        return structure
    values = [value._data for value in recorded]
    raws = [outputs[position]._data for position in positions]
    raws = [raw.copy() if any(numpy.may_share_memory(raw, value) for value in values) else raw for raw in raws]
    operator = _Recomputed(run, list(outside), [_sample(raw) for raw in raws])
    node = record_node(operator, [*values, *outside.values()], None, {}, parents)
    for position, raw, output in zip(positions, raws, attach_outputs(node, raws), strict=True):
        outputs[position] = outputs[position]._like(raw, output)
    remaining = iter(outputs)
    return map_tree(lambda _, __: next(remaining), structure)


def _following(outputs: Sequence[Any], since: int) -> list[int]:
    """Return the positions of the results that something recorded since then led to."""
    return [
        position
        for position, output in enumerate(outputs)
        if isinstance(output, Array) and output._node is not None and output._node.sequence >= since
    ]


def _read_outside(heads: Sequence[Any], since: int, variables: Sequence[Array]) -> dict[Any, Any]:
    """Return what a run read of the tape besides its variables: nodes, and their values as far as rules read them."""
    own = {variable._node for variable in variables}
    outside: dict[Any, Any] = {}
    for node in reachable(heads, since):
        for position, parent in enumerate(() if node in own else node.parents):
            if parent is not None and parent.sequence < since:
                value = node.arguments[position] if node.operator is not None else None
                outside[parent] = outside.get(parent) if value is None else value
    return outside


class _Recomputed(BaseOperator):
    """The operator of one checkpointed call: its gradient runs the function again.

    Its arguments are the inputs of the run, and then what was read `outside`: nodes of the tape.
    """

    def __init__(self, run: _Run, outside: Sequence[Any], samples: Sequence[Any]) -> None:
        self.__name__ = f"checkpoint of {run.name}"
        self.run = run
        self.outside = outside
        self.samples = samples

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients at the positions `requires_grad`; recorded ones if a value is recorded."""
        nested = state.recording
        inputs = [
            like._like(as_raw(value), value._node if isinstance(value, Array) else None)
            for like, value in zip(self.run.inputs, arguments, strict=False)
        ]
        with _drawing_again(self.run.random_states):
            since, variables, structure = self.run.repeat(inputs)
        outputs = leaves_of(structure)
        heads = [outputs[position] for position in _following(outputs, since)]
        self._require_same(heads)
        starts = [connect(as_raw(part), getattr(part, "_node", None)) if nested else as_raw(part) for part in gradient]
        targets = [variable._node for variable in variables] + list(self.outside)
        reached = gradients(
            [head._node for head in heads], starts, targets, retain_graph=True, create_graph=nested, since=since
        )
        return [
            reached[target] if target in reached else numpy.zeros(target.shape, target.dtype)
            for target in (targets[index] for index in requires_grad)
        ]

    def _require_same(self, heads: Sequence[Any]) -> None:
        for number, sample in enumerate(self.samples):
            again = _sample(heads[number]._data) if len(heads) == len(self.samples) else None
            if again is None or again[0] != sample[0] or not _close(again[1], sample[1]):
                raise MutationError(
                    f"checkpoint: {self.run.name} gave other results when it was run again for the gradient. What it "
                    "reads (an array that is no argument, a counter, a generator of random numbers of its own) has "
                    "changed since. Give that as an argument, draw from minpy.random or numpy.random, or leave out "
                    "checkpoint."
                )


def _sample(raw: numpy.ndarray) -> tuple[Any, numpy.ndarray]:
    """Return (shape and dtype, some elements) of a result, by which it is told from another."""
    flat = raw.reshape(-1)[:: max(1, raw.size // _SAMPLES)] if raw.flags.c_contiguous else raw.flat[:_SAMPLES]
    return (raw.shape, raw.dtype), numpy.array(flat)


def _close(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    """Tell whether numbers are equal but for rounding, which sums in another order have."""
    tolerance = 1e-2 if first.dtype.itemsize <= 2 else 1e-4
    return bool(numpy.allclose(first, second, rtol=tolerance, atol=tolerance**2, equal_nan=True))


def _random_states() -> tuple[Any, Any, Any]:
    return numpy.random.get_state(legacy=False), random.getstate(), generator().bit_generator.state


def _set_random_states(states: tuple[Any, Any, Any]) -> None:
    numpy.random.set_state(states[0])
    random.setstate(states[1])
    generator().bit_generator.state = states[2]


@contextmanager
def _drawing_again(states: tuple[Any, Any, Any]) -> Iterator[None]:
    """Draw the random numbers again that were drawn from these states on; afterwards go on as if nothing was drawn."""
    present = _random_states()
    _set_random_states(states)
    try:
        yield
    finally:
        _set_random_states(present)
