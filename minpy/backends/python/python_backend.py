"""The backend `python`: what the interpreter does step by step, written as Python's source and planned in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.protocol import Context, Executable, Facts, LoweredGraph, Options, Residuals, StepCalls
from minpy.backends.python.result_planner import Plan, Planner
from minpy.backends.python.source_emitter import Emitter
from minpy.backends.source_parts import SourcePart
from minpy.core import aligned
from minpy.graph.array_facts import as_contiguous
from minpy.graph.ir import Node
from minpy.graph.schedule import Steps

__all__ = ["PythonBackend", "PythonExecutable"]


class PythonBackend:
    """Takes every program, as soon as it has run once."""

    name = "python"
    after_rounds = 0

    def compile(self, steps: LoweredGraph, facts: Facts, options: Options) -> PythonExecutable:
        """Return the program as Python's source, without its backward part where the facts do not cover that."""
        assert isinstance(steps, Steps)
        return PythonExecutable(steps, facts)


class PythonExecutable(Executable):
    """A program as Python's source.

    Attributes
    ----------
    plan : Plan
        Where results are computed, as far as that is known.
    """

    def __init__(self, steps: Steps, facts: Facts) -> None:
        self._steps = steps
        planner = Planner(steps)
        planner.place_forward({node: facts[node] for node in (*steps.variables, *steps.forward) if node in facts})
        self.plan: Plan = planner.plan
        self.emitter = Emitter(steps, planner)
        self._planner: Planner | None = planner
        self.forward: SourcePart = self.emitter.forward()
        self.backward: SourcePart | None = None
        if facts.covers_backward:
            self.learn_backward(facts)

    def learn_backward(self, facts: Facts) -> None:
        """Write the backward part."""
        # If this is interrupted, the plan is half made: then the backward part goes on step by step.
        planner, self._planner = self._planner, None
        if planner is not None and self._steps.grad_req:
            into_gradient = _into_gradient(self._steps, facts)
            backward_nodes = (*(value.node for value in self._steps.cotangents), *self._steps.backward)
            planner.place_backward({node: facts[node] for node in backward_nodes if node in facts}, into_gradient)
            self.backward = self.emitter.backward(into_gradient)

    def context(self, calls: StepCalls) -> PythonContext:
        """Return buffers, and both parts as functions that compute in them."""
        return PythonContext(self, calls)

    def step_of(self, error: BaseException) -> Node | None:
        """Return the step that raised an error."""
        return self.forward.step_of(error) or (None if self.backward is None else self.backward.step_of(error))

    def text(self) -> str:
        """Return the source."""
        parts = [part.described() for part in (self.forward, self.backward) if part is not None]
        parts.append(
            f"# {len(self.plan.placements)} steps; {self.plan.arena_bytes} bytes of buffers hold "
            f"{self.plan.unshared_bytes} bytes of answers; {self.plan.reused} answers are computed in the memory of "
            "another."
        )
        return "\n".join(parts)


class PythonContext(Context):
    """The buffers of one call, and the functions that compute in them."""

    __slots__ = ("_backward", "_calls", "_executable", "buffers", "forward")

    forward: Callable[..., tuple[Sequence[Any], Residuals]]

    def __init__(self, executable: PythonExecutable, calls: StepCalls) -> None:
        self._executable = executable
        self._calls = calls
        self.buffers: list[numpy.ndarray] = []
        self.forward = self._bind(executable.forward)
        self._backward: Callable[..., None] | None = None

    def _bind(self, part: SourcePart) -> Callable[..., Any]:
        sizes = self._executable.plan.buffers
        self.buffers += [aligned.empty(max(size, 1), numpy.uint8) for size in sizes[len(self.buffers) :]]
        return part.bind(self._calls, self)

    @property
    def backward(self) -> Callable[..., None] | None:  # type: ignore[override]
        """The backward part, as soon as it is known."""
        return None if self._executable.backward is None else self._run_backward

    def _run_backward(
        self,
        arrays: Sequence[numpy.ndarray],
        cotangents: Sequence[numpy.ndarray],
        targets: Sequence[numpy.ndarray],
        kept: list[Any],
    ) -> None:
        if self._backward is None:
            assert self._executable.backward is not None
            self._backward = self._bind(self._executable.backward)
        computed = as_contiguous(targets)
        self._backward(arrays, as_contiguous(cotangents), computed, kept)
        if computed is not targets:
            for target, array in zip(targets, computed, strict=True):
                if array is not target:
                    numpy.copyto(target, array)

    def answers(self, kept: list[Any]) -> Mapping[Node, Any]:
        """Return what the backward part reads of the forward part's results, by node."""
        return self._executable.emitter.environment(kept, self)


def _into_gradient(steps: Steps, facts: Facts) -> dict[Node, Node]:
    """Return the steps that may compute straight into the array that a gradient is asked into."""
    variable_of: dict[Node, Node] = {}
    backward_nodes = set(steps.backward)
    counts: dict[Node, int] = {}
    for value in steps.gradients.values():
        counts[value.node] = counts.get(value.node, 0) + 1
    for variable, value in steps.gradients.items():
        fact = facts.get(value.node)
        if (
            steps.grad_req[variable] == "write"
            and counts[value.node] == 1
            and value.node in backward_nodes
            and fact is not None
            and fact.shape is not None
            and (fact.shape, fact.dtype) == (facts[variable].shape, facts[variable].dtype)
            and fact.c_contiguous
        ):
            variable_of[value.node] = variable
    return variable_of
