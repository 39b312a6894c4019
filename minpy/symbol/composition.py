"""How symbols come about: calls of operators on symbols, with missing inputs made as variables."""

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
from minpy.core.signatures import REQUIRED, by_own_names, parse_attribute, warn_ignored
from minpy.core.state import tracing
from minpy.custom.custom_call import prop_operator
from minpy.custom.prop_operator import PropOperator
from minpy.graph.ir import Node, Value, constant, variable
from minpy.symbol.autograd_scopes import in_modes
from minpy.symbol.naming import current_names, current_scope, hidden_key
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
        if not (key.startswith("__") and key.endswith("__")):
            raise ArgumentError(f"sym.var({name!r}): attribute {key!r} must be written __{key}__.")
        annotations[key] = str(value)
    given = {"shape": None if shape is None else tuple(shape), "lr_mult": lr_mult, "wd_mult": wd_mult}
    annotations.update({f"__{key}__": str(value) for key, value in given.items() if value is not None})
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
    keywords = dict(keywords)
    name = keywords.pop("name", None)
    noted = keywords.pop("attr", None)
    annotations = current_scope().get(noted)
    for key in [key for key in keywords if key.startswith("__") or hidden_key(key) != key]:
        annotations[hidden_key(key)] = str(keywords.pop(key))
    given, attributes = _sorted(operator, kind, arguments, keywords)
    return _composed(operator, kind, given, attributes, name, annotations, hint)


def _composed(
    operator: Operator,
    kind: str,
    given: Any,
    attributes: dict[str, Any],
    name: str | None,
    annotations: dict[str, str],
    hint: str | None = None,
) -> Any:
    name = current_names().get(name, hint or kind.lower())
    values = _inputs(operator, kind, name, given, attributes, annotations)
    if not any(getattr(one, "in_numpy", False) for one in (given.values() if isinstance(given, dict) else given)):
        values = cast_inputs(operator, kind, values, attributes)
    node = Node(operator, values, attributes, name, kind, annotations)
    if type(operator.outputs) is LearnedOutputs and _learned(node, operator.outputs) == 1:
        return (Symbol(in_modes([Value(node)])),)  # as on arrays: `y, = op(x)`
    try:
        count = len(node.output_names())
    except MXNetError:
        raise
    except Exception as error:
        given_by_name = ", ".join(f"{key}={value!r}" for key, value in attributes.items())
        raise operator_error(error, f"sym.{kind} ({name!r}): its outputs do not follow from {given_by_name}") from error
    return Symbol(in_modes([Value(node, index) for index in range(count)]))


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
        if attribute.default is REQUIRED and kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            shown.append(_parameter(name, kind, None))
        else:
            shown.append(_parameter(name, kind, attribute.default))
    shown += [_parameter(name, inspect.Parameter.KEYWORD_ONLY, None) for name in ("name", "attr")]
    return inspect.Signature(shown, __validate_parameters__=False)


@functools.lru_cache(None, typed=True)
def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, kind, default=default)


def _sorted(
    operator: Operator, kind: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[dict[str, Any] | list[Any], dict[str, Any]]:
    """Return (inputs by name, or a list of them if they are variadic; attributes)."""
    signature = operator.signature
    if signature.synonyms:
        keywords = by_own_names(f"sym.{kind}", signature, keywords)
    attributes: dict[str, Any] = {}
    given: Any
    if signature.variadic is not None:
        given = [*arguments]
        if len(given) == 1 and isinstance(given[0], (list, tuple)):
            given = [*given[0]]
        given += [keywords.pop(key) for key in list(keywords) if isinstance(keywords[key], Symbol)]
        keywords.pop("num_args", None)
    else:
        names = [*signature.inputs, *signature.attributes]
        if len(arguments) > len(names):
            raise ArgumentError(f"sym.{kind} takes {len(names)} arguments ({', '.join(names)}), got {len(arguments)}.")
        given = {}
        for argument, value in zip(names, arguments, strict=False):
            if argument in keywords:
                raise ArgumentError(f"sym.{kind}: argument {argument!r} is given twice, by position and by keyword.")
            if argument in signature.inputs:
                if value is not None:
                    given[argument] = value
            elif value is not None:
                attributes[argument] = value
        given.update({key: keywords.pop(key) for key in list(keywords) if key in signature.inputs})
        given = {key: value for key, value in given.items() if value is not None}
    for key, value in keywords.items():
        if isinstance(value, Symbol):
            raise ArgumentError(
                f"sym.{kind} has no input {key!r}; its inputs are {', '.join(signature.inputs)}."
                + nearest(key, signature.inputs)
            )
        attributes[key] = value
    return given, parsed_attributes(operator, kind, attributes)


def parsed_attributes(operator: Operator, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as Python values; unknown and missing ones are errors."""
    known = operator.signature.attributes
    attributes = {}
    for key, value in given.items():
        if key in known:
            if key == "dtype" and isinstance(value, Array):  # that of the array is meant
                value = value.dtype
            attributes[key] = parse_attribute(value, known[key], kind)
        elif operator.signature.open_ended:
            attributes[key] = value
        elif operator.builtin and operator.signature.ignores_attributes:
            warn_ignored(f"sym.{kind}", operator.signature, key)
        else:
            names = [*operator.signature.inputs, *known]
            raise ArgumentError(
                f"sym.{kind} has no argument {key!r}; it takes {', '.join(names)}.{nearest(key, names)}"
            )
    for key, attribute in known.items():
        if attribute.default is REQUIRED and key not in attributes:
            raise ArgumentError(f"sym.{kind}: attribute {key!r} is missing; pass {key}=... .")
        if operator.builtin and key in attributes:
            attribute.require(attributes[key], f"sym.{kind}")
    return attributes


def _inputs(
    operator: Any,
    kind: str,
    name: str,
    given: dict[str, Any] | list[Any],
    attributes: dict[str, Any],
    annotations: dict[str, str],
) -> list[Value]:
    if not operator.builtin and not isinstance(operator, PropOperator):
        given = _with_constants(operator, given)
    if isinstance(given, list):
        values = [value for one in given for value in _values(kind, "inputs", one)]
        if operator.builtin:
            rest = operator.input_names(attributes, len(values))[len(values) :]
            values += [_made(operator, name, argument, annotations) for argument in rest]
        return values
    wanted = operator.input_names(attributes)
    values = []
    for argument in operator.signature.inputs:
        if argument in given:
            found = _values(kind, argument, given[argument])
            if len(found) != 1:
                raise ArgumentError(
                    f"sym.{kind} ({name!r}): input {argument!r} is a symbol with {len(found)} outputs "
                    f"({', '.join(given[argument].list_outputs())}); choose one, as in symbol[0]."
                )
            values.append(found[0])
        elif argument in wanted:
            values.append(_made(operator, name, argument, annotations))
    return values


def _made(operator: Any, name: str, argument: str, annotations: dict[str, str]) -> Value:
    """Return a new variable for an input that is not given."""
    initializer = operator.initializers.get(argument)
    own = annotations if initializer is None else {**annotations, "__init__": initializer}
    return variable(f"{name}_{argument}", **own)


def _with_constants(operator: Operator, given: dict[str, Any] | list[Any]) -> dict[str, Any] | list[Any]:
    """Return the inputs of a user's operator with what is no symbol as constants: numbers, arrays, `self`, defaults."""
    if isinstance(given, list):
        return [*map(_as_symbol, given)]
    defaults = {name: operator.signature.defaults[name] for name in operator.signature.defaults if name not in given}
    return {name: _as_symbol(value) for name, value in {**given, **defaults}.items()}


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
    given = dict(zip(names, inputs, strict=False)) | symbols
    values = cast_inputs(operator, "Custom", _inputs(operator, "Custom", name, given, {}, annotations), {})
    node = Node(operator, values, {}, name, "Custom", annotations)
    return Symbol(in_modes([Value(node, index) for index in range(len(node.output_names()))]))


def compose_family(family: OperatorFamily, inputs: Sequence[Any], keywords: dict[str, Any], hint: str) -> Symbol:
    """Return the symbol of a call of a family of operators: `sym.X(...)` for an operator X of a native library.

    Parameters
    ----------
    family : OperatorFamily
    inputs : sequence of Symbol
        All of them: missing ones are not made as variables.
    keywords : dict
        Its attributes, and `name` and `attr`. What is noted at the node is given to the operator, too.
    hint : str
        What nodes without a name are called after.

    Raises
    ------
    ArgumentError
        For another number of inputs, or inputs that are no symbols.
    """
    keywords = dict(keywords)
    name = keywords.pop("name", None)
    noted = current_scope().get(keywords.pop("attr", None))
    for key in [key for key in keywords if key.startswith("__") or hidden_key(key) != key]:
        noted[hidden_key(key)] = str(keywords.pop(key))
    parameters = {key: text_of(family.__name__, key, value) for key, value in keywords.items()}
    return compose_configured(family.configured(parameters, noted), inputs, name, noted, hint)


def compose_configured(
    operator: ConfiguredOperator,
    inputs: Sequence[Any],
    name: str | None,
    annotations: dict[str, str],
    hint: str | None = None,
) -> Symbol:
    """Return the symbol of a call of an operator that has its attributes already."""
    kind = operator.__name__
    values = [value for one in inputs for value in _values(kind, "an input", one)]
    operator.require_inputs(len(values), "sym.")
    for argument, value in zip(operator.names, values, strict=True):
        if argument in operator.auxiliary and value.node.operator is not None:
            raise ArgumentError(
                f"sym.{kind}: {argument} is {value!r}, which the graph computes; it is changed by each call, and has "
                "to be a variable, whose array keeps what it has become."
            )
    values = cast_inputs(operator, kind, values, {})
    node = Node(operator, values, {}, current_names().get(name, hint or kind.lower()), kind, annotations)
    return Symbol(in_modes([Value(node, index) for index in range(len(node.output_names()))]))


def dtype_code(dtype: Any) -> int:
    """Return MXNet's number for a dtype, which is what files hold."""
    try:
        return DTYPE_NUMBERS[numpy.dtype(dtype).newbyteorder("<")]
    except (TypeError, KeyError):
        known = ", ".join(known.name for known in DTYPE_NUMBERS)
        raise ArgumentError(f"sym.var: dtype {dtype!r} is not one that symbols know; they know {known}.") from None


def _traced(operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Answer a call of any operator whose inputs include a symbol: `nd.X(symbol)`, or a `@customop`."""
    if isinstance(operator, PropOperator):
        return compose_custom(operator, inputs, {}, name, None)
    if isinstance(operator, ConfiguredOperator):
        noted = current_scope().get(None)
        if noted and noted != operator.noted:
            operator = operator.family.configured(operator.parameters, noted, operator.graphs)
        return compose_configured(operator, inputs, name, noted)
    given: Any = inputs
    if operator.signature.variadic is None:
        given = dict(zip(operator.signature.inputs, inputs, strict=True))
        if operator.builtin:  # None is an input that is left out, as in MXNet; users' functions are given it
            given = {argument: value for argument, value in given.items() if value is not None}
    return _composed(operator, operator.__name__, given, attributes, name, current_scope().get(None))


def _learned(node: Node, outputs: LearnedOutputs) -> int:
    """Return how many outputs a user's operator has, which may have to run for that: 0 for an array, not a tuple."""
    facts = None if tracing.modes is None else tracing.modes.facts
    if facts is not None and outputs.known(node.attributes) is None:
        facts.run(node)
        if outputs.known(node.attributes) is None:
            outputs.note(0, node.attributes)  # so that it runs but once
    return outputs.count(node.attributes) or 0


dispatch.register_tracer(Symbol, _traced, "a symbol")
