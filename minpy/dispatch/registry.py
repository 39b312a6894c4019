"""MinPy's registry: operators by name and kind of array."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.namespaces import module_functions

__all__ = ["PrimitiveRegistryError", "Registry"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class PrimitiveRegistryError(ArgumentError, ValueError):
    """An operator that is not registered.

    Examples
    --------
    >>> issubclass(PrimitiveRegistryError, ValueError)
    True
    """


class Registry:
    """Operators by name, and under each name by the kind of array that they compute with.

    Parameters
    ----------
    namespace : str
        What the registry is called.

    Examples
    --------
    >>> import numpy
    >>> from minpy.array_variants import ArrayType
    >>> from minpy.primitive import Primitive
    >>> registry = Registry('mine')
    >>> registry.register('square', Primitive(numpy.square, ArrayType.NUMPY))
    >>> registry.exists('square', ArrayType.NUMPY), registry.has_name('cube')
    (True, False)
    """

    def __init__(self, namespace: str) -> None:
        self._reg: dict[str, dict[int, Any]] = {}
        self._ns = namespace

    @property
    def nspace(self) -> str:
        """What the registry is called."""
        return self._ns

    def register(self, name: str, prim: Any) -> None:
        """Register an operator, a `Primitive`; the first of a name and kind stays, with a warning."""
        of_name = self._reg.setdefault(name, {})
        if prim.type in of_name:
            warnings.warn(f"{self._ns}: {name} of kind {prim.typestr} is registered already; it stays.", stacklevel=2)
            return
        of_name[prim.type] = prim

    def has_name(self, name: str) -> bool:
        """Tell whether there are operators of a name."""
        return name in self._reg

    def exists(self, name: str, ptype: int) -> bool:
        """Tell whether there is an operator of a name and kind."""
        return ptype in self._reg.get(name, ())

    def get(self, name: str, ptype: int) -> Any:
        """Return the operator of a name and kind.

        Raises
        ------
        PrimitiveRegistryError
            If there is none.
        """
        if not self.exists(name, ptype):
            raise PrimitiveRegistryError(f"{self._ns}: there is no {name!r} of kind {ptype}; register it first.")
        return self._reg[name][ptype]

    def iter_available_types(self, name: str, bp_args: Sequence[int], bp_kwargs: Sequence[str]) -> list[Any]:
        """Return the operators of a name that have gradients for all of some arguments, by position and keyword."""
        return [prim for prim in self._reg.get(name, {}).values() if prim.gradable(bp_args, bp_kwargs)]
