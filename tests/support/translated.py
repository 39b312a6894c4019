"""Programs translated, and run step by step by the naive model, beside what the programs themselves compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from support.reference_evaluator import evaluate

import minpy as mx
from minpy.backends.native.language import Call
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.translating import Translation, translate
from minpy.graph.compiled import Compiled
from minpy.graph.frame import start
from minpy.graph.interpreting import step_call
from minpy.graph.ir import Node, Value, variable
from minpy.graph.program import Program

__all__ = ["Outcome", "assert_close", "call_graph", "check", "compare", "outcome", "translated_program"]


class Outcome(NamedTuple):
    """What a program gives: heads, gradients, and the states afterwards."""

    heads: list[np.ndarray]
    gradients: list[np.ndarray]
    states: list[np.ndarray]


def head_gradients(heads: Sequence[Any]) -> list[np.ndarray]:
    random = np.random.RandomState(11)
    return [np.asarray(random.uniform(0.5, 1.5, np.shape(head))).astype(np.asarray(head).dtype) for head in heads]


def translated_program(
    heads: Sequence[Value], arrays: Sequence[np.ndarray], training: bool, wanted: Sequence[Node] = ()
) -> tuple[Program, Translation, Outcome]:
    """Return a program that has run once, its translation, and what it gave."""
    compiled = Compiled(heads)
    program = compiled.program(arrays, training, dict.fromkeys(wanted, "write"))
    given = [array.copy() for array in arrays]
    mx.random.seed(5)
    found, frame = start(program, given)
    results = [np.array(head) for head in found]
    buffers = {node: np.empty_like(array) for node, array in zip(compiled.variables, arrays, strict=True)}
    if wanted:
        frame.backward(head_gradients(results), {node: buffers[node] for node in wanted})
    gradients = [buffers[node] for node in program.steps.gradients]
    with np.errstate(all="ignore"):
        translation = translate(program.steps, program.facts)
    verify(translation.routine)
    return program, translation, Outcome(results, gradients, given)


def outcome(program: Program, translation: Translation, arrays: Sequence[np.ndarray]) -> Outcome:
    """Return what the naive model makes of a translation."""
    steps, routine = program.steps, translation.routine
    for step in routine.steps:
        if isinstance(step, Call) and step.function is None:
            step.function = step_call(step.node)  # type: ignore[arg-type]
    given = [np.array(array, order="C") for array in steps.with_captured([array.copy() for array in arrays])]
    inputs: list[Sequence[np.ndarray]] = [given]
    if len(routine.parts) > 1:
        count = len(steps.outputs)
        inputs.append(head_gradients([np.empty(one.shape, one.dtype) for one in routine.parts[0].outputs[:count]]))
    mx.random.seed(5)
    with np.errstate(all="ignore"):
        forward, *backward = evaluate(routine, inputs)
    return Outcome(forward[: len(steps.outputs)], backward[0] if backward else [], given[: len(arrays)])


def assert_close(found: Sequence[Any], expected: Sequence[Any], tolerance: float, what: str = "") -> None:
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), what
        with np.errstate(all="ignore"):
            finite = np.abs(wanted[np.isfinite(wanted)]) if wanted.dtype.kind in "fc" else np.abs(wanted)
        scale = max(1.0, float(finite.max(initial=0)))
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def compare(
    heads: Sequence[Value],
    arrays: Sequence[np.ndarray],
    training: bool = False,
    wanted: Sequence[Node] = (),
    tolerance: float = 1e-5,
) -> Translation:
    """Hold a translation against its program: heads, gradients, and states."""
    with np.errstate(all="ignore"):
        program, translation, expected = translated_program(heads, arrays, training, wanted)
    found = outcome(program, translation, arrays)
    what = str(translation.routine)
    assert_close(found.heads, expected.heads, tolerance, what)
    assert_close(found.gradients, expected.gradients, tolerance, what)
    assert_close(found.states, expected.states, tolerance, what)
    return translation


def call_graph(
    operator: Any, arrays: Sequence[np.ndarray], attributes: dict[str, Any]
) -> tuple[list[Value], list[Node]]:
    """Return (the outputs that callers see of one call of an operator, its variables)."""
    names = operator.argument_names(len(arrays))
    inputs = [variable(name) for name in names]
    node = Node(operator, inputs, attributes, "call")
    count = len(node.output_names())
    return [Value(node, index) for index in range(count)], [value.node for value in inputs]


def check(
    operator: Any,
    arrays: Sequence[np.ndarray],
    attributes: dict[str, Any] | None = None,
    differentiable: Sequence[int] = (),
    training: bool = False,
    tolerance: float = 1e-5,
) -> Translation:
    """Hold one call of an operator, and its gradients, against what its program gives."""
    heads, variables = call_graph(operator, arrays, dict(attributes or {}))
    order = dict(zip(variables, arrays, strict=True))
    compiled = Compiled(heads)
    given = [order[node] for node in compiled.variables]
    return compare(heads, given, training, [variables[index] for index in differentiable], tolerance)
