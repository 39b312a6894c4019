"""Faster forms beside a definition: whether each computes what the definition does, to within a few units.

`FORMS` lists functions, one for each sort of form. Each yields the forms that an operator has for one call, as pairs of
functions without arguments: the definition, and the form. The comparison needs nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from minpy.checking.case import Arrays, Case, Generators, as_outputs, failure, skip
from minpy.core.array import Shaped
from minpy.core.errors import describe, is_quitting
from minpy.core.reports import OK, Row
from minpy.core.state import state
from minpy.core.tape_walk import conform

__all__ = ["FORMS", "Call", "Form", "check_forms", "compare_forms", "ulps_apart"]

# Inputs for elementwise forms: where the branches of functions meet, and where the range of a dtype ends.
_NUMBERS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -2.5, 20.0, -20.0, 89.0, -89.0, 711.0, -711.0)


@dataclass(frozen=True)
class Call:
    """One call on raw arrays, with which forms are compared."""

    operator: Any
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    generators: Generators | None = None  # of a random operator: their states before every run

    def run_definition(self) -> Any:
        """Return the result of the definition of the forward function, on copies of the inputs."""
        definition = getattr(self.operator, "definition", self.operator.forward)
        return definition(*self.copies(), **self.attributes)

    def gradient(self, rule: Any, index: int, result: Any, upstream: Any) -> Any:
        """Return a gradient rule's gradient of one input, in the input's shape and dtype."""
        several = isinstance(upstream, tuple)
        part = rule(result, *self.copies(), **self.attributes)(
            tuple(g.copy() for g in upstream) if several else upstream.copy()
        )
        first = result[0] if several else result
        like = Shaped(first.shape, first.dtype)
        return conform(part, self.operator, index, like, self.inputs[index])  # type: ignore[arg-type]

    def differentiable(self, index: int) -> bool:
        """Tell whether there is an input at a position that has a gradient."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"

    def copies(self) -> list[Any]:
        """Return the inputs, arrays as copies, before a run."""
        if self.generators is not None:
            self.generators.rewind()
        return [value.copy() if isinstance(value, numpy.ndarray) else value for value in self.inputs]


@dataclass(frozen=True)
class Form:
    """A form of a function, and its definition: both without arguments, and fresh at each call."""

    name: str  # of the row in a report: "forward into memory"
    definition: Callable[[], Any]
    form: Callable[[], Any]


def into_memory(call: Call) -> Iterator[Form]:
    """Yield the forward function's form that computes in given memory: in memory of its own, and in an input's."""
    into = call.operator.into
    if into is None or not isinstance(like := numpy.asanyarray(call.run_definition()), numpy.ndarray):
        return

    def run(out: numpy.ndarray, inputs: Sequence[Any]) -> numpy.ndarray:
        if isinstance(into, numpy.ufunc):
            into(*inputs, out=out)
        else:
            into(out, *inputs, **call.attributes)
        return out

    def in_input(index: int) -> numpy.ndarray:
        inputs = call.copies()
        return run(inputs[index], inputs)

    yield Form("forward into memory", call.run_definition, lambda: run(_garbage_like(like), call.copies()))
    for index, value in enumerate(call.inputs if call.operator.elementwise else ()):
        if isinstance(value, numpy.ndarray) and (value.shape, value.dtype) == (like.shape, like.dtype):
            form_name = f"forward into {call.operator.argument_name(index)}"
            yield Form(form_name, call.run_definition, lambda index=index: in_input(index))  # type: ignore[misc]


def _is_program(form: Any) -> bool:
    """Tell whether a form was compiled from its definition: the mode 'compiled' checks these."""
    return getattr(form, "is_program", False)


def kernel(call: Call) -> Iterator[Form]:
    """Yield the forward function's kernel, where it has one beside the definition."""
    operator = call.operator
    if getattr(operator, "definition", None) not in (None, operator.forward) and not _is_program(operator.forward):
        call.run_definition()  # raises, where the definition does not take the dtype
        yield Form("forward kernel", call.run_definition, lambda: operator.forward(*call.copies(), **call.attributes))


def rule_kernels(call: Call) -> Iterator[Form]:
    """Yield the gradient rules' kernels."""
    operator = call.operator
    for index, (rule, raw) in enumerate(zip(operator.rules, operator.raw_rules, strict=True)):
        if raw is not rule and not _is_program(raw) and call.differentiable(index):
            result, g = _result_and_gradient(call)
            yield Form(
                f"gradient kernel of {operator.argument_name(index)}",
                partial(call.gradient, rule, index, result, g),
                partial(call.gradient, raw, index, result, g),
            )


def several_kernels(call: Call) -> Iterator[Form]:
    """Yield the kernels of rules for several arguments."""
    operator = call.operator
    for indices, rule in operator.multiple_rules:
        kernel = operator.gradients.several_raw.get(rule)
        if kernel is None or _is_program(kernel):
            continue
        positions = [index for index in indices or range(len(call.inputs)) if call.differentiable(index)]

        def parts(form: Any, indices: Any = indices, positions: Any = positions) -> tuple[Any, ...]:
            result = call.run_definition()
            outputs = [numpy.asarray(value) for value in as_outputs(result)]
            upstream = tuple(_some_gradient(value) for value in outputs)
            gradients = form(result, *call.copies(), **call.attributes)(
                upstream if type(result) is tuple else upstream[0]
            )
            chosen = dict(zip(indices or range(len(call.inputs)), gradients, strict=True))
            like = Shaped(outputs[0].shape, outputs[0].dtype)
            return tuple(
                conform(chosen[index], operator, index, like, call.inputs[index])  # type: ignore[arg-type]
                for index in positions
            )

        yield Form("gradient kernel of several", partial(parts, rule), partial(parts, kernel))


def rules_into_memory(call: Call) -> Iterator[Form]:
    """Yield the gradient rules' forms that compute in given memory."""
    operator = call.operator
    for index, into in operator.into_rules.items():
        if call.differentiable(index):
            result, g = _result_and_gradient(call)

            def form(into: Any = into, value: Any = call.inputs[index], result: Any = result, g: Any = g) -> Any:
                out = _garbage_like(numpy.empty(value.shape, value.dtype))
                into(result, *call.copies(), **call.attributes)(g.copy(), out)
                return out

            definition = partial(call.gradient, operator.rules[index], index, result, g)
            yield Form(f"gradient of {operator.argument_name(index)} into memory", definition, form)


def _result_and_gradient(call: Call) -> tuple[Any, Any]:
    """Return the result and an upstream gradient for it: tuples, if there are several outputs."""
    result = call.run_definition()
    if isinstance(result, tuple):
        return result, tuple(map(_some_gradient, result))
    result = numpy.asarray(result)
    return result, _some_gradient(result)


def _some_gradient(result: numpy.ndarray) -> numpy.ndarray:
    return numpy.cos(numpy.arange(result.size)).reshape(result.shape).astype(result.dtype)


FORMS: list[Callable[[Call], Iterator[Form]]] = [kernel, into_memory, rule_kernels, several_kernels, rules_into_memory]


def _garbage_like(like: numpy.ndarray) -> numpy.ndarray:
    """Return a buffer of the shape, dtype and layout of an array, with meaningless numbers in it."""
    return numpy.full_like(like, numpy.nan if like.dtype.kind in "fc" else 77)


def check_forms(case: Case, ulps: float) -> list[Row]:
    """Every form that the operator has agrees with its definition, in three dtypes; elementwise ones also at edges."""
    rows: dict[str, Row] = {}
    refused: dict[str, str] = {}
    for kind, call in _calls(case):
        try:
            forms = [form for find in FORMS for form in find(call)]
        except Exception as error:  # the definition does not take this dtype
            if is_quitting(error):
                raise
            refused[kind] = type(error).__name__
            continue
        for form in forms:
            before = rows.get(form.name)
            if before is None or before.result == OK:
                row = compare_forms(form, ulps, f"with {kind} inputs")
                if before is None or row.result != OK or (row.error or 0) > (before.error or 0):
                    rows[form.name] = row
    if not rows and refused:
        return [skip("forms", f"the definition does not run on raw arrays: {', '.join(refused.values())}")]
    return list(rows.values())


def compare_forms(form: Form, ulps: float, where: str = "") -> Row:
    """Return the row that says how many units in the last place a form and its definition are apart."""
    expected, got = as_outputs(form.definition()), as_outputs(form.form())
    worst = 0.0
    for number, (a, b) in enumerate(itertools.zip_longest(got, expected)):
        which = f"output {number}" if len(expected) > 1 else "it"
        if a is None or b is None or (a.shape, a.dtype) != (b.shape, b.dtype):
            text = f"{which} is {describe(a)}; the definition gives {describe(b)}"
            return failure(form.name, text, f"{form.name}: {where} {text}.")
        ulps_between = ulps_apart(a, b)
        if (ulps_between > ulps).any():
            place = tuple(map(int, numpy.unravel_index(numpy.argmax(ulps_between), a.shape)))
            text = f"{which} is {a[place]!s} at {list(place)}, the definition gives {b[place]!s}"
            text += f": {ulps_between[place]:.3g} units in the last place apart, {ulps:.3g} are allowed"
            return failure(form.name, text, f"{form.name}: {where} {text}.", float(ulps_between[place]))
        worst = max(worst, float(ulps_between.max(initial=0)))
    return Row(form.name, OK, worst, "error in units in the last place" if worst else "")


def ulps_apart(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """Return how many units in the last place of the larger one the elements of two arrays are apart.

    Numbers below the smallest normal one count as zero (but in float16, which has few others that are small).

    Examples
    --------
    >>> import numpy as np
    >>> ulps_apart(np.array([1.0, np.nan, 2.0]), np.array([1.0 + 2**-52, np.nan, np.inf]))
    array([ 1.,  0., inf])
    """
    same = (a == b) | ((a != a) & (b != b))
    if a.dtype.kind not in "fc":
        return numpy.where(same, 0.0, numpy.inf)
    if a.dtype.itemsize > 2:
        tiny = numpy.finfo(a.dtype).tiny
        same |= (numpy.abs(a) < tiny) & (numpy.abs(b) < tiny)
    with numpy.errstate(all="ignore"):
        difference = numpy.abs(a.astype(numpy.longdouble) - b)
        distance = difference / numpy.spacing(numpy.maximum(numpy.abs(a), numpy.abs(b)))
    return numpy.where(same, 0.0, numpy.where(numpy.isfinite(distance), distance, numpy.inf)).astype(numpy.float64)


def _calls(case: Case) -> Iterator[tuple[str, Call]]:
    """Yield (description of the inputs, call): the case in each dtype, and at the ends of each dtype's range."""
    for dtype in ("float64", "float32", "float16"):
        cast = case.cast(dtype)
        yield dtype, _call(cast)
        arrays = [index for index, value in enumerate(cast.inputs) if isinstance(value, numpy.ndarray)]
        if case.operator.elementwise and arrays:
            extremes: dict[int | str, Any] = dict(zip(arrays, _extremes(dtype, len(arrays)), strict=True))
            yield f"extreme {dtype}", _call(cast.replaced(extremes))


def _call(case: Case) -> Call:
    attributes = dict(case.attributes)
    if case.operator.uses_training and attributes.get("training") is None:
        attributes["training"] = state.training
    return Call(case.operator, case.inputs, attributes, case.generators)


def _extremes(dtype: str, count: int) -> Arrays:
    """Return arrays of equal shape, of every combination of numbers that functions may get wrong."""
    limits = numpy.finfo(dtype)
    with numpy.errstate(all="ignore"):
        numbers = numpy.array([*_NUMBERS, limits.max, limits.tiny, numpy.inf, -numpy.inf, numpy.nan]).astype(dtype)
    return [grid.ravel() for grid in numpy.meshgrid(*[numbers] * count)]
