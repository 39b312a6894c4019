"""What `help` shows of an operator: its function's docstring, and which gradients it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["ShownDocstring", "docstring", "gradients_section", "shown_names"]

# What people who write operators call and read. The other names are internal.
_FOR_USERS = (
    "check",
    "compile",
    "def_grad",
    "def_grad_into",
    "def_grad_kernel",
    "def_grad_kw",
    "def_grad_zero",
    "def_infer_shape",
    "def_infer_type",
    "def_into",
    "def_jvp",
    "def_kernel",
    "def_multiple_grad",
    "def_multiple_grad_kernel",
    "def_shape",
    "definition",
    "forward",
    "keep_shape_only",
    "kind",
    "signature",
    "trace_report",
)


class ShownDocstring:
    """The `__doc__` of a class whose instances have docstrings of their own, composed when they are asked for.

    An instance that was given a `__doc__` keeps it.
    """

    def __init__(self, of_class: str | None, of_instance: Callable[[Any], str | None]) -> None:
        self.of_class, self.of_instance = of_class, of_instance

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self.of_class if instance is None else self.of_instance(instance)


def docstring(operator: Any) -> str | None:
    """Return the docstring of an operator's function; those of users' operators say which gradients there are."""
    own: str | None = operator.__wrapped__.__doc__
    if operator.builtin:
        return own
    return f"{inspect.cleandoc(own)}\n\n{gradients_section(operator)}" if own else gradients_section(operator)


def gradients_section(operator: Any) -> str:
    """Return which gradients an operator has, as a section of a docstring.

    Examples
    --------
    >>> from minpy import customop
    >>> @customop('numpy')
    ... def scale(x, factor):
    ...     return x * factor
    >>> scale.def_grad(lambda ans, x, factor: lambda g: g * factor)
    <Operator scale(x, factor), gradients: x>
    >>> print(gradients_section(scale))
    Gradients
    ---------
    x : by a rule
    factor : none; scale.def_grad(rule, argnum=1) adds one
    """
    rules = operator.gradients
    lines = []
    for index, name in enumerate(operator.signature.inputs):
        if index >= operator.is_method:
            argnum = index - operator.is_method
            missing = f"none; {operator.__name__}.def_grad(rule, argnum={argnum}) adds one"
            lines.append(f"{name} : {_rule_text(rules, index) or missing}")
    if operator.signature.variadic is not None:
        count = len(operator.signature.inputs)
        missing = f"none; {operator.__name__}.def_multiple_grad(rule) adds them"
        lines.append(f"*{operator.signature.variadic} : {_rule_text(rules, count) or missing}")
    lines += [f"{name} : by a rule" for name in rules.by_keyword]
    return "\n".join(["Gradients", "---------", *(lines or ["none: it has no inputs"])])


def _rule_text(rules: Any, index: int) -> str:
    """Return in words what gives the gradient of the input at a position; an empty text if nothing does."""
    if rules.is_zero(index):
        return "zero"
    forward = ", and one of forward mode" if index in rules.jvp else ""
    if index < len(rules.definitions) and rules.definitions[index] is not None:
        return f"by a rule{forward}"
    return f"by the rule for several arguments{forward}" if rules.of_several(index) is not None else ""


def shown_names(operator: Any, base: type) -> list[str]:
    """Return what `dir` lists of an operator: Python's own names, those for users, and those of other classes.

    `base` is the class of operators: what subclasses outside of the core define is listed, too.

    Examples
    --------
    >>> from minpy import nd
    >>> [name for name in dir(nd.exp) if not name.startswith(('_', 'def'))]
    ['check', 'compile', 'forward', 'keep_shape_only', 'kind', 'signature', 'trace_report']
    """
    names = {name for name in object.__dir__(operator) if name.startswith("__")}
    for cls in type(operator).__mro__:
        if issubclass(cls, base) and not cls.__module__.startswith(("minpy.core.", "minpy.ops.")):
            names |= {name for name in vars(cls) if not name.startswith("_")}
    return sorted({*names, *_FOR_USERS})
