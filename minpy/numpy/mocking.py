"""MinPy's namespaces whose functions a policy chooses: `minpy.numpy` and `minpy.numpy.random` can be such ones.

>>> import minpy.numpy as np
>>> np.set_policy('only_numpy')
>>> np.record_op_stat()  # from here on the policy is asked, and counts
>>> x = np.exp(np.zeros(2)) + 1
>>> np.show_op_stat()
OnlyNumPyPolicy: 3 calls of functions were counted.
By MXNet: 0, 0.0%
By NumPy: 3, 100.0%
  zeros: 1
  exp: 1
  add: 1
>>> np.set_policy('prefer_mxnet')  # and here not any more

Without `record_op_stat` nothing is asked or counted, and nothing slower: NumPy computes, whatever the policy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import product
from types import FunctionType, ModuleType
from typing import Any

import numpy

from minpy.array import Array
from minpy.array_variants import ArrayType, variants_repr
from minpy.core.errors import ArgumentError, nearest
from minpy.core.exchanging import Exchange
from minpy.dispatch import policy as policies
from minpy.dispatch.primitive_selector import PrimitiveSelector
from minpy.dispatch.registry import Registry
from minpy.namespaces import module_functions
from minpy.numpy.array_class import ndarray

__all__ = ["NUMPY", "RANDOM", "Module", "NameInjector"]
__dir__, __getattr__ = module_functions(__name__, __all__)

# Signs that are functions of the namespace, too, as policies count them.
_SIGNS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "mod": "mod",
    "pow": "power",
    "neg": "negative",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


class _OfNumPy:
    """A function as policies see it: NumPy computes it, and it has the gradients that it has."""

    type = ArrayType.NUMPY
    typestr = variants_repr[ArrayType.NUMPY]

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.function(*args, **kwargs)

    def gradable(self, bp_args: Sequence[int], bp_kwargs: Sequence[str]) -> bool:
        return True


class NameInjector:
    """Names of another module, for a namespace that is to have them, too: a mapping.

    Parameters
    ----------
    dest_mod : module
        What to take them from.
    name : str
        What the injector is called.
    injected_type : iterable of type, optional
        Take all values of these types.
    name_set : iterable of str, optional
        Take these names.
    exception : dict, optional
        Take values under other names: by the name that they get, the one that they have.

    Raises
    ------
    ArgumentError
        If the module has no such name.

    Examples
    --------
    >>> import math
    >>> dict(NameInjector(math, name_set=['pi'], exception={'root': 'sqrt'}))['root'](4)
    2.0
    """

    def __init__(
        self,
        dest_mod: ModuleType,
        name: str = "",
        injected_type: Iterable[type] | None = None,
        name_set: Iterable[str] | None = None,
        exception: Mapping[str, str] | None = None,
    ) -> None:
        self.__name__ = f"<{name}>" if name else ""
        there, kinds = vars(dest_mod), {*(injected_type or ())}
        self._names = {key: value for key, value in there.items() if type(value) in kinds}
        for new, old in {**{key: key for key in name_set or ()}, **(exception or {})}.items():
            if old not in there:
                raise ArgumentError(f"NameInjector: {dest_mod.__name__} has no {old!r}.{nearest(old, there)}")
            self._names[new] = there[old]

    def keys(self) -> Any:
        """Return the names."""
        return self._names.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __getitem__(self, name: str) -> Any:
        return self._names[name]


class Module:
    """A namespace with the functions of `minpy.numpy`, or of a module in it, for a policy to choose.

    Parameters
    ----------
    old : dict
        Further names of the namespace; its `__name__` says what it is called.
    name : str, optional
        The module in `minpy.numpy`: 'random', 'linalg' or 'fft'.
    name_injector : mapping, optional
        Further names; those in `old` go first.

    Attributes
    ----------
    policy : Policy
        The latest one that was set.

    Examples
    --------
    >>> mine = Module({'__name__': 'mine', 'author': 'me'})
    >>> mine.author, mine.policy.name, mine.add(1.0, 2.0)
    ('me', 'PreferMXNetPolicy', array(3.))
    """

    def __init__(self, old: Mapping[str, Any], name: str | None = None, name_injector: Any = None) -> None:
        module = import_module("minpy.numpy" if name is None else f"minpy.numpy.{name}")
        self._functions = {
            key: value
            for key in module.__all__
            if isinstance(value := getattr(module, key), (FunctionType, numpy.ufunc))
        }
        registry = Registry(old["__name__"])
        for key, function in self._functions.items():
            registry.register(key, _OfNumPy(function))
        vars(self).update({key: (name_injector or {})[key] for key in name_injector or ()})
        vars(self).update(old)
        vars(self)["__registry__"] = registry
        policies.Config["modules"].append(self)
        self.generate_attrs(policies.Config["default_policy"])

    def set_policy(self, policy: str | policies.Policy) -> None:
        """Set the policy of this namespace. It is asked for nothing, and counts nothing, until `record_op_stat`.

        Parameters
        ----------
        policy : str or Policy
            As `minpy.dispatch.policy.create` takes it.
        """
        self.generate_attrs(policies.create(policy))

    def record_op_stat(self) -> None:
        """Let the policy be asked at each call, and count it, until a policy is set."""
        self.generate_attrs(self.policy, use_selector=True)

    def show_op_stat(self) -> None:
        """Print what the policy has counted."""
        self.policy.show_op_stat()

    def generate_attrs(self, policy: policies.Policy, use_selector: bool = False) -> None:
        """Set the policy, and make the names of the namespace: functions, or what asks the policy for them.

        Parameters
        ----------
        policy : Policy
        use_selector : bool
            Whether the policy is asked at each call.
        """
        self.policy = policy
        for name, function in self._functions.items():
            setattr(self, name, PrimitiveSelector(name, self) if use_selector else function)


class _There(Module):
    """A module of minpy's as such a namespace: its functions are exchanged while the policy is asked."""

    def __init__(self, module: ModuleType, signs: Mapping[str, str]) -> None:
        self._module, self._signs, self._exchange = module, signs, Exchange()
        inside = module.__name__.removeprefix("minpy.numpy").removeprefix(".")
        super().__init__({"__name__": module.__name__}, inside or None)

    def generate_attrs(self, policy: policies.Policy, use_selector: bool = False) -> None:
        self.policy = policy
        self._exchange.remove()
        if not use_selector:
            return
        for name in self._functions:
            self._exchange.put(self._module, name, self._asking(name))
        for sign, name in self._signs.items():
            for cls, method in product((ndarray, Array), (f"__{sign}__", f"__r{sign}__")):
                if method in vars(cls):
                    self._exchange.put(cls, method, self._counted(name))

    def _asking(self, name: str) -> Any:
        """Return what makes the function for which the policy is asked, in the place of a function."""
        return lambda _: PrimitiveSelector(name, self)

    def _counted(self, name: str) -> Any:
        """Return what makes, of the method of a sign, one for which the policy is asked as for the function."""

        def make(method: Any) -> Any:
            registry = Registry(self._module.__name__)
            registry.register(name, _OfNumPy(method))
            return lambda *args: self.policy.resolve_call(name, registry, args, {})

        return make


NUMPY = _There(sys.modules["minpy.numpy"], _SIGNS)
RANDOM = _There(sys.modules["minpy.numpy.random"], {})
