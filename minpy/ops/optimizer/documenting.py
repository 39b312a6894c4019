"""Docstrings of updates: composed from a formula, an example, and what is said of the attributes that many have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from minpy.core.attributes import read_signature

__all__ = ["documented"]

# What is said of inputs and attributes that mean the same in all updates, with their types.
_KNOWN = {
    "weight32": ("NDArray", "The weight in float32: the update is made here, and then rounded to the weight's dtype."),
    "lr": ("float", "The learning rate."),
    "lrs": ("tuple of float", "The learning rate of each weight."),
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


def documented(
    summary: str, *, arrays: str, example: str, source: str = "", **described: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a definition its docstring.

    Parameters
    ----------
    summary : str
        One line, then perhaps formulas.
    arrays : str
        What is said of the inputs: a line with their names, and then an indented one, for each kind of them.
    example : str
        Lines that are typed at a prompt, and what they print.
    source : str
        Where the update was published.
    **described : str
        What is said of attributes, where it is not what is said of all, or of those that no other update has.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = read_signature(function)
        lines = [inspect.cleandoc(summary), "", "Parameters", "----------", *dedent(arrays).strip().splitlines()]
        for name in signature.attributes:
            kind, text = _KNOWN.get(name, ("float", ""))
            lines += [f"{name} : {kind}", f"    {described.get(name, text)}"]
        several = "data" in (*signature.inputs, signature.variadic)
        lines += ["out : list of NDArray, optional" if several else "out : NDArray, optional"]
        lines += ["    Where to write the results; usually the weights." if several else ""]
        if not several:
            lines[-1] = "    Where to write the result; usually the weight."
        lines += ["", "Returns", "-------"]
        lines += ["list of NDArray, or NDArray if there is one weight" if several else "NDArray"]
        lines += ["    `out`, or new arrays." if several else "    `out`, or a new array."]
        lines += ["", "Raises", "------", "ShapeError", "    If shapes do not fit the weight's."]
        if several:
            lines += ["ArgumentError", "    If there are not as many arrays or values as the weights need."]
        lines += ["DTypeError", "    If the weight is not floating point.", ""]
        if source:
            lines += ["References", "----------", source, ""]
        lines += ["Examples", "--------", *inspect.cleandoc(example).splitlines()]
        function.__doc__ = "\n".join(lines) + "\n"
        return function

    return decorate
