"""`Module`: what models are made of, and the containers and sums that are made of modules."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

from minpy.core.errors import ArgumentError, nearest

__all__ = ["Add", "Binary", "Container", "Module", "Mul", "Owner", "Parallel", "Sequential", "Sub", "function_named"]

_counters: dict[str, Iterator[int]] = {}


class Owner(Protocol):
    """A model, as its modules know it: what holds their parameters and what says how these are updated."""

    params: dict[str, Any]
    aux_params: dict[str, Any]
    update_configs: dict[str, dict[str, Any]]

    def _adopt(self, module: Module) -> None: ...

    def _attach_parameter(self, name: str) -> None: ...


class Module:
    """What models are made of: layers, and containers of them. `a + b`, `a - b` and `a * b` combine what two return.

    Parameters
    ----------
    name : str, optional
        By default the class's `_module_name` and a number.

    Attributes
    ----------
    name : str

    Examples
    --------
    >>> from minpy.nn import modules
    >>> (modules.Identity(name='x') + modules.Tanh(name='y'))
    x add y
    """

    _module_name: ClassVar[str] = "module"

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            counter = _counters.setdefault(self._module_name, itertools.count())
            name = f"{self._module_name}{next(counter)}"
        self._name = name

    @property
    def name(self) -> str:
        """The name, which those of its parameters begin with."""
        return self._name

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...).")

    def training(self) -> None:
        """Behave as in training from now on."""
        for module in self._inner():
            module.training()

    def inference(self) -> None:
        """Behave as in prediction from now on."""
        for module in self._inner():
            module.inference()

    def __add__(self, other: Module) -> Module:
        return Add(self, other)

    def __sub__(self, other: Module) -> Module:
        return Sub(self, other)

    def __mul__(self, other: Module) -> Module:
        return Mul(self, other)

    def _inner(self) -> list[Module]:
        """Return the modules directly inside."""
        return []

    def _affiliate_to(self, model: Owner) -> None:
        """Become a part of a model."""
        for module in self._inner():
            module._affiliate_to(model)


class Container(Module):
    """A module made of modules; it has no parameters of its own.

    Examples
    --------
    >>> issubclass(Sequential, Container)
    True
    """

    def param_shapes(self, *_: Any) -> dict[str, tuple[int, ...]]:
        """Return no shapes: the modules inside have the parameters."""
        return {}

    def aux_param_shapes(self, *_: Any) -> dict[str, tuple[int, ...]]:
        """Return no shapes: the modules inside have the parameters."""
        return {}


class Sequential(Container):
    """Modules one after the other, each of which gets what the one before returned.

    Parameters
    ----------
    *args : Module
    name : str, optional

    Raises
    ------
    ArgumentError
        For what is no module.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> net = Sequential(modules.ReLU(name='a'), modules.Tanh(name='b'))
    >>> net.append(modules.Logistic(name='c'))
    >>> net, len(net)
    ([a, b, c], 3)
    """

    _module_name = "sequential"

    def __init__(self, *args: Module, name: str | None = None) -> None:
        super().__init__(name)
        self._modules: list[Module] = []
        self._model: Owner | None = None
        for module in args:
            self.append(module)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.insert(len(self._modules), module)

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at an index."""
        if not isinstance(module, Module):
            raise ArgumentError(
                f"{self._name}: {type(module).__name__} is no module; give layers of minpy.nn.modules, or containers."
            )
        if self._model is not None:
            self._model._adopt(module)
        self._modules.insert(index, module)

    def pop(self, index: int = -1) -> Module:
        """Take a module out, by default the last one, and return it; the model keeps its parameters."""
        return self._modules.pop(index)

    def reverse(self) -> None:
        """Put the modules into the opposite order."""
        self._modules.reverse()

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, index: int) -> Module:
        return self._modules[index]

    def __repr__(self) -> str:
        return repr(self._modules)

    def forward(self, *args: Any) -> Any:
        """Return what the last module returns; a tuple that one returns is the arguments of the next."""
        for module in self._modules:
            result = module(*args)
            args = result if isinstance(result, tuple) else (result,)
        return args[0] if len(args) == 1 else args

    def _inner(self) -> list[Module]:
        return self._modules

    def _affiliate_to(self, model: Owner) -> None:
        self._model = model
        super()._affiliate_to(model)


class Parallel(Container):
    """Modules side by side, which all get the same arguments.

    Examples
    --------
    >>> issubclass(Add, Parallel)
    True
    """

    _module_name = "parallel"


class Binary(Parallel):
    """Two modules side by side, and what makes one result of theirs.

    Parameters
    ----------
    left, right : Module
    operator : callable
        Takes both results.
    name : str, optional

    Examples
    --------
    >>> import minpy.numpy as np
    >>> from minpy.nn import modules
    >>> both = Binary(modules.Identity(), modules.Identity(), np.maximum)
    >>> isinstance(both, Parallel)
    True
    """

    _module_name = "binary"

    def __init__(self, left: Module, right: Module, operator: Callable[[Any, Any], Any], name: str | None = None):
        super().__init__(name)
        self._left, self._right, self._operator = left, right, operator

    def __repr__(self) -> str:
        return f"{self._left!r} {self._module_name} {self._right!r}"

    def forward(self, *args: Any) -> Any:
        """Return the operator's result."""
        return self._operator(self._left(*args), self._right(*args))

    def _inner(self) -> list[Module]:
        return [self._left, self._right]


class _Arithmetic(Binary):
    _combine: ClassVar[Any]

    def __init__(self, left: Module, right: Module, name: str | None = None) -> None:
        super().__init__(left, right, self._combine, name)


class Add(_Arithmetic):
    """The sum of what two modules return: `left + right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Add(modules.Identity(name='x'), modules.ReLU(name='y'))
    x add y
    """

    _module_name = "add"
    _combine = operator.add


class Sub(_Arithmetic):
    """The difference of what two modules return: `left - right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Sub(modules.Identity(name='x'), modules.ReLU(name='y'))
    x sub y
    """

    _module_name = "sub"
    _combine = operator.sub


class Mul(_Arithmetic):
    """The product of what two modules return: `left * right`.

    Examples
    --------
    >>> from minpy.nn import modules
    >>> Mul(modules.Identity(name='x'), modules.ReLU(name='y'))
    x mul y
    """

    _module_name = "mul"
    _combine = operator.mul


def function_named(module: Any, name: str, noun: str) -> Callable[..., Any]:
    """Return a public function of a module."""
    names = module.__all__
    if name not in names:
        raise ArgumentError(f"{noun} {name!r} is not known; there are {', '.join(names)}.{nearest(name, names)}")
    function: Callable[..., Any] = getattr(module, name)
    return function
