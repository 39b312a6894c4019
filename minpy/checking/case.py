"""`Case`: one call of an operator, with its floating-point inputs as variables that checks may move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.checking.random_state import Draws
from minpy.core.array import Array, as_raw, raw_of
from minpy.core.errors import describe, describe_arguments
from minpy.core.signatures import bind
from minpy.differentiation import recorded_run

__all__ = ["Case", "as_outputs"]

Arrays = list[numpy.ndarray]


def as_outputs(answer: Any) -> Arrays:
    """Return what an operator returned as a list of NumPy arrays."""
    values = answer if isinstance(answer, (tuple, list)) else (answer,)
    return [as_raw(value) for value in values]


@dataclass(frozen=True)
class Case:
    """An operator, its inputs as raw values, and which of them are variables."""

    operator: Any
    inputs: tuple[Any, ...]  # NumPy arrays, and whatever else the operator takes (numbers, None, a method's `self`)
    attributes: Mapping[str, Any]
    slots: tuple[int | str, ...] = ()  # what is differentiated: positions among `inputs`, or keys of `attributes`
    draws: Draws | None = None  # of a random operator: where every call begins to draw

    @classmethod
    def read(cls, operator: Any, arguments: Sequence[Any], attributes: Mapping[str, Any]) -> Case:
        """Return the case of a call: arrays are unwrapped and floating-point ones converted to float64."""
        inputs, rest = bind(operator.__name__, operator.signature, tuple(arguments), dict(attributes), operator.builtin)
        raw = [numpy.asarray(value) if isinstance(value, list) else raw_of(value) for value in inputs]
        options = {key: raw_of(value) for key, value in rest.items()}
        slots: list[int | str] = [index for index, value in enumerate(raw) if _is_variable(operator, index, value)]
        slots += [key for key in operator.keyword_rules if _is_real(options.get(key))]
        case = cls(operator, tuple(raw), options, tuple(slots))
        case = case.with_variables([numpy.array(value, numpy.float64) for value in case.variables])
        return case.cast(numpy.float64)

    @property
    def variables(self) -> Arrays:
        """The values of the slots."""
        return [self[slot] for slot in self.slots]

    @property
    def arrays(self) -> dict[int | str, numpy.ndarray]:
        """Every input and attribute that is an array, by its slot: variables and others, such as labels."""
        values: list[tuple[int | str, Any]] = [*enumerate(self.inputs), *self.attributes.items()]
        return {slot: value for slot, value in values if isinstance(value, numpy.ndarray)}

    @property
    def states(self) -> tuple[int | str, ...]:
        """The slots of the auxiliary states, which calls may change in place."""
        if not self.operator.auxiliary:
            return ()
        names = self.operator.argument_names(len(self.inputs))
        positions = [position for position, name in enumerate(names) if name in self.operator.auxiliary]
        return (*positions, *[name for name in self.attributes if name in self.operator.auxiliary])

    def __getitem__(self, slot: int | str) -> Any:
        return self.attributes[slot] if isinstance(slot, str) else self.inputs[slot]

    def __str__(self) -> str:
        skipped = int(self.operator.is_method)
        names = self.operator.argument_names(len(self.inputs))[skipped:]
        text = describe_arguments(names, self.inputs[skipped:])
        options = [
            f"{key}={describe(value) if isinstance(value, numpy.ndarray) else repr(value)}"
            for key, value in self.attributes.items()
        ]
        return f"{self.operator.__name__}({', '.join(filter(None, [text, *options]))})"

    def name(self, slot: int | str) -> str:
        """Return the name of an input, as rows call it."""
        return slot if isinstance(slot, str) else self.operator.argument_name(slot)

    def title(self, slot: int | str) -> str:
        """Return how messages call an input: "argument 1 (y)"."""
        if isinstance(slot, str):
            return f"argument {slot!r}"
        return f"argument {slot - self.operator.is_method} ({self.name(slot)})"

    def replaced(self, values: Mapping[int | str, Any]) -> Case:
        """Return the case with other values in some slots."""
        inputs = tuple(values.get(index, value) for index, value in enumerate(self.inputs))
        options = {key: values.get(key, value) for key, value in self.attributes.items()}
        return Case(self.operator, inputs, options, self.slots, self.draws)

    def mapped(self, change: Callable[[numpy.ndarray], Any]) -> Case:
        """Return the case with every array changed by a function."""
        return self.replaced({slot: change(value) for slot, value in self.arrays.items()})

    def with_variables(self, values: Sequence[Any]) -> Case:
        """Return the case with other values of its variables."""
        return self.replaced(dict(zip(self.slots, values, strict=True)))

    def cast(self, dtype: Any) -> Case:
        """Return the case with floating-point arrays converted."""
        return self.mapped(lambda value: value.astype(dtype) if value.dtype.kind == "f" else value)

    def run(self) -> tuple[Any, Arrays]:
        """Call the operator; return (what it returns, its states after that). States of NumPy's are moved as copies."""
        case = self
        if self.states:
            states_before = {slot: self[slot] for slot in self.states}
            case = self.replaced({slot: v.copy() for slot, v in states_before.items() if isinstance(v, numpy.ndarray)})
        if self.draws is not None:
            self.draws.rewind()
        result = self.operator(*case.inputs, **case.attributes)
        states = [case[slot] for slot in self.states]
        return result, [as_raw(value) for value in states if isinstance(value, (numpy.ndarray, Array))]

    def call(self) -> Any:
        """Call the operator, and return what it returns."""
        return self.run()[0]

    def function(self, *variables: Any) -> Any:
        """Call the operator at other values of the variables, of any kind of array."""
        return self.with_variables(variables).call()

    def gradients(self, upstream: Sequence[Any], slots: Sequence[int] | None = None) -> list[Any]:
        """Return the gradients that the rules give, of the variables at the positions `slots` (None: of all)."""
        chosen = range(len(self.slots)) if slots is None else slots
        answer, pull = recorded_run.vjp(self.function, self.variables, chosen)
        several = isinstance(answer, (tuple, list))
        return pull(upstream if several else upstream[0])


def _is_real(value: Any) -> bool:
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.dtype.kind == "f"
    return isinstance(value, float)


def _is_variable(operator: Any, index: int, value: Any) -> bool:
    """Tell whether an input is differentiated: it is floating point, and has a rule."""
    return _is_real(value) and operator.has_rule(index) and not operator.is_zero(index)
