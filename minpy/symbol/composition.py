"""Symbols made by calls of operators on symbols; inputs that are left out become variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.configured import ConfiguredOperator, OperatorFamily, text_of
from minpy.core.dtypes import DTYPE_NUMBERS
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    MXNetError,
    NoValueError,
    describe,
    nearest,
    operator_error,
)
from minpy.core.operator import Operator
from minpy.core.output_counts import LearnedOutputs
from minpy.core.signatures import REQUIRED, parse_attribute, replace_synonyms, warn_ignored_attribute
from minpy.core.state import tracing
from minpy.custom.custom_call import prop_operator
from minpy.custom.prop_operator import PropOperator
from minpy.graph.ir import Node, Value, constant, variable
from minpy.symbol.autograd_scopes import new_outputs
from minpy.symbol.naming import current_names, current_scope, hidden_key, is_annotation
from minpy.symbol.symbol import Symbol

__all__ = ["Custom", "compose", "compose_configured", "compose_family", "shown_signature", "var"]


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape: Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    profiler_scope: str | None = None,
    **kwargs: str,
) -> Symbol:
    """Return a symbol for a value that is given when the graph is run: a variable.

    Parameters
    ----------
    name : str
    attr : dict of str to str, optional
        Attributes to note at it.
    shape : sequence of int, optional
        Its shape; 0 for a length that is not known.
    lr_mult, wd_mult : float, optional
        Multiply the learning rate and weight decay of an optimizer.
    dtype : str or type, optional
    init : str or initializer, optional
        How to initialize it: a string, or an object whose `dumps()` returns one.
    stype : str, optional
        'default', which is the only storage that there is.
    profiler_scope : str, optional
        Accepted and not used.
    **kwargs : str
        Further attributes, `__with_underscores__`.

    Raises
    ------
    ArgumentError
        If the name is no string, an attribute is no string or has no underscores, or for another storage.

    Examples
    --------
    >>> from minpy import sym
    >>> sym.var('x', shape=(2, 3), lr_mult=2).list_attr()
    {'__shape__': '(2, 3)', '__lr_mult__': '2', 'lr_mult': '2'}
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"sym.var: the name is {describe(name)}; expected a string that is not empty.")
    annotations = current_scope().get(attr)
    for key, value in kwargs.items():
        if not is_annotation(key):
            raise ArgumentError(f"sym.var({name!r}): attribute {key!r} must be written __{key}__.")
        annotations[key] = str(value)
    numbers = {"shape": None if shape is None else tuple(shape), "lr_mult": lr_mult, "wd_mult": wd_mult}
    annotations.update({f"__{key}__": str(value) for key, value in numbers.items() if value is not None})
    if dtype is not None:
        annotations["__dtype__"] = str(dtype_code(dtype))
    if init is not None:
        annotations["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype not in (None, "default"):
        raise ArgumentError(f"sym.var({name!r}): stype {stype!r} is not supported; arrays are dense: stype='default'.")
    if stype is not None:
        annotations["__storage_type__"] = "0"
    for key, value in annotations.items():
        if not isinstance(value, str):
            raise ArgumentValueError(f"sym.var({name!r}): attribute {key!r} is {describe(value)}; expected a string.")
    return Symbol([variable(name, **annotations)])


def compose(
    operator: Operator, kind: str, arguments: Sequence[Any], keywords: dict[str, Any], hint: str | None = None
) -> Symbol:
    """Return the symbol of a call of an operator: `sym.X(...)` for the operator named `kind`.

    Raises
    ------
    ArgumentError
        For inputs that are no symbols, unknown or missing arguments, or symbols with several outputs.
    """
    name, annotations, keywords = _name_and_annotations(keywords)
    inputs, attributes = _inputs_and_attributes(operator, kind, arguments, keywords)
    return _composed(operator, kind, inputs, attributes, name, annotations, hint)


def _name_and_annotations(keywords: dict[str, Any]) -> tuple[str | None, dict[str, str], dict[str, Any]]:
    """Return a node's name and what is noted at it, from the keywords of a call; and the other keywords."""
    keywords = dict(keywords)
    name = keywords.pop("name", None)
    annotations = current_scope().get(keywords.pop("attr", None))
    for key in [key for key in keywords if key.startswith("__") or hidden_key(key) != key]:
        annotations[hidden_key(key)] = str(keywords.pop(key))
    return name, annotations, keywords


def _composed(
    operator: Operator,
    kind: str,
    inputs: Any,
    attributes: dict[str, Any],
    name: str | None,
    annotations: dict[str, str],
    hint: str | None = None,
) -> Any:
    name = current_names().get(name, hint or kind.lower())
    values = _input_values(operator, kind, name, inputs, attributes, annotations)
    symbols = inputs.values() if isinstance(inputs, dict) else inputs
    if not any(getattr(symbol, "in_numpy", False) for symbol in symbols):
        values = cast_inputs(operator, kind, values, attributes)
    node = Node(operator, values, attributes, name, kind, annotations)
    is_tuple_of_one = type(operator.outputs) is LearnedOutputs and _learned(node, operator.outputs) == 1
    try:
        outputs = Symbol(new_outputs(node))
    except MXNetError:
        raise
    except Exception as error:
        call = ", ".join(f"{key}={value!r}" for key, value in attributes.items())
        raise operator_error(error, f"sym.{kind} ({name!r}): its outputs do not follow from {call}") from error
    return (outputs,) if is_tuple_of_one else outputs  # as on arrays: `y, = op(x)`


def cast_inputs(operator: Any, kind: str, values: list[Value], attributes: dict[str, Any]) -> list[Value]:
    """Return the inputs of a node that is made: as they are, unless automatic mixed precision has put casts here."""
    return values


@functools.lru_cache(None)  # aliases share it, and the names in modules of their own
def shown_signature(operator: Operator) -> inspect.Signature:
    """Return what `help` shows of an operator's function in `mx.sym`: any input may be left out, and is a variable."""
    signature = operator.signature
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = [_parameter(name, kind, None) for name in signature.inputs]
    if signature.variadic is not None:
        shown.append(inspect.Parameter(signature.variadic, inspect.Parameter.VAR_POSITIONAL))
        kind = inspect.Parameter.KEYWORD_ONLY
    for name, attribute in signature.attributes.items():
        is_left_out = attribute.default is REQUIRED and kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        shown.append(_parameter(name, kind, None if is_left_out else attribute.default))
    shown += [_parameter(name, inspect.Parameter.KEYWORD_ONLY, None) for name in ("name", "attr")]
    return inspect.Signature(shown, __validate_parameters__=False)


@functools.lru_cache(None, typed=True)
def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, kind, default=default)


def _inputs_and_attributes(
    operator: Operator, kind: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[dict[str, Any] | list[Any], dict[str, Any]]:
    """Return (inputs by name, or a list of them if they are variadic; attributes)."""
    signature = operator.signature
    if signature.synonyms:
        keywords = replace_synonyms(f"sym.{kind}", signature, keywords)
    attributes: dict[str, Any] = {}
    inputs: Any
    if signature.variadic is not None:
        inputs = [*arguments]
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            inputs = [*inputs[0]]
        inputs += [keywords.pop(key) for key in list(keywords) if isinstance(keywords[key], Symbol)]
        keywords.pop("num_args", None)
    else:
        names = [*signature.inputs, *signature.attributes]
        if len(arguments) > len(names):
            raise ArgumentError(f"sym.{kind} takes {len(names)} arguments ({', '.join(names)}), got {len(arguments)}.")
        inputs = {}
        for argument, value in zip(names, arguments, strict=False):
            if argument in keywords:
                raise ArgumentError(f"sym.{kind}: argument {argument!r} is given twice, by position and by keyword.")
            if value is not None:
                (inputs if argument in signature.inputs else attributes)[argument] = value
        by_keyword = {key: keywords.pop(key) for key in list(keywords) if key in signature.inputs}
        inputs |= {key: value for key, value in by_keyword.items() if value is not None}
    for key, value in keywords.items():
        if isinstance(value, Symbol):
            raise ArgumentError(
                f"sym.{kind} has no input {key!r}; its inputs are {', '.join(signature.inputs)}."
                + nearest(key, signature.inputs)
            )
        attributes[key] = value
    return inputs, parsed_attributes(operator, kind, attributes)


def parsed_attributes(operator: Operator, kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as Python values; unknown and missing ones are errors."""
    known_attributes = operator.signature.attributes
    attributes = {}
    for key, value in values.items():
        if key in known_attributes:
            if key == "dtype" and isinstance(value, Array):  # that of the array is meant
                value = value.dtype
            attributes[key] = parse_attribute(value, known_attributes[key], kind)
        elif operator.signature.open_ended:
            attributes[key] = value
        elif operator.builtin and operator.signature.ignores_attributes:
            warn_ignored_attribute(f"sym.{kind}", operator.signature, key)
        else:
            names = [*operator.signature.inputs, *known_attributes]
            raise ArgumentError(
                f"sym.{kind} has no argument {key!r}; it takes {', '.join(names)}.{nearest(key, names)}"
            )
    for key, attribute in known_attributes.items():
        if attribute.default is REQUIRED and key not in attributes:
            raise ArgumentError(f"sym.{kind}: attribute {key!r} is missing; pass {key}=... .")
        if operator.builtin and key in attributes:
            attribute.require(attributes[key], f"sym.{kind}")
    return attributes


def _input_values(
    operator: Any,
    kind: str,
    name: str,
    inputs: dict[str, Any] | list[Any],
    attributes: dict[str, Any],
    annotations: dict[str, str],
) -> list[Value]:
    """Return the values that a node reads: of the symbols that are given, and new variables for what is left out."""

    def missing(argument: str) -> Value:
        initializer = operator.initializers.get(argument)
        noted = annotations if initializer is None else {**annotations, "__init__": initializer}
        return variable(f"{name}_{argument}", **noted)

    if not operator.builtin and not isinstance(operator, PropOperator):
        inputs = _with_constants(operator, inputs)
    if isinstance(inputs, list):
        values = [value for symbol in inputs for value in _values(kind, "inputs", symbol)]
        if operator.builtin:
            values += map(missing, operator.input_names(attributes, len(values))[len(values) :])
        return values
    required = operator.input_names(attributes)
    values = []
    for argument in operator.signature.inputs:
        if argument in inputs:
            outputs = _values(kind, argument, inputs[argument])
            if len(outputs) != 1:
                raise ArgumentError(
                    f"sym.{kind} ({name!r}): input {argument!r} is a symbol with {len(outputs)} outputs "
                    f"({', '.join(inputs[argument].list_outputs())}); choose one, as in symbol[0]."
                )
            values += outputs
        elif argument in required:
            values.append(missing(argument))
    return values


def _with_constants(operator: Operator, inputs: dict[str, Any] | list[Any]) -> dict[str, Any] | list[Any]:
    """Return the inputs of a user's operator with what is no symbol as constants: numbers, arrays, `self`, defaults."""
    if isinstance(inputs, list):
        return [*map(_as_symbol, inputs)]
    return {name: _as_symbol(value) for name, value in {**operator.signature.defaults, **inputs}.items()}


def _as_symbol(value: Any) -> Symbol:
    if isinstance(value, Symbol):
        return value
    if isinstance(value, Array):
        value = value._data.copy()
    elif isinstance(value, (list, tuple, numpy.ndarray)):
        value = numpy.array(value)
    return Symbol([constant(value)])


def _values(kind: str, argument: str, symbol: Any) -> list[Value]:
    if not isinstance(symbol, Symbol):
        is_array = isinstance(symbol, (Array, numpy.ndarray))
        raise (NoValueError if is_array else ArgumentError)(
            f"sym.{kind}: {argument} is {describe(symbol)}; expected a Symbol. Make a variable with "
            "mx.sym.var(name), and give its value when the graph is bound."
        )
    return symbol.values


def Custom(*inputs: Symbol, op_type: str | None = None, **kwargs: Any) -> Symbol:
    """Return the symbol of a call of a registered custom operator; see `minpy.nd.Custom`.

    Inputs may be given by position or by name; missing ones are made as variables. Every other keyword is given to the
    prop's constructor as a string.

    Raises
    ------
    ArgumentError
        For an unknown `op_type` or input.
    """
    name = kwargs.pop("name", None)
    noted = kwargs.pop("attr", None)
    symbols = {key: value for key, value in kwargs.items() if isinstance(value, Symbol)}
    strings = {key: str(value) for key, value in kwargs.items() if key not in symbols}
    operator = prop_operator(op_type, strings)
    return compose_custom(operator, inputs, symbols, name, noted)


def compose_custom(
    operator: PropOperator,
    inputs: Sequence[Symbol],
    symbols: dict[str, Symbol],
    name: str | None,
    noted: dict[str, str] | None,
    hint: str = "custom",
) -> Symbol:
    """Return the symbol of a call of a custom operator that is made already; `hint` is what it is called after."""
    names = operator.names
    unknown = [key for key in symbols if key not in names[len(inputs) :]]
    if len(inputs) > len(names) or unknown:
        raise ArgumentError(
            f"sym.Custom(op_type={operator.__name__!r}) takes {', '.join(names)}; got {len(inputs)} by position"
            + (f" and {', '.join(map(repr, unknown))} by name.{nearest(unknown[0], names)}" if unknown else ".")
        )
    annotations = current_scope().get(noted)
    name = current_names().get(name, hint)
    by_name = dict(zip(names, inputs, strict=False)) | symbols
    values = cast_inputs(operator, "Custom", _input_values(operator, "Custom", name, by_name, {}, annotations), {})
    node = Node(operator, values, {}, name, "Custom", annotations)
    return Symbol(new_outputs(node))


def compose_family(family: OperatorFamily, inputs: Sequence[Any], keywords: dict[str, Any], hint: str) -> Symbol:
    """Return the symbol of a call of a family of operators: `sym.X(...)` for an operator X of a native library.

    Missing inputs are not made as variables. What is noted at the node is given to the operator, too.

    Raises
    ------
    ArgumentError
        For another number of inputs, or inputs that are no symbols.
    """
    name, annotations, keywords = _name_and_annotations(keywords)
    parameters = {key: text_of(family.__name__, key, value) for key, value in keywords.items()}
    return compose_configured(family.configured(parameters, annotations), inputs, name, annotations, hint)


def compose_configured(
    operator: ConfiguredOperator,
    inputs: Sequence[Any],
    name: str | None,
    annotations: dict[str, str],
    hint: str | None = None,
) -> Symbol:
    """Return the symbol of a call of an operator that has its attributes already."""
    kind = operator.__name__
    values = [value for symbol in inputs for value in _values(kind, "an input", symbol)]
    operator.require_inputs(len(values), "sym.")
    for argument, value in zip(operator.names, values, strict=True):
        if argument in operator.auxiliary and value.node.operator is not None:
            raise ArgumentError(
                f"sym.{kind}: {argument} is {value!r}, which the graph computes; it is changed by each call, and has "
                "to be a variable, whose array keeps what it has become."
            )
    values = cast_inputs(operator, kind, values, {})
    node = Node(operator, values, {}, current_names().get(name, hint or kind.lower()), kind, annotations)
    return Symbol(new_outputs(node))


def dtype_code(dtype: Any) -> int:
    """Return MXNet's number for a dtype, which is what files hold."""
    try:
        return DTYPE_NUMBERS[numpy.dtype(dtype).newbyteorder("<")]
    except (TypeError, KeyError):
        names = ", ".join(number.name for number in DTYPE_NUMBERS)
        raise ArgumentError(f"sym.var: dtype {dtype!r} is not one that symbols know; they know {names}.") from None


def _traced(operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Answer a call of any operator whose inputs include a symbol: `nd.X(symbol)`, or a `@customop`."""
    if isinstance(operator, PropOperator):
        return compose_custom(operator, inputs, {}, name, None)
    if isinstance(operator, ConfiguredOperator):
        noted = current_scope().get(None)
        if noted and noted != operator.annotations:
            operator = operator.family.configured(operator.parameters, noted, operator.graphs)
        return compose_configured(operator, inputs, name, noted)
    symbols: Any = inputs
    if operator.signature.variadic is None:
        symbols = dict(zip(operator.signature.inputs, inputs, strict=True))
        if operator.builtin:  # None is an input that is left out, as in MXNet; users' functions are given it
            symbols = {argument: value for argument, value in symbols.items() if value is not None}
    return _composed(operator, operator.__name__, symbols, attributes, name, current_scope().get(None))


def _learned(node: Node, outputs: LearnedOutputs) -> int:
    """Return how many outputs a user's operator has, which may have to run for that: 0 for an array, not a tuple."""
    facts = None if tracing.modes is None else tracing.modes.facts
    if facts is not None and outputs.exact_count(node.attributes) is None:
        facts.run(node)
        if outputs.exact_count(node.attributes) is None:
            outputs.note(0, node.attributes)  # so that it runs but once
    return outputs.count(node.attributes) or 0


dispatch.register_tracer(Symbol, _traced, "a symbol")
