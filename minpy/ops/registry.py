"""The registry of built-in operators: by MXNet's names, and by the NumPy functions that they are.

A new one is defined in the file of its family (`ops/nn`, `ops/tensor`, ...) with the decorator `operator`, and its
rules beside it; `python tools/make_operator_index.py` then writes where it is into `ops/index.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Literal

import numpy

from minpy.core.default_attributes import with_keyword_defaults
from minpy.core.errors import ArgumentError, nearest
from minpy.core.gradient_rules import Rule
from minpy.core.operator import Operator
from minpy.core.signatures import Signature, read_signature
from minpy.importing import import_module
from minpy.late import LateTable
from minpy.ops.index import DEFINED_IN, IMPLEMENTED_IN, OF_NUMPY
from minpy.ops.inference.partial_shapes import broadcasting, same_shape
from minpy.ops.inference.rule_parts import computed
from minpy.ops.shared_docstrings import with_shared_texts
from minpy.ops.ufunc import NUMBER_FORMS, UnaryUfunc, WithNumberForms

__all__ = [
    "FUNCTIONS",
    "LATE_OPERATORS",
    "OPERATORS",
    "PREFIXES",
    "find_operator",
    "inner_names",
    "known_operator",
    "names_under",
    "operator",
]


def _defined(name: str) -> Operator:
    """Import the module that defines an operator, which registers it, and return the operator."""
    import_module(f"minpy.ops.{DEFINED_IN[name]}")
    return vars(dict)["__getitem__"](OPERATORS, name)


class _Functions(dict[Any, Any]):
    """Operators by NumPy function, each imported at its first look-up; None for functions without one."""

    def __missing__(self, function: Any) -> Any:
        module = IMPLEMENTED_IN.get(getattr(function, "__name__", ""))
        if module is None:
            return None
        import_module(f"minpy.ops.{module}")
        return super().get(function)

    def get(self, function: Any, default: Any = None) -> Any:
        """Return the operator that a function is, or the default."""
        registered = self[function]
        return default if registered is None else registered


# By MXNet's name, aliases included: what `nd.X` and `sym.X` offer. The module of each is imported at the first look-up.
OPERATORS: LateTable[Operator] = LateTable(DEFINED_IN, _defined)
# Prefixes of operators that are in namespaces of their own: `_linalg_det` is `nd.linalg.det`.
PREFIXES = ("_contrib_", "_image_", "_linalg_")
# By name, operators that only graphs of NumPy's functions have: defined when the first of them is looked up.
LATE_OPERATORS: dict[str, Operator] = {}
_LATE_PREFIXES = ("_np_", "_npi_", "_npx_", "minpy:np.")
# By NumPy function: what `np.f(x)` means for an array that NumPy's protocols hand to us.
FUNCTIONS: dict[Any, Any] = _Functions()


def operator(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    aliases: Sequence[str] = (),
    implements: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
    public: bool = True,
    visible_outputs: int | Callable[[dict[str, Any]], int] | None = None,
    auxiliary: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    doc: str | None = None,
    like_ufunc: bool = False,
    optional_inputs: Mapping[str, Callable[[dict[str, Any]], bool]] | None = None,
    outputs: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]] | None = None,
    random: bool = False,
    synonyms: Mapping[str, str] | None = None,
    bare: bool = False,
    kernel: Mapping[str, Callable[..., Any]] | None = None,
    kind: type[Operator] | None = None,
    grad: Rule | Mapping[int, Rule] | None = None,
    shapes: Callable[..., Any] | None = None,
    dtypes: Callable[..., Any] | None = None,
    zero: Sequence[int] | Literal["all"] = (),
    shape_only: Sequence[int] = (),
    **facts: Any,
) -> Any:
    """Define a built-in operator, as a decorator or from a NumPy ufunc: `tanh = operator(np.tanh)`.

    Parameters
    ----------
    function : callable, optional
        The forward function; inputs positional, attributes keyword-only. A ufunc implements itself.
    name, aliases : str, sequence of str
        MXNet's names.
    implements : callable or sequence
        The NumPy functions of which this is the meaning on recorded arrays.
    public : bool
        Whether the names go into `OPERATORS`.
    visible_outputs, auxiliary
        As for `Operator`.
    inputs : sequence of str, optional
        Names of the inputs of a ufunc.
    doc : str, optional
        Docstring, for a ufunc.
    like_ufunc : bool
        Whether the function computes a new array, of the same shape, from one array: what a unary ufunc does.
    synonyms : mapping of str to str, optional
        Further names of arguments in calls, and which arguments they are.
    bare : bool
        Whether the operator has no attributes in MXNet, though it has some here.
    kernel : mapping of str to callable, optional
        Steps that are faster on raw arrays, by the keyword parameters (`_product`, say) whose defaults are the steps of
        the definition. These parameters are no attributes.
    kind : type, optional
        The class of the operator: `Composed`, say.
    grad : callable, or mapping of int to callable, optional
        The gradient's rule, or those of several inputs by position: see `def_grad`.
    shapes, dtypes : callable, optional
        For `def_infer_shape` and `def_infer_type`, where the rule is one that several operators have.
    zero : sequence of int, or 'all'
        The inputs whose gradient is zero: see `def_grad_zero`.
    shape_only : sequence of int
        The inputs whose values no rule reads: see `keep_shape_only`.
    **facts
        Other attributes of the operator: `category`, `elementwise`, `may_alias`, `saved_outputs`, ...
    optional_inputs, outputs, random
        What graphs ask: see `minpy.core.base_operator.BaseOperator`.
    """

    def define(function: Callable[..., Any]) -> Any:
        if isinstance(function, FunctionType):
            with_shared_texts(function)
        signature = None
        functions: list[Any] = list(implements) if isinstance(implements, (tuple, list)) else [implements]
        arity = function.nin if isinstance(function, numpy.ufunc) else None
        if arity is not None:
            names = tuple(inputs) if inputs else (("data",) if arity == 1 else ("lhs", "rhs"))
            signature = Signature(names, {}, {}, function=function)
            functions.append(function)
        elif kernel:
            signature = read_signature(function)
            attributes = {key: attribute for key, attribute in signature.attributes.items() if key not in kernel}
            signature = replace(signature, attributes=attributes)
        is_ufunc = arity is not None
        has_forms = (
            name is not None and name.startswith("broadcast_") and name.removeprefix("broadcast_") in NUMBER_FORMS
        )
        usual = UnaryUfunc if like_ufunc or arity == 1 else WithNumberForms if has_forms else Operator
        defined = (kind or usual)(
            function,
            name=name,
            builtin=True,
            signature=signature,
            visible_outputs=visible_outputs,
            auxiliary=auxiliary,
        )
        if kernel:
            defined.def_kernel(with_keyword_defaults(function, kernel))
        if isinstance(defined, WithNumberForms):
            defined.find_form = OPERATORS.__getitem__
        if synonyms:
            defined.signature = replace(defined.signature, synonyms=dict(synonyms))
        if bare:
            defined.signature = replace(defined.signature, bare=True)
        if optional_inputs is not None:
            defined.optional_inputs = optional_inputs
        if outputs is not None:
            defined.outputs = outputs
        defined.random = random
        is_product = isinstance(function, numpy.ufunc) and function.signature is not None  # matmul
        if is_product:
            defined.may_alias = False
        elif is_ufunc or like_ufunc:
            defined.shape_inference = same_shape if arity in (None, 1) else broadcasting
            defined.may_alias, defined.elementwise = False, True
            defined.keeps_dtype = public
            if public:
                defined.type_inference = computed(defined)
        if is_ufunc:
            defined.__module__ = "minpy.ops"
        if doc is not None:
            defined.__doc__ = doc
        if public:
            defined.unpickled_by = (find_operator, (defined.__name__,))
            for registered_name in (defined.__name__, *aliases):
                OPERATORS[registered_name] = defined
        for name_of_fact, fact in facts.items():
            setattr(defined, name_of_fact, fact)
        for argnum, rule in (grad if isinstance(grad, Mapping) else {0: grad} if grad else {}).items():
            defined.def_grad(rule, argnum)
        if shapes is not None:
            defined.def_infer_shape(shapes)
        if dtypes is not None:
            defined.def_infer_type(dtypes)
        for position in (None,) if zero == "all" else zero:
            defined.def_grad_zero(position)
        defined.keep_shape_only(*shape_only)
        defined.numpy_functions = functions
        for implemented in functions:
            FUNCTIONS[implemented] = defined
        return defined

    return define if function is None else define(function)


def find_operator(name: str) -> Operator:
    """Return the built-in operator of that name.

    Raises
    ------
    ArgumentError
        With the nearest names, if there is none.
    """
    registered = known_operator(name)
    if registered is None:
        raise ArgumentError(f"there is no operator {name!r}.{nearest(name, OPERATORS)}")
    return registered


def known_operator(name: str) -> Operator | None:
    """Return the built-in operator of that name, as files and symbols have it; None if there is none."""
    registered = OPERATORS.get(name)
    if registered is None and name.startswith(_LATE_PREFIXES):
        import_module(f"minpy.ops.{OF_NUMPY}")  # two hundred operators, which most programs do not need
        registered = LATE_OPERATORS.get(name)
    return registered


def names_under(prefix: str) -> dict[str, str]:
    """Return the names of operators that begin with a prefix, by the names without it."""
    return {name.removeprefix(prefix): name for name in OPERATORS if name.startswith(prefix)}


def inner_names() -> list[str]:
    """Return the names of the operators that MXNet keeps to itself: those of `nd._internal`."""
    return [name for name in OPERATORS if name.startswith("_") and not name.startswith(PREFIXES)]
