"""`nd.Custom`: one call of an operator that is registered as a `CustomOpProp`.

Each call makes a prop, asks it for names, shapes and types, makes the operator object, and runs it on buffers. The
call is an `Operator` like any other, so it runs in every mode.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.context import CPU
from minpy.core import dispatch, guards
from minpy.core.array import Array, as_raw, new_array, now
from minpy.core.attributes import Attribute, Signature
from minpy.core.base import BaseOperator, DTypes, Shapes
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    MutationError,
    MXNetError,
    describe,
    nearest,
    operator_error,
)
from minpy.core.nodes import Leaf
from minpy.core.rules import Plan
from minpy.core.state import state
from minpy.custom.answers import (
    ask,
    checked_shapes,
    checked_types,
    declared_dependencies,
    infer_partly,
    infer_types_partly,
    names_of,
)
from minpy.custom.buffers import Buffer, Undeclared
from minpy.custom.first_order import first_order
from minpy.custom.lending import Lending
from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.purity import is_pure
from minpy.custom.registry import find_prop
from minpy.ndarray.creation import array as make_array
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place

__all__ = ["Custom", "PropOperator", "prop_operator"]

_CONVERTERS = (make_array,)
_TRAINING = {"training": Attribute("training", bool, None)}


def Custom(*inputs: Any, op_type: str | None = None, **kwargs: Any) -> Any:
    """Call a registered custom operator.

    Parameters
    ----------
    *inputs : NDArray or numpy.ndarray
        The inputs, then the auxiliary states, in the order of `list_arguments` and `list_auxiliary_states`.
    op_type : str
        The name it is registered under.
    **kwargs
        Inputs by name; every other one is given to the prop's constructor as a string.

    Returns
    -------
    NDArray or list of NDArray
        The outputs; NumPy arrays if no input is an NDArray.

    Raises
    ------
    ArgumentError
        For an unknown `op_type`, missing or unknown inputs, or wrong answers of the prop's methods.
    OperatorError
        For an exception inside the operator; it is also of the exception's own class.
    """
    prop_class = find_prop(op_type)
    out = name = None
    arrays: dict[str, Any] = {}
    if kwargs:
        if isinstance(kwargs.get("name", ""), (str, type(None))):  # an array is an input of that name
            name = kwargs.pop("name", None)
        out = kwargs.pop("out", None)
        arrays = {name: value for name, value in kwargs.items() if _is_array(value)}
        kwargs = {name: str(value) for name, value in kwargs.items() if name not in arrays}
    operator = PropOperator(str(op_type), _make_prop(op_type, prop_class, kwargs), kwargs)
    values = operator.bind_inputs(inputs, arrays)
    if not values:
        values_out = dispatch.run(operator, (), {"training": state.training})
        result = tuple(map(_wrapped, values_out)) if isinstance(values_out, tuple) else _wrapped(values_out)
    else:
        result = operator(*values) if name is None else operator(*values, name=name)
    if out is not None:
        return dispatch.write_out(operator, result, out)
    return list(result) if isinstance(result, tuple) else result


def prop_operator(op_type: Any, parameters: dict[str, str]) -> PropOperator:
    """Return a call of the custom operator of that name, with these parameters of its prop, as an operator.

    Raises
    ------
    ArgumentError
        For an unknown name, or parameters that the prop's constructor does not take.
    """
    return PropOperator(str(op_type), _make_prop(op_type, find_prop(op_type), parameters), parameters)


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) or dispatch.kind_of(type(value)) != dispatch.RAW


def _wrapped(data: numpy.ndarray) -> NDArray:
    return new_array(NDArray, data)


def _make_prop(op_type: Any, prop_class: type[CustomOpProp], kwargs: dict[str, Any]) -> CustomOpProp:
    try:
        return prop_class(**kwargs)
    except Exception as error:
        who = f"nd.Custom(op_type={op_type!r}): {prop_class.__name__}.__init__"
        signature = inspect.signature(prop_class)
        try:
            signature.bind(**kwargs)
        except TypeError:
            accepted = list(signature.parameters)
            unknown = [name for name in kwargs if name not in accepted]
            hint = nearest(unknown[0], accepted) if unknown else ""
            raise ArgumentError(
                f"{who} takes {', '.join(accepted) or 'no keyword arguments'}; got {', '.join(kwargs) or 'none'}."
                f"{hint} Inputs by name must be arrays. ({error})"
            ) from error
        raise operator_error(error, f"{who} failed") from error


class PropOperator(BaseOperator):
    """One call of a registered custom operator."""

    uses_training = True
    may_alias = False
    gradient_source = "the method backward of its CustomOp"

    def __init__(self, name: str, prop: CustomOpProp, parameters: dict[str, str] | None = None) -> None:
        self.__name__ = self.__qualname__ = name
        self.prop = prop
        self._parameters = parameters
        self.prop_name = type(prop).__name__
        self.outputs: list[str]
        self.arguments, self.outputs, self.auxiliaries = names_of(prop)
        self.names = (*self.arguments, *self.auxiliaries)
        twice = set(self.arguments).intersection(self.auxiliaries) if self.auxiliaries else ()
        if twice:
            raise ArgumentError(
                f"{self.prop_name}.list_auxiliary_states and list_arguments both list "
                f"{', '.join(sorted(map(repr, twice)))}; names must differ."
            )
        self.arity = len(self.names)
        self.context = CPU
        self.requests: dict[int, str] = {}
        self.op: CustomOp | None = None
        self._declares = False

    @property
    def parameters(self) -> dict[str, str]:
        """What it was made from: `op_type`, and the parameters of the prop."""
        return {"op_type": self.__name__, **(self._parameters or {})}

    def fresh(self) -> PropOperator:
        """Return the same operator for another series of calls, with a prop and state of its own."""
        if self._parameters is None:
            return PropOperator(self.__name__, self.prop)
        return prop_operator(self.__name__, self._parameters)

    @property
    def auxiliary(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the auxiliary states."""
        return tuple(self.auxiliaries)

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Ask the prop's `infer_shape`, as soon as it can answer: partly known shapes are given as MXNet does."""
        return infer_partly(self, inputs, outputs)

    def type_inference(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Ask the prop's `infer_type`; it is given None for a dtype that is not known yet, as MXNet does."""
        return infer_types_partly(self, inputs, outputs)

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        """The inputs that the prop lists: arguments, then auxiliary states."""
        return Signature(self.names, {}, _TRAINING)

    def __reduce__(self) -> Any:
        return PropOperator, (self.__name__, self.prop)

    def __repr__(self) -> str:
        return f"<Custom operator {self.__name__}({', '.join(self.names)}) of {self.prop_name}>"

    def bind_inputs(self, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return all inputs in order, or raise the error that says which are missing or unknown."""
        names = self.names
        values = list(inputs)
        if len(values) == len(names) and not named:
            self._note_requests(values)
            return values
        if len(values) > len(names):
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}) takes {len(names)} input(s) ({', '.join(names)}), "
                f"got {len(values)}."
            )
        missing = [name for name in names[len(values) :] if name not in named]
        unknown = [name for name in named if name not in names[len(values) :]]
        if unknown:
            twice = unknown[0] in names
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}): "
                + (f"input {unknown[0]!r} is given twice." if twice else f"no input is named {unknown[0]!r}; ")
                + ("" if twice else f"{self.prop_name} lists {', '.join(names)}.{nearest(unknown[0], names)}")
            )
        if missing:
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}): input(s) {', '.join(map(repr, missing))} missing; "
                f"{self.prop_name} lists {', '.join(names)}. Give them by position or by name."
            )
        values += [named[name] for name in names[len(values) :]]
        self._note_requests(values)
        return values

    def _note_requests(self, values: Sequence[Any]) -> None:
        for index, value in enumerate(values):
            if isinstance(value, NDArray):
                self.context = value.context
                if type(value._node) is Leaf and value._node.request == "add":
                    self.requests[index] = "add"

    def plan(self) -> Plan:
        """Return what recording keeps: inputs and outputs, but not the auxiliary states, which may change."""
        if type(self.prop).declare_backward_dependency is CustomOpProp.declare_backward_dependency:
            return _plan(len(self.arguments))
        self._declares = True
        return Plan(*declared_dependencies(self))

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what `backward` may read: the inputs' positions, and whether it reads outputs."""
        plan = self.plan()
        return plan.reads_arguments, plan.reads_answer

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is an auxiliary state, which has no gradient."""
        return index >= len(self.arguments)

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the prop's methods and the operator's forward on raw arrays."""
        data = [raw if type(raw) is numpy.ndarray else numpy.asarray(raw, _default_type(raw)) for raw in raws]
        shapes, types = [raw.shape for raw in data], [raw.dtype.type for raw in data]
        in_data = [*map(self._array, data)]
        auxiliary: list[NDArray] = []
        if self.auxiliaries:
            count = len(self.arguments)
            in_data, auxiliary = in_data[:count], in_data[count:]
            out_shapes, aux_shapes = checked_shapes(self, shapes[:count])
            out_types = checked_types(self, types[:count])
            for name, array, shape in zip(self.auxiliaries, auxiliary, aux_shapes, strict=True):
                if array.shape != shape:
                    raise ArgumentError(
                        f"{self.prop_name}.infer_shape says that auxiliary state {name!r} has shape {shape}; the one "
                        f"given has {array.shape}."
                    )
        else:
            out_shapes, _ = checked_shapes(self, shapes)
            out_types = checked_types(self, types)
        op = ask(self.prop, "create_operator", self.context, [*map(list, shapes)], types)
        if not isinstance(op, CustomOp):
            raise ArgumentError(
                f"{self.prop_name}.create_operator returned {describe(op)}; expected a CustomOp, such as "
                "`return MyOp()` where class MyOp(mx.operator.CustomOp)."
            )
        self.op = op
        self._auxiliary = auxiliary
        self._kinds = [(array.shape, array._data.dtype) for array in in_data]
        self._training = bool(training)
        out_data = [Buffer(shape, dtype) for shape, dtype in zip(out_shapes, out_types, strict=True)]
        op._buffers = ("output", self.outputs, out_data)
        started = now()
        forward, code = method_of(op, "forward")
        if code is None:
            in_data = [*map(_protected, in_data)]
        requests = ["write"] * len(out_data)
        self._run("forward", forward, code, (self._training, requests, in_data, [*out_data], auxiliary), data)
        for name, buffer in zip(self.outputs, out_data, strict=True):
            if not buffer.written(started):
                raise ArgumentError(
                    f"{type(op).__name__}.forward left output {name!r} unwritten. Assign it: "
                    f"self.assign(out_data[{self.outputs.index(name)}], req[{self.outputs.index(name)}], value)."
                )
        results = tuple(array._data for array in out_data)
        return results if len(results) != 1 else results[0]

    def pull_back(
        self, answer: Any, arguments: Sequence[Any], attributes: dict[str, Any], gradient: Any, needed: Sequence[int]
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `needed`, from one run of the operator's backward."""
        upstream = gradient if type(gradient) is tuple else (gradient,)
        outputs = answer if type(answer) is tuple else (answer,)
        traced = [value for value in (*upstream, *outputs, *arguments) if isinstance(value, Array)]
        count = len(self.arguments)
        op = self.op
        assert op is not None
        backward, code = method_of(op, "backward")
        make = self._array
        if self._declares:
            in_data, out_data = self._declared(arguments[:count], answer)
        else:
            in_data, out_data = [*map(make, arguments[:count])], [*map(make, outputs)]
        out_grad = [*map(make, upstream)]
        if code is None:  # it may write to what it gets: gradients are its own, inputs and outputs are not
            in_data, out_data = [*map(_protected, in_data)], [*map(_protected, out_data)]
            out_grad = [array._like(array._data.copy()) for array in out_grad]
        requests = [self.requests.get(index, "write") if index in needed else "null" for index in range(count)]
        in_grad = [Buffer(shape, dtype) for shape, dtype in self._kinds]
        op._buffers = ("the gradient of", self.arguments, in_grad)
        started = now()
        given = arguments[:count]
        arrays = (requests, out_grad, in_data, out_data, [*in_grad], self._auxiliary)
        self._run("backward", backward, code, arrays, given)
        for index in needed:
            if not in_grad[index].written(started):
                raise GradientError(
                    f"{type(op).__name__}.backward left the gradient of {self.arguments[index]!r} unwritten, and it is "
                    f"needed. Assign it: self.assign(in_grad[{index}], req[{index}], value); for a zero gradient "
                    "assign 0."
                )
        parts = [in_grad[index]._data for index in needed]
        if not traced:
            return parts
        return [first_order(f"Custom operator {self.__name__!r}", part, traced) for part in parts]

    def _array(self, value: Any) -> NDArray:
        if type(value) is not numpy.ndarray:
            value = as_raw(value)
        return new_array(NDArray, value) if self.context is CPU else place(NDArray, value, self.context)

    def _declared(self, inputs: Sequence[Any], answer: Any) -> tuple[list[Any], list[Any]]:
        """Return inputs and outputs for backward, where not all were declared to be read."""
        in_data = [
            Undeclared(f"in_data[{index}] ({name!r})") if value is None else self._array(value)
            for index, (name, value) in enumerate(zip(self.arguments, inputs, strict=True))
        ]
        if answer is None:
            return in_data, [Undeclared(f"out_data[{i}] ({name!r})") for i, name in enumerate(self.outputs)]
        return in_data, [*map(self._array, answer if type(answer) is tuple else (answer,))]

    def _run(
        self,
        method: str,
        call: Callable[..., None],
        code: types.CodeType | None,
        arguments: Sequence[Any],
        given: Sequence[Any],
    ) -> None:
        op: Any = self.op
        recording, state.recording = state.recording, False
        try:
            with Lending(code):
                if self.context is CPU:
                    call(*arguments)
                else:
                    with self.context:
                        call(*arguments)
        except Exception as error:
            if isinstance(error, MXNetError) and error.located:
                raise
            where = f"{type(op).__name__}.{method}"
            if isinstance(error, ValueError) and "read-only" in str(error):
                raise MutationError(
                    f"Custom operator {self.__name__!r}: {where} changes one of its inputs in place; in_data (and "
                    "out_data in backward) are read-only, as others still use them. Start with a copy: "
                    "x = in_data[0].copy()."
                ) from error
            names = ", ".join(f"{name} {describe(value)}" for name, value in zip(self.arguments, given, strict=False))
            found = operator_error(error, f"Custom operator {self.__name__!r}: {where} failed ({names})")
            if found is error:
                raise
            raise found from error
        finally:
            state.recording = recording
            op._buffers = CustomOp._buffers


_PARAMETERS = {
    "forward": ("is_train", "req", "in_data", "out_data", "aux"),
    "backward": ("req", "out_grad", "in_data", "out_data", "in_grad", "aux"),
}


def method_of(op: CustomOp, method: str) -> tuple[Callable[..., None], types.CodeType | None]:
    """Return (the method, to be called by position; its code if buffers may be lent to it, else None).

    MXNet passes the arguments by name; parameters of other names get them by position.
    """
    function: Any = getattr(op, method)
    names = _PARAMETERS[method]
    plain: Any = getattr(function, "__func__", None)
    code = getattr(plain, "__code__", None)
    if code is None or code.co_varnames[1 : code.co_argcount] != names:
        if _takes_names(function, names):
            return lambda *arguments: function(**dict(zip(names, arguments, strict=True))), None
        return function, None
    if type(op).assign is CustomOp.assign and "assign" not in op.__dict__:
        target = 4 if method == "forward" else 5  # `out_data`, or `in_grad`
        if is_pure(plain, op, target, _CONVERTERS):
            return function, code
    return function, None


def _takes_names(function: Any, names: tuple[str, ...]) -> bool:
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True


def _protected(array: Any) -> Any:
    return array if type(array) is Undeclared else array._like(guards.read_only(array._data))


@functools.cache
def _plan(arguments: int) -> Plan:
    return Plan(frozenset(range(arguments)), True)


def _default_type(value: Any) -> Any:
    return None if isinstance(value, (numpy.ndarray, numpy.generic)) else numpy.float32
