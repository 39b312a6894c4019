"""`Operator`: a forward function, its gradient rules, and optionally rules of inference.

Built-in operators are written as users write a `@customop`: a rule has the staged form
`rule(ans, *args, **attributes)`, and returns a function from the upstream to the downstream gradient. It names the
attributes that it reads; they are filled in from the signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from minpy.core import user_functions
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.default_attributes import default_attributes
from minpy.core.defining import Defining
from minpy.core.derived import Bound, is_method, with_keyword_input
from minpy.core.errors import GradientError, NoGradientError, describe, in_place_of
from minpy.core.extensions import extension
from minpy.core.gradient_rules import GradientRules, OutputBuffer, Plan, Rule, Unstaged, VjpInto
from minpy.core.operator_help import ShownDocstring, docstring, shown_names
from minpy.core.output_counts import LearnedOutputs, declared_outputs, require_declared
from minpy.core.pickling import reference
from minpy.core.replacing import Definitions
from minpy.core.signatures import Signature, read_signature

__all__ = ["Operator"]


class Operator(Defining):
    """A function of arrays that knows its gradients, and runs in every mode.

    Its parts can be read on their own: `signature`, the inputs and attributes; `definition`, the function in
    plain NumPy; `forward`, what runs on raw arrays, which is the definition unless there is a faster kernel;
    `gradients`, the rules; `shape_inference` and `type_inference`.

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
    outputs : int or sequence of str, optional
        How many arrays `forward` returns, or their names. Left out, graphs go by its code, and by calls on arrays.

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

    # (function, arguments) that return it when unpickled, where it is not found under its name in its module.
    unpickled_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    # The NumPy functions that it implements.
    numpy_functions: Sequence[Callable[..., Any]] = ()

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
        outputs: int | Sequence[str] | None = None,
    ) -> None:
        self.definition = forward
        self.forward: Callable[..., Any] = forward
        self.kind = kind
        self.builtin = builtin
        self.guarded = self.starts_gradients = not builtin
        self.signature = signature if signature is not None else read_signature(forward)
        self.visible_outputs = visible_outputs
        self.uses_training = "training" in self.signature.attributes
        self.is_method = is_method(forward)
        self.takes_name = builtin or not (
            self.signature.open_ended or "name" in self.signature.inputs or "name" in self.signature.attributes
        )
        self.arity = len(self.signature.inputs) if self.signature.variadic is None else -1
        if any(attribute.default is inspect.Parameter.empty for attribute in self.signature.attributes.values()):
            self.arity = -1
        self.bound_forms: set[tuple[Any, ...]] = set()
        self.auxiliary = tuple(auxiliary)
        if outputs is not None:
            self.outputs = declared_outputs(outputs, f"{getattr(forward, '__name__', 'the operator')}")
            self.notes_arrays = len(self.outputs) > 1
            self.usual_outputs = len(self.outputs) if self.notes_arrays else 0
        elif not builtin and visible_outputs is None:
            self.outputs = LearnedOutputs(forward, default_attributes(self.signature))
        self._with_inputs: dict[str, Operator] = {}
        self._plan: Plan | None = None
        self._definitions: Definitions | None = None
        self.__name__: str = name or str(getattr(forward, "__name__", type(forward).__name__))
        self.__qualname__: str = name or str(getattr(forward, "__qualname__", self.__name__))
        self.__module__ = getattr(forward, "__module__", None) or "minpy"
        self.__wrapped__ = forward
        if isinstance(forward, numpy.ufunc) and forward.nout == 1 and forward.signature is None:
            self.into, self.elementwise = forward, True
        self.adopt(GradientRules(len(self.signature.inputs), map(self.signature.inputs.index, auxiliary)))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = ShownDocstring(cls.__doc__, docstring)  # type: ignore[assignment]

    def adopt(self, gradients: GradientRules) -> None:
        """Take over gradient rules: the tape reads them from the operator itself."""
        self.gradients = gradients
        self.rules, self.raw_rules = gradients.definitions, gradients.raw
        self.multiple_rules, self.keyword_rules = gradients.several, gradients.by_keyword
        self.into_rules, self.jvp_rules = gradients.into, gradients.jvp
        self._rules_changed()

    def like(self, forward: Callable[..., Any], signature: Signature) -> Operator:
        """Return an operator of this one's name and kind with another function."""
        operator = Operator(
            forward,
            name=self.__name__,
            kind=self.kind,
            signature=signature,
            visible_outputs=self.visible_outputs,
            auxiliary=self.auxiliary,
        )
        operator.is_method, operator.outputs = self.is_method, self.outputs
        operator.notes_arrays, operator.usual_outputs = self.notes_arrays, self.usual_outputs
        return operator

    def note_outputs(self, count: int, attributes: dict[str, Any]) -> None:
        """Note for graphs that a call has returned a tuple of `count` arrays, or 0: an array alone.

        Raises an ArgumentError if another number is declared.
        """
        if type(self.outputs) is LearnedOutputs:
            if count and count == self.outputs.count_in_code:  # by the function's code: all its calls return so many
                self.usual_outputs = count
                return
            self.outputs.note(count, attributes)
            self.notes_arrays = True  # calls with other attributes may return them
        elif self.visible_outputs is None:
            require_declared(self.__name__, self.output_names(attributes), count)

    # -- describing ----------------------------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        return shown_names(self, Operator)

    def __repr__(self) -> str:
        defined = [self.argument_name(index) for index in range(len(self.signature.inputs)) if self.has_rule(index)]
        defined += list(self.keyword_rules)
        if self.all_zero:
            defined = ["none (zero)"]
        elif self.multiple_rules and self.signature.variadic:
            defined = ["all"]
        inputs = ", ".join(self._shown_inputs())
        return f"<Operator {self.__name__}({inputs}), gradients: {', '.join(defined) or 'none'}>"

    def __reduce__(self) -> Any:
        return self.unpickled_by or reference(self)

    def __copy__(self) -> Operator:
        return self  # as functions are copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Bound(self, instance)

    # -- for the modes -------------------------------------------------------------------------------------------

    @property
    def all_zero(self) -> bool:
        """Whether the gradient of every argument is said to be zero."""
        return self.gradients.all_zero

    def has_rule(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known, as a rule or as zero."""
        return self.gradients.has(index)

    def is_zero(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is said to be zero."""
        return self.gradients.is_zero(index)

    def plan(self) -> Plan:
        """Return what recording a call has to keep."""
        if self._plan is None:
            self._plan = self.gradients.plan()
        return self._plan

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what the rules of the inputs at the positions `indices` read: see `GradientRules.values_read`."""
        return self.gradients.values_read(indices)

    def with_inputs(self, key: str) -> Operator:
        """Return this operator with the keyword argument `key` as its last positional input."""
        if key not in self._with_inputs:
            self._with_inputs[key] = with_keyword_input(self, key)
        return self._with_inputs[key]

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error for a gradient that is not defined, which says how to define it."""
        name = self.__name__
        if index >= len(self.signature.inputs) and self.signature.variadic is None:
            return NoGradientError(f"{name} has no gradient for argument {index}.")
        argument = self.argument_name(index)
        argnum = index - self.is_method
        defined = [
            f"{position - self.is_method} ({input_name})"
            for position, input_name in enumerate(self.signature.inputs)
            if self.has_rule(position)
        ]
        if self.signature.variadic is not None:
            positions = range(len(self.signature.inputs), len(self.rules))
            defined += [f"{each} ({self.argument_name(each)})" for each in positions if self.has_rule(each)]
        return NoGradientError(
            f"{name} has no gradient for argument {argnum} ({argument}); defined: {', '.join(defined) or 'none'}. "
            f"Add one with {name}.def_grad(rule, argnum={argnum}), or say it is zero with "
            f"{name}.def_grad_zero({argnum})."
        )

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
        output_buffers: dict[int, OutputBuffer] | None = None,
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, in order.

        One rule for all of them may compute some in `output_buffers`, which are given for all of these positions.
        """
        if self.guarded:
            gradient = (
                tuple(map(user_functions.read_only, gradient))
                if type(gradient) is tuple
                else user_functions.read_only(gradient)
            )
        recorded = _holds_arrays(gradient) or _holds_arrays(result) or _holds_arrays(arguments)
        if self.kind == "mxnet":
            result = tuple(map(self.wrap_raw, result)) if type(result) is tuple else self.wrap_raw(result)
            arguments = [self.wrap_raw(value) for value in arguments]
            gradient = tuple(map(self.wrap_raw, gradient)) if type(gradient) is tuple else self.wrap_raw(gradient)
        rules = self.rules if recorded else self.raw_rules
        computed: dict[int, Any] = {}
        for index in requires_grad:
            if index in computed:
                continue
            rule = rules[index] if index < len(rules) else None
            if rule is not None:
                buffers = output_buffers if len(requires_grad) == 1 else None  # or another rule could fail afterwards
                computed[index] = self._apply(rule, index, result, arguments, attributes, gradient, buffers)
                continue
            for indices, rule in self.multiple_rules:
                if indices is None or index in indices:
                    indices = tuple(range(len(arguments))) if indices is None else indices
                    chosen_rule = rule if recorded else self.gradients.several_raw.get(rule, rule)
                    buffers = None if computed or not self._covers(rule, requires_grad) else output_buffers
                    results = self._apply(chosen_rule, index, result, arguments, attributes, gradient, buffers)
                    if not isinstance(results, (tuple, list)) or len(results) != len(indices):
                        got = len(results) if isinstance(results, (tuple, list)) else describe(results)
                        raise GradientError(
                            f"{self.__name__}: the rule of def_multiple_grad returned {got}; expected a tuple of "
                            f"{len(indices)} gradients, for {', '.join(map(self.argument_name, indices))}."
                        )
                    for position, cotangent in zip(indices, results, strict=True):
                        rule_of_several = self.gradients.of_several(position)
                        if rule_of_several is not None and rule_of_several[1] is rule:
                            computed[position] = cotangent
                    break
            else:
                raise self.missing_rule(index)
        if self.kind == "mxnet":
            return [_to_numpy_semantics(computed[index], gradient) for index in requires_grad]
        return [computed[index] for index in requires_grad]

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def keyword_inputs(self) -> Iterable[str]:
        """The keyword arguments that may be arrays which need a gradient."""
        return () if self.builtin else (*self.signature.attributes, *self.keyword_rules)

    def _covers(self, rule: Rule, requires_grad: Sequence[int]) -> bool:
        """Tell whether a rule of several arguments gives all gradients that are needed."""
        rules = self.raw_rules
        return all(
            (index >= len(rules) or rules[index] is None)
            and (rule_of_several := self.gradients.of_several(index)) is not None
            and rule_of_several[1] is rule
            for index in requires_grad
        )

    def _apply(
        self,
        rule: Rule,
        index: int,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        output_buffers: dict[int, OutputBuffer] | None,
    ) -> Any:
        function = None
        try:
            function = rule(result, *arguments, **attributes)
            if output_buffers and isinstance(function, VjpInto):
                return function.into(gradient, output_buffers)
            if callable(function):
                return function(gradient)
        except Unstaged as error:
            function = error.args[0]
        except Exception as error:
            raise in_place_of(self.rule_error(error, index, arguments, function, gradient), error) from None
        raise self.unstaged(index, function)

    def rule_error(
        self, error: Exception, index: int, arguments: Sequence[Any], function: Any, gradient: Any
    ) -> Exception:
        """Return the error to raise for one inside the rule of an argument, or in the `function` that it returned."""
        role = f"gradient rule of {self.argument_name(index)}"
        code = getattr(function, "__code__", None)
        name = code.co_varnames[0] if code is not None and code.co_argcount else ""
        upstream = f"the upstream gradient {name}{' ' if name else ''}{describe(gradient)}"
        takes_each = code is not None and type(gradient) is tuple and code.co_argcount == len(gradient) > 1
        advice = "The upstream gradient of several outputs is one tuple: lambda g: ..., with g[0], g[1]."
        return user_functions.user_error(self, error, role, arguments, upstream, advice if takes_each else "")

    def unstaged(self, index: int, result: Any) -> GradientError:
        """Return the error for a rule that has not returned a function."""
        return GradientError(
            f"{self.describe_rule(index)} returned {describe(result)}; expected a function of the upstream gradient: "
            f"def rule(ans, {', '.join(self.signature.inputs)}): return lambda g: ..."
        )

    def _rules_changed(self) -> None:
        if self.is_compiled:
            extension("Operator.compile")(self)
        self._plan = None
        self._with_inputs.clear()
        self.direct = (
            self.kind == "numpy"
            and not self.multiple_rules
            and not self.keyword_rules
            and self.visible_outputs is None
            and self.signature.variadic is None
            and self.gradients.has_each(self.is_method)
        )


Operator.__doc__ = ShownDocstring(Operator.__doc__, docstring)  # type: ignore[assignment]


def _holds_arrays(values: Any) -> bool:
    if isinstance(values, (tuple, list)):
        return any(isinstance(value, Array) for value in values)
    return isinstance(values, Array)


def _to_numpy_semantics(part: Any, gradient: Any) -> Any:
    """Return a gradient that an 'mxnet' rule computed as the tape carries it: raw, or recorded with its node."""
    if not isinstance(part, Array):
        return part
    if part._node is None:
        return part._data
    return new_array(FRONT_ENDS["numpy"], part._data, part._node)
