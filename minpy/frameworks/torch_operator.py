"""`to_torch`: an operator of minpy as one of PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.core.output_counts import LearnedOutputs
from minpy.frameworks.libraries import require
from minpy.frameworks.operators import operator_of
from minpy.frameworks.requests import THROUGH, require_choice, require_count

__all__ = ["TorchOperator", "to_torch"]


def to_torch(
    op: Any,
    *,
    outputs: int | None = None,
    name: str | None = None,
    namespace: str = "minpy",
    through: str = "auto",
    batch: str = "loop",
) -> TorchOperator:
    """Make an operator of PyTorch's of one of minpy's, differentiable there to any order, in both modes.

    Parameters
    ----------
    op : Operator or str
        Any kind: a `@customop` with its rules, a built-in operator (`mx.nd.softmax`), a registered prop by its name,
        one of a native library (`mx.nd.my_gemm`): see `as_operator`. The last two have first-order gradients, and run
        through NumPy. Inputs are tensors there; attributes, which stand behind a star, stay what they are. An input
        with a number as default is refused: say whether it is an array or an attribute.
    outputs : int, optional
        How many tensors it returns. By default what `@customop(outputs=)` or its code says, or calls have shown.
    name, namespace : str
        What PyTorch's dispatcher calls it: `namespace::name_digest`, by default with the operator's name. The digest is
        that of its code, its rules and what they refer to: what PyTorch keeps compiled in files goes by the name. A
        rule that is edited afterwards gives another name where a graph is made the next time; for graphs that are made
        already, call `torch.compiler.reset()`.
    through : {'auto', 'graph', 'numpy'}
        'numpy' calls the function and its rules, on the CPU. 'graph' runs the steps that they were traced to as
        functions of PyTorch's: on any device, fused by `torch.compile`, differentiated by PyTorch. 'auto' takes the
        graph where everything traces; `reason` of the operator that is returned says why not.
    batch : {'loop', 'elementwise'}
        How `torch.vmap` runs it through NumPy: entry by entry, or all at once, for functions each of whose elements
        hangs on the same elements of the inputs, as these are broadcast. `op.def_batch` says so for all frameworks, or
        has a rule: one call of it is made for a batch, and its derivatives are taken of that call.

    Returns
    -------
    TorchOperator
        It is called with tensors. `op` is the operator that is registered with PyTorch's dispatcher.

    Raises
    ------
    MissingDependencyError
        If PyTorch is not installed.
    ArgumentError
        For what cannot be an operator there, or for another `through` or `batch`.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import minpy
    >>> from minpy.frameworks import to_torch
    >>> @minpy.customop('numpy')
    ... def softplus(x, *, beta: float = 1.0):
    ...     return np.logaddexp(0, beta * x) / beta
    >>> softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))
    <Operator softplus(x, beta=), gradients: x>
    >>> torch_softplus = to_torch(softplus)
    >>> x = torch.zeros(2, requires_grad=True)
    >>> torch_softplus(x, beta=2.0).sum().backward()
    >>> x.grad
    tensor([0.5000, 0.5000])
    """
    require("torch")
    require_choice("to_torch", "through", through, THROUGH)
    require_choice("to_torch", "batch", batch, ("loop", "elementwise"))
    require_count("to_torch", outputs)
    operator = operator_of(op, "to_torch")
    return TorchOperator(operator, count_outputs(operator, outputs), name, namespace, through, batch)


def count_outputs(operator: Any, outputs: int | None) -> int:
    """Return how many arrays an operator returns, as said, or as it says."""
    if operator.auxiliary:
        raise ArgumentError(
            f"{operator.__name__} changes its states {', '.join(operator.auxiliary)} in place, and PyTorch's operators "
            "change nothing that they are given. Wrap a function that returns the new states."
        )
    if operator.visible_outputs is not None:
        raise ArgumentError(
            f"{operator.__name__} has outputs that callers do not see, for its gradient. Wrap it in a @customop that "
            "returns what you need, and calls it in its gradient rule."
        )
    if outputs is not None:
        return outputs
    if type(operator.outputs) is LearnedOutputs:
        return operator.outputs.count({}) or 1
    try:
        return len(operator.output_names({}))
    except (KeyError, TypeError):
        raise ArgumentError(
            f"{operator.__name__}: how many arrays it returns hangs on its attributes. Say it: outputs=2."
        ) from None


class TorchOperator:
    """An operator of minpy as one of PyTorch's: see `to_torch`.

    It is called with tensors, as the operator with arrays. It pickles by the operator it was made of.
    """

    def __init__(
        self, operator: Any, num_outputs: int, name: str | None, namespace: str, through: str, batch: str
    ) -> None:
        from minpy.frameworks.torch_eager import caller  # it imports PyTorch
        from minpy.frameworks.torch_registration import registered
        from minpy.frameworks.torch_schema import schema_of

        self.__minpy_operator__ = operator
        self.__name__ = self.__qualname__ = operator.__name__
        self.__doc__ = operator.__doc__
        self._made_with = (num_outputs, name, namespace, through, batch)
        self._registered = registered(operator, schema_of(operator, num_outputs), name, namespace, batch)
        self.through = through
        # Why the latest call did not run as a graph of PyTorch's functions; None if it did.
        self.reason: str | None = "through='numpy' was asked for" if through == "numpy" else None
        self._call: Callable[..., Any] = caller(self._registered, through, self._note)

    def _note(self, reason: str) -> None:
        self.reason = reason or None

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        return self._call(*inputs, **attributes)

    @property
    def op(self) -> Any:
        """The operator that is registered with PyTorch's dispatcher, with the rules it has now: an `OpOverload`."""
        return self._registered.current(self.__minpy_operator__).op

    @property
    def derivative(self) -> Any:
        """The registered operator that all derivatives of this one are: `(values, spec)` to gradients or tangents."""
        return self._registered.current(self.__minpy_operator__).derivative

    def __repr__(self) -> str:
        return f"<TorchOperator {self.op}{self._registered.schema.text}, through {self.through}>"

    def __reduce__(self) -> Any:
        return _restored, (self.__minpy_operator__, *self._made_with)

    def __copy__(self) -> TorchOperator:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchOperator:
        return self


def _restored(
    operator: Any, num_outputs: int, name: str | None, namespace: str, through: str, batch: str
) -> TorchOperator:
    return to_torch(operator, outputs=num_outputs, name=name, namespace=namespace, through=through, batch=batch)
