"""Operators as MinPy's users write them: `from minpy.primitive import customop`.

A `Primitive` is an operator that also answers what MinPy's own did: of which kind of array it is, and which gradients
it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minpy.array_variants import variants, variants_repr
from minpy.core.customop import USER_OPERATORS, user_name
from minpy.core.customop import customop as operator_of
from minpy.core.errors import ArgumentError, NoGradientError, describe
from minpy.core.operator import Operator
from minpy.namespaces import module_functions

__all__ = ["GradFunc", "NoGradientFuncError", "Primitive", "customop"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_KINDS = {number: name for name, number in variants.items()}
# What MinPy raised where an operator has no gradient for an argument that needs one.
NoGradientFuncError = NoGradientError


class GradFunc(NamedTuple):
    """A gradient rule, and the positions of the arguments that it answers for: None for the one it is given for.

    Examples
    --------
    >>> GradFunc(f=None, multi_grad_indices=(0, 1)).multi_grad_indices
    (0, 1)
    """

    f: Callable[..., Any] | None
    multi_grad_indices: tuple[int, ...] | None


class _AnyOperator(type):
    """Lets every operator count as a `Primitive`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Operator) if cls is Primitive else type.__instancecheck__(cls, instance)


class Primitive(Operator, metaclass=_AnyOperator):
    """An operator of a function, for one kind of arrays. `customop` is the shorter way.

    Parameters
    ----------
    func : callable
        Computes on NumPy arrays or NDArrays, as `ty` says.
    ty : int
        `ArrayType.NUMPY` or `ArrayType.MXNET`.
    mutate_args, mutate_kw : iterable, optional
        What the function changes: accepted as far as they are empty. Operators change nothing here.
    type_str : str, optional
        Accepted and not used: errors name the operator itself.

    Raises
    ------
    ArgumentError
        For another kind, or an argument that is to be changed.

    Examples
    --------
    >>> import numpy
    >>> from minpy.array_variants import ArrayType
    >>> square = Primitive(numpy.square, ArrayType.NUMPY)
    >>> square.def_grad(lambda ans, x: lambda g: 2 * g * x).gradable((0,), ())
    True
    >>> float(square.call((3.0,), {})), square.typestr
    (9.0, 'NumPy')
    """

    def __init__(
        self,
        func: Callable[..., Any],
        ty: int,
        mutate_args: Any = None,
        mutate_kw: Any = None,
        type_str: str | None = None,
    ) -> None:
        if ty not in _KINDS:
            raise ArgumentError(f"Primitive: {describe(ty)} is no kind of array; take ArrayType.NUMPY or .MXNET.")
        if mutate_args or mutate_kw:
            raise ArgumentError(
                "Primitive: operators do not change their arguments here; return the new value instead of mutate_args."
            )
        super().__init__(func, kind=_KINDS[ty])
        self._type = ty
        USER_OPERATORS[user_name(self)] = self

    @property
    def type(self) -> int:
        """The kind of arrays that the function is given: `ArrayType.NUMPY` or `ArrayType.MXNET`."""
        return self._type

    @property
    def typestr(self) -> str:
        """The name of that kind."""
        return variants_repr[self._type]

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what the operator returns for arguments in a sequence and a dict."""
        return self(*args, **kwargs)

    def gradable(self, bp_args: Sequence[int], bp_kwargs: Sequence[str]) -> bool:
        """Tell whether there is a gradient for all of some arguments, given by position and by keyword."""
        return all(self.has_rule(index) for index in bp_args) and all(key in self.keyword_rules for key in bp_kwargs)


def customop(op_type: str = "numpy", *, compile: bool = False) -> Callable[[Callable[..., Any]], Operator]:
    """Make a `Primitive` of a function; its gradient is given with `def_grad`.

    Parameters
    ----------
    op_type : {'numpy', 'mxnet'}
        What the function and its gradient rules are given: `numpy.ndarray`s, or `NDArray`s.
    compile : bool
        Whether the function and its rules run as native code where that is faster: see `Operator.compile`.

    Returns
    -------
    callable
        A decorator, as `minpy.customop` returns.

    Raises
    ------
    ArgumentError
        For another kind, or if the decorator is applied to something that is not a function.

    Examples
    --------
    >>> import minpy
    >>> @customop('numpy')
    ... def double(x):
    ...     return 2 * x
    >>> double.def_grad(lambda ans, x: lambda g: 2 * g).gradable((0,), ())
    True
    >>> minpy.core.grad(double)(3)
    2.0
    """
    as_operator = operator_of(op_type)

    def decorate(function: Callable[..., Any]) -> Operator:
        if not callable(function):
            return as_operator(function)  # which refuses it
        primitive = Primitive(function, variants[op_type])
        return primitive.compile() if compile else primitive

    return decorate
