"""`op.check(frameworks=True)`: what an operator gives in PyTorch, JAX and PyTensor, against NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy

from minpy.checking.case import Arrays, Case, Point, as_outputs, attempt, failure, skip
from minpy.checking.checks import check_mode, compared
from minpy.core.errors import ArgumentError, GradientError, MissingDependencyError, is_quitting
from minpy.core.reports import OK, Row
from minpy.differentiation import recorded_run
from minpy.frameworks.foreign_jax import precision
from minpy.frameworks.jax_operator import to_jax
from minpy.frameworks.libraries import require
from minpy.frameworks.pytensor_operator import to_pytensor
from minpy.frameworks.torch_operator import to_torch

__all__ = ["check_frameworks"]

_BATCH = 2


@dataclass(frozen=True)
class _Framework:
    """How operators are run in a framework: `module` is what has to be installed.

    `run(case, upstream, compiled)` returns (outputs, gradients); `twice(case, upstream, weights)` the gradients of the
    gradients, weighed; `batched(case, variables)` the outputs for variables with a new leading axis; `told(case)` how
    it runs. `own`: the framework's own check, its name and a function that returns what it finds wrong, or "".
    """

    name: str
    module: str
    compiler: str
    run: Callable[[Case, Sequence[numpy.ndarray], bool], tuple[Arrays, Arrays | None]]
    twice: Callable[[Case, Sequence[numpy.ndarray], Sequence[numpy.ndarray]], Arrays]
    batched: Callable[[Case, Arrays], Arrays] | None
    told: Callable[[Case], str]
    own: tuple[str, Callable[[Case], str]] | None = None


def check_frameworks(point: Point) -> list[Row]:
    """Return the rows of an operator in other frameworks, at a call that is right on NumPy arrays."""
    rows: list[Row] = []
    reason = _unfit(point.case)
    for framework in _FRAMEWORKS:
        try:
            require(framework.module)
        except MissingDependencyError as error:
            rows.append(skip(framework.name, str(error)))
            continue
        if reason:
            rows.append(skip(framework.name, reason))
            continue
        with _quiet():
            rows += _rows_of(framework, point)
    return rows


def _unfit(case: Case) -> str:
    """Return why an operator is in no other framework at this call; "" if it can be."""
    if case.generators is not None and _draws(case):
        return "it draws random numbers"
    if case.operator.is_method:
        return "it is a method, which takes an instance"
    if any(isinstance(slot, str) for slot in case.slots):
        return "it is differentiated with respect to a keyword argument"
    return ""


def _draws(case: Case) -> bool:
    """Tell whether two calls differ that draw what comes; of native operators it is not said beforehand."""
    follow_on = replace(case, generators=None)
    first, second = [as_outputs(follow_on.function(*case.variables)) for _ in range(2)]
    return not all(numpy.array_equal(*pair, equal_nan=True) for pair in zip(first, second, strict=True))


def _rows_of(framework: _Framework, point: Point) -> list[Row]:
    name = framework.name
    note = ""
    try:
        note = framework.told(point.case)
    except ArgumentError as error:  # it says what of the operator does not fit there
        return [skip(name, str(error).partition("\n")[0])]
    except Exception as error:
        if is_quitting(error):
            raise
    rows = attempt(name, partial(check_mode, point, name, partial(_run, framework, False)))
    rows = [replace(row, note=row.note or note) if row.result == OK else row for row in rows]
    if any(row.result != OK for row in rows):
        return rows
    rows += attempt(f"{name}, second order", partial(_check_twice, framework, point))
    if framework.batched is not None:
        rows += attempt(f"{name}, batched", partial(_check_batched, framework, point))
    if framework.own is not None:
        rows += attempt(f"{name}, {framework.own[0]}", partial(_check_own, framework, point))
    compiled = f"{name}, {framework.compiler}"
    return rows + attempt(compiled, partial(check_mode, point, compiled, partial(_run, framework, True)))


def _check_own(framework: _Framework, point: Point) -> Row:
    """The framework's own check of operators finds nothing wrong."""
    assert framework.own is not None
    title = f"{framework.name}, {framework.own[0]}"
    wrong = framework.own[1](point.case)
    return failure(title, wrong, f"{title}: {wrong}") if wrong else Row(title, OK)


def _run(
    framework: _Framework, is_compiled: bool, case: Case, upstream: Sequence[numpy.ndarray]
) -> tuple[Arrays, Arrays | None]:
    return framework.run(case, upstream, is_compiled)


def _check_twice(framework: _Framework, point: Point) -> Row:
    """The gradients of gradients are those of NumPy arrays."""
    title = f"{framework.name}, second order"
    case, count = point.case, len(point.case.slots)
    if not count:
        return skip(title, "nothing to differentiate")
    weights = [point.normal(variable.shape) for variable in case.variables]

    def gradient(*variables: Any) -> tuple[Any, ...]:
        return tuple(case.with_variables(variables).gradients(point.upstream))

    try:
        _, pull = recorded_run.vjp(gradient, case.variables, range(count))
        expected = as_outputs(tuple(pull(weights)))
    except GradientError:
        raise
    except Exception as error:
        if is_quitting(error):
            raise
        return skip(title, f"first order only: {type(error).__name__}")
    names = [f"the second-order gradient with respect to {case.name(slot)}" for slot in case.slots]
    tolerance = point.tolerance_of([*as_outputs(gradient(*case.variables)), *point.outputs])
    return compared(title, names, framework.twice(case, point.upstream, weights), expected, tolerance)


def _check_batched(framework: _Framework, point: Point) -> Row:
    """A batch gives what its entries give one by one."""
    title = f"{framework.name}, batched"
    case = point.case
    if not case.slots:
        return skip(title, "no input is floating point")
    factors = 1.0 + 0.01 * numpy.arange(_BATCH)
    batches = [numpy.stack([variable * factor for factor in factors]) for variable in case.variables]
    try:
        entries = [as_outputs(case.function(*[batch[index] for batch in batches])) for index in range(_BATCH)]
        expected = [numpy.stack(parts) for parts in zip(*entries, strict=True)]
    except Exception as error:
        if is_quitting(error):
            raise
        return skip(title, f"entries of a batch do not go together: {type(error).__name__}")
    assert framework.batched is not None
    names = [f"output {number}" for number in range(len(expected))]
    return compared(title, names, framework.batched(case, batches), expected, point.tolerance)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep away what frameworks warn of themselves: that they run in object mode, or of their own parts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _positions(case: Case) -> list[int]:
    """Return the positions of the variables among the inputs."""
    return [slot for slot in case.slots if isinstance(slot, int)]


def _plain(value: Any) -> Any:
    """Return an input as an array, or None, as frameworks are given it."""
    return None if value is None else numpy.array(value)


def _by(reason: str | None) -> str:
    return "as a graph" if reason is None else "by NumPy"


# -- PyTorch -----------------------------------------------------------------------------------------------------------


def _torch_call(case: Case, is_compiled: bool = False) -> tuple[Callable[..., Any], list[Any]]:
    """Return (a function of the inputs that are arrays, these as tensors; variables need gradients)."""
    import torch

    torch_operator = to_torch(case.operator)

    def call(*inputs: Any) -> Any:
        return torch_operator(*inputs, **case.attributes)

    tensors = _tensors(case)
    for slot in _positions(case):
        tensors[slot].requires_grad_()
    if is_compiled:
        torch.compiler.reset()
        return torch.compile(call, fullgraph=True, backend="aot_eager"), tensors
    return call, tensors


def _tensors(case: Case) -> list[Any]:
    import torch

    return [None if value is None else torch.from_numpy(_plain(value)) for value in case.inputs]


def _torch_loss(outputs: Sequence[Any], upstream: Sequence[numpy.ndarray]) -> Any:
    import torch

    pairs = [(y, torch.from_numpy(g)) for y, g in zip(outputs, upstream, strict=True) if y.requires_grad]
    return sum((y * g.to(y.dtype)).sum() for y, g in pairs) if pairs else None


def _run_in_torch(case: Case, upstream: Sequence[numpy.ndarray], is_compiled: bool) -> tuple[Arrays, Arrays | None]:
    import torch

    call, tensors = _torch_call(case, is_compiled)
    result = call(*tensors)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    variables = [tensors[slot] for slot in _positions(case)]
    loss = _torch_loss(outputs, upstream)
    gradients = None
    if variables and loss is not None:
        gradients = torch.autograd.grad(loss, variables, allow_unused=True, materialize_grads=True)
    arrays = [output.detach().numpy() for output in outputs]
    return arrays, None if gradients is None else [gradient.numpy() for gradient in gradients]


def _twice_in_torch(case: Case, upstream: Sequence[numpy.ndarray], weights: Sequence[numpy.ndarray]) -> Arrays:
    import torch

    call, tensors = _torch_call(case)
    result = call(*tensors)
    variables = [tensors[slot] for slot in _positions(case)]
    loss = _torch_loss(list(result) if isinstance(result, (tuple, list)) else [result], upstream)
    zeros = [numpy.zeros_like(weight) for weight in weights]
    if loss is None:
        return zeros
    options: dict[str, Any] = {"allow_unused": True, "materialize_grads": True}
    slopes = torch.autograd.grad(loss, variables, create_graph=True, **options)
    total = sum((slope * torch.from_numpy(weight)).sum() for slope, weight in zip(slopes, weights, strict=True))
    if not total.requires_grad:
        return zeros
    return [gradient.numpy() for gradient in torch.autograd.grad(total, variables, **options)]


def _batched_in_torch(case: Case, batches: Arrays) -> Arrays:
    import torch

    call, tensors = _torch_call(case)
    tensors = [None if tensor is None else tensor.detach() for tensor in tensors]
    axes: list[int | None] = [None] * len(tensors)
    for slot, batch in zip(_positions(case), batches, strict=True):
        tensors[slot], axes[slot] = torch.from_numpy(batch), 0
    result = torch.vmap(call, in_dims=tuple(axes))(*tensors)
    return [output.numpy() for output in (result if isinstance(result, (tuple, list)) else [result])]


def _told_by_torch(case: Case) -> str:
    operator = to_torch(case.operator)
    operator(*_tensors(case), **case.attributes)
    return _by(operator.reason)


def _checked_by_torch(case: Case) -> str:
    """Return what PyTorch's `opcheck` finds wrong with the registered operator; "" for nothing."""
    import torch

    torch_operator = to_torch(case.operator)
    _, tensors = _torch_call(case)
    schema = torch_operator._registered.schema
    forms = {form.name: form for form in schema.attributes}
    attributes = {key: forms[key].to_torch(value) for key, value in case.attributes.items()}
    inputs = (tensors,) if schema.variadic else tuple(tensors)
    outcomes = torch.library.opcheck(torch_operator.op, inputs, attributes, raise_exception=False)
    wrong = {test: outcome for test, outcome in outcomes.items() if outcome != "SUCCESS"}
    return "; ".join(f"{test}: {str(outcome).partition(chr(10))[0]}" for test, outcome in wrong.items())


# -- JAX ---------------------------------------------------------------------------------------------------------------


def _in_jax(arrays: Sequence[Any]) -> Any:
    """Return what surrounds calls in JAX: it computes with 64 bits."""
    import jax

    return precision(jax, [numpy.zeros(0), *arrays])


def _jax_function(case: Case) -> tuple[Callable[..., tuple[Any, ...]], Arrays]:
    """Return (a function of the variables to a tuple, the variables)."""
    jax_operator = to_jax(case.operator)
    inputs = [_plain(value) for value in case.inputs]

    def function(*variables: Any) -> tuple[Any, ...]:
        values = list(inputs)
        for slot, variable in zip(_positions(case), variables, strict=True):
            values[slot] = variable
        result = jax_operator(*values, **case.attributes)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    return function, case.variables


def _jax_loss(
    function: Callable[..., tuple[Any, ...]], upstream: Sequence[numpy.ndarray]
) -> Callable[..., tuple[Any, tuple[Any, ...]]]:
    """Return the function of the variables that sums its outputs, weighed, and returns these, too."""
    import jax.numpy as jnp

    def loss(*variables: Any) -> tuple[Any, tuple[Any, ...]]:
        outputs = function(*variables)
        floats = [(y, g) for y, g in zip(outputs, upstream, strict=True) if jnp.issubdtype(y.dtype, jnp.floating)]
        return sum((jnp.sum(y * g) for y, g in floats), jnp.zeros(())), outputs

    return loss


def _run_in_jax(case: Case, upstream: Sequence[numpy.ndarray], is_compiled: bool) -> tuple[Arrays, Arrays | None]:
    import jax

    function, variables = _jax_function(case)
    with _in_jax(variables):
        compile_ = jax.jit if is_compiled else _unchanged
        if not variables:
            return [numpy.asarray(y) for y in compile_(function)()], None
        run = compile_(jax.value_and_grad(_jax_loss(function, upstream), range(len(variables)), has_aux=True))
        (_, outputs), gradients = run(*variables)
        is_real = any(y.dtype.kind == "f" for y in map(numpy.asarray, outputs))
        return [numpy.asarray(y) for y in outputs], [numpy.asarray(part) for part in gradients] if is_real else None


def _twice_in_jax(case: Case, upstream: Sequence[numpy.ndarray], weights: Sequence[numpy.ndarray]) -> Arrays:
    import jax
    import jax.numpy as jnp

    function, variables = _jax_function(case)
    argnums = tuple(range(len(variables)))

    def slope(*values: Any) -> Any:
        parts, _ = jax.grad(_jax_loss(function, upstream), argnums, has_aux=True)(*values)
        return sum(jnp.sum(part * weight) for part, weight in zip(parts, weights, strict=True))

    with _in_jax(variables):
        return [numpy.asarray(part) for part in jax.grad(slope, argnums)(*variables)]


def _batched_in_jax(case: Case, batches: Arrays) -> Arrays:
    import jax

    function, _ = _jax_function(case)
    with _in_jax(batches):
        return [numpy.asarray(y) for y in jax.vmap(function)(*batches)]


def _told_by_jax(case: Case) -> str:
    jax_operator = to_jax(case.operator)
    with _in_jax(case.variables):
        return _by(jax_operator.explain(*[_plain(value) for value in case.inputs], **case.attributes))


def _unchanged(function: Any) -> Any:
    return function


# -- PyTensor ----------------------------------------------------------------------------------------------------------


def _pytensor_outputs(case: Case, is_static: bool) -> tuple[list[Any], list[Any]]:
    """Return (variables of the inputs that are variables of the case, the outputs).

    Their lengths are known if `is_static`, or if the operator takes no others.
    """
    if is_static:
        return _outputs_of_types(case, True)
    try:
        return _outputs_of_types(case, False)
    except ArgumentError:
        return _outputs_of_types(case, True)


def _outputs_of_types(case: Case, is_static: bool) -> tuple[list[Any], list[Any]]:
    import pytensor.tensor as pt

    values: list[Any] = [_plain(value) for value in case.inputs]
    variables = []
    for slot in _positions(case):
        array = values[slot]
        shape = array.shape if is_static else tuple(1 if length == 1 else None for length in array.shape)
        variable = pt.tensor(dtype=array.dtype.name, shape=shape)
        values[slot] = variable
        variables.append(variable)
    result = to_pytensor(case.operator)(*values, **case.attributes)
    return variables, list(result) if isinstance(result, (tuple, list)) else [result]


def _computed(variables: Sequence[Any], results: Sequence[Any], arrays: Arrays, is_compiled: bool) -> Arrays:
    import pytensor
    from pytensor.compile.mode import Mode

    mode = None if is_compiled else Mode(linker="py", optimizer="fast_compile")
    function = pytensor.function(list(variables), list(results), mode=mode, on_unused_input="ignore")
    return [numpy.asarray(value) for value in function(*arrays)]


def _pytensor_loss(outputs: Sequence[Any], upstream: Sequence[numpy.ndarray]) -> Any:
    floats = [(y, g) for y, g in zip(outputs, upstream, strict=True) if y.type.dtype.startswith("float")]
    return sum((y * g).sum() for y, g in floats) if floats else None


def _run_in_pytensor(case: Case, upstream: Sequence[numpy.ndarray], is_compiled: bool) -> tuple[Arrays, Arrays | None]:
    import pytensor

    variables, outputs = _pytensor_outputs(case, is_compiled)
    loss = _pytensor_loss(outputs, upstream)
    has_gradients = bool(variables) and loss is not None
    gradients = _gradients(pytensor, loss, variables) if has_gradients else []
    results = _computed(variables, [*outputs, *gradients], case.variables, is_compiled)
    return results[: len(outputs)], results[len(outputs) :] if has_gradients else None


def _gradients(pytensor: Any, loss: Any, variables: Sequence[Any]) -> list[Any]:
    parts: list[Any] = pytensor.grad(loss, list(variables), disconnected_inputs="ignore")
    return parts


def _twice_in_pytensor(case: Case, upstream: Sequence[numpy.ndarray], weights: Sequence[numpy.ndarray]) -> Arrays:
    import pytensor

    variables, outputs = _pytensor_outputs(case, False)
    loss = _pytensor_loss(outputs, upstream)
    if loss is None:
        return [numpy.zeros_like(weight) for weight in weights]
    slopes = _gradients(pytensor, loss, variables)
    total = sum((slope * weight).sum() for slope, weight in zip(slopes, weights, strict=True))
    return _computed(variables, _gradients(pytensor, total, variables), case.variables, False)


def _told_by_pytensor(case: Case) -> str:
    _, outputs = _pytensor_outputs(case, True)
    return "as a graph, where lengths are known" if "minpy." not in str(outputs[0].owner.op) else "by NumPy"


_FRAMEWORKS = [
    _Framework(
        "PyTorch",
        "torch",
        "compiled",
        _run_in_torch,
        _twice_in_torch,
        _batched_in_torch,
        _told_by_torch,
        ("opcheck", _checked_by_torch),
    ),
    _Framework("JAX", "jax", "jit", _run_in_jax, _twice_in_jax, _batched_in_jax, _told_by_jax),
    _Framework("PyTensor", "pytensor", "compiled", _run_in_pytensor, _twice_in_pytensor, None, _told_by_pytensor),
]
