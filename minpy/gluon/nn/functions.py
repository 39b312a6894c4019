"""Functions as layers: `Lambda`, `HybridLambda`, `Identity`, `Flatten`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy import ndarray as nd
from minpy import numpy as np
from minpy import numpy_extension as npx
from minpy import symbol
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.block.array_blocks import HybridArrayBlock

__all__ = ["Flatten", "HybridLambda", "Identity", "Lambda"]


class Flatten(HybridArrayBlock):
    """All axes but the first become one: (batch, a, b, ...) becomes (batch, a·b·...).

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.Flatten()(mx.nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return x with two axes."""
        return F.npx.batch_flatten(x) if is_np_array() else F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Identity(HybridArrayBlock):
    """A layer that returns its input: a shortcut beside others in `HybridConcatenate`, for example.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.ones((2, 3))
    >>> mx.gluon.nn.Identity()(x) is x
    True
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return x itself."""
        return x


def _modules(F: Any) -> tuple[Any, ...]:
    """Return the modules in which functions are looked up by name: under `npx.set_np` `np` and `npx`."""
    return (F.np, F.npx) if is_np_array() else (F,)


def _function_named(layer: str, name: str, modules: tuple[Any, ...], where: str) -> Callable[..., Any]:
    for module in modules:
        if name in dir(module) and callable(getattr(module, name)):
            function: Callable[..., Any] = getattr(module, name)
            return function
    names = [public for module in modules for public in dir(module)]
    raise ArgumentValueError(
        f"{layer}: there is no function {name!r} in {where}.{nearest(name, names)} Or give a function."
    )


def _name_of(layer: str, function: Any) -> str:
    """Return the name of a function that a layer is made of."""
    if not callable(function):
        raise ArgumentValueError(f"{layer}: got {describe(function)}; expected a function, or the name of one: 'tanh'.")
    return getattr(function, "__name__", type(function).__name__)


class Lambda(Block):
    """A function of arrays, or the name of one, as a layer.

    Parameters
    ----------
    function : callable or str
        What is called on the inputs; or the name of a function of `mx.nd`, under `npx.set_np` of `mx.np` or `mx.npx`.
    prefix : str, optional
        See `Block`.

    Raises
    ------
    ArgumentError
        For something else, or if there is no function of that name.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.Lambda(lambda x: x * 2)(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    >>> mx.gluon.nn.Lambda('square')
    Lambda(square)
    """

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            self._func_name = function
            modules = (np, npx) if is_np_array() else (nd,)
            self._func_impl = _function_named(
                "Lambda", function, modules, "mx.np or mx.npx" if is_np_array() else "mx.nd"
            )
        else:
            self._func_impl, self._func_name = function, _name_of("Lambda", function)

    def forward(self, *args: Any) -> Any:
        """Return what the function does."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function, or the name of one, as a layer that can be hybridized.

    Parameters
    ----------
    function : callable or str
        `function(F, x, ...)`, which computes with functions of `F`: that is `mx.nd` or `mx.sym`. Or the name of a
        function that both have; under `npx.set_np` one of `mx.np` or `mx.npx`.
    prefix : str, optional
        See `Block`.

    Raises
    ------
    ArgumentError
        For something else, or if there is no function of that name.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.HybridLambda(lambda F, x: F.square(x) + 1)
    >>> layer.hybridize()
    >>> layer(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 5.0]
    """

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._func: Callable[..., Any] | None = None
        if isinstance(function, str):
            where = "mx.np or mx.npx, of arrays and of symbols" if is_np_array() else "mx.nd and mx.sym"
            for kind in (nd, symbol):
                _function_named("HybridLambda", function, _modules(kind), where)
            self._func_name = function
        else:
            self._func, self._func_name = function, _name_of("HybridLambda", function)

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return what the function does."""
        if self._func is not None:
            return self._func(F, x, *args)
        for module in _modules(F):
            function = getattr(module, self._func_name, None)
            if function is not None:
                return function(x, *args)
        raise ArgumentError(
            f"HybridLambda: no function {self._func_name!r} under these semantics (npx.set_np) as when it was made."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
