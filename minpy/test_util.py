"""Checks of gradients of functions, under the names of HIPS autograd's `test_util`. Operators have `op.check`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, CheckError
from minpy.differential_operators import make_jvp, make_vjp
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.namespaces import module_functions

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "scalar_close"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_STEP = 1e-6
_TOLERANCE = 1e-6


def check_grads(
    f: Callable[..., Any],
    argnum: int | Sequence[int] | None = None,
    modes: Sequence[str] = ("fwd", "rev"),
    order: int = 2,
) -> Callable[..., None]:
    """Return a function that compares the gradients of `f` with central differences, along random directions.

    Parameters
    ----------
    f : callable
        Takes and returns arrays in float64 or complex128, or nests of them.
    argnum : int or sequence of int, optional
        The positions of the arguments to differentiate with respect to; by default all.
    modes : sequence of {'fwd', 'rev'}
        Forward mode, reverse mode, or both.
    order : int
        Up to which order; in the second both modes are applied to what each gives in the first.

    Returns
    -------
    callable
        Takes what `f` takes, and returns None.

    Raises
    ------
    CheckError
        If a derivative is not that of central differences, with both in the message.
    ArgumentError
        For another mode.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.test_util import check_grads
    >>> check_grads(np.tanh)(np.array([0.5, 1.0]))
    """
    unknown = [mode for mode in modes if mode not in ("fwd", "rev")]
    if unknown or isinstance(modes, str):
        raise ArgumentError(f"check_grads: modes is {modes!r}; expected a list of 'fwd' and 'rev'.")

    def check(*arguments: Any, **keywords: Any) -> None:
        argnums = range(len(arguments)) if argnum is None else (argnum,) if isinstance(argnum, int) else argnum

        def of_some(*values: Any) -> Any:
            inputs = list(arguments)
            for position, value in zip(argnums, values, strict=True):
                inputs[position] = value
            return f(*inputs, **keywords)

        of_some.__name__ = getattr(f, "__name__", type(f).__name__)
        _check_all(of_some, tuple(arguments[position] for position in argnums), tuple(modes), order)

    return check


def _check_all(f: Callable[..., Any], values: tuple[Any, ...], modes: tuple[str, ...], order: int) -> None:
    positions = tuple(range(len(values)))
    for mode in modes:
        (_require_jvp if mode == "fwd" else _require_vjp)(f, values)
        if order > 1 and mode == "fwd":

            def pushed(*inputs: Any) -> Any:
                return make_jvp(f, positions)(*inputs[0])(inputs[1])[1]

            pushed.__name__ = f"jvp_{f.__name__}"
            _check_all(pushed, (values, _random_like(values)), modes, order - 1)
        elif order > 1:

            def pulled(*inputs: Any) -> Any:
                return make_vjp(f, positions)(*inputs[0])[0](inputs[1])

            pulled.__name__ = f"vjp_{f.__name__}"
            _check_all(pulled, (values, _random_like(f(*values))), modes, order - 1)


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Compare the gradient of a function of one argument with central differences, in reverse mode."""
    _require_vjp(f, (x,))


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Compare the gradient of a function of one argument with central differences, in forward mode."""
    _require_jvp(f, (x,))


def _require_vjp(f: Callable[..., Any], values: tuple[Any, ...]) -> None:
    vjp, result = make_vjp(f, tuple(range(len(values))))(*values)
    tangent, cotangent = _random_like(values), _random_like(result)
    gradient = _conjugate(vjp(_conjugate(cotangent)))
    _require_like(gradient, values, f"the gradient of {_name_of(f)}")
    exact = _product(tangent, gradient)
    numeric = _product(cotangent, _numerical_tangent(f, values, tangent))
    if not scalar_close(numeric, exact):
        raise CheckError(
            f"check_grads: derivative (VJP) check of {_name_of(f)} failed at {_shown(values)}: in reverse mode the "
            f"derivative along a random direction is {exact}, expected {numeric}, that of central differences."
        )


def _require_jvp(f: Callable[..., Any], values: tuple[Any, ...]) -> None:
    tangent = _random_like(values)
    _, pushed = make_jvp(f, tuple(range(len(values))))(*values)(tangent)
    numeric = _numerical_tangent(f, values, tangent)
    _require_like(pushed, numeric, f"the tangent of {_name_of(f)}")
    weights = _random_like(numeric)
    if not scalar_close(_product(weights, pushed), _product(weights, numeric)):
        raise CheckError(
            f"check_grads: derivative (JVP) check of {_name_of(f)} failed at {_shown(values)}: in forward mode a "
            f"random sum of the tangent is {_product(weights, pushed)}, expected {_product(weights, numeric)}, that of "
            "central differences."
        )


def check_equivalent(x: Any, y: Any) -> None:
    """Compare two arrays, or nests of arrays: shapes, whether they are complex, and a random sum of the elements.

    Raises
    ------
    CheckError
        If they differ.
    """
    _require_like(x, y, "the first")
    weights = _random_like(x)
    if not scalar_close(_product(weights, x), _product(weights, y)):
        raise CheckError(f"check_equivalent: values differ: {_shown(x)} and {_shown(y)}.")


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return a function that makes `check_grads` for all combinations of values: a list for each argument and keyword.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.test_util import combo_check
    >>> combo_check(np.sum, (0,), order=1)([np.ones((2, 3)), np.ones((3, 2))], axis=[None, 0, 1])
    """

    def check(*lists: Any, **lists_by_name: Any) -> None:
        for values in itertools.product(*lists):
            for named in itertools.product(*lists_by_name.values()):
                check_grads(fun, *args, **kwargs)(*values, **dict(zip(lists_by_name, named, strict=True)))

    return check


def scalar_close(a: Any, b: Any) -> bool:
    """Tell whether two numbers are equal but for 1e-6, or for that part of their sum."""
    return bool(abs(a - b) < _TOLERANCE or abs(a - b) / abs(a + b) < _TOLERANCE)


def _name_of(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _numerical_tangent(f: Callable[..., Any], values: Any, tangent: Any) -> Any:
    above, below = f(*_moved(values, tangent, _STEP / 2)), f(*_moved(values, tangent, -_STEP / 2))
    return _combined(lambda a, b: (as_raw(a) - as_raw(b)) / _STEP, above, below)


def _moved(values: Any, tangent: Any, step: float) -> Any:
    return _combined(lambda value, direction: value + direction * step, values, tangent)


def _combined(function: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    others = iter(leaves_of(second))
    return map_tree(lambda leaf, _: function(leaf, next(others)), first)


def _random_like(nest: Any) -> Any:
    generator = numpy.random.default_rng(0)

    def drawn(leaf: Any, _: str) -> Any:
        raw = as_raw(leaf)
        values = generator.standard_normal(raw.shape)
        if raw.dtype.kind == "c":
            values = values + 1j * generator.standard_normal(raw.shape)
        return numpy.asarray(values, raw.dtype)[()]

    return map_tree(drawn, nest)


def _conjugate(nest: Any) -> Any:
    return map_tree(lambda leaf, _: numpy.conj(leaf), nest)


def _product(first: Any, second: Any) -> float:
    pairs = zip(leaves_of(first), leaves_of(second), strict=True)
    return float(sum(numpy.real(numpy.vdot(as_raw(a), as_raw(b))) for a, b in pairs))


def _require_like(nest: Any, like: Any, subject: str) -> None:
    first, second = (
        [(as_raw(leaf).shape, as_raw(leaf).dtype.kind == "c") for leaf in leaves_of(each)] for each in (nest, like)
    )
    if first != second:
        raise CheckError(f"check_grads: {subject} is {_shown(nest)}; expected something like {_shown(like)}.")


def _shown(nest: Any) -> str:
    text = repr(map_tree(lambda leaf, _: as_raw(leaf), nest))
    return text if len(text) < 300 else f"{text[:297]}..."
