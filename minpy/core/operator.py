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

from minpy.core import guards
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.attributes import Signature, read_signature
from minpy.core.base import BaseOperator, ShapeInference, TypeInference
from minpy.core.derived import Bound, is_method, with_keyword_input
from minpy.core.describing import ShownDocstring, docstring, shown_names
from minpy.core.errors import ArgumentError, GradientError, NoGradientError, describe, in_place_of
from minpy.core.filling import adapted, default_attributes, require_parameters
from minpy.core.outputs import LearnedOutputs, declared_outputs, require_declared
from minpy.core.references import reference
from minpy.core.replacing import Definitions
from minpy.core.rules import GradientRules, Plan, PullInto, Rule, Target, Unstaged

__all__ = ["Operator"]


class Operator(BaseOperator):
    """A function of arrays that knows its gradients, and runs in every mode.

    It is made of parts that can be read alone: `signature`, the inputs and attributes; `definition`, the function in
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

    # (function, its arguments) that find it again, for those that are not found under their name in their module.
    unpickled_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

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
        self.keywords_bound: set[tuple[Any, ...]] = set()
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
        """Take over gradient rules: the tape looks for them at the operator itself."""
        self.gradients = gradients
        self.rules, self.raw_rules = gradients.definitions, gradients.raw
        self.multiple_rules, self.keyword_rules = gradients.several, gradients.by_keyword
        self.into_rules, self.jvp_rules = gradients.into, gradients.jvp
        self._rules_changed()

    def like(self, forward: Callable[..., Any], signature: Signature) -> Operator:
        """Return an operator of this one's name and kind with another function."""
        made = Operator(
            forward,
            name=self.__name__,
            kind=self.kind,
            signature=signature,
            visible_outputs=self.visible_outputs,
            auxiliary=self.auxiliary,
        )
        made.is_method = self.is_method
        made.outputs, made.notes_arrays, made.usual_outputs = self.outputs, self.notes_arrays, self.usual_outputs
        return made

    def note_outputs(self, count: int, attributes: dict[str, Any]) -> None:
        """Note that a call has returned a tuple of `count` arrays, or 0: an array alone. Graphs ask for it.

        Raises
        ------
        ArgumentError
            If it is said that there are others.
        """
        if type(self.outputs) is LearnedOutputs:
            if count and count == self.outputs.told:  # by the function's code: all its calls return so many
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
        known = [self.argument_name(index) for index in range(len(self.signature.inputs)) if self.has_rule(index)]
        known += list(self.keyword_rules)
        if self.all_zero:
            known = ["none (zero)"]
        elif self.multiple_rules and self.signature.variadic:
            known = ["all"]
        return f"<Operator {self.__name__}({', '.join(self._shown_inputs())}), gradients: {', '.join(known) or 'none'}>"

    def __reduce__(self) -> Any:
        return self.unpickled_by or reference(self)

    def __copy__(self) -> Operator:
        return self  # as functions are copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else Bound(self, instance)

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
        whole = self._adapted(rule, self.describe_rule(index))
        self._note("def_grad", "gradient", index, rule)
        self.gradients.define(index, whole)
        self._rules_changed()
        return self

    def def_grad_zero(self, argnum: int | None = None) -> Operator:
        """Say that the gradient with respect to an argument (None: to every argument) is zero."""
        self._note("def_grad_zero", "gradient", None if argnum is None else self._index(argnum), None)
        self.gradients.define_zero(None if argnum is None else self._index(argnum))
        self._rules_changed()
        return self

    def keep_shape_only(self, *argnums: int) -> Operator:
        """Say that the rules read only the shape and dtype of arguments, so that recording need not keep the values.

        The rules are then given an object with `shape`, `dtype`, `ndim` and `size` in the argument's place.
        """
        self.gradients.shapes_only.update(map(self._index, argnums))
        self._rules_changed()
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
        whole = self._adapted(rule, f"{self.__name__}: the gradient rule of {key}")
        self._note("def_grad_kw", "gradient", key, rule)
        self.keyword_rules[key] = whole
        self._rules_changed()
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
        whole = self._adapted(rule, f"{self.__name__}: the rule")
        for index in range(len(self.signature.inputs)) if indices is None else indices:
            self._note("def_multiple_grad", "gradient", index, rule)
        self.gradients.define_several(indices, whole)
        self._rules_changed()
        return self

    def def_kernel(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register a faster form of the forward function for raw arrays; may be used as a decorator.

        `kernel(*inputs, **attributes)` returns what the definition does, of fresh memory. It may compute in place,
        branch on values, and call what only NumPy arrays know; the forward function stays the definition, which is
        recorded, traced, and compared with by `check`.
        """
        self._require_callable(function, "def_kernel")
        self.forward = self._adapted(function, f"{self.__name__}: the kernel", ())
        self._note("def_kernel", "kernel", None, function)
        return function

    def def_grad_kernel(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register a faster form of a gradient rule for raw arrays, beside the definition given to `def_grad`.

        It is staged as the definition is: `rule(ans, *args, **attributes)` returns a function of the upstream gradient,
        which returns fresh memory. Without a rule, a decorator is returned.
        """
        if rule is None:
            return self._decorator(self.def_grad_kernel, argnum)
        self._require_callable(rule, "def_grad_kernel")
        index = self._index(argnum)
        if self.rules[index] is None:
            raise ArgumentError(
                f"{self.__name__}.def_grad_kernel: argument {argnum} has no rule yet; give its definition first, with "
                f"{self.__name__}.def_grad(rule, argnum={argnum})."
            )
        self.raw_rules[index] = self._adapted(rule, self.describe_rule(index))
        self._note("def_grad_kernel", "kernel of the gradient", index, rule)
        self._rules_changed()
        return self

    def def_multiple_grad_kernel(self, rule: Rule) -> Rule:
        """Register a faster form, for raw arrays, of the latest rule given to `def_multiple_grad`, staged as that is.

        May be used as a decorator.
        """
        self._require_callable(rule, "def_multiple_grad_kernel")
        if not self.multiple_rules:
            raise ArgumentError(
                f"{self.__name__}.def_multiple_grad_kernel: there is no rule for several arguments yet; give its "
                f"definition first, with {self.__name__}.def_multiple_grad(rule)."
            )
        self.gradients.several_raw[self.multiple_rules[0][1]] = self._adapted(rule, f"{self.__name__}: the rule")
        self._rules_changed()
        return rule

    def def_grad_into(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register a faster form of a gradient rule, which computes in memory that is there already.

        `rule(ans, *args, **attributes)` returns a function of the upstream gradient and an array `out` of the
        argument's shape and dtype, C-contiguous, which it fills. It is used on raw arrays only, beside the rule given
        to `def_grad`. Without a rule, a decorator is returned.
        """
        if rule is None:
            return self._decorator(self.def_grad_into, argnum)
        self._require_callable(rule, "def_grad_into")
        index = self._index(argnum)
        self.into_rules[index] = self._adapted(rule, self.describe_rule(index))
        self._note("def_grad_into", "form for given memory of the gradient", index, rule)
        self._rules_changed()
        return self

    def compile(self) -> Operator:
        """Let the forward function and the rules run as native code, in eager calls, on the tape and under autograd.

        They are traced for each kind of arguments (shapes, dtypes, values of attributes), fused, and compiled, where
        llvmlite is installed: `pip install llvmlite`. For each kind both ways are timed at the first calls, and
        the faster one is taken from then on, so that small arrays are left to NumPy. What cannot be traced is called as
        it is written; `trace_report` says why. In graphs, every operator is compiled anyway.

        Returns
        -------
        Operator
            This operator.

        Examples
        --------
        >>> import numpy as np
        >>> from minpy import customop
        >>> @customop('numpy')
        ... def softplus(x):
        ...     return np.log1p(np.exp(x))
        >>> softplus.def_grad(lambda ans, x: lambda g: g / (1 + np.exp(-x))).compile()
        <Operator softplus(x), gradients: x>
        >>> softplus(np.zeros(2))
        array([0.69314718, 0.69314718])
        """
        self.is_compiled = True
        self._rules_changed()
        return self

    def def_into(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register a faster form of the forward function, which computes in memory that is there already.

        `function(out, *inputs, **attributes)` fills `out`, an array of the answer's shape, dtype and layout. Graphs use
        it on raw arrays; the forward function stays the definition. May be used as a decorator.
        """
        self._require_callable(function, "def_into")
        self.into = self._adapted(function, f"{self.__name__}: the form for given memory", ("out",))
        self._note("def_into", "form for given memory", None, function)
        return function

    def def_jvp(self, rule: Rule | None = None, argnum: int = 0) -> Any:
        """Register the forward-mode rule of one argument.

        `rule(ans, *args, **attributes)` returns a function from the argument's tangent to the output's. Without a rule,
        a decorator is returned.
        """
        if rule is None:
            return self._decorator(self.def_jvp, argnum)
        self._require_callable(rule, "def_jvp")
        index = self._index(argnum)
        self.jvp_rules[index] = self._adapted(rule, self.describe_rule(index))
        self._note("def_jvp", "forward-mode rule", index, rule)
        self._rules_changed()
        return self

    def def_shape(self, rule: Callable[..., Any]) -> Operator:
        """Register the shape rule: `rule(*input_shapes, **attributes)` returns the output's shape (or several)."""
        self._require_callable(rule, "def_shape")
        self.shape_rule = self._adapted(rule, f"{self.__name__}: the shape rule", ())
        self._note("def_shape", "shape rule", None, rule)
        return self

    def def_infer_shape(self, rule: ShapeInference) -> ShapeInference:
        """Register how partly known shapes of inputs and outputs complete each other; may be used as a decorator.

        `rule(inputs, outputs, **attributes)` is given one shape for each input of a call and each output that callers
        see (a tuple, with `UNKNOWN` for lengths that are not known, or None), and returns two such lists: what follows.
        What it does not know it returns as it is, or as None; what it returns is merged with what was known. A
        contradiction inside the rule is a `ShapeError`; the caller adds where it happened. Inputs that are given by
        no attribute (a bias with `no_bias`) are not in the list.

        Examples
        --------
        >>> from minpy.core import Operator
        >>> double = Operator(lambda x: x + x, name='double')
        >>> @double.def_infer_shape
        ... def shapes(inputs, outputs):
        ...     return outputs, inputs
        """
        self.shape_inference = adapted(rule, self.signature, f"{self.__name__}: the rule that infers shapes", 2)
        self._note("def_infer_shape", "inference of shapes", None, rule)
        return rule

    def def_infer_type(self, rule: TypeInference) -> TypeInference:
        """Register how dtypes of inputs and outputs follow from each other; may be used as a decorator.

        As with `def_infer_shape`, with dtypes (None: unknown) in place of shapes.
        """
        self.type_inference = adapted(rule, self.signature, f"{self.__name__}: the rule that infers dtypes", 2)
        self._note("def_infer_type", "inference of dtypes", None, rule)
        return rule

    # -- what the modes ask --------------------------------------------------------------------------------------

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
            f"{position - self.is_method} ({known})"
            for position, known in enumerate(self.signature.inputs)
            if self.has_rule(position)
        ]
        return NoGradientError(
            f"{name} has no gradient for argument {argnum} ({argument}); defined: {', '.join(defined) or 'none'}. "
            f"Add one with {name}.def_grad(rule, argnum={argnum}), or say it is zero with "
            f"{name}.def_grad_zero({argnum})."
        )

    def pull_back(
        self,
        answer: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        needed: Sequence[int],
        targets: dict[int, Target] | None = None,
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `needed`, in order.

        One rule for all of them may compute some in the buffers of targets, which are given for all of these positions.
        """
        if self.guarded:
            gradient = tuple(map(guards.read_only, gradient)) if type(gradient) is tuple else guards.read_only(gradient)
        recorded = _holds_arrays(gradient) or _holds_arrays(answer) or _holds_arrays(arguments)
        if self.kind == "mxnet":
            answer = tuple(map(self.wrap_raw, answer)) if type(answer) is tuple else self.wrap_raw(answer)
            arguments = [self.wrap_raw(value) for value in arguments]
            gradient = tuple(map(self.wrap_raw, gradient)) if type(gradient) is tuple else self.wrap_raw(gradient)
        rules = self.rules if recorded else self.raw_rules
        parts: dict[int, Any] = {}
        for index in needed:
            if index in parts:
                continue
            rule = rules[index] if index < len(rules) else None
            if rule is not None:
                alone = targets if len(needed) == 1 else None  # or another rule could fail afterwards
                parts[index] = self._apply(rule, index, answer, arguments, attributes, gradient, alone)
                continue
            for indices, rule in self.multiple_rules:
                if indices is None or index in indices:
                    indices = tuple(range(len(arguments))) if indices is None else indices
                    form = rule if recorded else self.gradients.several_raw.get(rule, rule)
                    alone = None if parts or not self._answers(rule, needed) else targets
                    results = self._apply(form, index, answer, arguments, attributes, gradient, alone)
                    if not isinstance(results, (tuple, list)) or len(results) != len(indices):
                        got = len(results) if isinstance(results, (tuple, list)) else describe(results)
                        raise GradientError(
                            f"{self.__name__}: the rule of def_multiple_grad returned {got}; expected a tuple of "
                            f"{len(indices)} gradients, for {', '.join(map(self.argument_name, indices))}."
                        )
                    for position, result in zip(indices, results, strict=True):
                        answering = self.gradients.of_several(position)
                        if answering is not None and answering[1] is rule:
                            parts[position] = result
                    break
            else:
                raise self.missing_rule(index)
        if self.kind == "mxnet":
            return [_to_numpy_semantics(parts[index], gradient) for index in needed]
        return [parts[index] for index in needed]

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

    def _answers(self, rule: Rule, needed: Sequence[int]) -> bool:
        """Tell whether a rule of several arguments answers for all that are needed."""
        rules = self.raw_rules
        return all(
            (index >= len(rules) or rules[index] is None)
            and (answering := self.gradients.of_several(index)) is not None
            and answering[1] is rule
            for index in needed
        )

    def _apply(
        self,
        rule: Rule,
        index: int,
        answer: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        targets: dict[int, Target] | None,
    ) -> Any:
        function = None
        try:
            function = rule(answer, *arguments, **attributes)
            if targets and isinstance(function, PullInto):
                return function.into(gradient, targets)
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
        what = f"gradient rule of {self.argument_name(index)}"
        code = getattr(function, "__code__", None)
        name = code.co_varnames[0] if code is not None and code.co_argcount else ""
        upstream = f"the upstream gradient {name}{' ' if name else ''}{describe(gradient)}"
        takes_each = code is not None and type(gradient) is tuple and code.co_argcount == len(gradient) > 1
        advice = "The upstream gradient of several outputs is one tuple: lambda g: ..., with g[0], g[1]."
        return guards.user_error(self, error, what, arguments, upstream, advice if takes_each else "")

    def unstaged(self, index: int, found: Any) -> GradientError:
        """Return the error for a rule that has returned something else than a function."""
        return GradientError(
            f"{self.describe_rule(index)} returned {describe(found)}; expected a function of the upstream gradient: "
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
            self.gradients.extend(index + 1)
        return index

    def _require_callable(self, rule: Any, method: str) -> None:
        if not callable(rule):
            raise ArgumentError(
                f"{self.__name__}.{method}: the rule is {describe(rule)}; expected a function rule(ans, *args) that "
                "returns a function of the upstream gradient. For a zero gradient use "
                f"{self.__name__}.def_grad_zero(argnum)."
            )

    def _note(self, method: str, what: str, place: int | str | None, function: Any) -> None:
        """Note what a user defines, for one argument or for the call: a later definition warns that it replaces it."""
        if not self.builtin:
            if self._definitions is None:
                self._definitions = Definitions(self)
            self._definitions.note(method, what, place, function)

    def _adapted(self, function: Callable[..., Any], what: str, before: Sequence[str] = ("ans",)) -> Callable[..., Any]:
        """Return a function that may be called with any of the attributes, and `before` the inputs with something more.

        See `filling.adapted`.
        """
        found: Callable[..., Any] = adapted(function, self.signature, what, len(before) + len(self.signature.inputs))
        if not self.builtin:
            require_parameters(function, self.signature, what, before)
        return found

    def _rules_changed(self) -> None:
        if self.is_compiled:
            from minpy.graph.standalone import install  # graphs know operators, and most programs compile none alone

            install(self)
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
