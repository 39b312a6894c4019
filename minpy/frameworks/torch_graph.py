"""An operator's traced steps as PyTorch's own functions: on any device, fused by `torch.compile`, differentiated there.

A `GraphForm` has the steps of the forward function and of the rules for one kind of call, written as PyTorch's source.
Where these are right for any lengths, one form serves all shapes of as many axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy

from minpy.core.errors import NotTraceableError
from minpy.frameworks.derivatives import Derivative
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.torch_calls import (
    NUMPY_DTYPES,
    conjugated,
    is_inexact,
    is_symbol,
    live_positions,
    number_of,
    torch,
)
from minpy.frameworks.tracing import TracedOperator, TracedSteps
from minpy.frameworks.translation import translate

__all__ = ["GraphCall", "GraphForm", "GraphForms", "GraphLevel"]

_MOST_FORMS = 64


class _Part:
    """Steps as a function of tensors: with the arrays outside that they read, as these are at each call."""

    def __init__(self, steps: TracedSteps) -> None:
        self.steps = steps
        try:
            self.function: Any = translate(steps, "torch", any_lengths=True)
        except NotTraceableError:  # at the lengths that were tried in the place of these
            self.function = translate(steps, "torch")
        scope = self.function.__globals__
        self._constants = {name: value for name, value in scope.items() if isinstance(value, torch.Tensor)}

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        result: tuple[Any, ...]
        if torch._C._len_torch_dispatch_stack() and self._constants:  # a graph is made, in which there is none yet
            scope = {name: torch.ops.aten.lift_fresh_copy(value) for name, value in self._constants.items()}
            function = self.function
            defaults = tuple(
                torch.ops.aten.lift_fresh_copy(value) if isinstance(value, torch.Tensor) else value
                for value in function.__defaults__ or ()
            )
            again = FunctionType(function.__code__, {**function.__globals__, **scope}, function.__name__, defaults)
            result = again(*tensors)
        elif self.steps.captured and not torch.compiler.is_compiling():
            arrays = [torch.from_numpy(numpy.array(array)) for array in self.steps.captured_arrays()]
            result = self.function(*tensors, *(array.to(tensors[0].device) for array in arrays))
        else:
            result = self.function(*tensors)
        return result


class GraphForm:
    """An operator's graph for calls with inputs of given dtypes and numbers of axes, and of some shapes.

    Raises NotTraceableError where the forward function or a gradient does not trace, or PyTorch has no equal of a step.
    """

    def __init__(self, derivative: Derivative, specs: Sequence[ArraySpec]) -> None:
        self.derivative = derivative
        operator = derivative.operator
        self.traced = TracedOperator(operator, derivative._inputs(specs), dict(derivative.attributes))
        if self.traced.reason is not None:
            raise NotTraceableError(self.traced.reason)
        self.forward = _Part(self.traced.forward)
        self._pulls: dict[tuple[int, ...], _Part] = {}
        self._pushes: dict[int, _Part | None] = {}
        for index in self.traced.differentiable:
            self.pull((index,))

    def pull(self, indices: tuple[int, ...]) -> _Part:
        """Return the gradients of inputs, as a function of cotangents, outputs and inputs."""
        part = self._pulls.get(indices)
        if part is None:
            part = self._pulls[indices] = _Part(self.traced.vjp(indices))
        return part

    def pushed(self, position: int, tangent: Any, outputs: Sequence[Any], tensors: Sequence[Any]) -> Sequence[Any]:
        """Return what the tangent of an input contributes to those of the outputs."""
        index = self.derivative.input_position(position)
        if index not in self._pushes:
            has_rule = self.derivative.operator.jvp_rules.get(index) is not None
            self._pushes[index] = _Part(self.traced.jvp(index)) if has_rule else None
        push = self._pushes[index]
        if push is not None:
            return push(tangent, *outputs, *tensors)
        pull = self.pull((index,))
        moving = [place for place, output in enumerate(outputs) if is_inexact(output)]

        def pulled(*cotangents: Any) -> Any:
            given = [torch.zeros_like(output) for output in outputs]
            for place, cotangent in zip(moving, cotangents, strict=True):
                given[place] = cotangent
            return conjugated(pull(*conjugated(given), *outputs, *tensors))[0]

        _, transpose = torch.func.vjp(pulled, *(torch.zeros_like(outputs[place]) for place in moving))
        parts = dict(zip(moving, transpose(tangent), strict=True))
        return [parts.get(place) for place in range(len(outputs))]

    @property
    def serves_all_lengths(self) -> bool:
        """Whether it is right for other lengths, too."""
        return all(part.function.polymorphic for part in (self.forward, *self._pulls.values()))

    def fits(self, tensors: Sequence[Any]) -> bool:
        """Tell whether it is right for these tensors' shapes: with symbols for lengths, that becomes a guard."""
        shapes = self.derivative._inputs([tuple(tensor.shape) for tensor in tensors])
        parts = [self.forward, *self._pulls.values()]
        return all(part.function.fits(*shapes) for part in parts) and self.traced.is_current()


class GraphForms:
    """The forms of one kind of call."""

    def __init__(self, derivative: Derivative) -> None:
        self._derivative = derivative
        self._forms: dict[Any, list[GraphForm]] = {}
        self._reasons: dict[Any, str] = {}

    def form_of(self, tensors: Sequence[Any], must_trace: bool = False) -> GraphForm | str:
        """Return the form for tensors like these; or why there is none.

        `must_trace`: whether a length that is a symbol shall rather become a number than have no form.
        """
        key: tuple[Any, ...] = tuple([(tensor.dtype, tensor.dim()) for tensor in tensors])
        reason = self._reasons.get(key)
        if reason is not None:
            return reason
        forms = self._forms.setdefault(key, [])
        has_symbols = any(map(is_symbol, (length for tensor in tensors for length in tensor.shape)))
        for form in forms:
            # To compare symbols with numbers would make them these numbers.
            if (form.serves_all_lengths or not has_symbols or must_trace) and form.fits(tensors):
                return form
        unknown = [tensor.dtype for tensor in tensors if tensor.dtype not in NUMPY_DTYPES]
        if unknown:
            return f"NumPy has no {unknown[0]}"
        specs = [ArraySpec(tuple(map(number_of, tensor.shape)), NUMPY_DTYPES[tensor.dtype]) for tensor in tensors]
        if any(0 in spec.shape for spec in specs):  # what fails for empty tensors only is no reason for others
            key = "empty", key
            reason = self._reasons.get(key)
            if reason is not None:
                return reason
        try:
            with torch.utils._python_dispatch._disable_current_modes():  # its constants are no part of a graph
                form = GraphForm(self._derivative, specs)
        except NotTraceableError as error:
            self._reasons[key] = str(error)
            return str(error)
        if has_symbols and not form.serves_all_lengths and not must_trace:
            return "its graph is right for these lengths only, and they are symbols"
        if len(forms) >= _MOST_FORMS:
            forms.pop(0)
        forms.append(form)
        if has_symbols and not form.fits(tensors):
            return "the lengths that symbols stand for are others"
        return form


class GraphCall(torch.autograd.Function):
    """A graph called on tensors."""

    generate_vmap_rule = True

    @staticmethod
    def forward(form: GraphForm, *tensors: Any) -> Any:
        """Run the steps."""
        return _apart(form.forward(*tensors), tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what gradients read."""
        form, *tensors = inputs
        ctx.form, ctx.num_outputs = form, len(output)
        ctx.save_for_backward(*tensors, *output)
        ctx.save_for_forward(*tensors, *output)
        integers = [value for value in output if not is_inexact(value)]
        if integers:
            ctx.mark_non_differentiable(*integers)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Run the steps of the rules, which PyTorch differentiates in their turn."""
        form, needed = ctx.form, ctx.needs_input_grad
        derivative = form.derivative
        count = len(needed) - 1
        tensors, outputs = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        positions = live_positions(derivative, [position for position in range(count) if needed[1 + position]])
        result: list[Any] = [None] * len(needed)
        if positions:
            pull = form.pull(tuple([derivative.input_position(position) for position in positions]))
            gradients = conjugated(pull(*conjugated(cotangents), *outputs, *tensors))
            for position, gradient in zip(positions, gradients, strict=True):
                result[1 + position] = gradient
        return tuple(result)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        """Run the steps of rules of forward mode; without one, the transpose of those of the gradient."""
        form = ctx.form
        count = len(tangents)
        tensors, outputs = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        given = [position for position, tangent in enumerate(tangents) if tangent is not None]
        positions = live_positions(form.derivative, [position for position in given if is_inexact(tensors[position])])
        totals: list[Any] = [None] * len(outputs)
        for position in positions:
            for place, part in enumerate(form.pushed(position, tangents[position], outputs, tensors)):
                if part is not None and is_inexact(outputs[place]):
                    totals[place] = part if totals[place] is None else totals[place] + part
        return tuple(
            torch.zeros_like(output) if total is None and is_inexact(output) else total
            for output, total in zip(outputs, totals, strict=True)
        )


class GraphLevel(torch.autograd.function._SingleLevelFunction):
    """A graph called while a larger one is made, inside of the dispatcher's kernel."""

    @classmethod
    def record(cls, form: GraphForm, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Call it at one level of `torch.func`'s transforms."""
        result: tuple[Any, ...]
        if not torch._C._are_functorch_transforms_active():
            result = cls.apply(form, *tensors)
        else:
            with torch._functorch.utils.enable_single_level_autograd_function():
                result = cls.apply(form, *tensors)
        return result

    @staticmethod
    def forward(form: GraphForm, *tensors: Any) -> Any:
        """Run the steps, below autograd at this level."""
        if not torch._C._are_functorch_transforms_active():
            return _apart(form.forward(*tensors), tensors)
        with (
            torch._C._AutoDispatchBelowAutograd(),
            torch.enable_grad(),
            torch.autograd.forward_ad._set_fwd_grad_enabled(True),
        ):
            return _apart(form.forward(*tensors), tensors)

    setup_context = GraphCall.__dict__["setup_context"]
    backward = GraphCall.__dict__["backward"]
    jvp = GraphCall.__dict__["jvp"]


def _apart(outputs: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return outputs in memory of their own and C order, as the operator returns them."""
    results: list[Any] = []
    for output in outputs:
        is_shared = any(output is value for value in (*tensors, *results)) or output._is_view()
        results.append(output.clone(memory_format=torch.contiguous_format) if is_shared else output.contiguous())
    return tuple(results)
