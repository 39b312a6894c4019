"""`BaseOperator`: the interface of whatever a node calls, on the tape, in graphs, and under HIPS autograd.

Each class of operators derives from it and overrides the few fields that differ: an `Operator` has a function and its
rules, others have the methods of a user's class, a graph, or a rule of another operator. The fields here are defaults,
so that no subclass restates them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.core.extensions import extension
from minpy.core.gradient_rules import Plan
from minpy.core.reports import Report, TraceReport
from minpy.core.signatures import ShownSignature, Signature

__all__ = ["BaseOperator", "DTypes", "PartialShape", "Shapes"]

# The lengths of the axes, -1 where unknown; None if their number is unknown, too.
PartialShape = tuple[int, ...] | None
Shapes = Sequence[PartialShape]
DTypes = Sequence["numpy.dtype | None"]
# `rule(inputs, outputs, **attributes)` returns both, with what follows filled in.
ShapeInference = Callable[..., tuple[Shapes, Shapes]]
TypeInference = Callable[..., tuple[DTypes, DTypes]]

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


class BaseOperator:
    """The base class of all operators.

    An operator that can be called has a `signature`, a method `forward(*raws, **attributes)`, which takes and returns
    raw arrays, and a method `vjp`. One that is only recorded on the tape needs `vjp` alone.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.core.signatures import Signature
    >>> class Scale(BaseOperator):
    ...     __name__ = 'scale'
    ...     signature = Signature(('data',), {}, {})
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...     def forward(self, data):
    ...         return data * self.factor
    ...     def vjp(self, result, arguments, attributes, gradient, requires_grad):
    ...         return [gradient * self.factor]
    >>> Scale(3.0)(np.array([1.0, 2.0]))
    array([3., 6.])
    """

    # -- calling -------------------------------------------------------------------------------------------------------

    signature: Signature = Signature((), {}, {}, variadic="inputs")
    # The number of inputs of calls whose arguments need no binding; -1: every call is bound.
    arity: int = -1
    # The forms of calls with keywords that need no binding: see `dispatch.needs_no_binding`.
    bound_forms: Any = frozenset()
    # Whether `forward` and rules are given `numpy.ndarray`s or `NDArray`s.
    kind: str = "numpy"
    # Whether it is part of minpy: trusted, its inputs not write-protected.
    builtin: bool = False
    # Whether values are passed to the rules read-only, because a user wrote the rules.
    guarded: bool = False
    # Whether calls that return a single array are noted, too: a user's function may return several.
    notes_arrays: bool = False
    # The number of outputs in a tuple that is known already, and need not be noted; 0: none.
    usual_outputs: int = 0
    is_method: bool = False
    # Whether `name=` in a call is not an argument, but names its node in a graph.
    takes_name: bool = True
    # Whether it behaves differently in training: it has an attribute `training`.
    uses_training: bool = False
    # Whether its result may share memory with its inputs, so that dispatch has to check.
    may_alias: bool = True
    # Whether the result for NDArrays of integers is truncated to their dtype, as by MXNet's operators.
    keeps_dtype: bool = False
    # The operators of an array and a number that replace it for integers and booleans: x @ 2 and 2 @ x.
    with_number: tuple[Any, Any] | None = None
    # The number of outputs that callers see, or a function of the attributes (a dict) that returns it.
    visible_outputs: int | Callable[[dict[str, Any]], int] | None = None

    # -- gradients -----------------------------------------------------------------------------------------------------

    # Whether `raw_rules[index]` is the gradient rule of each argument, to be called on raw arrays.
    direct: bool = False
    raw_rules: Any = ()
    rules: Any = ()
    multiple_rules: Any = ()
    keyword_rules: Any = _EMPTY
    into_rules: Any = _EMPTY
    jvp_rules: Any = _EMPTY
    all_zero: Any = False
    # The keyword arguments that may be arrays that need a gradient.
    keyword_inputs: Any = ()
    # Which of several outputs the gradient rules read, if not all: what a graph has to keep.
    outputs_read: Sequence[int] | None = None
    # Whether it has gradients without an upstream gradient, which layers with a loss ignore: they are then given zeros,
    # also below an operator whose gradient is zero.
    starts_gradients: bool = False
    # Whether `vjp` takes buffers as its last argument, in which gradients may be computed: see `Operator`.
    takes_buffers: bool = False
    # Whether compiled programs replace its kernels where they are faster.
    is_compiled: bool = False
    # Where its gradient comes from, for the error of `def_grad`.
    gradient_source: str = "its own vjp"

    def compute_in_leaves(self, node: Any, cotangent: Any) -> bool:
        """Propagate a cotangent (None: ones) through a node of one output into the gradients of leaves, where safe.

        Called on operators that take buffers. Returns False if the tape has to be walked, as where an array has been
        changed in place since the call.
        """
        return False

    # -- graphs --------------------------------------------------------------------------------------------------------

    # A ufunc, or `into(out, *inputs, **attributes)`: computes the result in given memory.
    into: Any = None
    # Whether each element of the result depends on the same element of the inputs only.
    elementwise: bool = False
    # The inputs that are states, which `forward` may change in place.
    auxiliary: tuple[str, ...] = ()
    # For inputs with the default None: whether a call with these attributes has them (`bias` unless `no_bias`).
    optional_inputs: Mapping[str, Callable[[dict[str, Any]], bool]] = _EMPTY
    # The names of the outputs that callers see, or a function of the attributes that returns them.
    outputs: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]] = ("output",)
    # The initializers of variables that symbols create for inputs, where users have no choice.
    initializers: Mapping[str, str] = _EMPTY
    # `completed(attributes, output_shape)`: the attributes of a call in a graph, with the inferred shape filled in.
    completed: Callable[[dict[str, Any], Any], dict[str, Any]] | None = None
    # Whether graphs replace it by the operators that it is composed of.
    expands: bool = False
    # The graph that replaces it where graphs are inlined: see `minpy.graph.subgraph_inlining`.
    inside: Any = None
    # Whether two calls with the same inputs may differ.
    random: bool = False
    # For random operators: whether a call with these attributes draws; None: every call does.
    draws: Callable[[dict[str, Any]], bool] | None = None
    # Whether a graph may merge two equal calls with the same inputs.
    mergeable: bool = True
    # `rule(*input_shapes, **attributes)`: the output's shape, where all input shapes are known.
    shape_rule: Callable[..., Any] | None = None
    # How partly known shapes and dtypes of inputs and outputs complete each other: see `Operator.def_infer_shape`.
    shape_inference: ShapeInference | None = None
    type_inference: TypeInference | None = None

    # -- a further leading axis ----------------------------------------------------------------------------------------

    # "elementwise", or `rule(batch_size, in_axes, *inputs, **attributes)`: see `Operator.def_batch`.
    batch_rule: Any = None

    # -- files and pictures --------------------------------------------------------------------------------------------

    # Its name in MXNet's files, where it differs; and the aliases that are operators of their own there.
    saved_name: str | None = None
    saved_aliases: frozenset[str] = frozenset()
    # From the attributes to the number of outputs in MXNet's files, which counts those that callers do not see.
    saved_outputs: Callable[[dict[str, Any]], int] | None = None
    # From the attributes of a call to those in MXNet's files.
    saved_attributes: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    # Whether MXNet's files omit it, and have its first input in its place.
    is_left_out = False
    # Its category in pictures of networks: 'product', 'normalization', 'activation', 'pooling', 'shape', 'loss'.
    category: str = ""
    # From the attributes of a call to its caption in pictures; None: its name.
    caption: Callable[[dict[str, Any]], str] | None = None

    __name__: Any
    __call__ = dispatch.call
    __signature__ = ShownSignature()

    def forward(self, *raws: Any, **attributes: Any) -> Any:
        """Return the raw result for raw inputs: an array or scalar, or a tuple of arrays."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, *raws, **attributes).")

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the arguments at the positions `requires_grad`, in order.

        Parameters
        ----------
        result, arguments
            The result and the arguments of `forward`; None where `values_read` says that no rule reads them.
        attributes : dict
            The attributes of the call.
        gradient
            The upstream gradient, of the result's shape and dtype; a tuple if the result is one. An `Array` where the
            rules themselves are recorded.
        requires_grad : sequence of int
        """
        raise NotImplementedError(f"{type(self).__name__} defines no vjp.")

    def wrap_raw(self, value: Any) -> Any:
        """Return an array as functions of this operator's kind take it."""
        cls = FRONT_ENDS[self.kind]
        if isinstance(value, numpy.ndarray):
            return new_array(cls, value)
        if isinstance(value, Array) and type(value) is not cls:
            return new_array(cls, value._data, value._node)
        return value

    # -- for the tape --------------------------------------------------------------------------------------------------

    def has_rule(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known, as a rule or as zero."""
        return True

    def is_zero(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is said to be zero."""
        return self.all_zero

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return (arguments that the rules at `indices` read, None for all; whether they read the result)."""
        return None, True

    def plan(self) -> Plan:
        """Return which values a recorded call has to save."""
        return Plan(None, True)

    def require_rules(self, node: Any) -> None:
        """Raise `NoGradientError` if an input of `node` needs a gradient that is not defined."""
        for index, parent in enumerate(node.parents):
            if parent is not None and not self.has_rule(index):
                raise self.missing_rule(index)

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error for a gradient that is not defined."""
        return NoGradientError(f"{self.__name__} has no gradient for argument {index} ({self.argument_name(index)}).")

    # -- for graphs ----------------------------------------------------------------------------------------------------

    def second_order_error(self) -> NoGradientError | None:
        """Return the error of differentiating its gradients; None where they have gradients of their own."""
        return None

    def input_names(self, attributes: dict[str, Any], count: int | None = None) -> list[str]:
        """Return the names of the inputs of a call with these attributes; `count` of them if they are variadic."""
        if self.signature.variadic is not None:
            names = list(self.signature.inputs)
            return names + [f"arg{index}" for index in range((count or 0) - len(names))]
        names = []
        for name in self.signature.inputs:
            used = self.optional_inputs.get(name)
            if used(attributes) if used is not None else name not in self.signature.defaults:
                names.append(name)
        return names

    def output_names(self, attributes: dict[str, Any]) -> list[str]:
        """Return the names of the outputs that callers of a call with these attributes see."""
        outputs = self.outputs
        return list(outputs(attributes) if callable(outputs) else outputs)

    def output_facts(
        self, inputs: Sequence[tuple[Any, Any]], attributes: dict[str, Any]
    ) -> list[tuple[Any, Any]] | None:
        """Return (shape, dtype) of each output of `forward`, for inputs of such shapes and dtypes, without a run.

        None where the operator cannot tell that by itself: there may be rules for it, or it is captured.
        """
        return None

    # -- describing and checking ---------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__}({', '.join(self._shown_inputs())})>"

    def _shown_inputs(self) -> list[str]:
        signature = self.signature
        names = [*signature.inputs, *([f"*{signature.variadic}"] if signature.variadic else [])]
        return names + [f"{name}=" for name in signature.attributes]

    def argument_names(self, count: int) -> list[str]:
        """Return the names of the first `count` inputs of a call, for messages."""
        names = list(self.signature.inputs[:count])
        return names + [f"{self.signature.variadic}[{index}]" for index in range(count - len(names))]

    def argument_name(self, index: int) -> str:
        """Return the name of the input at a position, for messages."""
        return self.argument_names(index + 1)[-1]

    def describe_rule(self, index: int) -> str:
        """Return a name of the gradient rule of the input at a position, for messages."""
        return f"{self.__name__}: the gradient rule of argument {index - self.is_method} ({self.argument_name(index)})"

    def check(self, *arguments: Any, frameworks: bool = False, **attributes: Any) -> Report:
        """Compare every rule with central differences, and every mode with every other, at one call's arguments.

        With `frameworks=True`, also what PyTorch, JAX and PyTensor give (`minpy.frameworks`), those that are installed:
        values, gradients of both orders, batches, compiled.

        Returns a report that prints as a table, or raises `CheckError` with the worst element named. Everything that
        is checked, and the tolerances that may be set, are described at `minpy.checking.check_operator`.

        Examples
        --------
        >>> import minpy as mx
        >>> mx.nd.exp.check([1.0, 2.0])['gradient of data'].result
        'ok'
        """
        options = {"frameworks": True} if frameworks else {}
        report: Report = extension("Operator.check")(self, arguments, attributes, **options)
        return report

    def being_checked(self) -> AbstractContextManager[None]:
        """Return the context in which `check` calls the operator."""
        return nullcontext()

    def infer(self, *specs: Any, **attributes: Any) -> Any:
        """Return the shapes and dtypes of the outputs, without running the operator where that can be told.

        Rules are asked first: those of `def_shape` or `def_infer_shape`, and of `def_infer_type`. A user's function
        without them is captured, on stand-ins without values. What cannot be captured is run on arrays of ones (on
        zeros, where it takes integers as positions), and the result is marked as a guess: other values may lead to
        other shapes.

        Parameters
        ----------
        *specs : array_like, or (shape, dtype)
            As for a call: arrays, whose values are not looked at, or a pair such as `((2, 3), 'float32')` in place of
            each; numbers and None as they are.
        **attributes
            As for a call.

        Returns
        -------
        InferredOutputs
            A sequence of (shape, dtype), one an output. `returns_tuple` says whether a call returns a tuple, `source`
            how it was told ('rule', 'capture' or 'run'), `is_guess` whether other values may lead to other shapes.

        Raises
        ------
        ArgumentError
            For missing or unknown arguments, and for what says no shape and dtype.

        Examples
        --------
        >>> import numpy as np
        >>> from minpy import customop
        >>> @customop('numpy')
        ... def low_and_high(x, *, axis: int = 0):
        ...     return np.min(x, axis=axis), np.max(x, axis=axis)
        >>> print(low_and_high.infer(((5, 3), 'float32'), axis=1))
        (float32 (5,), float32 (5,)), by capture
        """
        return extension("Operator.infer")(self, specs, attributes)

    def traced(self, *specs: Any, **attributes: Any) -> Any:
        """Return the graph of steps that the forward function makes, and those of its gradients.

        The steps are calls of NumPy's functions. They are what other frameworks' functions are made of
        (`minpy.frameworks.to_torch`, `to_jax`); `trace_report` shows what programs make of them.

        Parameters
        ----------
        *specs : array_like, or (shape, dtype)
            As for a call: arrays, whose values are not looked at, or a pair such as `((2, 3), 'float32')` in place of
            each. A number is part of the steps, with NumPy's promotion of Python's numbers.
        **attributes
            As for a call.

        Returns
        -------
        TracedOperator
            `forward` has the steps of the inputs; `vjp(positions)` those of gradients, of cotangents, outputs and
            inputs; `outputs` the shapes and dtypes; `reason` says why something does not trace, with its line, or is
            None. It prints as text.

        Raises
        ------
        ArgumentError
            For missing or unknown arguments, and for what says no shape and dtype.

        Examples
        --------
        >>> import numpy as np
        >>> from minpy import customop
        >>> @customop('numpy')
        ... def cube(x):
        ...     return x * x * x
        >>> @cube.def_grad
        ... def _(ans, x):
        ...     return lambda g: 3 * g * x * x
        >>> traced = cube.traced(((2, 3), 'float32'))
        >>> traced.reason is None, len(traced.forward), len(traced.vjp())
        (True, 2, 3)
        """
        return extension("Operator.traced")(self, specs, attributes)

    def trace_report(self, *arguments: Any, **attributes: Any) -> TraceReport:
        """Report how graphs trace the operator: the steps of its forward function and of its rules.

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
            `steps`, `reason` and `place`; `report.traced` says whether all are captured.

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
        it chooses by values: `if`, `while`, `and` or `assert` of an array. Choose with np.where or npx.cond
        """
        report: TraceReport = extension("Operator.trace_report")(self, arguments, attributes)
        return report

    def def_grad(self, *_: Any, **__: Any) -> Any:
        """Refuse: the gradient of this kind of operator is part of it."""
        raise ArgumentError(
            f"{self.__name__}.def_grad: the gradient of a {type(self).__name__} is {self.gradient_source}. To give "
            "rules to a function, make it an operator with @customop('numpy')."
        )

    def_grad_zero: Any = def_grad
    def_grad_kw: Any = def_grad
    def_multiple_grad: Any = def_grad
    def_jvp: Any = def_grad
