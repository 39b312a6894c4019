"""`ForeignOperator`: a function of another library, which also differentiates it, as an operator of minpy.

Its gradient is again such an operator: the function's vjp in that library, called on arrays. So there is no highest
order, and whatever runs operators (the tape, HIPS autograd, graphs) runs these. What a library has to say of itself
are the methods of the class that raise NotImplementedError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, update_wrapper
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy

from minpy.core.array import Array
from minpy.core.base_operator import BaseOperator
from minpy.core.customop import USER_OPERATORS, user_name
from minpy.core.derived import is_method
from minpy.core.errors import ArgumentError, PicklingError, describe, nearest
from minpy.core.gradient_rules import Plan
from minpy.core.operator import Operator
from minpy.core.output_counts import LearnedOutputs
from minpy.core.pickling import reference
from minpy.core.signatures import REQUIRED, Attribute, Signature, read_signature

__all__ = ["ForeignOperator", "ForeignSignature", "in_tuple", "read_foreign_signature"]

_PLAN = Plan(None, False)


def in_tuple(result: Any) -> tuple[Any, ...]:
    """Return what a function returned as a tuple of its outputs."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


# -- signatures --------------------------------------------------------------------------------------------------------


class ForeignSignature:
    """Inputs and attributes of a function of another library, and how it is called with them.

    `by_name`: whether inputs are given to it by keyword, as their order is another.
    """

    def __init__(self, signature: Signature, by_name: bool) -> None:
        self.signature = signature
        self.by_name = by_name

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as one of the inputs by position."""
        if not self.by_name:
            return function
        names = self.signature.inputs

        def call(*inputs: Any, **attributes: Any) -> Any:
            return function(**dict(zip(names, inputs, strict=True)), **attributes)

        return call


def read_foreign_signature(
    function: Callable[..., Any], inputs: int | Sequence[str] | None, where: str
) -> ForeignSignature:
    """Read inputs and attributes off a function's signature, and `inputs`: what a user says of it.

    Parameters
    ----------
    function : callable
    inputs : int or sequence of str, optional
        The names of the inputs, or how many there are. What other parameters there are become attributes. Left out,
        they are the positional parameters.
    where : str
        What the function is given to, for messages.

    Raises
    ------
    ArgumentError
        If the function tells nothing of its parameters, and `inputs` does not, or names others than it has.
    """
    try:
        whole: Signature | None = read_signature(function)
        parameters = [*inspect.signature(function).parameters.values()]
    except (ValueError, TypeError):
        whole, parameters = None, []
    title = getattr(function, "__name__", type(function).__name__)
    if inputs is None:
        if whole is None:
            raise ArgumentError(
                f"{where}: the parameters of {title} cannot be read off it. Name those that are arrays: "
                f"{where}({title}, inputs=('x',))."
            )
        if not whole.inputs and whole.variadic is None:
            raise ArgumentError(
                f"{where}: {title} has no positional parameters, which would be its inputs. Name those that are "
                "arrays: inputs=('x',)."
            )
        return ForeignSignature(whole, False)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = _input_names(inputs, [p.name for p in positional], where, title)
    if whole is None or not (whole.inputs or whole.attributes):  # of another language, or `*arguments` alone
        return ForeignSignature(Signature(names, {}, {}, open_ended=True), False)
    by_parameter = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    for name in names:
        if name not in by_parameter:
            raise ArgumentError(
                f"{where}: {title} has no parameter {name!r}; it has {', '.join(by_parameter)}."
                f"{nearest(name, list(by_parameter))}"
            )
    is_prefix = names == tuple(p.name for p in positional[: len(names)])
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    attributes = {}
    for p in by_parameter.values():
        if p.name in names:
            continue
        if p.kind is p.POSITIONAL_ONLY:
            raise ArgumentError(
                f"{where}: {p.name} of {title} is positional only, and inputs={list(names)} leaves it out. Wrap it: "
                f"lambda {', '.join(names)}: {title}(...)."
            )
        annotation = None if p.annotation is REQUIRED else p.annotation
        attributes[p.name] = Attribute(p.name, annotation, p.default, scope)
    if not is_prefix and any(by_parameter[name].kind is inspect.Parameter.POSITIONAL_ONLY for name in names):
        raise ArgumentError(
            f"{where}: inputs={list(names)} are in another order than {title} takes them, by position only. Wrap it: "
            f"lambda {', '.join(names)}: {title}(...)."
        )
    defaults = {name: by_parameter[name].default for name in names if by_parameter[name].default is not REQUIRED}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    return ForeignSignature(Signature(names, defaults, attributes, None, open_ended), not is_prefix)


def _input_names(inputs: int | Sequence[str], parameters: Sequence[str], where: str, title: str) -> tuple[str, ...]:
    """Return the names of the inputs, of which a user has given the names or the number."""
    if isinstance(inputs, int) and not isinstance(inputs, bool) and inputs > 0:
        if len(parameters) >= inputs:
            return tuple(parameters[:inputs])
        return tuple(f"x{index}" for index in range(inputs))
    if (
        not isinstance(inputs, (str, int))
        and inputs
        and all(isinstance(name, str) and name.isidentifier() for name in inputs)
        and len(set(inputs)) == len(inputs)
    ):
        return tuple(inputs)
    raise ArgumentError(
        f"{where}: inputs of {title} is {describe(inputs)}; expected how many there are (2), or their names, all "
        "different (('x', 'weight'))."
    )


# -- the operator ------------------------------------------------------------------------------------------------------


class ForeignOperator(Operator):
    """A function of another library as an operator; its gradient is computed there, too, to any order.

    Parameters
    ----------
    function : callable
        Of the library's arrays, by position, and of attributes by keyword; returns one of its arrays, or a tuple.
    name : str
        What the operator is called.
    signature : Signature
    outputs : int or sequence of str, optional
        How many arrays it returns, or their names.
    like : callable, optional
        Whose module, qualified name and docstring it has.
    is_gradient : bool
        Whether it is a gradient of another one.
    settings : dict
        What the library's kind of operator was made with besides, by name.
    """

    # How errors call the framework, and what makes such operators.
    framework: ClassVar[str]
    maker: ClassVar[str]
    may_alias = False

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        signature: Signature,
        outputs: int | Sequence[str] | None = None,
        like: Any = None,
        is_gradient: bool = False,
        settings: dict[str, Any],
    ) -> None:
        def forward(*inputs: Any, **attributes: Any) -> Any:
            return self._noted(self.compute(inputs, attributes), attributes)

        like = SimpleNamespace(__name__=name, __qualname__=name) if like is None else like
        update_wrapper(forward, like, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        del forward.__wrapped__  # type: ignore[attr-defined]
        super().__init__(forward, name=None, signature=signature, outputs=outputs)
        self.function = function
        self.settings = settings
        self.is_gradient = is_gradient
        self.__name__ = name
        if getattr(like, "__name__", None) != name:
            self.__qualname__ = name
        if outputs is None:
            defaults = {key: attribute.default for key, attribute in signature.attributes.items()}
            self.outputs = LearnedOutputs(function, defaults)
        self.is_method = not is_gradient and is_method(function)
        # Nothing of theirs sees a NumPy array's flag that forbids to write; `compute` has its own way to find that out.
        self.guarded = self.starts_gradients = False
        self.__doc__ = self._docstring(getattr(like, "__doc__", None))
        self.pickled_as: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self.gradient_operator = lru_cache(64)(self._gradient_operator)

    # -- what a library says of itself ---------------------------------------------------------------------------------

    def compute(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Return what the function gives for NumPy's arrays, in fresh memory: an array, or a tuple of arrays."""
        raise NotImplementedError

    def vjp_function(self, positions: tuple[int, ...], live: tuple[bool, ...], several: bool) -> Callable[..., Any]:
        """Return the function's gradient as a function of the library: of (cotangents, inputs), to gradients.

        `positions`: of the inputs whose gradients it returns: a tuple if they are several. `live`: which outputs are
        floating point; there is a cotangent for each of these. `several`: whether the function returns a tuple.
        """
        raise NotImplementedError

    # -- gradients -----------------------------------------------------------------------------------------------------

    gradient_source = "what its library computes"
    def_grad = def_grad_zero = def_grad_kw = def_multiple_grad = BaseOperator.def_grad
    def_grad_kernel = def_multiple_grad_kernel = def_grad_into = def_kernel = def_into = BaseOperator.def_grad

    def has_rule(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known: that of each is."""
        return True

    def plan(self) -> Plan:
        """Return what recording a call has to keep: the inputs, of which the library computes all again."""
        return _PLAN

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what the gradients read: the inputs."""
        return None, False

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
        output_buffers: Any = None,
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, in order; of integers, zeros."""
        several = type(gradient) is tuple
        cotangents = gradient if several else (gradient,)
        live = tuple(_dtype(cotangent).kind in "fc" for cotangent in cotangents)
        positions = tuple(index for index in requires_grad if _dtype(arguments[index]).kind in "fc")
        parts: dict[int, Any] = {}
        if positions and any(live):
            operator = self.gradient_operator(positions, live, several, len(arguments))
            given = [cotangent for cotangent, is_live in zip(cotangents, live, strict=True) if is_live]
            parts = dict(zip(positions, in_tuple(operator(*given, *arguments, **attributes)), strict=True))
        return [
            parts[index] if index in parts else numpy.zeros(numpy.shape(arguments[index]), _dtype(arguments[index]))
            for index in requires_grad
        ]

    def _gradient_operator(
        self, positions: tuple[int, ...], live: tuple[bool, ...], several: bool, count: int
    ) -> ForeignOperator:
        """Return the gradient with respect to the inputs at `positions` as an operator of (cotangents, inputs)."""
        inputs = self.signature.inputs
        names = [*inputs[:count], *(f"input{index}" for index in range(len(inputs), count))]
        cotangents = [f"cotangent{index}" for index in range(sum(live))]
        signature = Signature((*cotangents, *names), {}, self.signature.attributes, None, self.signature.open_ended)
        operator = type(self)(
            self.vjp_function(positions, live, several),
            name=f"{self.__name__}_vjp",
            signature=signature,
            outputs=tuple(f"gradient_of_{names[index]}" for index in positions),
            is_gradient=True,
            settings=self.settings,
        )
        operator.pickled_as = (_gradient_of, (self, positions, live, several, count))
        return operator

    # -- attributes ----------------------------------------------------------------------------------------------------

    def with_inputs(self, key: str) -> Operator:
        """Refuse an array that needs a gradient as an attribute."""
        names = ", ".join(repr(name) for name in (*self.signature.inputs, key))
        raise ArgumentError(
            f"{self.__name__}: {key} is an array, and {key} is an attribute, through which no gradient flows. Make it "
            f"an input: {self.maker}({self.__name__}, inputs=({names}))."
        )

    # -- inside --------------------------------------------------------------------------------------------------------

    def _noted(self, result: Any, attributes: dict[str, Any]) -> Any:
        """Note how many outputs a call has returned, for graphs, and return them."""
        if type(result) is not tuple:
            if self.notes_arrays:
                self.note_outputs(0, attributes)
        elif len(result) != self.usual_outputs or not result:
            self.note_outputs(len(result), attributes)
        return result

    def unfit(self, number: int, several: bool, text: str) -> ArgumentError:
        """Return the error for an output that is no array of NumPy's, and cannot be made one."""
        place = f"output {number} of its function" if several else "its function"
        return ArgumentError(f"{self.__name__}: {place} {text}")

    def _docstring(self, doc: str | None) -> str:
        section = f"Gradients\n---------\nAll, of any order: computed by {self.framework}."
        return f"{inspect.cleandoc(doc)}\n\n{section}" if doc else section

    def __reduce__(self) -> Any:
        if self.pickled_as is None:
            return reference(self)
        try:
            return reference(self)
        except PicklingError:  # it has no name, but its function may have one
            return self.pickled_as

    def published(self, pickled_as: tuple[Callable[..., Any], tuple[Any, ...]]) -> ForeignOperator:
        """Return the operator, entered under its name, so that files of symbols may name it."""
        self.pickled_as = pickled_as
        USER_OPERATORS[user_name(self)] = self
        return self


def _gradient_of(operator: ForeignOperator, *key: Any) -> ForeignOperator:
    return operator.gradient_operator(*key)


def _dtype(value: Any) -> numpy.dtype:
    return value._data.dtype if isinstance(value, Array) else numpy.result_type(value)
