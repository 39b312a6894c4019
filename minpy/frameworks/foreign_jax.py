"""`from_jax`: a function of JAX's as an operator of minpy, compiled and differentiated by JAX, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, describe, in_place_of
from minpy.frameworks.foreign_operator import ForeignOperator, in_tuple, read_foreign_signature
from minpy.frameworks.libraries import require
from minpy.importing import import_module

__all__ = ["JaxFunction", "from_jax", "precision"]

_MOST_COMPILED = 256  # combinations of attributes, the latest


def from_jax(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    inputs: int | Sequence[str] | None = None,
    outputs: int | Sequence[str] | None = None,
    jit: bool = True,
) -> Any:
    """Make an operator of a function of JAX's arrays; its gradient is JAX's, to any order.

    The operator is called, recorded, and differentiated as any other is: on NumPy's arrays and NDArrays, in symbols,
    Gluon blocks and compiled functions (which call it: nothing of it becomes part of their graphs), under HIPS
    autograd. Its gradient is such an operator in its turn.

    Parameters
    ----------
    function : callable, optional
        Takes arrays by position, attributes by keyword, and returns an array, or a tuple or list of arrays. Its
        positional parameters are inputs, the keyword-only ones attributes. Left out, a decorator is returned.
    name : str, optional
        What the operator is called; by default the function's name.
    inputs : int or sequence of str, optional
        Which parameters are inputs, or how many: the other ones are attributes, then, which calls give by keyword
        (`axis` of `jax.nn.softmax`).
    outputs : int or sequence of str, optional
        How many arrays it returns, or a name for each, for symbols; left out, they go by the function's code, or else
        by what it has returned.
    jit : bool
        Whether JAX compiles the function and its gradients, for each kind of inputs and each value of attributes. With
        False they run operation by operation, so that they may choose by values.

    Returns
    -------
    Operator
        The dtypes of arrays decide how JAX computes: where one has 64 bits, it does so with 64 bits for that call,
        whatever `jax_enable_x64` says, so that no float64 becomes a float32 silently. Inputs that are integers have a
        zero gradient. The operator pickles if it is found under its name in its module, or if the function pickles.

    Raises
    ------
    ArgumentError
        If inputs cannot be told; at a call, if the function returns something else than arrays, or arrays of a dtype
        that NumPy has not (`bfloat16`).
    MissingDependencyError
        If JAX is not installed, or too old.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy, jax
    >>> import jax.numpy as jnp
    >>> from minpy.frameworks import from_jax
    >>> @from_jax
    ... def wave(x, *, frequency: float = 1.0):
    ...     return jnp.sin(frequency * x)
    >>> wave(np.zeros(2), frequency=2.0)
    array([0., 0.])
    >>> minpy.grad(lambda x: wave(x, frequency=2.0).sum())(np.zeros(2))
    array([2., 2.])
    >>> softmax = from_jax(jax.nn.softmax, inputs=('x',))
    >>> softmax(np.zeros((2, 2)), axis=0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    require("jax")
    if function is None:
        return lambda decorated: from_jax(decorated, name=name, inputs=inputs, outputs=outputs, jit=jit)
    if isinstance(function, ForeignOperator):
        function = function.function
    if not callable(function):
        raise ArgumentError(f"from_jax makes an operator of a function of arrays, got {describe(function)}.")
    parts = read_foreign_signature(function, inputs, "from_jax")
    operator = JaxFunction(
        parts.bound(function),
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        signature=parts.signature,
        outputs=outputs,
        like=function,
        settings={"jit": jit},
    )
    return operator.published((_remade, (function, name, inputs, outputs, jit)))


def _remade(function: Any, name: Any, inputs: Any, outputs: Any, jit: Any) -> Any:
    return from_jax(function, name=name, inputs=inputs, outputs=outputs, jit=jit)


class JaxFunction(ForeignOperator):
    """A function of JAX's as an operator: what `from_jax` returns."""

    framework = "JAX"
    maker = "from_jax"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compiled_for = lru_cache(_MOST_COMPILED)(self._compiled)

    def compute(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Return what the function gives for NumPy's arrays, in fresh memory: an array, or a tuple of arrays."""
        import jax

        attributes = {key: raw_of(value) for key, value in attributes.items()}
        arrays = [_native(value) for value in inputs]
        with precision(jax, arrays):
            try:
                result = self._function_for(arrays, attributes)(*[a for a in arrays if _is_array(a)])
            except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError) as error:
                text = str(error).partition("\n")[0]
                if not self.settings["jit"]:
                    better = ArgumentError(
                        f"{self.__name__}: JAX does not trace its function, which makes a number of an array ({text}). "
                        "Return the array, without float() or .item()."
                    )
                    raise in_place_of(better, error) from error
                better = ArgumentError(
                    f"{self.__name__}: JAX does not compile its function, which asks for the values of an array "
                    f"({text}). Choose with jnp.where or jax.lax.cond; or let it run operation by operation, with "
                    "from_jax(..., jit=False). What is no array is an attribute, after the star: def f(x, *, n); of a "
                    "function of somebody else's, name the arrays: inputs=('x',)."
                )
                raise in_place_of(better, error) from error
            if isinstance(result, (tuple, list)):
                return tuple([self._array(value, index, True) for index, value in enumerate(result)])
            return self._array(result, 0, False)

    def vjp_function(self, positions: tuple[int, ...], live: tuple[bool, ...], several: bool) -> Callable[..., Any]:
        """Return the function's gradient as a function of (cotangents, inputs), to gradients."""
        import jax

        function = self.function

        def gradient(*values: Any, **attributes: Any) -> Any:
            cotangents, inputs = values[: sum(live)], list(values[sum(live) :])

            def heads(*variables: Any) -> tuple[Any, ...]:
                for index, variable in zip(positions, variables, strict=True):
                    inputs[index] = variable
                outputs = in_tuple(function(*inputs, **attributes))
                return tuple(output for output, is_live in zip(outputs, live, strict=True) if is_live)

            outputs, pull = jax.vjp(heads, *[inputs[index] for index in positions])
            results = pull(tuple(g.astype(y.dtype) for g, y in zip(cotangents, outputs, strict=True)))
            return results if len(results) > 1 else results[0]

        return gradient

    def output_facts(
        self, inputs: Sequence[tuple[Any, Any]], attributes: dict[str, Any]
    ) -> list[tuple[Any, Any]] | None:
        """Return (shape, dtype) of each output, from JAX's abstract evaluation."""
        import jax

        is_wide = [numpy.dtype(dtype).name in _WIDE for _, dtype in inputs]
        if any(wide and shape == () for wide, (shape, _) in zip(is_wide, inputs, strict=True)) and not all(is_wide):
            return None  # a number of Python's would leave the others their 32 bits, and an array would not
        try:
            with precision(jax, [numpy.empty(0, dtype) for _, dtype in inputs]):
                specs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in inputs]
                outputs = in_tuple(jax.eval_shape(partial(self.function, **attributes), *specs))
            return [(tuple(output.shape), numpy.dtype(output.dtype)) for output in outputs]
        except Exception:  # it asks for values
            return None

    # -- inside --------------------------------------------------------------------------------------------------------

    def _function_for(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> Callable[..., Any]:
        """Return the function of those inputs that are arrays or numbers, compiled where it can be."""
        constants = tuple((index, value) for index, value in enumerate(inputs) if not _is_array(value))
        if not self.settings["jit"]:
            return self._applied(constants, attributes)
        try:
            key = tuple((name, _Typed(value)) for name, value in sorted(attributes.items()))
            hash(constants)
        except TypeError:  # an array is among them: nothing to know it again by
            return self._applied(constants, attributes)
        compiled: Callable[..., Any] = self._compiled_for(constants, key)
        return compiled

    def _compiled(self, constants: tuple[tuple[int, Any], ...], key: tuple[tuple[str, Any], ...]) -> Any:
        import jax

        return jax.jit(self._applied(constants, {name: value.value for name, value in key}))

    def _applied(self, constants: Sequence[tuple[int, Any]], attributes: dict[str, Any]) -> Callable[..., Any]:
        function = self.function

        def call(*arrays: Any) -> Any:
            values = list(arrays)
            for index, value in constants:
                values.insert(index, value)
            return function(*values, **attributes)

        return call

    def _array(self, value: Any, number: int, several: bool) -> numpy.ndarray:
        """Return an output as an array with memory of its own, which may be written to."""
        if not hasattr(value, "__array__") and not isinstance(value, (bool, int, float, complex)):
            raise self.unfit(number, several, f"returned {describe(value)}; expected an array, or a tuple of arrays.")
        array = numpy.array(value, order="C")
        if array.dtype.kind not in "fciub":
            raise self.unfit(
                number,
                several,
                f"returned an array of dtype {array.dtype}, which NumPy has not; end it with .astype(jnp.float32).",
            )
        return array


class _Typed:
    """The value of an attribute as part of a key: 1, 1.0 and True are different ones."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key_of(value)
        hash(self._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Typed) and self._key == other._key


def _key_of(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_key_of, value))
    if isinstance(value, dict):
        return dict, tuple((key, _key_of(item)) for key, item in value.items())
    return type(value), value


def _is_array(value: Any) -> bool:
    return isinstance(value, (numpy.ndarray, numpy.generic, bool, int, float, complex))


def _native(value: Any) -> Any:
    """Return an array in the byte order that JAX takes."""
    if isinstance(value, numpy.ndarray) and not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def precision(jax: Any, values: Sequence[Any]) -> Any:
    """Return what surrounds a call: JAX computes with 64 bits there if one of the arrays has as many."""
    is_wide = any(isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.name in _WIDE for value in values)
    if jax.config.jax_enable_x64 or not is_wide:
        return _UNCHANGED
    enabled = jax.enable_x64 if hasattr(jax, "enable_x64") else import_module("jax.experimental").enable_x64
    return enabled(True)


_WIDE = frozenset(("float64", "int64", "uint64", "complex128"))
_UNCHANGED = nullcontext()
