"""`RegisteredProp`: a registered `CustomOpProp` as one operator, with the parameters of its constructor as attributes.

`PropOperator` is one call with parameters that are said before. Frameworks take one operator for all calls: this one
makes a `PropOperator` of a call's attributes, and has it compute both ways, as props and their operators may keep what
they computed.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minpy.core.base_operator import BaseOperator, DTypes, Shapes
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.core.gradient_rules import Plan
from minpy.core.signatures import Attribute, Signature
from minpy.custom.prop import CustomOpProp
from minpy.custom.prop_operator import PropOperator

if TYPE_CHECKING:
    from minpy.checking import Report

__all__ = ["RegisteredProp"]

_MOST_PROPS = 256


class RegisteredProp(BaseOperator):
    """A registered prop as an operator: inputs as the prop lists them, attributes as its constructor takes them.

    Attributes reach the constructor as strings, as from `nd.Custom`; those that a call does not give, not at all.

    Parameters
    ----------
    name : str
        What it is registered under.
    prop : class
        Its constructor has to have a default for each parameter: which inputs there are must not hang on a call.
    """

    uses_training = starts_gradients = True
    may_alias = False
    gradient_source = "the method backward of its CustomOp"

    outputs: list[str]

    def __init__(self, name: str, prop: type[CustomOpProp]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = prop.__doc__
        self.prop = prop
        # One for each set of parameters: what is asked of shapes, and made anew for each call.
        self._props: dict[tuple[tuple[str, str], ...], PropOperator] = {}
        # That of the latest call, which its gradient is asked of.
        self._called: PropOperator | None = None
        required, optional, is_open_ended = _parameters(prop)
        if required:
            raise ArgumentError(
                f"{name}: {prop.__name__} needs {', '.join(required)}, and has to be asked which inputs "
                f"and outputs it has. Say it beforehand: functools.partial(mx.nd.Custom, op_type={name!r}, "
                f"{', '.join(f'{parameter}=...' for parameter in required)})."
            )
        usual = self._with({})
        self.names, self.outputs = usual.names, usual.outputs
        self.arguments, self.auxiliary = usual.arguments, usual.auxiliary
        attributes = {
            parameter: Attribute(parameter, str | None, None) for parameter in optional if parameter not in self.names
        }
        attributes["training"] = Attribute("training", bool, None)
        self.signature = Signature(self.names, {}, attributes, open_ended=is_open_ended)
        self.arity = len(self.names)

    def __reduce__(self) -> Any:
        return RegisteredProp, (self.__name__, self.prop)

    def __repr__(self) -> str:
        return f"<Custom operator {self.__name__}({', '.join(self.names)}) of {self.prop.__name__}>"

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        """Call it on any mix of values: inputs by position or name, attributes by name."""
        call = {key: arguments.pop(key) for key in [*arguments] if key in (*self.names, "training", "name")}
        return self._checked(arguments).fresh()(*inputs, **call)

    def check(self, *arguments: Any, frameworks: bool = False, **attributes: Any) -> Report:
        """Compare `backward` with central differences, and every mode with every other: see `BaseOperator.check`."""
        call = {key: attributes.pop(key) for key in [*attributes] if key in (*self.names, "training")}
        return self._checked(attributes).check(*arguments, frameworks=frameworks, **call)

    def fresh(self) -> RegisteredProp:
        """Return the same operator for another call, with a prop and state of its own."""
        copy: RegisteredProp = object.__new__(type(self))
        vars(copy).update(vars(self), _called=None)
        return copy

    def _with(self, attributes: dict[str, Any]) -> PropOperator:
        """Return the operator of a call with these attributes, which is made anew for each."""
        key = tuple(sorted((name, str(value)) for name, value in attributes.items() if value is not None))
        operator = self._props.get(key)
        if operator is None:
            operator = PropOperator(self.__name__, self.prop, dict(key))
            while len(self._props) >= _MOST_PROPS:
                self._props.pop(next(iter(self._props)), None)
            self._props[key] = operator
        return operator

    def _checked(self, attributes: dict[str, Any]) -> PropOperator:
        """Return the operator of a call, which has the inputs and outputs that this one says."""
        operator = self._with({name: value for name, value in attributes.items() if name != "training"})
        if (operator.names, operator.outputs) != (self.names, self.outputs):
            said = ", ".join(f"{name}={value!r}" for name, value in attributes.items() if value is not None)
            raise ArgumentError(
                f"{self.__name__} takes {', '.join(self.names)} and returns {', '.join(self.outputs)}; with {said} it "
                f"takes {', '.join(operator.names)} and returns {', '.join(operator.outputs)}, which makes it another "
                f"operator. Make one of it: functools.partial(mx.nd.Custom, op_type={self.__name__!r}, {said})."
            )
        return operator

    # -- computing -----------------------------------------------------------------------------------------------------

    def forward(self, *raws: Any, training: bool | None = None, **attributes: Any) -> Any:
        """Run the prop's methods and the operator's forward on raw arrays."""
        self._called = self._checked(attributes).fresh()
        return self._called.forward(*raws, training=training)

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, of the latest call's operator."""
        assert self._called is not None, "forward has been run by whoever asks for its gradient"
        return self._called.vjp(result, arguments, attributes, gradient, requires_grad)

    def plan(self) -> Plan:
        """Return what recording keeps: inputs and outputs, but not the auxiliary states, which may change."""
        return Plan(frozenset(range(len(self.arguments))) if self.auxiliary else None, True)

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is an auxiliary state, which has no gradient."""
        return index >= len(self.arguments)

    def second_order_error(self) -> NoGradientError:
        """Return the error of differentiating its gradients, which its `backward` computes unseen."""
        return self._with({}).second_order_error()

    # -- shapes --------------------------------------------------------------------------------------------------------

    def shape_inference(self, inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
        """Infer shapes by the prop's `infer_shape`."""
        return self._checked(attributes).shape_inference(inputs, outputs)

    def type_inference(self, inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        """Infer dtypes by the prop's `infer_type`."""
        return self._checked(attributes).type_inference(inputs, outputs)


def _parameters(prop: type[CustomOpProp]) -> tuple[list[str], list[str], bool]:
    """Return (the parameters of a prop's constructor without a default, those with one, whether it takes others)."""
    if prop.__init__ is CustomOpProp.__init__:
        return [], [], False
    parameters = list(inspect.signature(prop).parameters.values())
    named = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return (
        [each.name for each in named if each.default is each.empty],
        [each.name for each in named if each.default is not each.empty],
        any(each.kind is each.VAR_KEYWORD for each in parameters),
    )
