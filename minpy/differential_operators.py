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
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.batching.derivatives import with_call
from minpy.bridge.hips_boxes import is_box
from minpy.checkpointing import checkpoint
from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.differentiation import recorded_run
from minpy.differentiation.nested import Call, matching, ones_like
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.functional import elementwise_grad, grad, hessian, jacobian, value_and_grad
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

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that runs `fun`, and returns (vjp, result): reverse mode, one run for many gradients.

    `minpy.vjp` is the same with JAX's signature, for all arguments.

    Parameters
    ----------
    fun : callable
        As for `minpy.jacobian`; its result may be complex.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns `(vjp, result)`. `vjp(g)` takes a gradient like the result, and returns the
        gradient of the argument, or a tuple of them if `argnum` is a sequence. It may be called any number of times.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.
    ShapeError
        By `vjp`, if its argument is not like the result.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> vjp, result = minpy.make_vjp(np.sin)(np.zeros(2))
    >>> vjp(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return _of_run(fun, argnum, "make_vjp", _vjp_and_result)


def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose results push tangents forward: `make_jvp(fun)(x)(v)` is (result, tangent).

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns a function that takes a tangent like the argument (a tuple of tangents if
        `argnum` is a sequence), and returns (result, tangent of the result). It runs `fun` at each call.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.
    ShapeError
        If the tangent is not like the argument.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.make_jvp(np.sin)(np.zeros(2))(np.array([1.0, 2.0]))
    (array([0., 0.]), array([1., 2.]))
    """

    def push(tangent: Any, call: Call) -> Any:
        arguments = [call.arguments[argnum] for argnum in call.argnums]
        like = arguments[0] if call.single else tuple(arguments)
        directions = matching("make_jvp: the tangent", call.lowered(tangent), like, call.variables)
        call.outputs, pushed = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
        return call.result(), call.like_result(pushed)

    return _of_run(fun, argnum, "make_jvp", push, run=False, given_later=True)


def make_jvp_reversemode(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose results push tangents forward, by two runs in reverse: `make_jvp_reversemode(fun)(x)(v)`.

    It runs `fun` once for all tangents, where `make_jvp` runs it at each.

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns a function from a tangent like the argument to that of the result.

    Raises
    ------
    DTypeError, ArgumentError, ShapeError
        As for `make_jvp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.make_jvp_reversemode(np.square)(np.array([1.0, 2.0]))(np.ones(2))
    array([2., 4.])
    """

    def transposed(call: Call) -> Any:
        vjp, result = _vjp_and_result(call)
        zeros = map_tree(lambda leaf, _: numpy.zeros_like(leaf), result)
        return make_vjp(vjp)(zeros)[0]

    return _of_run(fun, argnum, "make_jvp_reversemode", transposed)


def make_hvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that returns (hvp, gradient): products of the Hessian at a point with many vectors.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`: its result is one number.
    argnum : int or sequence of int
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns `(hvp, gradient)`; `hvp(v)` is the Hessian times v, which is like the
        argument.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`, and for `make_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> hvp, gradient = minpy.make_hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return _renamed(make_vjp(grad(fun, argnum), argnum), "make_hvp", fun)


def make_ggnvp(f: Function, g: Function | None = None, f_argnum: int = 0) -> Function:
    """Return a function that returns products of the generalized Gauss-Newton matrix of g(f(x)) with vectors.

    Parameters
    ----------
    f : callable
        As for `minpy.jacobian`: the model.
    g : callable, optional
        The loss, of what `f` returns: one number. By default half the sum of squares along the last axis.
    f_argnum : int
        The position of the argument of `f` to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `f` takes, and returns `ggnvp`: `ggnvp(v)` is J' H J v, with f's Jacobian J and g's Hessian H.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`, and for `make_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> ggnvp = minpy.make_ggnvp(lambda x: x ** 2)(np.array([1.0, 2.0]))
    >>> ggnvp(np.ones(2))
    array([ 4., 16.])
    """
    loss = _half_of_squares if g is None else g

    def product(call: Call) -> Any:
        f_vjp, result = _vjp_and_result(call)
        g_hvp = make_hvp(loss)(result)[0]
        zeros = map_tree(lambda leaf, _: numpy.zeros_like(leaf), result)
        f_jvp = make_vjp(f_vjp)(zeros)[0]
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return _of_run(f, f_argnum, "make_ggnvp", product)


def _half_of_squares(values: Any) -> Any:
    return 0.5 * numpy.sum(values**2, axis=-1)


def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative along a tangent of ones, in forward mode.

    For a function of one number that is its derivative, whatever shape the result has.

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns the tangent of its result.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.deriv(lambda t: np.array([1.0, 2.0]) * t ** 2)(3.0)
    array([ 6., 12.])
    """

    def along_ones(call: Call) -> Any:
        directions = [ones_like(variable) for variable in call.variables]
        call.outputs, pushed = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
        return call.like_result(pushed)

    return _of_run(fun, argnum, "deriv", along_ones, run=False)


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

    return _renamed(derivative, "holomorphic_grad", fun)


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
            f"grad_named: {_name_of(fun)} has no positional argument {argname!r}; it has {', '.join(names) or 'none'}."
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
                f"grad_and_aux: {_name_of(fun)} returned {describe(result)}; expected a tuple of two: the number to "
                "differentiate, and what else it returns."
            )
        if len(leaves_of(result[0])) != 1 or math.prod(call.shape_of(call.outputs[0])) != 1:
            raise ShapeError(
                f"grad_and_aux differentiates the first of two results, which is one number, got "
                f"{describe(as_raw(result[0]))}. Sum it up."
            )
        gradient = call.gradients([ones_like(call.outputs[0])] + [None] * (len(call.outputs) - 1))
        return gradient, call.result()[1]

    return _of_run(fun, argnum, "grad_and_aux", both)


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

    return _renamed(gradients, "multigrad_dict", fun)


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

    return _renamed(grad(product, argnum), "hessian_tensor_product", fun)


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

    return _renamed(jacobian(product, argnum), "tensor_jacobian_product", fun)


vector_jacobian_product = tensor_jacobian_product


# -- how it is done ----------------------------------------------------------------------------------------------------


def _vjp_and_result(call: Call) -> tuple[Function, Any]:
    def pull(gradient: Any) -> Any:
        return call.gradients(
            matching(f"{call.name}: the gradient", call.lowered(gradient), call.structure, call.outputs)
        )

    return pull, map_tree(_copied, call.result())


def _of_run(
    fun: Function, argnum: Argnum, api: str, finish: Callable[..., Any], run: bool = True, given_later: bool = False
) -> Function:
    """Return a function that makes a `Call` of `fun`, and gives it to `finish`.

    `given_later`: it returns a function that makes the call, and gives its own argument to `finish`, too.
    """
    if not callable(fun):
        raise ArgumentError(
            f"{api}: the first argument is the function to differentiate, got {describe(fun)}. Write "
            f"{api}(f)(x), not {api}(f(x))."
        )
    single = not isinstance(argnum, (tuple, list))
    argnums = (argnum,) if single else tuple(argnum)
    if not argnums or not all(isinstance(each, (int, numpy.integer)) and type(each) is not bool for each in argnums):
        raise ArgumentError(f"{api}: argnum is a position (0, 1, ...) or a tuple of positions, got {argnum!r}.")

    def of_run(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            raise ArgumentError(
                f"{api}: an argument is traced by HIPS autograd, which cannot follow the function that {api} returns. "
                f"Call minpy.grad or minpy.jacobian there, or autograd's own {api}."
            )
        arguments = map_tree(_copied, arguments)  # the caller may write to them before what is returned is called
        if not given_later:
            return with_call(finish, api, fun, argnums, single, arguments, keywords, run=run)

        def with_given(given: Any) -> Any:
            return with_call(functools.partial(finish, given), api, fun, argnums, single, arguments, keywords, run=run)

        return with_given

    return _renamed(of_run, api, fun)


def _copied(value: Any, _: str = "") -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def _name_of(fun: Function) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def _renamed(derivative: Any, api: str, fun: Function) -> Function:
    functools.update_wrapper(derivative, fun, updated=())
    derivative.__name__ = derivative.__qualname__ = f"{api}_of_{_name_of(fun)}"
    derivative.__doc__ = (
        f"Return what minpy.{api} computes of {_name_of(fun)}.\n\n{getattr(fun, '__doc__', None) or ''}"
    )
    return derivative
