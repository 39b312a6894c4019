"""How an operator is called from PyTorch: one function of its own for each, with the operator's parameters.

`torch.compile` traces that function, so that it is straight-line source: while a graph is made it calls the registered
operator, and otherwise goes by what the tensors are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.configured import ConfiguredOperator
from minpy.core.errors import ArgumentError, NotTraceableError, describe
from minpy.frameworks.operators import refuse_attributes
from minpy.frameworks.torch_calls import (
    call_directly,
    compute,
    is_followed,
    is_plain,
    torch,
)
from minpy.frameworks.torch_graph import GraphCall
from minpy.frameworks.torch_registration import Registered
from minpy.frameworks.torch_schema import AttributeForm, attribute_text

__all__ = ["caller"]

_is_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_is_autocast_enabled: Callable[[str], bool] = torch.is_autocast_enabled
_MISSING = object()


def caller(entry: Registered, through: str, note: Callable[[str], None]) -> Callable[..., Any]:
    """Return the function that calls an operator on tensors; `note` is told why a call runs through NumPy."""
    schema, operator = entry.schema, entry.operator
    suffix = {"numpy": "", "auto": "_auto", "graph": "_graph"}[through]

    @torch.compiler.assume_constant_result
    def current_name() -> str:
        """Return under which name a graph calls the operator as it is when the graph is made."""
        return entry.current(operator).name + suffix

    scope: dict[str, Any] = {
        "attribute_text": attribute_text,
        "text_of": _text_of,
        "refuse_attributes": refuse_attributes,
        "is_compiling": torch.compiler.is_dynamo_compiling,
        "current_name": current_name,
        "operators": getattr(torch.ops, entry.namespace),
        "eager": _eager_call(entry, through, note),
    }
    inputs = list(schema.inputs)
    parameters = (
        [f"*{inputs[0]}"]
        if schema.variadic
        else [f"{name}=None" if name in schema.optional else name for name in inputs]
    )
    if schema.attributes:
        parameters += [] if schema.variadic else ["*"]
        for form in schema.attributes:
            scope[f"default_{form.name}"] = form.default
            has_default = form.declaration != f"{form.type} {form.name}"
            parameters.append(f"{form.name}=default_{form.name}" if has_default else form.name)
    has_said_all = isinstance(entry.operator, ConfiguredOperator)
    if has_said_all:
        parameters.append("**others")
    positional = f"list({inputs[0]})" if schema.variadic else ", ".join(inputs)
    compiled = [positional, *(f"{form.name}={_for_graph(form)}" for form in schema.attributes)]
    values = inputs[0] if schema.variadic else f"({''.join(f'{name}, ' for name in inputs)})"
    named = "".join(f"{form.name}, " for form in schema.attributes)
    name = entry.operator.__name__ if entry.operator.__name__.isidentifier() else "call"
    source = (
        f"def {name}({', '.join(parameters)}):\n"
        + f"    if others:\n        refuse_attributes({name!r}, others)\n" * has_said_all
        + "    if is_compiling():\n"
        f"        return getattr(operators, current_name()).default({', '.join(compiled)})\n"
        f"    return eager({values}, ({named}))\n"
    )
    exec(compile(source, f"<minpy {entry.name}>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    function.source = source  # type: ignore[attr-defined]
    return function


def _for_graph(form: Any) -> str:
    """Return the source that makes of an attribute what the schema has."""
    if form.type == "str" and form.to_torch is not str:
        return f"attribute_text({form.name})"
    base = form.type.rstrip("?")
    if form.type == "str?":
        return f"None if {form.name} is None else text_of({form.name})"
    cast = {"float": "float", "int": "int", "bool": "bool", "str": "text_of"}.get(base)
    if cast is None or form.type.endswith("?"):
        return str(form.name)
    return f"{cast}({form.name})"


def _text_of(value: Any) -> str:
    """Return a value as text; a number that is a symbol, in a graph in the making, becomes what it stands for."""
    if isinstance(value, (int, float)):
        from torch.fx.experimental.symbolic_shapes import guard_scalar  # it is large, and there when graphs are made

        value = guard_scalar(value)
    return str(value)


def _eager_call(entry: Registered, through: str, note: Callable[[str], None]) -> Callable[..., Any]:
    """Return the function that a call comes to when no graph is made."""
    kinds: dict[tuple[Any, ...], Any] = {}
    is_traced = through != "numpy"

    def eager(values: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
        try:
            kind = kinds.get(attributes)
        except TypeError:  # a list, or a dict
            kind = None
        if kind is None or kind.operator is not entry.operator:
            kind = _kind(entry, kinds, attributes)
        is_simple = is_plain(values)
        if not is_simple:
            values, absent = _tensors(entry, values)
            if absent:
                kind = entry.kind(absent, kind.attributes)
        if _is_autocast_enabled("cpu"):
            values = tuple([_uncast(value) for value in values])
            is_simple = False
        if is_traced:
            form = kind.forms.form_of(values)
            if not isinstance(form, str):
                note("")
                results = GraphCall.apply(form, *values)
                return results[0] if kind.is_single else tuple(results)
            if through == "graph":
                raise NotTraceableError(form)
            note(form)
        if (not is_simple and not is_plain(values)) or is_followed():
            return entry.call_operator(kind.derivative, values)
        if _is_grad_enabled():
            for value in values:
                if value.requires_grad:
                    return call_directly(kind, values)
        results = compute(kind.derivative, values)
        return results[0] if kind.is_single else tuple(results)

    return eager


def _kind(entry: Registered, kinds: dict[tuple[Any, ...], Any], attributes: tuple[Any, ...]) -> Any:
    """Return the kind of calls with attributes, and note it where these tell it from all others."""
    forms = entry.schema.attributes
    named = tuple([(form.name, form.convert(value)) for form, value in zip(forms, attributes, strict=True)])
    kind = entry.kind((), named)
    # As keys, 0.0 and -0.0 are equal, and so are 1 and True where the schema does not say which of them is meant.
    if all(map(AttributeForm.is_exact, forms, attributes)) and 0.0 not in attributes:
        if len(kinds) > 1000:
            kinds.clear()
        kinds[attributes] = kind
    return kind


def _uncast(tensor: Any) -> Any:
    """Return a tensor of the low precision that autocast has chosen in float32, as NumPy computes in that."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def _tensors(entry: Registered, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return (the tensors of a call, the positions of inputs that are None); numbers become tensors."""
    like = next((value for value in values if isinstance(value, torch.Tensor)), None)
    tensors = []
    for position, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, (bool, int, float, complex)) and like is not None:
            tensors.append(torch.tensor(value, dtype=torch.result_type(like, value), device=like.device))
        elif value is not None:
            operator = entry.operator
            raise ArgumentError(
                f"{operator.__name__}: {operator.argument_name(position)} is {describe(value)}; expected a "
                "torch.Tensor. Make one of an array with torch.from_numpy(x)."
            )
    return tuple(tensors), tuple(position for position, value in enumerate(values) if value is None)
