"""`nd.Custom`: one call of an operator that is registered as a `CustomOpProp`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import new_array
from minpy.core.nodes import Leaf
from minpy.core.state import state
from minpy.custom.prop_operator import PropOperator
from minpy.custom.registry import PROPS, find_prop
from minpy.ndarray.ndarray import NDArray

__all__ = ["Custom", "prop_operator"]


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
        For an unknown `op_type`, missing or unknown inputs, or wrong results of the prop's methods.
    OperatorError
        For an exception inside the operator; it is also of the exception's own class.
    """
    out = name = None
    arrays: dict[str, Any] = {}
    if kwargs:
        find_prop(op_type)  # its error comes first
        if isinstance(kwargs.get("name", ""), (str, type(None))):  # an array is an input of that name
            name = kwargs.pop("name", None)
        out = kwargs.pop("out", None)
        arrays = {name: value for name, value in kwargs.items() if _is_array(value)}
        kwargs = {name: str(value) for name, value in kwargs.items() if name not in arrays}
    prop_class: Any = PROPS.get(op_type) if type(op_type) is str else None
    prop_class = prop_class or find_prop(op_type)
    if arrays:
        arrays, kwargs = _split_inputs(prop_class, op_type, arrays, kwargs)
    operator = PropOperator(str(op_type), prop_class, kwargs)
    values = inputs if len(inputs) == operator.arity and not arrays else operator.bind_inputs(inputs, arrays)
    all_ndarrays = True
    for index, value in enumerate(values):
        if type(value) is not NDArray:
            all_ndarrays = False
            if not isinstance(value, NDArray):
                continue
            operator.context = value.context
        node = value._node
        if type(node) is Leaf and node.request == "add":
            operator.grad_req[index] = "add"
    result: Any
    if all_ndarrays and values:
        result = dispatch.call_on_arrays(operator, values, {"training": state.training})
    elif not values:
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
    return PropOperator(str(op_type), find_prop(op_type), parameters)


def _split_inputs(
    prop_class: type, op_type: Any, arrays: dict[str, Any], kwargs: dict[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return inputs by name, and the prop's arguments, which include NumPy arrays that are not inputs, as text."""
    numpy_names = [name for name, value in arrays.items() if isinstance(value, numpy.ndarray)]
    if numpy_names:
        prop_parameters = inspect.signature(prop_class).parameters
        texts = {name: str(arrays[name]) for name in numpy_names if name in prop_parameters}
        if len(texts) < len(numpy_names):
            inputs = PropOperator(str(op_type), prop_class, {**kwargs, **texts}).names
            texts.update((name, str(arrays[name])) for name in numpy_names if name not in inputs)
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in prop_parameters.values()):
                texts = {name: text for name, text in texts.items() if name in prop_parameters}
        kwargs = {**kwargs, **texts}
        arrays = {name: value for name, value in arrays.items() if name not in texts}
    return arrays, kwargs


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) or dispatch.kind_of(type(value)) in (dispatch.ARRAY, dispatch.TRACER)


def _wrapped(data: numpy.ndarray) -> NDArray:
    return new_array(NDArray, data)
