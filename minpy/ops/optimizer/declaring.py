"""Declarations of updates: the formula once; the docstring and the update in float32 follow from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from minpy.core.signatures import read_signature
from minpy.ops.optimizer.updates import Update

__all__ = ["CLIPS_SUM", "describe_update", "in_float32", "keyword_parameters", "update", "with_signature"]

# Attributes that mean the same in all updates: their type and description.
_ATTRIBUTES = {
    "lr": ("float", "The learning rate."),
    "lrs": ("tuple of float", "The learning rate of each weight."),
    "learning_rates": ("tuple of float", "The learning rate of each weight."),
    "wd": ("float", "Weight decay."),
    "wds": ("tuple of float", "The weight decay of each weight."),
    "eta": ("float", "Multiplies the whole step: the schedule of a decay that is apart from the learning rate."),
    "etas": ("tuple of float", "`eta` of each weight."),
    "momentum": ("float", "How much of `mom` stays."),
    "rescale_grad": ("float", "Multiplies the gradient first."),
    "clip_gradient": ("float", "Then clips it to [-clip_gradient, clip_gradient]; not if negative."),
    "clip_weights": ("float", "Clips the new weight to [-clip_weights, clip_weights]; not if negative."),
    "lazy_update": ("bool", "Accepted and not used: gradients are dense."),
    "beta1": ("float", "The decay of the average of gradients."),
    "beta2": ("float", "The decay of the average of their squares."),
    "epsilon": ("float", "Keeps divisors from zero."),
    "t": ("int", "The number of the step, from 1."),
    "bias_correction": ("bool", "Whether averages are corrected for their start at zero."),
    "lower_bound": ("float", "The least that the weight's norm counts for; not used if negative."),
    "upper_bound": ("float", "The most that the weight's norm counts for; not used if negative."),
    "num_weights": ("int", "How many weights there are."),
    "num_tensors": ("int", "How many weights there are."),
    "step_count": ("tuple of int", "The number of the step of each weight, from 1."),
}
# What is said where weight decay is clipped, too.
CLIPS_SUM = {
    "clip_gradient": "Clips the sum of gradient and weight decay to [-clip_gradient, clip_gradient]; not if negative."
}
_ONE_RESULT = """out : NDArray, optional
    Where to write the result; usually the weight.

Returns
-------
NDArray
    `out`, or a new array.

Raises
------
ShapeError
    If shapes do not fit the weight's.
DTypeError
    If the weight is not floating point.

"""
_SEVERAL_RESULTS = """out : list of NDArray, optional
    Where to write the results; usually the weights.

Returns
-------
list of NDArray, or NDArray if there is one weight
    `out`, or new arrays.

Raises
------
ShapeError
    If shapes do not fit the weight's.
ArgumentError
    If there are not as many arrays or values as the weights need.
DTypeError
    If the weight is not floating point.

"""
_MASTER_WEIGHT = """weight32 : NDArray
    The weight in float32, changed in place: the update is made here, then rounded to the weight's dtype."""


def describe_update(
    definition: Callable[..., Any], text: str | None, arrays: str, attributes: dict[str, str] | None = None
) -> None:
    """Give a definition the docstring `text`, with the sections on parameters, results and errors put in.

    `text` is a summary, then perhaps references and examples; None, as under ``python -OO``, leaves no docstring.
    `attributes` says of some what is not said of all, or of those that no other update has.
    """
    if text is None:
        return
    lines = inspect.cleandoc(text).splitlines()
    end = min((lines.index(title) for title in ("References", "Examples") if title in lines), default=len(lines))
    sections = ["Parameters", "----------", *arrays.splitlines()]
    for name in read_signature(definition).attributes:
        kind, meaning = _ATTRIBUTES.get(name, ("float", ""))
        sections += [f"{name} : {kind}", f"    {(attributes or {}).get(name, meaning)}"]
    sections += (_SEVERAL_RESULTS if arrays.startswith("*") else _ONE_RESULT).splitlines()
    definition.__doc__ = "\n".join([*lines[:end], *sections, *lines[end:]]) + "\n"


def with_signature(
    definition: Callable[..., Any], inputs: Sequence[str], attributes: Sequence[inspect.Parameter], module: str
) -> None:
    """Let a definition that takes `*arrays` and `**attributes` say by what names it takes them."""
    arrays = [
        inspect.Parameter(
            name.removeprefix("*"),
            inspect.Parameter.VAR_POSITIONAL if name.startswith("*") else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation="np.ndarray",
        )
        for name in inputs
    ]
    returns = "tuple[np.ndarray, ...]" if inputs[0].startswith("*") else "np.ndarray"
    definition.__signature__ = inspect.Signature([*arrays, *attributes], return_annotation=returns)  # type: ignore[attr-defined]
    definition.__annotations__["return"] = returns
    definition.__module__ = module


def keyword_parameters(definition: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a definition that are attributes."""
    parameters = inspect.signature(definition).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def update(
    *,
    name: str = "",
    states: Sequence[str] = (),
    arrays: str = "",
    kind: type[Update] = Update,
    public: bool = True,
    attributes: dict[str, str] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Update]:
    """Return a decorator that makes an update of a definition, with `options` that the class `kind` takes.

    Its name is the function's if left out. It is an operator of its own, with a whole docstring, if it is public, else
    only what an optimizer calls. `arrays` is what the docstring says of the inputs, if not that they are of equal
    shapes, and which are changed; `attributes` what it says of attributes: see `describe_update`.
    """

    def decorate(definition: Callable[..., Any]) -> Update:
        if public:
            inputs = ", ".join(read_signature(definition).inputs)
            arrays_text = arrays or f"{inputs} : NDArray\n    Of equal shapes{_describe_changes(states)}."
            describe_update(definition, definition.__doc__, arrays_text, attributes)
        return kind(definition, name=name or definition.__name__, states=states, public=public, **options)

    return decorate


def _describe_changes(states: Sequence[str]) -> str:
    if not states:
        return ""
    *names, last = [f"`{name}`" for name in states]
    return f"; {', '.join(names)} and {last} are changed in place" if names else f"; {last} is changed in place"


def in_float32(
    single: Update, text: str, *, inputs: Sequence[str] = (), arrays: str = "", moves_master: bool = True
) -> Update:
    """Return an update that does what another does in a copy of the weight in float32: the input `weight32`.

    Parameters
    ----------
    single : Update
    text : str
        The docstring: see `describe_update`.
    inputs : sequence of str
        Those of the update; if left out `weight32` comes after the states.
    arrays : str
        What the docstring says of the inputs, if not what it says of all.
    moves_master : bool
        Whether the result becomes the weight in float32, and is rounded to the weight's dtype; else it is returned in
        float32.
    """
    states = single.auxiliary
    names = single.signature.inputs
    inputs = inputs or (*names[: 2 + len(states)], "weight32", *names[2 + len(states) :])
    place = inputs.index("weight32")

    def definition(weight: Any, grad: Any, *further: Any, **attributes: Any) -> Any:
        master = further[place - 2]
        remaining = further[: place - 2] + further[place - 1 :]
        new = single.definition(master, grad.astype(master.dtype), *remaining, **attributes)
        if not moves_master:
            return new
        master[...] = new
        return new.astype(weight.dtype)

    with_signature(definition, inputs, keyword_parameters(single.definition), single.__module__)
    if not arrays:
        arrays = f"{', '.join(names[:2])} : NDArray\n    Of equal shapes and dtypes; usually float16.\n"
        arrays += f"{', '.join(states)} : NDArray\n    In float32; changed in place.\n" if states else ""
        arrays += _MASTER_WEIGHT
    describe_update(definition, text, arrays)
    return Update(
        definition,
        single=single,
        name=f"_mp{single.__name__}" if single.__name__.startswith("_") else f"mp_{single.__name__}",
        states=(*states, "weight32") if moves_master else states,
        low=("weight", "grad", "out") if moves_master else ("weight", "grad"),
    )
