"""`Operator`: a forward function, its gradient rules, and optionally a shape rule.

Everything that computes in minpy is one. Built-in operators are written as users write a `@customop`: a rule has the
staged form `rule(ans, *args, **attributes)`, and returns a function from the upstream to the downstream gradient.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from minpy.core import dispatch, guards
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.attributes import ShownSignature, Signature, read_signature
from minpy.core.derived import Bound, is_method, with_keyword_input
from minpy.core.errors import ArgumentError, GradientError, NoGradientError, describe
from minpy.core.inferring import Inferring
from minpy.core.rules import Plan, Rule, values_read

if TYPE_CHECKING:
    from minpy.checking import Report
    from minpy.graph.tracing.report import TraceReport

__all__ = ["Operator"]


class Operator(Inferring):
    """A function of arrays that knows its gradients, and runs in every mode.

    Parameters
    ----------
    forward : callable
        Takes arrays by position and attributes by keyword; returns an array or a tuple of arrays.
    name : str, optional
        By default the function's.
    kind : {'numpy', 'mxnet'}
        Whether `forward` and the rules are given `numpy.ndarray`s or `NDArray`s.
    builtin : bool
        Built-in operators are trusted: their inputs are not write-protected while they run.
    signature : Signature, optional
        Inputs and attributes, where they cannot be read off `forward` (ufuncs).
    visible_outputs : int or callable, optional
        How many of the outputs callers see, or a function of the attributes (a dict) that says so; the others are for
        the rules.
    auxiliary : sequence of str
        The inputs that are states: `forward` may change their buffers in place, and logs that with `note_write`. Their
        gradient is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.core import Operator
    >>> cube = Operator(lambda x: x * x * x, name='cube')
    >>> cube.def_grad(lambda ans, x: lambda g: 3 * x * x * g)
    <Operator cube(x), gradients: x>
    >>> cube(np.array([1.0, 2.0]))
    array([1., 8.])
    """

    # Modules that know further modes to check, imported when an operator is checked.
    modes_in: ClassVar[list[str]] = []

    __call__ = dispatch.call
    __signature__ = ShownSignature()

    # The rule of a unary operator that computes in the upstream gradient's memory, for gradients nobody else refers to.
    in_place_rule: Any = None

    # A ufunc, or `into(out, *inputs, **attributes)`: computes the answer in given memory. See `def_into`.
    into: Any = None
    # Whether `name=` in a call is no argument, but names the call in a graph.
    takes_name: bool = True
    # Whether each element of the answer depends on the same element of the inputs only.
    elementwise: bool = False

    # Which of several outputs the gradient rules read, if not all: what a graph has to keep.
    outputs_read: Sequence[int] | None = None

    # Whether the answer on NDArrays of integers is truncated to their dtype, as MXNet's operators do.
    keeps_dtype: bool = False

    def __init__(
        self,
        forward: Callable[..., Any],
        *,
        name: str | None = None,
        kind: str = "numpy",
        builtin: bool = False,
        signature: Signature | None = None,
        visible_outputs: int | Callable[[dict[str, Any]], int] | None = None,
        auxiliary: Sequence[str] = (),
    ) -> None:
        self.forward = forward
        self.kind = kind
        self.builtin = builtin
        self.guarded = not builtin
        self.signature = signature if signature is not None else read_signature(forward)
        self.visible_outputs = visible_outputs
        self.may_alias = True
        self.uses_training = "training" in self.signature.attributes
        self.is_method = is_method(forward)
        self.takes_name = builtin or not (
            self.signature.open_ended or "name" in self.signature.inputs or "name" in self.signature.attributes
        )
        self.arity = len(self.signature.inputs) if self.signature.variadic is None else -1
        if any(attribute.default is inspect.Parameter.empty for attribute in self.signature.attributes.values()):
            self.arity = -1
        self.keywords_bound: set[tuple[Any, ...]] = set()  # see `dispatch.needs_no_binding`
        self.rules: list[Rule | None] = [None] * len(self.signature.inputs)
        self.multiple_rules: list[tuple[tuple[int, ...] | None, Rule]] = []
        self.keyword_rules: dict[str, Rule] = {}
        self.jvp_rules: dict[int, Rule] = {}
        self.into_rules: dict[int, Rule] = {}
        self.auxiliary = tuple(auxiliary)
        self.zeros: set[int] = set(map(self.signature.inputs.index, auxiliary))
        self.shapes_only: set[int] = set()
        self.all_zero = False
        # Whether further variadic and keyword inputs have a zero gradient: what is left of `all_zero` beside rules.
        self.zero_rest = False
        self._with_inputs: dict[str, Operator] = {}
        self._plan: Plan | None = None
        self.__name__: str = name or str(getattr(forward, "__name__", type(forward).__name__))
        self.__qualname__: str = name or str(getattr(forward, "__qualname__", self.__name__))
        self.__module__ = getattr(forward, "__module__", None) or "minpy"
        self.__doc__ = forward.__doc__
        self.__wrapped__ = forward
        if isinstance(forward, numpy.ufunc) and forward.nout == 1 and forward.signature is None:
            self.into, self.elementwise = forward, True
        self._forget_plan()

    # -- describing ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        names = [*self.signature.inputs, *([f"*{self.signature.variadic}"] if self.signature.variadic else [])]
        names += [f"{name}=" for name in self.signature.attributes]
        known = [self.argument_name(index) for index in range(len(self.signature.inputs)) if self.has_rule(index)]
        known += list(self.keyword_rules)
        if self.all_zero:
            known = ["none (zero)"]
        elif self.multiple_rules and self.signature.variadic:
            known = ["all"]
        return f"<Operator {self.__name__}({', '.join(names)}), gradients: {', '.join(known) or 'none'}>"

    def __reduce__(self) -> str:
        return self.__qualname__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Bound(self, instance)

    def argument_names(self, count: int) -> list[str]:
        """Return the names of the first `count` inputs of a call."""
        names = list(self.signature.inputs[:count])
        return names + [f"{self.signature.variadic}[{index}]" for index in range(count - len(names))]

    def argument_name(self, index: int) -> str:
        """Return the name of the input at a position."""
        return self.argument_names(index + 1)[-1]

    def describe_rule(self, index: int) -> str:
        """Return how messages call the gradient rule of the input at a position."""
        return f"{self.__name__}: the gradient rule of argument {index - self.is_method} ({self.argument_name(index)})"

    # -- defining gradients --------------------------------------------------------------------------------------

    def def_grad(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register the gradient with respect to one argument.

        Parameters
        ----------
        rule : callable, optional
            `rule(ans, *args, **attributes)` returns a function from the upstream gradient (an array of the output's
            shape; for several outputs a tuple) to the gradient of the argument (an array of the argument's shape).
            If left out, a decorator is returned, which returns the rule.
        argnum : int
            Position of the argument; in a method, `self` is not counted (but the rule receives it).

        Returns
        -------
        Operator
            This operator, so that calls chain.

        Raises
        ------
        ArgumentError
            If there is no such argument, or the rule is not callable.

        Examples
        --------
        >>> from minpy import customop
        >>> @customop('numpy')
        ... def multiply(x, y):
        ...     return x * y
        >>> multiply.def_grad(lambda ans, x, y: lambda g: g * y)
        <Operator multiply(x, y), gradients: x>
        >>> @multiply.def_grad(argnum=1)
        ... def gradient_of_y(ans, x, y):
        ...     return lambda g: g * x
        """
        if rule is None:
            return self._decorator(self.def_grad, argnum)
        index = self._index(argnum)
        self._require_callable(rule, "def_grad")
        self.rules[index] = rule
        self.into_rules.pop(index, None)
        self._unset_all_zero()
        self.zeros.discard(index)
        self._forget_plan()
        return self

    def def_grad_zero(self, argnum: int | None = None) -> Operator:
        """Say that the gradient with respect to an argument (None: to every argument) is zero."""
        if argnum is None:
            self.all_zero = True
            self.rules = [None] * len(self.signature.inputs)
            self.multiple_rules = []
            self.keyword_rules.clear()
        else:
            index = self._index(argnum)
            self.rules[index] = None
            self.zeros.add(index)
        self._forget_plan()
        return self

    def keep_shape_only(self, *argnums: int) -> Operator:
        """Say that the rules read only the shape and dtype of arguments, so that recording need not keep the values.

        The rules are then given an object with `shape`, `dtype`, `ndim` and `size` in the argument's place.
        """
        self.shapes_only.update(map(self._index, argnums))
        self._forget_plan()
        return self

    def def_grad_kw(self, rule: Rule, key: str) -> Operator:
        """Register the gradient with respect to an argument that is given by keyword.

        Raises
        ------
        ArgumentError
            If the operator has no such parameter.
        """
        if key in self.signature.inputs:
            return self.def_grad(rule, self.signature.inputs.index(key) - self.is_method)
        self._require_callable(rule, "def_grad_kw")
        if key not in self.signature.attributes and not self.signature.open_ended:
            known = [*self.signature.inputs, *self.signature.attributes]
            raise ArgumentError(f"{self.__name__}.def_grad_kw: no parameter {key!r}; it has {', '.join(known)}.")
        self.keyword_rules[key] = rule
        self._forget_plan()
        return self

    def def_multiple_grad(self, rule: Rule | None = None, argnums: int | Sequence[int] | None = None) -> Any:
        """Register one rule that returns the gradients of several arguments.

        Parameters
        ----------
        rule : callable, optional
            `rule(ans, *args)` returns a function from the upstream gradient to a tuple of gradients. If left out, a
            decorator is returned, which returns the rule.
        argnums : int or sequence of int, optional
            The arguments they belong to, in order; by default all of them, however many a call has.
        """
        if rule is None:
            return self._decorator(self.def_multiple_grad, argnums)
        self._require_callable(rule, "def_multiple_grad")
        argnums = (argnums,) if isinstance(argnums, int) else argnums
        indices = None if argnums is None else tuple(self._index(argnum) for argnum in argnums)
        self._unset_all_zero()
        if indices is None:
            self.zeros = set(map(self.signature.inputs.index, self.auxiliary))
            self.zero_rest = False
        else:
            self.zeros.difference_update(indices)
        for index in range(len(self.rules)) if indices is None else indices:
            self.rules[index] = None
        self.multiple_rules = [
            (indices, rule),
            *(known for known in self.multiple_rules if indices and not set(known[0] or (-1,)) <= set(indices)),
        ]
        self._forget_plan()
        return self

    def def_grad_into(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register a faster form of a gradient rule, which computes in memory that is there already.

        `rule(ans, *args, **attributes)` returns a function of the upstream gradient and an array `out` of the
        argument's shape and dtype, C-contiguous, which it fills. It is used on raw arrays only, beside the rule given
        to `def_grad`. Without a rule, a decorator is returned.
        """
        if rule is None:
            return self._decorator(self.def_grad_into, argnum)
        self._require_callable(rule, "def_grad_into")
        self.into_rules[self._index(argnum)] = rule
        self._forget_plan()
        return self

    def def_into(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register a faster form of the forward function, which computes in memory that is there already.

        `function(out, *inputs, **attributes)` fills `out`, an array of the answer's shape, dtype and layout. Graphs use
        it on raw arrays; the forward function stays the definition. May be used as a decorator.
        """
        self._require_callable(function, "def_into")
        self.into = function
        return function

    def def_jvp(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register the forward-mode rule of one argument.

        `rule(ans, *args, **attributes)` returns a function from the argument's tangent to the output's. Without a rule,
        a decorator is returned.
        """
        if rule is None:
            return self._decorator(self.def_jvp, argnum)
        self._require_callable(rule, "def_jvp")
        self.jvp_rules[self._index(argnum)] = rule
        self._forget_plan()
        return self

    def def_shape(self, rule: Callable[..., Any]) -> Operator:
        """Register the shape rule: `rule(*input_shapes, **attributes)` returns the output's shape (or several)."""
        self._require_callable(rule, "def_shape")
        self.shape_rule = rule
        return self

    def check(self, *arguments: Any, **attributes: Any) -> Report:
        """Compare every rule with central differences, and every mode with every other, at one call's arguments.

        Returns a report that prints as a table, or raises `CheckError` with the worst element named. Everything that
        is checked, and the tolerances that may be set, are described at `minpy.checking.check_operator`.

        Examples
        --------
        >>> import minpy as mx
        >>> mx.nd.exp.check([1.0, 2.0])['gradient of data'].result
        'ok'
        """
        from minpy.checking import check_operator  # it is large, and most programs check nothing

        for module in self.modes_in:
            importlib.import_module(module)
        return check_operator(self, arguments, attributes)

    def trace_report(self, *arguments: Any, **attributes: Any) -> TraceReport:
        """Tell what graphs make of the operator: the steps of its forward function and of its rules.

        A program runs these steps in place of the function, merged with what surrounds them. A function that cannot be
        traced is called as it is; the report says which of its lines is in the way, and why.

        Parameters
        ----------
        *arguments : array_like
            As for a call. Their values are not looked at, unless the forward function has to be run.
        **attributes
            As for a call.

        Returns
        -------
        TraceReport
            Prints as text. `report["forward"]` and `report["gradient of x"]` are its parts, each with `traced`,
            `steps`, `reason` and `place`; `report.traced` says whether all are traced.

        Raises
        ------
        ArgumentError
            For missing or unknown arguments.

        Examples
        --------
        >>> import numpy as np
        >>> from minpy import customop
        >>> @customop('numpy')
        ... def scale(x):
        ...     return 2 * x if x.max() > 1 else x
        >>> print(scale.trace_report(np.ones(3))['forward'].reason)
        it chooses by values: `if`, `while`, `and` or `assert` of an array
        """
        from minpy.graph.tracing.report import trace_report  # graphs know operators, and most programs make none

        return trace_report(self, arguments, attributes)

    # -- what the modes ask --------------------------------------------------------------------------------------

    def has_rule(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known, as a rule or as zero."""
        if self.is_zero(index) or (index < len(self.rules) and self.rules[index] is not None):
            return True
        return any(indices is None or index in indices for indices, _ in self.multiple_rules)

    def is_zero(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is said to be zero."""
        return self.all_zero or index in self.zeros or (self.zero_rest and index >= len(self.rules))

    def require_rules(self, node: Any) -> None:
        """Raise `NoGradientError` if an input of `node` needs a gradient that is not defined."""
        for index, parent in enumerate(node.parents):
            if parent is not None and not self.has_rule(index):
                raise self.missing_rule(index)

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error for a gradient that is not defined, which says how to define it."""
        name = self.__name__
        if index >= len(self.signature.inputs) and self.signature.variadic is None:
            return NoGradientError(f"{name} has no gradient for argument {index}.")
        argument = self.argument_name(index)
        argnum = index - self.is_method
        defined = [
            f"{position - self.is_method} ({known})"
            for position, known in enumerate(self.signature.inputs)
            if self.has_rule(position)
        ]
        return NoGradientError(
            f"{name} has no gradient for argument {argnum} ({argument}); defined: {', '.join(defined) or 'none'}. "
            f"Add one with {name}.def_grad(rule, argnum={argnum}), or say it is zero with "
            f"{name}.def_grad_zero({argnum})."
        )

    def plan(self) -> Plan:
        """Return what recording a call has to keep."""
        if self._plan is None:
            self._plan = self._make_plan()
        return self._plan

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what the rules of the inputs at the positions `indices` read.

        The positions of the arguments (None: all of them), and whether they read the answer.
        """
        rules = [self.rules[index] for index in indices if index < len(self.rules)]
        wanted = set(indices)
        several = [rule for positions, rule in self.multiple_rules if positions is None or wanted & set(positions)]
        return values_read([rule for rule in (*rules, *several) if rule is not None])

    def pull_back(
        self, answer: Any, arguments: Sequence[Any], attributes: dict[str, Any], gradient: Any, needed: Sequence[int]
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `needed`, in order."""
        if self.guarded:
            gradient = tuple(map(guards.read_only, gradient)) if type(gradient) is tuple else guards.read_only(gradient)
        if self.kind == "mxnet":
            answer = tuple(map(self.wrap_raw, answer)) if type(answer) is tuple else self.wrap_raw(answer)
            arguments = [self.wrap_raw(value) for value in arguments]
            gradient = tuple(map(self.wrap_raw, gradient)) if type(gradient) is tuple else self.wrap_raw(gradient)
        parts: dict[int, Any] = {}
        for index in needed:
            if index in parts:
                continue
            rule = self.rules[index] if index < len(self.rules) else None
            if rule is not None:
                parts[index] = self._apply(rule, index, answer, arguments, attributes, gradient)
                continue
            for indices, rule in self.multiple_rules:
                if indices is None or index in indices:
                    indices = tuple(range(len(arguments))) if indices is None else indices
                    results = self._apply(rule, index, answer, arguments, attributes, gradient)
                    if not isinstance(results, (tuple, list)) or len(results) != len(indices):
                        got = len(results) if isinstance(results, (tuple, list)) else describe(results)
                        raise GradientError(
                            f"{self.__name__}: the rule of def_multiple_grad returned {got}; expected a tuple of "
                            f"{len(indices)} gradients, for {', '.join(map(self.argument_name, indices))}."
                        )
                    for position, result in zip(indices, results, strict=True):
                        if self._multiple_rule(position) is rule:
                            parts[position] = result
                    break
            else:
                raise self.missing_rule(index)
        if self.kind == "mxnet":
            return [_to_numpy_semantics(parts[index], gradient) for index in needed]
        return [parts[index] for index in needed]

    def wrap_raw(self, value: Any) -> Any:
        """Return an array as functions of this operator's kind take it."""
        cls = FRONT_ENDS[self.kind]
        if isinstance(value, numpy.ndarray):
            return new_array(cls, value)
        if isinstance(value, Array) and type(value) is not cls:
            return new_array(cls, value._data, value._node)
        return value

    def with_inputs(self, key: str) -> Operator:
        """Return this operator with the keyword argument `key` as its last positional input."""
        if key not in self._with_inputs:
            self._with_inputs[key] = with_keyword_input(Operator, self, key)
        return self._with_inputs[key]

    # -- inside --------------------------------------------------------------------------------------------------

    @staticmethod
    def _decorator(define: Callable[[Rule, Any], Any], where: Any) -> Callable[[Rule], Rule]:
        def decorate(rule: Rule) -> Rule:
            define(rule, where)
            return rule

        return decorate

    @property
    def keyword_inputs(self) -> Iterable[str]:
        """The keyword arguments that may be arrays which need a gradient."""
        return () if self.builtin else (*self.signature.attributes, *self.keyword_rules)

    def _multiple_rule(self, index: int) -> Rule | None:
        """Return the rule for several arguments that answers for the one at a position: the latest one, or none."""
        if index < len(self.rules) and self.rules[index] is not None:
            return None
        return next((rule for indices, rule in self.multiple_rules if indices is None or index in indices), None)

    def _unset_all_zero(self) -> None:
        """Turn "every gradient is zero" into one statement an argument, so that single ones can be changed."""
        if self.all_zero:
            self.all_zero = False
            self.zero_rest = True
            self.zeros = set(range(len(self.rules)))

    def _apply(
        self,
        rule: Rule,
        index: int,
        answer: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
    ) -> Any:
        function = None
        try:
            function = rule(answer, *arguments, **attributes)
            if callable(function):
                return function(gradient)
        except Exception as error:
            what = f"gradient rule of {self.argument_name(index)}"
            code = getattr(function, "__code__", None)
            name = code.co_varnames[0] if code is not None and code.co_argcount else ""
            upstream = f"the upstream gradient {name}{' ' if name else ''}{describe(gradient)}"
            raise guards.user_error(self, error, what, arguments, upstream) from error
        raise GradientError(
            f"{self.describe_rule(index)} returned {describe(function)}; expected a function of the upstream gradient: "
            f"def rule(ans, {', '.join(self.signature.inputs)}): return lambda g: ..."
        )

    def _index(self, argnum: int) -> int:
        if not isinstance(argnum, int) or isinstance(argnum, bool) or argnum < 0:
            raise ArgumentError(f"{self.__name__}: argnum must be a position (0, 1, ...), got {argnum!r}.")
        index = argnum + self.is_method
        count = len(self.signature.inputs)
        if index >= count:
            if self.signature.variadic is None:
                raise ArgumentError(
                    f"{self.__name__} has no argument {argnum}; its arguments are "
                    f"{', '.join(f'{i} ({name})' for i, name in enumerate(self.signature.inputs[self.is_method :]))}."
                )
            self.rules.extend([None] * (index + 1 - len(self.rules)))
        return index

    def _require_callable(self, rule: Any, method: str) -> None:
        if not callable(rule):
            raise ArgumentError(
                f"{self.__name__}.{method}: the rule is {describe(rule)}; expected a function rule(ans, *args) that "
                "returns a function of the upstream gradient. For a zero gradient use "
                f"{self.__name__}.def_grad_zero(argnum)."
            )

    def _forget_plan(self) -> None:
        self._plan = None
        self._with_inputs.clear()
        # Direct: one rule an argument, on raw arrays, so that the tape may call `rules[index]` itself.
        self.direct = (
            self.kind == "numpy"
            and not self.multiple_rules
            and not self.keyword_rules
            and self.visible_outputs is None
            and self.signature.variadic is None
            and all(self.has_rule(index) for index in range(self.is_method, len(self.rules)))
        )

    def _make_plan(self) -> Plan:
        rules = [rule for rule in self.rules if rule is not None]
        rules += [rule for _, rule in self.multiple_rules]
        rules += [*self.jvp_rules.values(), *self.into_rules.values()]
        reads_arguments, reads_answer = values_read(rules)
        return Plan(reads_arguments, reads_answer, frozenset(self.shapes_only))


def _to_numpy_semantics(part: Any, gradient: Any) -> Any:
    """Return a gradient that an 'mxnet' rule computed as the tape carries it: raw, or recorded with its node."""
    if not isinstance(part, Array):
        return part
    if part._node is None:
        return part._data
    return new_array(FRONT_ENDS["numpy"], part._data, part._node)
