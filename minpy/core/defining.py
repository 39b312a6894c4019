"""What users say of an operator after its definition: gradient rules, kernels, shapes, forms for given memory.

Each method takes a function, checks that it can be called as it will be, and notes where it comes from: a later one for
the same thing warns that it replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minpy.core.base_operator import BaseOperator, ShapeInference, TypeInference
from minpy.core.default_attributes import adapted, require_parameters
from minpy.core.errors import ArgumentError, describe
from minpy.core.gradient_rules import GradientRules, Rule
from minpy.core.replacing import Definitions

__all__ = ["Defining"]

_Kind = TypeVar("_Kind", bound="Defining")


class Defining(BaseOperator):
    """An operator whose rules and further forms users define; see `Operator`."""

    forward: Callable[..., Any]
    gradients: GradientRules
    _definitions: Definitions | None

    def _rules_changed(self) -> None:
        """What was worked out from the rules is worked out again."""
        raise NotImplementedError

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

    def def_grad_zero(self: _Kind, argnum: int | None = None) -> _Kind:
        """Say that the gradient with respect to an argument (None: to every argument) is zero."""
        self._note("def_grad_zero", "gradient", None if argnum is None else self._index(argnum), None)
        self.gradients.define_zero(None if argnum is None else self._index(argnum))
        self._rules_changed()
        return self

    def keep_shape_only(self: _Kind, *argnums: int) -> _Kind:
        """Say that the rules read only the shape and dtype of arguments, so that recording need not keep the values.

        The rules are then given an object with `shape`, `dtype`, `ndim` and `size` in the argument's place.
        """
        self.gradients.shapes_only.update(map(self._index, argnums))
        self._rules_changed()
        return self

    def def_grad_kw(self: _Kind, rule: Rule, key: str) -> _Kind:
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
            names = [*self.signature.inputs, *self.signature.attributes]
            raise ArgumentError(f"{self.__name__}.def_grad_kw: no parameter {key!r}; it has {', '.join(names)}.")
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

    def compile(self: _Kind) -> _Kind:
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
        self.is_compiled = self.takes_buffers = True
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

    def def_batch(self, rule: Callable[..., Any] | str | None = None) -> Any:
        """Say how the operator is computed for many examples at once, which stand along a new leading axis.

        `minpy.vmap`, and that of other frameworks, then call it once. Without it they call it for each example, and
        stack what it returns.

        Parameters
        ----------
        rule : 'elementwise' or callable, optional
            'elementwise': each element of the output depends only on the elements of the inputs at the same place, as
            inputs are broadcast. Then the operator itself is called on arrays with one more axis.
            Else `rule(batch_size, in_axes, *inputs, **attributes)` returns `(outputs, out_axes)`. `in_axes` is a tuple:
            0 for an input with a leading axis of length `batch_size`, None for one that is the same for all examples.
            `outputs` is what the operator returns, an array or a tuple; `out_axes` says where the axis is in it: a
            position, None if there is none, or a tuple with one for each of several outputs. The inputs may be
            recorded: compute with NumPy's functions and operators, this one included, and the gradient follows.
            If left out, a decorator is returned, which returns the rule.

        Returns
        -------
        Operator
            This operator, so that calls chain.

        Raises
        ------
        ArgumentError
            If the rule is another word, or cannot be called as it will be.

        Examples
        --------
        >>> import minpy
        >>> import numpy as np
        >>> @minpy.customop('numpy')
        ... def total(x, *, axis=-1):
        ...     return np.sum(x, axis=axis)
        >>> @total.def_batch()
        ... def total_of_batch(batch_size, in_axes, x, *, axis):
        ...     return total(x, axis=axis + 1 if axis >= 0 else axis), 0
        >>> minpy.vmap(total)(np.ones((2, 3)))
        array([3., 3.])
        """
        if rule is None:
            return self._decorator(lambda function, _: self.def_batch(function), None)
        if isinstance(rule, str):
            if rule != "elementwise":
                raise ArgumentError(
                    f"{self.__name__}.def_batch: unknown rule {rule!r}; expected 'elementwise', or a function "
                    "rule(batch_size, in_axes, *inputs, **attributes) that returns (outputs, out_axes)."
                )
            self.batch_rule = rule
        elif not callable(rule):
            raise ArgumentError(
                f"{self.__name__}.def_batch: the rule is {describe(rule)}; expected 'elementwise', or a function "
                "rule(batch_size, in_axes, *inputs, **attributes) that returns (outputs, out_axes)."
            )
        else:
            self.batch_rule = self._adapted(rule, f"{self.__name__}: the batch rule", ("batch_size", "in_axes"))
        self._note("def_batch", "batch rule", None, None if isinstance(rule, str) else rule)
        return self

    def def_shape(self: _Kind, rule: Callable[..., Any]) -> _Kind:
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

    # -- inside --------------------------------------------------------------------------------------------------

    @staticmethod
    def _decorator(define: Callable[[Rule, Any], Any], where: Any) -> Callable[[Rule], Rule]:
        def decorate(rule: Rule) -> Rule:
            define(rule, where)
            return rule

        return decorate

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

    def _note(self, method: str, role: str, place: int | str | None, function: Any) -> None:
        """Note what a user defines, for one argument or for the call: a later definition warns that it replaces it."""
        if not self.builtin:
            if self._definitions is None:
                self._definitions = Definitions(self)
            self._definitions.note(method, role, place, function)

    def _adapted(self, function: Callable[..., Any], role: str, before: Sequence[str] = ("ans",)) -> Callable[..., Any]:
        """Return a function that may be called with any of the attributes, and `before` the inputs with something more.

        See `filling.adapted`.
        """
        complete: Callable[..., Any] = adapted(function, self.signature, role, len(before) + len(self.signature.inputs))
        if not self.builtin:
            require_parameters(function, self.signature, role, before)
        return complete
