"""Calls of operators lowered: by a lowering of their own, by that of a NumPy function, or by their definition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.language.function_table import is_supported
from minpy.backends.native.translating.lowerings import registration  # noqa: F401 - it fills the tables
from minpy.backends.native.translating.lowerings.lowering_tables import DEFINITIONS, FUNCTIONS, GRADIENTS, OPERATORS
from minpy.backends.native.translating.lowerings.not_lowered import CALLED
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.lowerings.updates import update_several
from minpy.backends.native.translating.promotion import converted
from minpy.backends.native.translating.results import LOWERED, TRACED, NotLowered, Result
from minpy.backends.native.translating.step_builder import Emitter
from minpy.backends.native.translating.traces import Trace, Traces
from minpy.capture.steps import Step, fill
from minpy.core.operator import Operator
from minpy.core.signatures import REQUIRED
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.ops import registry
from minpy.ops.optimizer.multi_updates import MultiUpdate

__all__ = ["Operators", "constant_operand"]

_MAX_DEPTH = 12


class Operators:
    """Lowers calls of operators, into the steps of an emitter."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        # By its first output, what a lowering of an operator has saved for its gradient.
        self.forwards: dict[Array, Any] = {}
        self._traces = Traces()
        self._active: list[Any] = []

    def lower(self, operator: Any, operands: Sequence[Any], attributes: dict[str, Any]) -> Result:
        """Return the lowered call of an operator.

        `operands`: arrays; Python numbers, None and other constants; tuples of arrays for results of several arrays.

        Raises NotLowered if it has to be called. Steps that were made until then have to be forgotten.
        """
        if isinstance(operator, VjpNode):
            return self._vjp(operator, operands)
        if not isinstance(operator, Operator):
            raise NotLowered(f"it is a {type(operator).__name__}, which is called as it is")
        if not operator.builtin:
            raise NotLowered("it is an operator of a user that cannot be captured")
        for operand in arrays_in(operands):
            if not is_supported(operand.dtype):
                raise NotLowered(f"{operand.dtype.name} is not computed natively")
        if operator.keeps_dtype and _all_integers(operands):
            return self._keeping_dtype(operator, operands, attributes)
        with self._entered(operator):
            return self._lowered(operator, operands, attributes)

    @contextmanager
    def _entered(self, operator: Any) -> Iterator[None]:
        if len(self._active) > _MAX_DEPTH:
            raise NotLowered(f"its definition calls {operator.__name__}, many operators deep")
        self._active.append(operator)
        try:
            yield
        finally:
            self._active.pop()

    def _lowered(self, operator: Any, operands: Sequence[Any], attributes: dict[str, Any]) -> Result:
        emitter = self.emitter
        name = operator.__name__
        _require_not_called(operator)
        if name in OPERATORS and _is_builtin(operator):
            result = OPERATORS[name](self, *operands, **_with_defaults(operator, attributes))
            if result is not NotImplemented:
                return result if isinstance(result, Result) else Result(result, LOWERED)
        if isinstance(operator, MultiUpdate):
            return update_several(self, operator, operands, attributes)
        if isinstance(operator, Step):
            lowering = _lowering_of(operator.function)
            if lowering is not None:
                arguments, keywords = fill(operator.arguments, operands), fill(operator.keywords, operands)
                return Result(lowering(emitter, *arguments, **keywords), LOWERED)
            if isinstance(operator.function, numpy.ufunc) and operator.function.signature is None:
                arguments, keywords = fill(operator.arguments, operands), fill(operator.keywords, operands)
                return Result(apply(emitter, operator.function, *arguments, **keywords), LOWERED)
            raise NotLowered(f"{_name(operator.function)} is not compiled")
        definition = operator.definition
        lowering = _lowering_of(definition)
        if lowering is None and isinstance(definition, numpy.ufunc) and definition.signature is None:
            return Result(apply(emitter, definition, *operands), LOWERED)
        if lowering is None:
            lowering = next(filter(None, map(_lowering_of, operator.numpy_functions)), None)
        if lowering is not None:
            return Result(lowering(emitter, *operands, **attributes), LOWERED)
        if operator.random:
            raise NotLowered("it draws random numbers")
        own = DEFINITIONS.get(name) if _is_builtin(operator) else None
        all_attributes = attributes if own is None else _with_defaults(operator, attributes)
        return self._lower_trace(self._traces.definition(operator, operands, all_attributes, own), operands)

    def defined(self, function: Any, *operands: Any, **attributes: Any) -> Any:
        """Return the result of a NumPy function: for lowerings that are best written as one.

        `function`: it is run on proxies.
        """
        operator = _operator_of(function)
        return self._lower_trace(self._traces.definition(operator, operands, attributes, function), operands).value

    @staticmethod
    def definition_of(name: str) -> Any:
        """Return the definition of a built-in operator."""
        return registry.OPERATORS[name].definition

    def _vjp(self, operator: VjpNode, operands: Sequence[Any]) -> Result:
        """Lower a gradient: by a lowering of its own, or by the definition of the rule."""
        node = operator.node
        if not node.operator.builtin:
            raise NotLowered("it is a rule of a user that cannot be captured")
        for operand in arrays_in(operands):
            if not is_supported(operand.dtype):
                raise NotLowered(f"{operand.dtype.name} is not computed natively")
        _require_not_called(node.operator)
        own = GRADIENTS.get(node.operator.__name__)
        if own is not None and _is_builtin(node.operator):
            result = own(self, operator, *operands)
            if result is not NotImplemented:
                return Result(result, LOWERED)
        with self._entered(operator):
            return self._lower_trace(self._traces.rules(operator, operands), operands)

    # -- traces --------------------------------------------------------------------------------------------------------

    def _lower_trace(self, trace: Trace, operands: Sequence[Any]) -> Result:
        """Lower the calls of a trace."""
        env: dict[Node, Any] = {}
        for value, operand in zip(trace.inputs, operands, strict=True):
            _bind(env, value, operand)
        for node in trace.nodes:
            if node in env or node.operator is None:
                continue
            env[node] = self._step(trace, node, env)
        outputs = [_array(read(env, item)) if isinstance(item, Value) else constant(item) for item in trace.outputs]
        updates = [(position, _array(read(env, value))) for position, value in trace.updates]
        return Result(outputs[0] if trace.is_single else outputs, TRACED, updates)

    def _step(self, trace: Trace, node: Node, env: dict[Node, Any]) -> Any:
        if node.operator is CONSTANT:
            return constant_operand(node.attributes["value"])
        operands = [read(env, value) for value in node.inputs]
        try:
            result = self.lower(node.operator, operands, node.attributes).value
        except NotLowered as refusal:
            within = _name_of(node.operator)
            reason = (
                refusal.reason
                if refusal.reason.startswith("its definition")
                else (f"its definition takes {within}: {refusal.reason}")
            )
            raise NotLowered(reason, refusal.place) from None
        for index, item in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            fact = trace.facts.get(Value(node, index))
            if fact is not None and fact != (item.shape, item.dtype):
                raise NotLowered(f"{_name_of(node.operator)} gave {item.dtype} {item.shape} in place of {fact}")
        return result

    # -- integers ------------------------------------------------------------------------------------------------------

    def _keeping_dtype(self, operator: Any, operands: Sequence[Any], attributes: dict[str, Any]) -> Result:
        """Lower a call of integers or booleans that answers in their dtype: see `minpy.core.integer_results`."""

        def compute(inputs: Sequence[Any]) -> Result:
            with self._entered(operator):
                return self._lowered(operator, inputs, attributes)

        dtype = numpy.result_type(*(operand.dtype for operand in operands if isinstance(operand, Array)))
        mark = self.emitter.mark()
        try:
            direct: Result | None = compute(operands)
        except NotLowered:
            if operator.elementwise and dtype.kind != "b" and _numpy_result_kind(operator, operands) != "f":
                raise
            direct = None
        if direct is not None and (isinstance(direct.value, list) or direct.value.dtype.kind != "f"):
            return direct
        self.emitter.forget(mark)
        wide_dtype: Any = dtype if dtype.itemsize >= 4 and dtype.kind != "b" else numpy.dtype("float32")
        if dtype.kind != "b":
            operands = [
                item if isinstance(item, Array) or item is None else converted(item, dtype) for item in operands
            ]
        result = compute(
            [self.emitter.cast(item, wide_dtype) if isinstance(item, Array) else item for item in operands]
        )
        to = numpy.dtype("float32") if dtype.kind == "b" else dtype
        return Result(self.emitter.cast(result.value, to), result.how)


@functools.lru_cache(None)
def _operator_of(function: Any) -> Operator:
    """Return an operator of a function, as a key of traces."""
    return Operator(function, builtin=True)


def _is_builtin(operator: Any) -> bool:
    """Tell whether it is an operator of this package, not one of the same name that a library has registered."""
    return str(operator.__module__).startswith("minpy.ops")


def _require_not_called(operator: Any) -> None:
    """Refuse an operator that is always called."""
    reason = CALLED.get(operator.__name__) if _is_builtin(operator) else None
    if reason is not None:
        raise NotLowered(reason)


def arrays_in(operands: Sequence[Any]) -> Iterator[Array]:
    """Yield the arrays among operands, and in tuples of them."""
    for operand in operands:
        if isinstance(operand, Array):
            yield operand
        elif isinstance(operand, tuple):
            yield from arrays_in(operand)


def _all_integers(operands: Sequence[Any]) -> bool:
    dtypes = [operand.dtype for operand in operands if isinstance(operand, Array)]
    return bool(dtypes) and all(dtype.kind in "iub" for dtype in dtypes)


def _numpy_result_kind(operator: Any, operands: Sequence[Any]) -> str:
    """Return the kind of the dtype of NumPy's result; '' if it raises."""
    samples = [numpy.ones((1,), operand.dtype) if isinstance(operand, Array) else operand for operand in operands]
    try:
        with numpy.errstate(all="ignore"):
            return str(numpy.asarray(operator.definition(*samples)).dtype.kind)
    except Exception:  # whatever it refuses them for
        return ""


def constant_operand(value: Any) -> Any:
    """Return a constant of a graph as an operand: arrays and NumPy's scalars become constants."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return constant(value) if value.dtype.kind in "biufc" else value
    return value


def read(env: dict[Node, Any], value: Value) -> Any:
    """Return a value from the results by node."""
    if value.node not in env:
        raise NotLowered("it reads what is not kept for it")
    result = env[value.node]
    if isinstance(result, (list, tuple)):
        return tuple(result) if value.index == ANSWER else result[value.index]
    return result


def _bind(env: dict[Node, Any], value: Any, operand: Any) -> None:
    if type(value) is tuple:
        for item, part in zip(value, operand, strict=True):
            _bind(env, item, part)
    elif value is not None:
        env[value.node] = operand


def _array(value: Any) -> Array:
    return value if isinstance(value, Array) else constant(value)


def _with_defaults(operator: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call with the defaults of those that are not given."""
    defaults = operator.signature.attributes.items()
    return {**{name: item.default for name, item in defaults if item.default is not REQUIRED}, **attributes}


def _lowering_of(function: Any) -> Callable[..., Any] | None:
    try:
        return FUNCTIONS.get(function)
    except TypeError:  # it has no hash
        return None


def _name(function: Any) -> str:
    module = str(getattr(function, "__module__", "") or "")
    return (
        f"{module}.{function.__name__}" if module.startswith("numpy") else str(getattr(function, "__name__", function))
    )


def _name_of(operator: Any) -> str:
    return _name(operator.function) if isinstance(operator, Step) else str(operator.__name__)
