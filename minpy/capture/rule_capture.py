"""Gradient rules captured: what a rule computes, as nodes of the graph whose gradient is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minpy.capture.captured_run import conformed, run_captured
from minpy.capture.forwards import operator_argument, plain_attributes
from minpy.capture.nd_proxy import unwrapped, wrapped
from minpy.capture.proxy import ArrayProxy
from minpy.capture.reads import Reads, item, length
from minpy.capture.recorder import Recorder
from minpy.capture.shadow import ShadowFunctions
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import Shaped

__all__ = ["RuleCall", "capture_jvp_rule", "capture_rule", "conformed_gradient", "has_kernel"]


class RuleCall(NamedTuple):
    """What a rule is called with: proxies in the places of arrays, tuples of them for several outputs."""

    operator: Any
    result: Any
    arguments: Sequence[Any]
    attributes: dict[str, Any]
    gradient: Any


def _rule_of(operator: Any, index: int) -> tuple[Any, tuple[int, ...] | None, bool]:
    """Return (the rule of an input, the inputs whose gradients it gives or None for all, whether it gives several).

    This is the place that says which form of a rule is its definition.
    """
    rule = operator.rules[index] if index < len(operator.rules) else None
    if rule is not None:
        return rule, (index,), False
    for indices, many in operator.multiple_rules:
        if indices is None or index in indices:
            return many, indices, True
    raise LookupError(index)


def has_kernel(operator: Any, index: int) -> bool:
    """Tell whether there is a faster form of the rule of an input than its definition."""
    if index in operator.into_rules:
        return True
    if index >= len(operator.rules) or operator.raw_rules[index] is operator.rules[index]:
        return False
    return not getattr(operator.raw_rules[index], "is_program", False)


def capture_rule(
    recorder: Recorder, reads: Reads | None, call: RuleCall, index: int, requires_grad: Sequence[int]
) -> dict[int, ArrayProxy]:
    """Return the gradient of one input, and of others which the same rule gives, by their positions."""
    operator = call.operator
    try:
        rule, indices, is_several = _rule_of(operator, index)
    except LookupError:
        raise recorder.refuse("there is no rule") from None
    shadow = None if operator.builtin else _shadow(recorder, reads, call, index)
    result = _staged_result(recorder, shadow, call, rule)
    first = call.result[0] if isinstance(call.result, tuple) else call.result
    if not is_several:
        return {index: conformed_gradient(recorder, result, first, call.arguments[index])}
    indices = tuple(range(len(call.arguments))) if indices is None else indices
    if not isinstance(result, (tuple, list)) or len(result) != len(indices):
        raise recorder.refuse("the rule of def_multiple_grad does not return a tuple of all its gradients")
    gradients = {}
    for position, part in zip(indices, result, strict=True):
        if position in requires_grad and _rule_of(operator, position)[0] is _rule_of(operator, index)[0]:
            gradients[position] = conformed_gradient(recorder, part, first, call.arguments[position])
    return gradients


def capture_jvp_rule(recorder: Recorder, reads: Reads, call: RuleCall, index: int) -> list[ArrayProxy]:
    """Return the tangents of the outputs that a rule of `def_jvp` gives; `call.gradient` is the input's tangent."""
    operator, rule = call.operator, call.operator.jvp_rules[index]
    shadow = None
    if not operator.builtin:
        reads.note("backward", item, operator.jvp_rules, index, rule)
        shadow = ShadowFunctions(recorder, reads, "backward", wrapped if operator.kind == "mxnet" else None)
    result = _staged_result(recorder, shadow, call, rule)
    outputs = call.result if isinstance(call.result, tuple) else (call.result,)
    parts = result if isinstance(result, (tuple, list)) else (result,)
    if len(parts) != len(outputs):
        raise recorder.refuse(f"the rule of def_jvp gives {len(parts)} tangents for {len(outputs)} outputs")
    return [conformed_gradient(recorder, part, output, output) for part, output in zip(parts, outputs, strict=True)]


def _staged_result(recorder: Recorder, shadow: ShadowFunctions | None, call: RuleCall, rule: Any) -> Any:
    """Return what `rule(result, *arguments, **attributes)(gradient)` returns; a user's rule runs in its shadow."""
    arguments, attributes = call.arguments, call.attributes

    def run() -> Any:
        if call.operator.kind != "mxnet":
            return rule(call.result, *arguments, **attributes)(call.gradient)
        staged = rule(wrapped(call.result), *map(wrapped, arguments), **attributes)
        return unwrapped(staged(wrapped(call.gradient)))

    try:
        if shadow is not None:
            arguments = _arguments(shadow, call)
            rule = shadow.function(rule)
            attributes = plain_attributes(recorder, attributes)
        return run_captured(recorder, run)
    finally:
        if shadow is not None:
            shadow.close()


def conformed_gradient(recorder: Recorder, part: Any, result: Any, like: Any) -> ArrayProxy:
    """Return a gradient as an argument needs it, as far as is known what that is: not of one that is not kept."""
    if not isinstance(like, (BaseArrayProxy, Shaped)):
        if not isinstance(part, ArrayProxy):
            raise recorder.refuse("a gradient is no array")
        return part
    return run_captured(recorder, conformed, recorder, part, result.shape, like.shape, like.dtype)


def _shadow(recorder: Recorder, reads: Reads | None, call: RuleCall, index: int) -> ShadowFunctions:
    """Return what makes a user's rule one that may run on proxies."""
    if reads is None:
        raise recorder.refuse("it is a user's rule")
    operator = call.operator
    if index < len(operator.rules):
        reads.note("backward", item, operator.rules, index, operator.rules[index])
    reads.note("backward", length, operator.multiple_rules, None, len(operator.multiple_rules))
    for position, many in enumerate(operator.multiple_rules):
        reads.note("backward", item, operator.multiple_rules, position, many)
    return ShadowFunctions(recorder, reads, "backward", wrapped if operator.kind == "mxnet" else None)


def _arguments(shadow: ShadowFunctions, call: RuleCall) -> list[Any]:
    named = enumerate(call.arguments)
    return [operator_argument(shadow, value, call.operator.argument_name(position)) for position, value in named]
