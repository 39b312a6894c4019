"""`to_jax`: an operator of minpy as a function of JAX's arrays, differentiable there to any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.configured import ConfiguredOperator
from minpy.core.errors import ArgumentError, DTypeError, NotTraceableError, describe
from minpy.core.signatures import bind
from minpy.frameworks.derivatives import full_attributes
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.libraries import require
from minpy.frameworks.operators import operator_of, refuse_attributes
from minpy.frameworks.requests import THROUGH, require_choice, require_count
from minpy.frameworks.spec_texts import text_of

__all__ = ["JaxOperator", "to_jax"]

_BATCH = ("sequential", "expand_dims", "broadcast_all")
# So many kinds of calls are remembered for one operator; beyond that the oldest is dropped.
_MOST_FORMS = 256


def to_jax(op: Any, *, outputs: int | None = None, through: str = "auto", batch: str = "sequential") -> JaxOperator:
    """Make a function of JAX's arrays of an operator, for `jax.jit`, `jax.grad`, `jax.vmap` and what is made of them.

    Parameters
    ----------
    op : Operator or str
        Any kind: a `@customop` with its rules, a built-in operator (`mx.nd.softmax`), a registered prop by its name,
        one of a native library (`mx.nd.my_gemm`): see `as_operator`. The last two have first-order gradients, and run
        through NumPy. Inputs are arrays; attributes, which stand behind a star, are Python's values, no arrays.
    outputs : int, optional
        How many arrays it returns; by default what is inferred for each call. Another number than that is an error.
    through : {'auto', 'graph', 'numpy'}
        'graph' runs the steps that the function and its rules were traced to as functions of `jax.numpy`: on any
        device, fused by `jax.jit`, in forward and reverse mode. 'numpy' calls the function and its rules on the CPU, by
        `jax.pure_callback`; in reverse mode only. 'auto' takes the graph where everything traces; `reason` says why
        not.
    batch : {'sequential', 'expand_dims', 'broadcast_all'}
        How `jax.vmap` calls what runs through NumPy: the `vmap_method` of `jax.pure_callback`. The graph needs none.

    Returns
    -------
    JaxOperator
        It is called with arrays, as the operator is.

    Raises
    ------
    MissingDependencyError
        If JAX is not installed.
    ArgumentError
        For what is no operator, for one that changes its inputs, or another `through` or `batch`.

    Examples
    --------
    >>> import jax
    >>> import numpy as np
    >>> import minpy
    >>> from minpy.frameworks import to_jax
    >>> @minpy.customop('numpy')
    ... def softplus(x, *, beta: float = 1.0):
    ...     return np.logaddexp(0, beta * x) / beta
    >>> softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))
    <Operator softplus(x, beta=), gradients: x>
    >>> jax_softplus = to_jax(softplus)
    >>> gradient = jax.jit(jax.grad(lambda x: jax_softplus(x, beta=2.0).sum()))
    >>> print(gradient(jax.numpy.zeros(2)), jax_softplus.reason)
    [0.5 0.5] None
    """
    require("jax")
    require_choice("to_jax", "through", through, THROUGH)
    require_choice("to_jax", "batch", batch, _BATCH)
    require_count("to_jax", outputs)
    operator = operator_of(op, "to_jax")
    if operator.auxiliary:
        raise ArgumentError(
            f"to_jax: {operator.__name__} changes its states {', '.join(operator.auxiliary)} in place, and functions "
            "of JAX change nothing. Wrap a function that returns the new states."
        )
    return JaxOperator(operator, outputs, through, batch)


class JaxOperator:
    """An operator of minpy as a function of JAX's arrays: see `to_jax`.

    `op`: the operator. `through`: what was asked for. `reason`: why the latest kind of call runs through NumPy; None if
    it runs as a graph of JAX's. It pickles by the operator.
    """

    def __init__(self, op: Any, outputs: int | None, through: str, batch: str) -> None:
        self.op = self.__minpy_operator__ = op
        self.through, self.batch = through, batch
        self.reason: str | None = "through='numpy' was asked for" if through == "numpy" else None
        self.__name__ = self.__qualname__ = op.__name__
        self.__doc__ = op.__doc__
        self._outputs = outputs
        self._forms: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{self.op!r} as a function of JAX's>"

    def __reduce__(self) -> Any:
        return _restored, (self.op, self._outputs, self.through, self.batch)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Return the outputs for arrays; attributes as for the operator."""
        values, absent, named = self._bound(inputs, attributes)
        form = self._form(values, absent, named)
        self.reason = form.reason
        results = form.call(*values)
        return tuple(results[: form.visible]) if form.returns_tuple else results[0]

    def explain(self, *inputs: Any, **attributes: Any) -> str | None:
        """Return why a call with such inputs runs through NumPy; None if it runs as a graph of JAX's.

        `inputs`: arrays, whose values are not looked at.
        """
        reason: str | None = self._form(*self._bound(inputs, attributes)).reason
        return reason

    def source(self, *inputs: Any, **attributes: Any) -> str:
        """Return the source that a call with such inputs runs: of the forward function, and of its gradients.

        Raises NotTraceableError where it runs through NumPy; the message says why.
        """
        form = self._form(*self._bound(inputs, attributes))
        if form.reason is not None:
            raise NotTraceableError(form.reason)
        text: str = form.source
        return text

    # -- arguments -----------------------------------------------------------------------------------------------------

    def _bound(
        self, inputs: Sequence[Any], attributes: dict[str, Any]
    ) -> tuple[list[Any], tuple[int, ...], dict[str, Any]]:
        """Return (arrays, the positions of inputs that are None, attributes with their defaults)."""
        op = self.op
        if isinstance(op, ConfiguredOperator):
            refuse_attributes(op.__name__, {key: attributes[key] for key in attributes if key not in op.names})
        values, named = bind(op.__name__, op.signature, tuple(inputs), dict(attributes), op.builtin)
        absent = tuple(position for position, value in enumerate(values) if value is None)
        arrays = _arrays(op, [value for value in values if value is not None])
        return arrays, absent, full_attributes(op, named)

    def _form(self, values: Sequence[Any], absent: tuple[int, ...], named: dict[str, Any]) -> Any:
        """Return how calls of this kind run: a `GraphForm` or a `CallbackForm`."""
        jax = require("jax")
        specs = tuple(ArraySpec(tuple(value.shape), numpy.dtype(value.dtype)) for value in values)
        key = specs, absent, text_of(named, self.op.__name__), bool(jax.config.jax_enable_x64)
        form = self._forms.get(key)
        if form is None or not form.is_current():
            while len(self._forms) >= _MOST_FORMS:
                self._forms.pop(next(iter(self._forms)), None)
            form = self._forms[key] = self._made_form(specs, absent, named)
        return form

    def _made_form(self, specs: Sequence[ArraySpec], absent: tuple[int, ...], named: dict[str, Any]) -> Any:
        from minpy.frameworks.jax_callback import CallbackForm  # they import JAX
        from minpy.frameworks.jax_graph import GraphForm

        reason = "through='numpy' was asked for"
        form: Any = None
        if self.through != "numpy":
            try:
                form = GraphForm(self.op, specs, absent, named)
            except NotTraceableError as error:
                if self.through == "graph":
                    raise
                reason = str(error)
        if form is None:
            form = CallbackForm(self.op, specs, absent, named, self.batch, reason)
        if self._outputs is not None and self._outputs != form.visible:
            raise ArgumentError(
                f"to_jax: outputs={self._outputs} was said of {self.op.__name__}, which returns {form.visible} for "
                f"{', '.join(map(str, specs))}."
            )
        return form


def _restored(op: Any, outputs: int | None, through: str, batch: str) -> JaxOperator:
    return JaxOperator(op, outputs, through, batch)


def _arrays(op: Any, values: Sequence[Any]) -> list[Any]:
    """Return inputs as arrays of JAX's; weakly typed ones, as numbers are, as NumPy converts numbers."""
    jax = require("jax")
    jnp = jax.numpy
    arrays = []
    for position, value in enumerate(values):
        dtype = getattr(value, "dtype", None)
        if dtype is not None and not isinstance(dtype, numpy.dtype):
            raise ArgumentError(
                f"{op.__name__}: {op.argument_name(position)} is {describe(value)}; expected an array of JAX's or "
                "NumPy's. Convert it with jax.numpy.asarray(x)."
            )
        array = value if isinstance(value, jax.Array) else None
        if array is None:
            if dtype is None and isinstance(value, (list, tuple)):
                value = numpy.asarray(value)
            array = jnp.asarray(value) if dtype is None or _is_of_numpy(dtype) else value
        if not _is_of_numpy(array.dtype):
            raise DTypeError(
                f"{op.__name__}: {op.argument_name(position)} is an array of {array.dtype}, which NumPy does not have. "
                "Give it as float32: x.astype('float32'), and convert the result."
            )
        arrays.append(array)
    weak = [bool(getattr(array, "weak_type", False)) and array.ndim == 0 for array in arrays]
    if any(weak) and not all(weak):
        dtype = jnp.result_type(*arrays)
        kinds = "biufc"
        arrays = [
            array.astype(dtype) if is_weak and kinds.index(array.dtype.kind) <= kinds.index(dtype.kind) else array
            for array, is_weak in zip(arrays, weak, strict=True)
        ]
    return arrays


def _is_of_numpy(dtype: Any) -> bool:
    """Tell whether a dtype is one of NumPy's own numbers."""
    return isinstance(dtype, numpy.dtype) and dtype.isbuiltin == 1 and dtype.kind in "biufc"
