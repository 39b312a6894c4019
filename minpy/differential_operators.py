"""The names of HIPS autograd's functions of functions, with their meaning there: for programs that were written for it.

`from autograd import make_vjp` becomes `from minpy import make_vjp`, and `from autograd.differential_operators import
make_vjp` becomes `from minpy.differential_operators import make_vjp`. Functions are written with plain NumPy; in the
place of `autograd.numpy` stands `numpy` itself. All of them nest, in each other and in those of `minpy.functional`.

Gradients of complex arguments follow autograd's convention: of a real function u of x + iy, du/dx - i du/dy.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from typing import Any

import numpy

from minpy.checkpointing import checkpoint
from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.differentiation.nested import Call, ones_like
from minpy.differentiation.trees import leaves_of
from minpy.functional import elementwise_grad, grad, hessian, jacobian, value_and_grad
from minpy.linear_maps import (
    Argnum,
    Function,
    deriv,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    name_of,
    of_run,
    renamed,
)
from minpy.namespaces import module_functions

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


def holomorphic_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the complex derivative of a holomorphic function of one complex number.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`, with a complex argument and a complex result of one element.
    argnum : int or sequence of int
        As for `minpy.grad`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns the derivative; that it is holomorphic is not checked. It warns if the
        argument is not complex.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.holomorphic_grad(lambda z: z ** 2)(1.0 + 2.0j)
    (2+4j)
    """
    gradient = grad(_real_part_of(fun), argnum)

    def derivative(*arguments: Any, **keywords: Any) -> Any:
        positions = argnum if isinstance(argnum, (tuple, list)) else (argnum,)
        for position in positions:
            if not all(numpy.iscomplexobj(as_raw(leaf)) for leaf in leaves_of(arguments[position : position + 1])):
                warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
        return gradient(*arguments, **keywords)

    return renamed(derivative, "holomorphic_grad", fun)


def _real_part_of(fun: Function) -> Function:
    @functools.wraps(fun)
    def real_part(*arguments: Any, **keywords: Any) -> Any:
        return numpy.real(fun(*arguments, **keywords))

    return real_part


def grad_named(fun: Function, argname: str) -> Function:
    """Return a function that computes the gradient with respect to the argument of a name.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`.
    argname : str
        The name of one of its positional parameters.

    Returns
    -------
    callable
        As `minpy.grad` returns; the argument is given by position.

    Raises
    ------
    ArgumentError
        If there is no such parameter.

    Examples
    --------
    >>> import minpy
    >>> minpy.grad_named(lambda x, scale: x * scale, 'scale')(2.0, 3.0)
    2.0
    """
    names = [
        parameter.name
        for parameter in inspect.signature(fun).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if argname not in names:
        raise ArgumentError(
            f"grad_named: {name_of(fun)} has no positional argument {argname!r}; it has {', '.join(names) or 'none'}."
        )
    return grad(fun, names.index(argname))


def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes (gradient, aux) of a function that returns (one number, aux).

    Parameters
    ----------
    fun : callable
        Returns a tuple of two: one real number, which is differentiated, and an array, or a nest of arrays.
    argnum : int or sequence of int
        As for `minpy.grad`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns the gradient of the number, and the second result as it is.

    Raises
    ------
    ShapeError
        If the first result is not one number.
    DTypeError, ArgumentError
        As for `minpy.grad`; also if the result is no tuple of two.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.grad_and_aux(lambda x: (np.sum(x ** 2), x + 1))(np.array([1.0, 2.0]))
    (array([2., 4.]), array([2., 3.]))
    """

    def both(call: Call) -> Any:
        result = call.structure
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentError(
                f"grad_and_aux: {name_of(fun)} returned {describe(result)}; expected a tuple of two: the number to "
                "differentiate, and what else it returns."
            )
        if len(leaves_of(result[0])) != 1 or math.prod(call.shape_of(call.outputs[0])) != 1:
            raise ShapeError(
                f"grad_and_aux differentiates the first of two results, which is one number, got "
                f"{describe(as_raw(result[0]))}. Sum it up."
            )
        gradient = call.gradients([ones_like(call.outputs[0])] + [None] * (len(call.outputs) - 1))
        return gradient, call.result()[1]

    return of_run(fun, argnum, "grad_and_aux", both)


def multigrad_dict(fun: Function) -> Function:
    """Return a function that computes the gradients with respect to all arguments, by their names.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`; all its arguments, defaults included, are floating point, or nests of that. Those behind
        `*args` are a tuple under that name, and those in `**kwargs` a dict.

    Returns
    -------
    callable
        Takes what `fun` takes, by position or by name, and returns a dict.

    Raises
    ------
    ShapeError, DTypeError
        As for `minpy.grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.multigrad_dict(lambda x, y=2.0: x * y)(3.0)
    {'x': 2.0, 'y': 3.0}
    """
    signature = inspect.signature(fun)

    def of_all(values: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        bound.arguments.update(values)
        return fun(*bound.args, **bound.kwargs)

    gradient = grad(of_all)

    def gradients(*arguments: Any, **keywords: Any) -> dict[str, Any]:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        by_name: dict[str, Any] = gradient({name: bound.arguments[name] for name in signature.parameters})
        return by_name

    return renamed(gradients, "multigrad_dict", fun)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of `fun`'s arguments and a tensor that computes the Hessian times the tensor.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`.
    argnum : int
        The position of the argument to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `fun` takes and, as its last positional argument, an array with the argument's shape, or that of its
        first axes; returns an array like the argument.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.hessian_vector_product(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    gradient = grad(fun, argnum)

    def product(*arguments: Any, **keywords: Any) -> Any:
        *inner, tensor = arguments
        return numpy.tensordot(gradient(*inner, **keywords), tensor, numpy.ndim(tensor))

    return renamed(grad(product, argnum), "hessian_tensor_product", fun)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of `fun`'s arguments and a tensor that computes the tensor times the Jacobian.

    Parameters
    ----------
    fun : callable
        As for `minpy.jacobian`, with one array as its result.
    argnum : int
        The position of the argument to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `fun` takes and, as its last positional argument, an array that is summed with the first axes of the
        result; returns an array of the remaining axes followed by the argument's.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.vector_jacobian_product(lambda x: x ** 2)(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([2., 6.])
    """

    def product(*arguments: Any, **keywords: Any) -> Any:
        *inner, tensor = arguments
        return numpy.tensordot(tensor, fun(*inner, **keywords), numpy.ndim(tensor))

    return renamed(jacobian(product, argnum), "tensor_jacobian_product", fun)


vector_jacobian_product = tensor_jacobian_product
