"""An operator's derivatives of any order, as functions of flat lists of raw arrays: what other frameworks call.

`Derivative(op, attributes)` is the operator itself. `.pull(positions)` is what takes gradients of the outputs of a
derivative back to the values at some positions, `.push(positions)` what takes tangents of these values forward; both
are derivatives again. Their text, `spec`, says which derivative of an operator is meant, so that one function of
(values, spec) is enough to have all of them.

    of the operator:     values are its inputs
    .pull, the first:    gradients of the outputs, the outputs, the inputs       -> gradients of inputs
    .pull of another:    gradients of what that returns, its values              -> gradients of its values
    .push:               tangents at the positions, the values of what is pushed -> tangents of what that returns
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.capture.reads import same_value
from minpy.core import dispatch
from minpy.core.array import Array, raw_of
from minpy.core.buffers import SOLE_LOCAL
from minpy.core.default_attributes import default_attributes
from minpy.core.errors import ArgumentError, nearest
from minpy.core.state import state
from minpy.core.tape_walk import conform
from minpy.core.user_functions import read_only, run_guarded
from minpy.differentiation import recorded_run
from minpy.differentiation.rules_as_functions import pull_back
from minpy.frameworks.inference import ArraySpec, InferredOutputs, infer_outputs
from minpy.frameworks.spec_texts import read_text, text_of

__all__ = ["Derivative", "fresh", "full_attributes"]

PULL, PUSH = "pull", "push"


def full_attributes(operator: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call, with the defaults of those that are not given; it does not train unless said.

    Raises an ArgumentError for an attribute that the operator does not have, or one that is missing.
    """
    declared = operator.signature.attributes
    unknown = [name for name in attributes if name not in declared]
    if unknown and not operator.signature.open_ended:
        raise ArgumentError(
            f"{operator.__name__} has no attribute {unknown[0]!r}; its attributes are {', '.join(declared) or 'none'}."
            f"{nearest(unknown[0], list(declared))}"
        )
    filled = {**default_attributes(operator.signature), **attributes}
    missing = [
        name
        for name, attribute in declared.items()
        if attribute.default is inspect.Parameter.empty and name not in filled
    ]
    if missing:
        raise ArgumentError(f"{operator.__name__}: attribute {missing[0]!r} is missing; pass {missing[0]}=... .")
    if operator.uses_training and filled.get("training") is None:
        filled["training"] = False
    return filled


class Derivative:
    """A derivative of an operator: of order 0, the operator; see the module's docstring.

    Parameters
    ----------
    operator
        Any kind of operator.
    attributes : mapping, optional
        Of the call; the others have their defaults.
    num_outputs : int
        How many arrays the operator's `forward` returns.
    returns_tuple : bool, optional
        Whether it returns a tuple; by default, if there are several outputs.
    absent : sequence of int
        The positions of inputs that are None: they are not among the values.
    chain : sequence of (str, tuple of int)
        What is taken of it, step by step: ('pull' or 'push', positions of the values of the one before).

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> @minpy.customop('numpy')
    ... def cube(x):
    ...     return x ** 3
    >>> cube.def_grad(lambda ans, x: lambda g: 3 * x * x * g)
    <Operator cube(x), gradients: x>
    >>> x, g = np.array([2.0]), np.array([1.0])
    >>> first = Derivative(cube).pull([0])
    >>> first(g, cube(x), x)
    [array([12.])]
    >>> second = first.pull([2])  # with respect to x
    >>> second(g, g, cube(x), x)
    [array([12.])]
    >>> Derivative.from_spec(cube, second.spec).chain
    (('pull', (0,)), ('pull', (2,)))
    """

    # Whether each value has an axis of examples in front: see `batched_derivatives`.
    has_examples = False

    def __init__(
        self,
        operator: Any,
        attributes: Mapping[str, Any] | None = None,
        num_outputs: int = 1,
        returns_tuple: bool | None = None,
        absent: Sequence[int] = (),
        chain: Sequence[tuple[str, Sequence[int]]] = (),
    ) -> None:
        self.operator = operator
        # Whether each call has an operator of its own, as it keeps between forward and backward what is no output.
        self.is_made_anew = hasattr(operator, "fresh") and getattr(operator, "is_copied", True)
        self.attributes = full_attributes(operator, attributes or {})
        self.num_outputs = num_outputs
        self.returns_tuple = num_outputs > 1 if returns_tuple is None else returns_tuple
        self.absent = tuple(absent)
        self.chain = tuple((mode, tuple(positions)) for mode, positions in chain)
        self.lower = None if not self.chain else self._with(self.chain[:-1])
        # How many arrays it returns.
        self.num_returned: int = num_outputs
        # Where the values of the derivative that it is taken of begin.
        self.offset = 0
        if self.lower is not None:
            mode, positions = self.chain[-1]
            is_pull = mode == PULL
            self.num_returned = len(positions) if is_pull else self.lower.num_returned
            self.offset = len(positions) if not is_pull else self.lower.num_returned + self.reads_outputs * num_outputs
        self._function: Callable[..., tuple[Any, ...]] | None = None
        self._is_first_pull = len(self.chain) == 1 and self.chain[0][0] == PULL
        self._takes_own = (
            bool(operator.guarded)
            and not self.is_made_anew
            and not self.has_examples
            and not self.absent
            and (not self.chain or self._is_first_pull)
        )
        self._live: tuple[list[int], list[int]] | None = None
        self._spec: str | None = None
        self._taken: dict[tuple[str, tuple[int, ...]], Derivative] = {}

    def _with(self, chain: Sequence[tuple[str, Sequence[int]]]) -> Derivative:
        return Derivative(self.operator, self.attributes, self.num_outputs, self.returns_tuple, self.absent, chain)

    def __repr__(self) -> str:
        steps = "".join(f".{mode}({list(positions)})" for mode, positions in self.chain)
        return f"<Derivative {self.operator.__name__}{steps}>"

    # -- which one it is -----------------------------------------------------------------------------------------------

    @property
    def reads_outputs(self) -> bool:
        """Whether the operator's outputs are among the values: of a first pull."""
        return len(self.chain) == 1 and self.chain[0][0] == PULL

    def pull(self, positions: Sequence[int]) -> Derivative:
        """Return what takes the gradients of what this returns back to the values at some positions."""
        return self._next(PULL, positions)

    def push(self, positions: Sequence[int]) -> Derivative:
        """Return what takes tangents of the values at some positions to the tangents of what this returns."""
        return self._next(PUSH, positions)

    def _next(self, mode: str, positions: Sequence[int]) -> Derivative:
        key = mode, tuple(positions)
        derivative = self._taken.get(key)
        if derivative is None:
            derivative = self._taken[key] = self._with((*self.chain, key))
            derivative.is_made_anew = self.is_made_anew
        return derivative

    @property
    def spec(self) -> str:
        """Which derivative it is, as text: see `from_spec`."""
        if self._spec is None:
            explicit = {
                name: value for name, value in self.attributes.items() if self._differs_from_default(name, value)
            }
            for name, value in explicit.items():
                text_of(value, f"{self.operator.__name__}: {name}")
            self._spec = text_of((explicit, self.num_outputs, self.returns_tuple, self.absent, self.chain))
        return self._spec

    def _differs_from_default(self, name: str, value: Any) -> bool:
        declared = self.operator.signature.attributes.get(name)
        return declared is None or not (declared.default is value or same_value(value, declared.default))

    @staticmethod
    def from_spec(operator: Any, spec: str) -> Derivative:
        """Return the derivative of an operator that a text means; the same one for the same text."""
        return _from_spec(operator, spec)

    # -- what it computes ----------------------------------------------------------------------------------------------

    def __call__(self, *raws: Any) -> list[numpy.ndarray]:
        """Return what it gives for raw arrays: fresh arrays in C order, which share memory with nothing."""
        if not self.chain:
            result = dispatch.run(self._fresh_operator(), self._inputs(raws), self.attributes)
            if type(result) is numpy.ndarray and not self.returns_tuple:
                is_own = getrefcount(result) <= SOLE_LOCAL and result.flags.num & _OWN_C_ORDER == _OWN_C_ORDER
                return [result if is_own else result.copy(order="C")]
            several = isinstance(result, (tuple, list))
            results = [*result] if several else [result]
            del result
            self._require_count(len(results), several)
        elif self._is_first_pull and not state.recording:
            results = self._raw_pull(raws)
        else:
            results = [*self.function()(*raws)]
        return _own(results)

    def of_own(self, raws: Sequence[Any]) -> list[numpy.ndarray]:
        """Return what a call gives for array objects that nobody else has, whoever has their memory.

        Functions that must not write to them get these themselves, as read-only arrays, and no views of them.
        """
        if not self._takes_own or (self.chain and state.recording):
            return self(*raws)
        for raw in raws:
            raw.setflags(False)  # write=False: by position it costs less
        if self.chain:
            return _own(self._raw_pull(raws, is_own=True))
        result = run_guarded(self.operator, raws, self.attributes)  # it copies what is not fresh
        if type(result) is numpy.ndarray and not self.returns_tuple:
            return [result if result.flags.num & _OWN_C_ORDER == _OWN_C_ORDER else result.copy(order="C")]
        several = isinstance(result, (tuple, list))
        results = [*result] if several else [result]
        del result
        self._require_count(len(results), several)
        return _own(results)

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Return it as a function of arrays, raw or recorded by the tape, that returns a tuple."""
        if self._function is None:
            if self.lower is None:
                self._function = self._forward
            elif self._is_first_pull:
                self._function = self._first_pull
            else:
                self._function = self._pull_of_lower if self.chain[-1][0] == PULL else self._push_of_lower
        return self._function

    def _forward(self, *values: Any) -> tuple[Any, ...]:
        operator = self._fresh_operator()
        inputs, attributes = self._inputs(values), dict(self.attributes)
        if any(isinstance(value, Array) for value in inputs):
            result = dispatch.call_on_arrays(_AllVisible(operator), inputs, attributes)
        else:
            result = dispatch.run(operator, inputs, attributes)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    def _first_pull(self, *values: Any) -> tuple[Any, ...]:
        offset = self.offset
        operator = self._fresh_operator()
        if operator is not self.operator:  # what it keeps between forward and backward is not among the values
            dispatch.run(operator, self._inputs([raw_of(value) for value in values[offset:]]), dict(self.attributes))
        indices, live = self._live_indices(operator)
        inputs = self._inputs(values[offset:])
        gradients: dict[int, Any] = {}
        if live:
            parts = pull_back(
                operator,
                dict(self.attributes),
                live,
                self.num_outputs,
                self.returns_tuple,
                *values[:offset],
                *inputs,
            )
            gradients = dict(zip(live, parts, strict=True))
        return tuple(
            gradients[index] if index in gradients else numpy.zeros_like(raw_of(inputs[index])) for index in indices
        )

    def _raw_pull(self, raws: Sequence[numpy.ndarray], is_own: bool = False) -> list[Any]:
        """Return the first pull of raw arrays: what `_first_pull` does, at a third of its time.

        `is_own`: they are read-only already, where they must not be written.
        """
        if self._live is None:
            self._live = self._live_indices(self.operator)
        indices, live = self._live
        operator, offset = self.operator, self.offset
        if self.is_made_anew or not live or self.absent:
            return [*self._first_pull(*raws)]
        count = self.num_outputs
        cotangents, outputs, inputs = raws[:count], raws[count:offset], raws[offset:]
        if operator.guarded and not is_own:
            cotangents, outputs, inputs = [[*map(read_only, values)] for values in (cotangents, outputs, inputs)]
        several = self.returns_tuple
        parts: list[Any] = []
        if operator.direct and not several:
            cotangent = cotangents[0]
            try:
                for index in live:
                    parts.append(operator.raw_rules[index](outputs[0], *inputs, **self.attributes)(cotangent))
            except Exception:  # what is wrong, and where, is said below
                parts.clear()
        if not parts:
            parts = operator.vjp(
                tuple(outputs) if several else outputs[0],
                inputs,
                self.attributes,
                tuple(cotangents) if several else cotangents[0],
                live,
            )
        for place, index in enumerate(live):
            part, like = parts[place], raws[offset + index]
            if type(part) is not numpy.ndarray or part.shape != like.shape or part.dtype != like.dtype:
                node: Any = SimpleNamespace(shape=None if several else outputs[0].shape)
                parts[place] = conform(part, operator, index, node, like)
        if len(live) == len(indices):
            return parts
        gradients = dict(zip(live, parts, strict=True))
        return [gradients[index] if index in gradients else numpy.zeros_like(raws[offset + index]) for index in indices]

    def _live_indices(self, operator: Any) -> tuple[list[int], list[int]]:
        """Return (which inputs the gradients of a first pull are of; those that are not said to be zero)."""
        indices = [self.input_position(position) for position in self.chain[0][1]]
        live = [index for index in dict.fromkeys(indices) if not operator.is_zero(index)]
        for index in live:
            if not operator.has_rule(index):
                raise operator.missing_rule(index)
        return indices, live

    def _pull_of_lower(self, *values: Any) -> tuple[Any, ...]:
        assert self.lower is not None
        return tuple(self._vjp(self.lower.function(), values[self.offset :], values[: self.offset]))

    def _push_of_lower(self, *values: Any) -> tuple[Any, ...]:
        assert self.lower is not None
        function, positions = self.lower.function(), self.chain[-1][1]
        return tuple(recorded_run.jvp(function, values[self.offset :], positions, values[: self.offset])[1])

    def _vjp(self, function: Callable[..., Any], values: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        return recorded_run.vjp(function, values, self.chain[-1][1])[1](cotangents)

    def _inputs(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the operator's inputs: the values, and None where one is absent."""
        if not self.absent:
            return values
        inputs = list(values)
        for position in self.absent:
            inputs.insert(position, None)
        return inputs

    def input_position(self, position: int) -> int:
        """Return which of the operator's inputs a value at a position is, of the values of order 0."""
        for absent in self.absent:
            position += absent <= position
        return position

    def _fresh_operator(self) -> Any:
        """Return the operator: for one call, of a prop that keeps what it computes."""
        return self.operator.fresh() if self.is_made_anew else self.operator

    def for_one_call(self) -> Derivative:
        """Return it with an operator of its own, which keeps what it computes: for one forward, and its gradients."""
        derivative = self._with(self.chain)
        derivative.operator, derivative.is_made_anew = self.operator.fresh(), False
        return derivative

    def _require_count(self, count: int, several: bool) -> None:
        if count == self.num_outputs and several == self.returns_tuple:
            return
        name = self.operator.__name__
        said = f"a tuple of {self.num_outputs}" if self.returns_tuple else "one array"
        raise ArgumentError(
            f"{name} returned {f'a tuple of {count}' if several else 'one array'}, and was taken to return {said}. Say "
            f"how many arrays it returns where it is defined: @customop('numpy', outputs={max(count, 1)})."
        )

    # -- what it returns -----------------------------------------------------------------------------------------------

    def infer(self, specs: Sequence[ArraySpec]) -> list[ArraySpec]:
        """Return the shapes and dtypes of what it returns, from those of the values."""
        if self.lower is None:
            return list(self.infer_outputs(specs))
        mode, positions = self.chain[-1]
        values = specs[self.offset :]
        return [values[position] for position in positions] if mode == PULL else self.lower.infer(values)

    def infer_outputs(self, specs: Sequence[Any]) -> InferredOutputs:
        """Return what the operator returns for inputs of these shapes and dtypes."""
        return infer_outputs(self.operator, self._inputs(specs), self.attributes)


@lru_cache(4096)
def _from_spec(operator: Any, spec: str) -> Derivative:
    return Derivative(operator, *read_text(spec))


class _AllVisible:
    """An operator all of whose outputs callers see: rules read those that others do not."""

    visible_outputs = None

    def __init__(self, operator: Any) -> None:
        self._operator = operator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)


def _own(results: list[Any]) -> list[numpy.ndarray]:
    """Return results as fresh arrays, and empty the list of them."""
    arrays: list[numpy.ndarray] = []
    if len(results) > 1:
        results.reverse()
    while results:
        value = results.pop()
        # Another reference is somebody else's: a rule may return what its closure holds. Without one, memory that is
        # the array's own is nobody's beside.
        arrays.append(value.copy(order="C") if getrefcount(value) > SOLE_LOCAL else fresh(value))
    return arrays


_OWN_C_ORDER = 0x001 | 0x004 | 0x400  # NumPy's flags C_CONTIGUOUS, OWNDATA and WRITEABLE


def fresh(value: Any) -> numpy.ndarray:
    """Return an array in C order that can be written and has memory of its own: itself, or a copy.

    Examples
    --------
    >>> x = numpy.ones((2, 3))
    >>> fresh(x.T).flags.c_contiguous, fresh(x) is x
    (True, True)
    """
    value = raw_of(value)
    if type(value) is not numpy.ndarray:
        return numpy.array(value)
    return value if value.flags.num & _OWN_C_ORDER == _OWN_C_ORDER else value.copy(order="C")
