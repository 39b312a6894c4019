"""Calls are taken as MXNet 1.9.1 takes them: parameters have its names, order and defaults; unknown ones are named.

`golden/signatures.json` holds the parameters of everything that MXNet's modules and classes have, and
`golden/defaults.json` the defaults of its operators' attributes.
"""

from __future__ import annotations

import inspect
import json
import warnings
from functools import cache, reduce
from typing import Any

import pytest
from many import each
from places import GOLDEN

import minpy as mx
from minpy import nd, sym
from minpy.core.operator import Operator
from minpy.core.signatures import _IGNORED, parse_attribute
from minpy.ndarray.methods import METHODS
from minpy.ops.registry import OPERATORS

SIGNATURES: dict[str, dict[str, list[str]]] = json.loads((GOLDEN / "signatures.json").read_text())
DEFAULTS: dict[str, dict[str, str]] = json.loads((GOLDEN / "defaults.json").read_text())

# What every operator takes, in ways that its signature does not show.
COMMON = {"nd": {"out", "name"}, "sym": {"name", "attr", "out"}}
METHODS_OF = ("nd.NDArray", "sym.Symbol")

_OTHERS = "is made by functions, not by users"
# Which parameters of MXNet are not taken, and why.
NOT_TAKEN = {
    "nd._linspace": (
        {"step", "repeat", "infer_range"},
        "MXNet documents those of arange; it takes num and endpoint as we do",
    ),
    "sym._linspace": ({"step", "repeat", "infer_range"}, "as nd._linspace"),
    "sym.Symbol.__init__": ({"handle"}, f"a Symbol {_OTHERS}"),
    "executor.Executor.__init__": ({"handle", "ctx", "grad_req", "group2ctx"}, f"an Executor {_OTHERS}"),
}
# Which have another order, and why.
OTHER_ORDER = {
    "nd._linspace": "see NOT_TAKEN",
    "sym._linspace": "see NOT_TAKEN",
    **{
        f"{place}.{name}": "MXNet's function does not name its auxiliary states, and cannot be called without them"
        for place in ("nd", "sym")
        for name in ("BatchNorm_v1", "IdentityAttachKLSparseReg")
    },
}
# Which give keywords that they do not know to the user's prop.
PASSES_ON = {"nd.Custom", "sym.Custom"}


def owner_of(place: str) -> Any:
    """Return what `mx.place` is."""
    return reduce(getattr, place.split("."), mx)


@cache
def members() -> list[tuple[str, str]]:
    """Return (place, name) of everything callable that MXNet has and we have, classes' own names left out."""
    return [
        (place, name)
        for place, functions in SIGNATURES.items()
        for name in functions
        if hasattr(owner_of(place), name) and not inspect.isclass(getattr(owner_of(place), name))
    ]


def signature_of(place: str, name: str) -> tuple[list[str], set[str]]:
    """Return (parameters that may be positional, all names that are taken) of one of our functions or methods."""
    member = getattr(owner_of(place), name)
    shown = inspect.signature(member).parameters
    is_method = place in METHODS_OF and {*shown} == {"self", "arguments", "attributes"}
    operator = OPERATORS[name] if is_method or (place in COMMON and name in OPERATORS) else None
    if not is_method and place == "nd" and not isinstance(member, Operator):
        operator = None
    if operator is None:
        parameters = [one for one in shown.values() if one.name != "self"]
        named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        return [one.name for one in named if one.kind is not one.KEYWORD_ONLY], {one.name for one in named}
    signature = operator.signature
    inputs = signature.inputs[is_method:]
    names = [*inputs, *signature.attributes]
    synonyms = {own: other for other, own in signature.synonyms.items()}
    taken = {*names, *signature.synonyms, *COMMON[place.split(".")[0]]}
    wanted = SIGNATURES[place][name]
    return [synonyms[one] if synonyms.get(one) in wanted else one for one in names], taken


@pytest.mark.parametrize("place", SIGNATURES)
def test_parameters_have_the_names_of_mxnet(place: str) -> None:
    lacking = {}
    for where, name in members():
        if where != place:
            continue
        wanted = {one for one in SIGNATURES[place][name] if not one.startswith("*")}
        if place.startswith("sym"):
            wanted -= {"out"}  # which MXNet's symbols do not look at
        missing = wanted - signature_of(place, name)[1] - NOT_TAKEN.get(f"{place}.{name}", (set(), ""))[0]
        if missing and f"{place}.{name}" not in PASSES_ON:
            lacking[name] = sorted(missing)
    assert not lacking


@pytest.mark.parametrize("place", SIGNATURES)
def test_parameters_have_the_order_of_mxnet(place: str) -> None:
    moved = {}
    for where, name in members():
        if where != place or f"{place}.{name}" in {*OTHER_ORDER, *PASSES_ON} or name == "__init__":
            continue
        wanted = SIGNATURES[place][name]
        ends = [position for position, one in enumerate(wanted) if one in ("out", "name", "attr") or one[0] == "*"]
        wanted = wanted[: min(ends, default=len(wanted))]
        ours = signature_of(place, name)[0][: len(wanted)]
        if ours != wanted:
            moved[name] = (ours, wanted)
    assert not moved


def test_exceptions_are_still_needed() -> None:
    for path, (names, _) in NOT_TAKEN.items():
        place, name = path.rsplit(".", 1)
        assert names <= set(SIGNATURES[place][name]) - signature_of(place, name)[1]


def calls_by_name() -> dict[str, tuple[str, str]]:
    """Return a case for each operator that MXNet and we have in `nd` and `sym`."""
    return {
        f"{place}-{name}": (place, name)
        for place, name in members()
        if place in ("nd", "sym") and name in OPERATORS and f"{place}.{name}" not in NOT_TAKEN
    }


@each(calls_by_name())
def test_operators_are_called_by_the_names_of_mxnet(place: str, name: str) -> None:
    """Whatever else is wrong with a call of Nones or variables: it is no name that it complains of."""
    wanted = [one for one in SIGNATURES[place][name] if one[0] != "*" and one not in ("out", "name", "attr")]
    inputs = OPERATORS[name].signature.inputs
    synonyms = OPERATORS[name].signature.synonyms
    is_input = {one: synonyms.get(one, one) in inputs for one in wanted}
    variable = sym.var if place == "sym" else lambda _: None
    try:
        getattr(owner_of(place), name)(**{one: variable(one) if is_input[one] else None for one in wanted})
    except Exception as error:
        text = str(error)
        assert not any(words in text for words in ("has no argument", "has no input", "unexpected keyword", "twice"))


# What functions need before they look at further keywords.
REQUIRED: dict[str, dict[str, Any]] = {
    "zeros": {"shape": 2},
    "ones": {"shape": 2},
    "full": {"shape": 2, "val": 1},
    "eye": {"N": 2},
    "histogram": {"a": nd.ones((2, 2)), "range": (0, 1)},
    "reshape": {"shape": (2,)},
    "randint": {"low": 0, "high": 2},
    "multinomial": {"data": nd.ones((2, 2))},
    "check_speed": {"sym": sym.var("x")},
    "shuffle": {"data": nd.ones((2, 2))},
    "nd.NDArray.broadcast_like": {"other": nd.ones((2, 2))},
    "nd.NDArray.expand_dims": {"axis": 0},
    "cast_storage": {"data": nd.ones((2, 2)), "stype": "default"},
}
# Whose keywords are names that users choose.
NAMES_OF_USERS = {
    "sym.var",
    "sym.Variable",
    "sym.Symbol.simple_bind",
    "sym.Symbol.eval",
    "sym.Symbol.infer_shape",
    "sym.Symbol.infer_shape_partial",
    "sym.Symbol.infer_type",
    "sym.Symbol.infer_type_partial",
    "sym.Symbol.__init__",
    "sym.Symbol.optimize_for",
    "executor.Executor.forward",
    "executor.Executor.reshape",
    "attribute.AttrScope.__init__",
    "nd.NDArray.__init__",
    "test_utils.assert_exception",
    "test_utils.simple_forward",
}


def open_ended() -> dict[str, tuple[str, str]]:
    """Return (place, name) of what takes keywords that its signature does not name."""
    found = {}
    for place, name in members():
        member = getattr(owner_of(place), name)
        kinds = {one.kind for one in inspect.signature(member).parameters.values()}
        is_open = inspect.Parameter.VAR_KEYWORD in kinds and member is not object.__init__
        if (is_open or name in OPERATORS) and f"{place}.{name}" not in {*NAMES_OF_USERS, *PASSES_ON}:
            found[f"{place}-{name}"] = (place, name)
    return found


@each(open_ended())
def test_unknown_keywords_are_named(place: str, name: str) -> None:
    owner = {"nd.NDArray": nd.ones((1, 2)), "sym.Symbol": sym.var("x")}.get(place, owner_of(place))
    needed = REQUIRED.get(f"{place}.{name}", REQUIRED.get(name))
    options = dict(needed or {})
    arguments: list[Any] = []
    if name in OPERATORS and needed is None:
        signature = OPERATORS[name].signature
        inputs = signature.inputs[place in METHODS_OF :] if signature.variadic is None else ()
        arguments = [sym.var("x") if place.startswith("sym") else nd.ones((2, 2))] * len(inputs)
        options = {key: "1" for key, one in signature.attributes.items() if one.default is inspect.Parameter.empty}
    if place.startswith("sym"):
        options = {key: sym.var("x") if isinstance(value, nd.NDArray) else value for key, value in options.items()}
    errors: tuple[type[Exception], ...] = (TypeError,)
    if name in OPERATORS and OPERATORS[name].signature.ignores_attributes:  # as in MXNet, with a warning
        _IGNORED.clear()
        errors = TypeError, UserWarning
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors, match="surprise"):
            getattr(owner, name)(*arguments, **options, surprise=1)


def test_methods_are_functions_of_the_array() -> None:
    assert {"flatten", "reshape_like", "broadcast_to"} <= set(METHODS)
    for name in METHODS:
        assert hasattr(nd.NDArray, name), name
        assert hasattr(sym.Symbol, name), name


# What MXNet writes where there is no value; we write None, () or nothing at all.
UNSET = ("None", "[]", "()", "")
# Defaults that MXNet names and does not take: a call without them is an error there, too.
REFUSED_DEFAULTS = {"broadcast_to": {"shape"}, "moments": {"axes"}, "_linspace": {"stop"}}


@each({name: (name,) for name in DEFAULTS if name in OPERATORS})
def test_attributes_have_the_defaults_of_mxnet(name: str) -> None:
    attributes = OPERATORS[name].signature.attributes
    for key, text in DEFAULTS[name].items():
        if key not in attributes or key in REFUSED_DEFAULTS.get(name, ()):
            continue
        ours, theirs = attributes[key].default, text.strip("'\"")
        if theirs in UNSET:
            assert ours is None or ours == () or str(ours) in UNSET, key
        elif isinstance(ours, float):
            assert ours == pytest.approx(float(theirs), rel=1e-6), key
        else:
            assert ours == parse_attribute(theirs, attributes[key], name), key
