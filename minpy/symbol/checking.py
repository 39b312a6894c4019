"""The modes of `op.check` that run an operator as a symbol, bound to arrays: as Python, and as native code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.machine import llvm
from minpy.backends.switches import disabled, is_enabled
from minpy.checking.case import Arrays, Case
from minpy.checking.execution_modes import Unsupported, register_mode
from minpy.context import CPU
from minpy.core.array import new_array
from minpy.core.errors import DTypeError, ShapeError
from minpy.core.state import state
from minpy.ndarray.ndarray import NDArray
from minpy.ops.registry import OPERATORS
from minpy.symbol.composition import compose, var
from minpy.symbol.symbol import Group, Symbol

__all__ = ["as_bound_symbol", "as_compiled"]

_RUNS = 3  # step by step, compiled, and the compiled program again; native code is made at the third


def as_bound_symbol(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays | None]:
    """Run the call as a graph of one node, with copies of its outputs as heads: so it may compute in given memory."""
    with disabled():
        return _bound(case, upstream)


def as_compiled(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays | None]:
    """Run the call as a graph of one node that has become native code."""
    if not llvm.available():
        raise Unsupported("llvmlite is not installed: pip install llvmlite")
    if not is_enabled():
        raise Unsupported("compiling is switched off")
    return _bound(case, upstream)


def _bound(case: Case, upstream: Sequence[numpy.ndarray]) -> tuple[Arrays, Arrays | None]:
    operator = case.operator
    if operator.is_method:
        raise Unsupported("a method's instance cannot be part of a graph")
    arrays = {slot: value for slot, value in case.arrays.items() if isinstance(slot, int) or slot in case.slots}
    if not arrays:
        raise Unsupported("none of its inputs is an array")
    symbol = case.replaced({slot: var(case.name(slot)) for slot in arrays}).call()
    assert isinstance(symbol, Symbol)
    if len(symbol.list_outputs()) != len(upstream):
        raise Unsupported(f"a symbol of it has {len(symbol.list_outputs())} output(s): see {operator.__name__}.outputs")
    if operator.shape_inference is not None:
        shapes = {case.name(slot): value.shape for slot, value in arrays.items()}
        if 0 not in itertools.chain(*shapes.values()) and symbol.infer_shape(**shapes)[1] is None:
            raise Unsupported("the shape of its answer does not follow from those of its inputs")
    symbol = Group([compose(OPERATORS["identity"], "identity", [output], {}) for output in symbol])
    inputs = {case.name(slot): new_array(NDArray, value.copy()) for slot, value in arrays.items()}
    gradients = {name: new_array(NDArray, numpy.zeros_like(inputs[name]._data)) for name in map(case.name, case.slots)}
    states = {name: inputs.pop(name) for name in symbol.list_auxiliary_states()}
    training = bool(gradients)
    if operator.uses_training and case.attributes.get("training") is None:
        training = state.training
    executor = symbol.bind(CPU, inputs, gradients, dict.fromkeys(gradients, "write"), states)
    for _ in range(_RUNS):
        for slot in case.states:
            states[case.name(slot)]._data[...] = arrays[slot]
        if case.generators is not None:
            case.generators.rewind()
        outputs: list[Any] = executor.forward(is_train=training)
        if gradients:
            starts = [start.reshape(output.shape) for start, output in zip(upstream, outputs, strict=True)]
            executor.backward([new_array(NDArray, start.copy()) for start in starts])
    _require_inferred(operator, symbol, {**inputs, **states}, outputs)
    moved = [states[case.name(slot)].asnumpy() for slot in case.states]
    computed = [gradient.asnumpy() for gradient in gradients.values()]
    return [*(output.asnumpy() for output in outputs), *moved], computed if len(computed) == len(case.slots) else None


def _require_inferred(operator: Any, symbol: Symbol, inputs: dict[str, NDArray], outputs: list[Any]) -> None:
    """Raise an error if the operator's rules infer other shapes or dtypes than its outputs have."""
    names = symbol.list_arguments()
    if operator.shape_inference is not None:
        shapes = symbol.infer_shape(**{name: inputs[name].shape for name in names})[1]
        if shapes != [output.shape for output in outputs]:
            raise ShapeError(f"shapes {shapes} are inferred; forward returns {[output.shape for output in outputs]}")
    if operator.type_inference is not None:
        dtypes = symbol.infer_type(**{name: inputs[name].dtype for name in names})[1]
        if dtypes != [output.dtype for output in outputs]:
            raise DTypeError(f"dtypes {dtypes} are inferred; forward returns {[output.dtype for output in outputs]}")


register_mode("bound symbol", as_bound_symbol)
register_mode("compiled", as_compiled)
