"""`PropOperator`: a `CustomOpProp` and its `CustomOp` as an `Operator`.

As in MXNet both are created for each call, as both may hold state: one call is one operator, which works wherever
operators do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy

from minpy.context import CPU
from minpy.core.array import Array, as_raw, create
from minpy.core.base_operator import BaseOperator, DTypes, Shapes
from minpy.core.errors import (
    ArgumentError,
    CheckError,
    NoGradientError,
    describe,
    in_place_of,
    nearest,
)
from minpy.core.gradient_rules import Plan
from minpy.core.signatures import Attribute, Signature
from minpy.core.state import state
from minpy.custom.first_order import first_order, first_order_error
from minpy.custom.method_runs import run_method
from minpy.custom.output_buffers import Buffer, Undeclared
from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.prop_results import (
    checked_shapes,
    checked_types,
    declared_dependencies,
    infer_partly,
    infer_types_partly,
    init_error,
    method_error,
    names_of,
)
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place

if TYPE_CHECKING:
    from minpy.checking import Report

__all__ = ["LENT_SIZE", "PropOperator"]

# Arrays with fewer elements are copied: that takes less time than the check whether they may be lent.
LENT_SIZE = 2048
_ALL = Plan(None, True)
_TRAINING = {"training": Attribute("training", bool, None)}


class PropOperator(BaseOperator):
    """One call of a registered custom operator, as an `Operator`."""

    uses_training = starts_gradients = True
    may_alias = False
    gradient_source = "the method backward of its CustomOp"

    context = CPU
    op: CustomOp | None = None
    # Whether one of the arrays of a call is so large that buffers are lent rather than copied.
    is_large = False
    # The auxiliary states, which methods may change.
    auxiliary_arrays: list[Any]
    _declares_reads = False

    def __init__(
        self, name: str, prop: type[CustomOpProp] | CustomOpProp, parameters: dict[str, str] | None = None
    ) -> None:
        """Make one from a prop's class and its parameters, or around an existing prop."""
        self.__name__ = self.__qualname__ = name
        self._parameters = parameters
        if isinstance(prop, type):
            make: Any = prop
            try:
                prop = make(**parameters) if parameters else make()
            except Exception as error:
                raise in_place_of(init_error(name, make, parameters or {}, error), error) from None
        self.prop: Any = prop
        self.outputs: list[str]
        self.arguments, self.outputs, self.auxiliaries = names_of(prop)
        self.names = (*self.arguments, *self.auxiliaries)
        self.arity = len(self.names)
        # The requests for gradients of inputs that are not 'write'.
        self.grad_req: dict[int, str] = {}

    @property
    def prop_name(self) -> str:
        """The name of the prop's class."""
        return type(self.prop).__name__

    @property
    def parameters(self) -> dict[str, str]:
        """The arguments of `nd.Custom`: `op_type`, and the parameters of the prop."""
        return {"op_type": self.__name__, **(self._parameters or {})}

    def fresh(self) -> PropOperator:
        """Return the same operator for another series of calls, with a prop and state of its own."""
        prop = self.prop if self._parameters is None else type(self.prop)  # unknown parameters: share the prop
        return PropOperator(self.__name__, prop, self._parameters)

    @property
    def auxiliary(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the auxiliary states."""
        return tuple(self.auxiliaries)

    def shape_inference(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """Infer shapes by the prop's `infer_shape`, which gets partly known shapes in MXNet's form."""
        return infer_partly(self, inputs, outputs)

    def type_inference(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Infer dtypes by the prop's `infer_type`, which gets None for an unknown dtype, as in MXNet."""
        return infer_types_partly(self, inputs, outputs)

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        """The inputs that the prop lists: arguments, then auxiliary states."""
        return Signature(self.names, {}, _TRAINING)

    def __reduce__(self) -> Any:
        return PropOperator, (self.__name__, self.prop, self._parameters)

    def check(self, *arguments: Any, frameworks: bool = False, **attributes: Any) -> Report:
        """Compare `backward` with central differences, and every mode with every other: see `BaseOperator.check`.

        Operators that make their outputs with `nd.array` compute in float32 for inputs of any dtype: if the outputs
        show that, derivatives are compared with a tolerance of one percent.
        """
        try:
            return super().check(*arguments, frameworks=frameworks, **attributes)
        except CheckError:
            outputs = self(*(numpy.asarray(value, float) for value in arguments), **attributes)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            if not all((output == output.astype(numpy.float32)).all() for output in outputs):
                raise
        from minpy.checking import check_operator  # it is large, and most programs check nothing

        return check_operator(self, arguments, attributes, rtol=1e-2, atol=1e-3, frameworks=frameworks)

    def __repr__(self) -> str:
        return f"<Custom operator {self.__name__}({', '.join(self.names)}) of {self.prop_name}>"

    def bind_inputs(self, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return all inputs in order, or raise the error that says which are missing or unknown."""
        names = self.names
        values = list(inputs)
        if len(values) > len(names):
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}) takes {len(names)} input(s) ({', '.join(names)}), "
                f"got {len(values)}."
            )
        missing = [name for name in names[len(values) :] if name not in named]
        unknown = [name for name in named if name not in names[len(values) :]]
        if unknown:
            is_duplicate = unknown[0] in names
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}): "
                + (f"input {unknown[0]!r} is given twice." if is_duplicate else f"no input is named {unknown[0]!r}; ")
                + ("" if is_duplicate else f"{self.prop_name} lists {', '.join(names)}.{nearest(unknown[0], names)}")
            )
        if missing:
            raise ArgumentError(
                f"nd.Custom(op_type={self.__name__!r}): input(s) {', '.join(map(repr, missing))} missing; "
                f"{self.prop_name} lists {', '.join(names)}. Give them by position or by name."
            )
        return values + [named[name] for name in names[len(values) :]]

    def plan(self) -> Plan:
        """Return what recording keeps: inputs and outputs, but not the auxiliary states, which may change."""
        if type(self.prop).declare_backward_dependency is CustomOpProp.declare_backward_dependency:
            return _ALL if not self.auxiliaries else Plan(frozenset(range(len(self.arguments))), True)
        self._declares_reads = True
        return Plan(*declared_dependencies(self))

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what `backward` may read: the inputs' positions, and whether it reads outputs."""
        plan = self.plan()
        return plan.reads_arguments, plan.reads_result

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is an auxiliary state, which has no gradient."""
        return index >= len(self.arguments)

    def forward(self, *raws: Any, training: bool | None = None) -> Any:
        """Run the prop's methods and the operator's forward on raw arrays."""
        data, shapes, types, dtypes = [], [], [], []
        for array in raws:
            if type(array) is not numpy.ndarray:
                array = numpy.asarray(array, _default_type(array))
            if array.size >= LENT_SIZE:
                self.is_large = True
            data.append(array)
            shapes.append(array.shape)
            dtypes.append(array.dtype)
            types.append(array.dtype.type)
        count = len(self.arguments)
        out_shapes, aux_shapes = checked_shapes(self, shapes[:count])
        if out_shapes != shapes[:1] and max(map(math.prod, out_shapes)) >= LENT_SIZE:
            self.is_large = True
        if getattr(self.prop.infer_type, "_is_default", False):
            out_types = [dtypes[0] if count else numpy.float32] * len(self.outputs)
        else:
            out_types = checked_types(self, types[:count])
        if aux_shapes:
            self._check_states(shapes[count:], aux_shapes)
        prop_arguments: Any = self.context, [*map(list, shapes)], types
        try:
            op = self.prop.create_operator(*prop_arguments)
        except Exception as error:
            raise in_place_of(method_error(self.prop, "create_operator", prop_arguments, error), error) from None
        if not isinstance(op, CustomOp):
            raise ArgumentError(
                f"{self.prop_name}.create_operator returned {describe(op)}; expected a CustomOp, such as "
                "`return MyOp()` where class MyOp(mx.operator.CustomOp)."
            )
        self.op = op
        self.auxiliary_arrays = [*map(self._writable, data[count:])]
        self._shapes, self._dtypes = shapes[:count], dtypes[:count]
        in_data = self._arrays(data[:count])
        buffers = [*map(Buffer, out_shapes, out_types, repeat("output"), self.outputs)]
        values = [bool(training), ["write"] * len(buffers), [*in_data]]
        results = run_method(self, "forward", values, buffers, range(len(buffers)), in_data, data)
        return tuple(results) if len(results) != 1 else results[0]

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, from one run of its backward."""
        upstream = gradient if type(gradient) is tuple else (gradient,)
        count = len(self.arguments)
        outputs = result if type(result) is tuple else (result,)
        if self._declares_reads:
            in_data, out_data = self._declared(arguments[:count], result)
            shown = in_data + out_data
        else:
            shown = self._arrays([*arguments[:count], *outputs])
            in_data, out_data = shown[:count], shown[count:]
        # The method may write to the gradients that it gets, unless a capture proves that it does not.
        out_grad = self._arrays(upstream) if self.is_large else [*map(self._writable_copy, upstream)]
        grad_req = ["null"] * count
        for index in requires_grad:
            grad_req[index] = self.grad_req.get(index, "write")
        buffers = [*map(Buffer, self._shapes, self._dtypes, repeat("the gradient of"), self.arguments)]
        values = [grad_req, out_grad, in_data, out_data]
        del out_grad, in_data, out_data  # so that only the method itself may still refer to the arrays
        parts = run_method(self, "backward", values, buffers, requires_grad, shown, arguments[:count])
        if not state.recording:
            return parts
        traced = [value for value in (*upstream, *outputs, *arguments) if isinstance(value, Array)]
        return [first_order(self._described, part, traced) for part in parts]

    @property
    def _described(self) -> str:
        return f"Custom operator {self.__name__!r}"

    def second_order_error(self) -> NoGradientError:
        """Return the error of differentiating its gradients, which its `backward` computes unseen."""
        return first_order_error(self._described)

    def _arrays(self, values: Sequence[Any]) -> list[Any]:
        """Return read-only arrays around buffers, for a method."""
        arrays = []
        plain = self.context is CPU
        for value in values:
            view = (value if type(value) is numpy.ndarray else as_raw(value)).view()
            view.setflags(False)  # type: ignore[call-arg]  # write=False, in half the time
            if plain:
                array = create(NDArray)
                array._data = view
                array._node = None
            else:
                array = place(NDArray, view, self.context)
            arrays.append(array)
        return arrays

    def _writable_copy(self, value: Any) -> Any:
        data = (value if type(value) is numpy.ndarray else as_raw(value)).copy()
        if self.context is not CPU:
            return place(NDArray, data, self.context)
        array = create(NDArray)
        array._data = data
        array._node = None
        return array

    def _check_states(self, shapes: Sequence[Any], expected: Sequence[Any]) -> None:
        for name, shape, promised in zip(self.auxiliaries, shapes, expected, strict=True):
            if shape != promised:
                raise ArgumentError(
                    f"{self.prop_name}.infer_shape says that auxiliary state {name!r} has shape {promised}; the one "
                    f"given has {shape}."
                )

    def _writable(self, value: Any) -> Any:
        return place(NDArray, as_raw(value), self.context)

    def _declared(self, inputs: Sequence[Any], result: Any) -> tuple[list[Any], list[Any]]:
        """Return inputs and outputs for backward, some of them undeclared."""
        in_data = [
            Undeclared(f"in_data[{index}] ({name!r})") if value is None else self._arrays([value])[0]
            for index, (name, value) in enumerate(zip(self.arguments, inputs, strict=True))
        ]
        if result is None:
            return in_data, [Undeclared(f"out_data[{i}] ({name!r})") for i, name in enumerate(self.outputs)]
        return in_data, self._arrays(result if type(result) is tuple else (result,))


def _default_type(value: Any) -> Any:
    return None if isinstance(value, (numpy.ndarray, numpy.generic)) else numpy.float32
