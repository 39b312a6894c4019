"""`through_autograd`: functions written for HIPS autograd (those of `autograd.scipy`) that follow recorded arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from minpy.bridge.protocols import call_version
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, describe
from minpy.differentiation.trees import leaves_of

__all__ = ["AutogradNamespace", "through_autograd"]


def through_autograd(function: Any) -> Any:
    """Return a function that is written for HIPS autograd as one that is followed here, or a module as such functions.

    SciPy's functions, but for the ufuncs of `scipy.special`, know nothing of recorded arrays, and `autograd.scipy` has
    versions of many that HIPS autograd differentiates. Through this they run in `minpy.grad` and its kin and inside
    `autograd.record()`: a call is recorded as one node, whose gradient HIPS autograd computes, to any order.

    Parameters
    ----------
    function : callable or module
        A function of `autograd.scipy` or `autograd.numpy`, or one of yours that computes with these; or one of their
        modules.

    Returns
    -------
    callable or AutogradNamespace
        A function of the same arguments, among them nests of arrays. Of a module: a namespace with its names, whose
        functions and modules are such.

    Raises
    ------
    ArgumentError
        If it is neither a function nor a module of HIPS autograd's; at a call, if one argument is recorded here and
        another is followed by HIPS autograd.
    NoGradientError
        At a call, if an argument needs a gradient for which HIPS autograd has no rule.

    Examples
    --------
    >>> import numpy as np
    >>> import autograd.scipy
    >>> import minpy
    >>> from minpy.extend import through_autograd
    >>> import autograd.numpy as anp
    >>> spread = through_autograd(lambda x: anp.std(anp.array([x[0], x[1]])))
    >>> minpy.grad(spread)(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    if isinstance(function, ModuleType):
        if not _is_of_autograd(function.__name__):
            raise ArgumentError(
                f"through_autograd: {function.__name__} is no module of HIPS autograd. Give the module in autograd "
                "that stands for it, as autograd.scipy.stats does for scipy.stats."
            )
        return AutogradNamespace(function)
    if not callable(function) or isinstance(function, type):
        raise ArgumentError(
            f"through_autograd: got {describe(function)}; expected a function written for HIPS autograd, or one of its "
            "modules."
        )
    return _followed(function)


def _followed(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__name__", type(function).__name__)
    own = getattr(function, "fun", function)  # of a primitive, what tells its parameters

    @functools.wraps(function, updated=())
    def followed(*arguments: Any, **keywords: Any) -> Any:
        if not any(isinstance(leaf, Array) for leaf in leaves_of((arguments, keywords))):
            return function(*arguments, **keywords)
        return call_version(name, function, own, arguments, keywords)

    return followed


class AutogradNamespace:
    """A module of HIPS autograd's whose functions are followed: see `through_autograd`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.__doc__ = module.__doc__

    def __repr__(self) -> str:
        return f"<{self._module.__name__}, followed by minpy>"

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __reduce__(self) -> Any:
        return _namespace_of, (self._module.__name__,)

    def __getattr__(self, name: str) -> Any:
        if name == "_module":  # of an instance that is being made anew
            raise AttributeError(name)
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            value = AutogradNamespace(value) if _is_of_autograd(value.__name__) else value
        elif getattr(value, "_is_autograd_primitive", False) or (
            callable(value)
            and not isinstance(value, type)
            and _is_of_autograd(getattr(value, "__module__", None) or "")
        ):
            value = _followed(value)
        elif _is_of_autograd(type(value).__module__) and hasattr(value, "__getitem__"):  # numpy.r_, numpy.c_
            value = _Joining(value)
        setattr(self, name, value)
        return value


class _Joining:
    """`r_` or `c_`, which join arrays by indexing."""

    def __init__(self, joining: Any) -> None:
        self._joined = _followed(joining.__getitem__)

    def __getitem__(self, key: Any) -> Any:
        return self._joined(key)


def _namespace_of(name: str) -> AutogradNamespace:
    import importlib

    return AutogradNamespace(importlib.import_module(name))


def _is_of_autograd(module: str) -> bool:
    return module.partition(".")[0] == "autograd"
