"""`Case`: one call of an operator, with its floating-point inputs as variables that checks may move.

`Point` is a case with its outputs for plain NumPy arrays, with which every check compares; `Generators` lets random
operators draw the same numbers at each call; functions for the rows of reports follow.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.checking.differences import Derivatives, Tolerance
from minpy.core.array import Array, as_raw, raw_of
from minpy.core.errors import describe, describe_arguments, is_quitting
from minpy.core.reports import FAILED, SKIPPED, Row
from minpy.core.signatures import bind
from minpy.differentiation import recorded_run

__all__ = ["Case", "Generators", "Options", "Point", "as_outputs", "attempt", "failure", "register_generator", "skip"]

_GENERATORS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [
    (random.getstate, random.setstate),
    (numpy.random.get_state, numpy.random.set_state),
]


def register_generator(read: Callable[[], Any], restore: Callable[[Any], None]) -> None:
    """Let checks of random operators rewind a further generator.

    Parameters
    ----------
    read : callable
        `read()` returns its state.
    restore : callable
        `restore(state)` puts it back into a state that `read` returned.
    """
    _GENERATORS.append((read, restore))


class Generators:
    """The states of all global generators, as they are when this is created."""

    def __init__(self) -> None:
        self._states = [(restore, read()) for read, restore in _GENERATORS]

    def rewind(self) -> None:
        """Restore these states."""
        for restore, state in self._states:
            restore(state)


Arrays = list[numpy.ndarray]


def as_outputs(result: Any) -> Arrays:
    """Return the result of an operator as a list of NumPy arrays."""
    values = result if isinstance(result, (tuple, list)) else (result,)
    return [as_raw(value) for value in values]


@dataclass(frozen=True)
class Case:
    """An operator, its inputs as raw values, and which of them are variables."""

    operator: Any
    inputs: tuple[Any, ...]  # NumPy arrays, and whatever else the operator takes (numbers, None, a method's `self`)
    attributes: Mapping[str, Any]
    slots: tuple[int | str, ...] = ()  # what is differentiated: positions among `inputs`, or keys of `attributes`
    generators: Generators | None = None  # of a random operator: their states before every call

    @classmethod
    def read(cls, operator: Any, arguments: Sequence[Any], attributes: Mapping[str, Any]) -> Case:
        """Return the case of a call: arrays are unwrapped and floating-point ones converted to float64."""
        inputs, keywords = bind(
            operator.__name__, operator.signature, tuple(arguments), dict(attributes), operator.builtin
        )
        raws = [numpy.asarray(value) if isinstance(value, list) else raw_of(value) for value in inputs]
        raw_attributes = {key: raw_of(value) for key, value in keywords.items()}
        slots: list[int | str] = [index for index, value in enumerate(raws) if _is_variable(operator, index, value)]
        slots += [key for key in operator.keyword_rules if _is_real(raw_attributes.get(key))]
        case = cls(operator, tuple(raws), raw_attributes, tuple(slots))
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
        first = int(self.operator.is_method)
        names = self.operator.argument_names(len(self.inputs))[first:]
        text = describe_arguments(names, self.inputs[first:])
        attributes = [
            f"{key}={describe(value) if isinstance(value, numpy.ndarray) else repr(value)}"
            for key, value in self.attributes.items()
        ]
        return f"{self.operator.__name__}({', '.join(filter(None, [text, *attributes]))})"

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
        attributes = {key: values.get(key, value) for key, value in self.attributes.items()}
        return Case(self.operator, inputs, attributes, self.slots, self.generators)

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
        """Return (the operator's result, its states after the call); NumPy arrays as states are passed as copies."""
        case = self
        if self.states:
            states_before = {slot: self[slot] for slot in self.states}
            case = self.replaced({slot: v.copy() for slot, v in states_before.items() if isinstance(v, numpy.ndarray)})
        if self.generators is not None:
            self.generators.rewind()
        result = self.operator(*case.inputs, **case.attributes)
        states = [case[slot] for slot in self.states]
        return result, [as_raw(value) for value in states if isinstance(value, (numpy.ndarray, Array))]

    def call(self) -> Any:
        """Return the operator's result."""
        return self.run()[0]

    def function(self, *variables: Any) -> Any:
        """Return the operator's result for other values of the variables, of any class of array."""
        return self.with_variables(variables).call()

    def gradients(self, upstream: Sequence[Any], slots: Sequence[int] | None = None) -> list[Any]:
        """Return the gradients that the rules give, of the variables at the positions `slots` (None: of all)."""
        chosen = range(len(self.slots)) if slots is None else slots
        result, pull = recorded_run.vjp(self.function, self.variables, chosen)
        is_tuple = isinstance(result, (tuple, list))
        return pull(upstream if is_tuple else upstream[0])


def _is_real(value: Any) -> bool:
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.dtype.kind == "f"
    return isinstance(value, float)


def _is_variable(operator: Any, index: int, value: Any) -> bool:
    """Tell whether an input is differentiated: it is floating point, and has a rule."""
    return _is_real(value) and operator.has_rule(index) and not operator.is_zero(index)


@dataclass(frozen=True, slots=True)
class Options:
    """What the user of a check may set; see `check_operator`."""

    rtol: float = 1e-6
    atol: float = 1e-8
    seed: int = 0
    directions: int = 3
    ulps: float = 4.0
    gradient_of: Callable[..., Any] | None = None


class Point:
    """A case, its outputs, random upstream gradients for them, and a tolerance.

    Upstream gradients are zero for outputs that are not floating point, and for elements that are NaN or infinite: the
    gradients of the other elements are compared all the same. `states` are the auxiliary states after the call.
    """

    def __init__(self, case: Case, options: Options) -> None:
        self.case = case
        self.options = options
        self.random = numpy.random.default_rng(options.seed)
        result, self.states = case.run()
        self.outputs = as_outputs(result)
        self.upstream = [
            numpy.where(numpy.isfinite(y), self.normal(y.shape), 0.0) if y.dtype.kind == "f" else numpy.zeros(y.shape)
            for y in self.outputs
        ]
        self.tolerance = self.tolerance_of(self.outputs)

    @property
    def weights(self) -> Arrays:
        """The factors of the outputs of `evaluate`: the upstream gradients, or ones for a loss."""
        if self.options.gradient_of is None:
            return self.upstream
        values = self.evaluate(*self.case.variables)
        if [y.shape for y in values] == [g.shape for g in self.upstream]:
            return self.upstream
        return [numpy.where(numpy.isfinite(y), 1.0, 0.0) for y in values]

    def tolerance_of(self, outputs: Arrays) -> Tolerance:
        """Return the tolerance for derivatives of these outputs."""
        return Tolerance.of(outputs, self.options.rtol, self.options.atol)

    def normal(self, shape: tuple[int, ...]) -> numpy.ndarray:
        """Return random numbers, none of them near zero (a zero would hide an error)."""
        numbers = self.random.normal(size=shape)
        return numpy.asarray(numbers + numpy.copysign(0.3, numbers))

    def random_mask(self, shape: tuple[int, ...]) -> numpy.ndarray:
        """Return a mask of about a third of the elements, and of one at least."""
        mask = numpy.asarray(self.random.uniform(size=shape) < 1 / 3)
        if mask.size:
            mask.reshape(-1)[self.random.integers(mask.size)] = True
        return mask

    def directions(self, variable: numpy.ndarray) -> Iterator[numpy.ndarray]:
        """Yield random directions, in proportion to the sizes of a variable's elements; NaN and infinity stay."""
        sizes = numpy.where(numpy.isfinite(variable), numpy.maximum(numpy.abs(variable), 0.1), 0)
        for _ in range(self.options.directions if variable.size else 0):
            yield self.normal(variable.shape) * sizes

    def derivatives(self, position: int) -> Derivatives:
        """Return the numeric derivatives by a variable, weighted by the upstream gradients."""
        return Derivatives(self.evaluate, self.case.variables, position, self.tolerance, self.weights)

    def evaluate(self, *variables: Any) -> Arrays:
        """Return what the rules differentiate, for other values of the variables: usually the outputs."""
        if self.options.gradient_of is None:
            return as_outputs(self.case.function(*variables))
        case = self.case.with_variables(variables)
        return as_outputs(self.options.gradient_of(*case.inputs, **case.attributes))


# -- rows of reports -----------------------------------------------------------------------------------------------


def attempt(check_name: str, check: Callable[[], Row | Sequence[Row]]) -> list[Row]:
    """Return the rows of one check; an exception inside it is a failure, and keeps its text and traceback."""
    try:
        rows = check()
    except Exception as error:
        if is_quitting(error):
            raise
        return [failure(check_name, f"{type(error).__name__}", f"{check_name}: {error}", cause=error)]
    return [rows] if isinstance(rows, Row) else list(rows)


def failure(check_name: str, note: str, detail: str, error: float | None = None, cause: Any = None) -> Row:
    """Return the row of a failed check."""
    return Row(check_name, FAILED, error, note, detail, cause)


def skip(check_name: str, note: str) -> Row:
    """Return the row of a check that does not apply."""
    return Row(check_name, SKIPPED, None, note)
