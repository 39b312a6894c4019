"""MinPy's selector: a function of a namespace that asks the policy, each time it is called, what is to run."""

from __future__ import annotations

from typing import Any

from minpy.namespaces import module_functions

__all__ = ["PrimitiveSelector"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class PrimitiveSelector:
    """A function that lets a namespace's policy choose the operator of a name, and calls that.

    Parameters
    ----------
    name : str
    mod : object
        With a `policy`, and a `Registry` as `__registry__`.

    Examples
    --------
    >>> import numpy
    >>> from types import SimpleNamespace
    >>> from minpy.array_variants import ArrayType
    >>> from minpy.dispatch import policy, registry
    >>> from minpy.primitive import Primitive
    >>> mine = SimpleNamespace(policy=policy.OnlyNumPyPolicy(), __registry__=registry.Registry('mine'))
    >>> mine.__registry__.register('square', Primitive(numpy.square, ArrayType.NUMPY))
    >>> float(PrimitiveSelector('square', mine)(3.0))
    9.0
    """

    __slots__ = ("_mod", "_name")

    def __init__(self, name: str, mod: Any) -> None:
        self._name, self._mod = name, mod

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the operator returns that the policy chooses."""
        registry = vars(self._mod)["__registry__"]
        return self._mod.policy.resolve_call(self._name, registry, args, kwargs)
