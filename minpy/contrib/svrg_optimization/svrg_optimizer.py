"""The optimizer that MXNet's `SVRGModule` makes: one for weights, and one that stores full gradients."""

from __future__ import annotations

from typing import Any

from minpy import optimizer as opt
from minpy.namespaces import module_functions

__all__: list[str] = []
__dir__, __getattr__ = module_functions(__name__, __all__)


@opt.register
class _AssignmentOptimizer(opt.Optimizer):
    """An optimizer that writes the gradient into the weight: so a store keeps what is pushed.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros(2)
    >>> mx.optimizer.create('_AssignmentOptimizer').update(0, weight, mx.nd.ones(2), None)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Write the gradient into the weight."""
        weight[:] = grad


@opt.register
class _SVRGOptimizer(opt.Optimizer):
    """An optimizer for weights, and an assignment for those whose names end with ``_full``.

    Parameters
    ----------
    default_optimizer : str or Optimizer
        What changes the weights.
    **kwargs
        What it takes.
    """

    def __init__(self, default_optimizer: Any, **kwargs: Any) -> None:
        base = {name: kwargs[name] for name in self._common_names() if name in kwargs}
        super().__init__(**base)
        self.default_opt = (
            default_optimizer
            if isinstance(default_optimizer, opt.Optimizer)
            else opt.create(default_optimizer, **kwargs)
        )
        self.aux_opt = opt.create(_AssignmentOptimizer.__name__)

    @staticmethod
    def _common_names() -> tuple[str, ...]:
        return (
            "rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym",
            "begin_num_update", "multi_precision", "param_dict",
        )  # fmt: skip

    def _is_full(self, index: Any) -> bool:
        """Tell whether an index is that of a full gradient."""
        return str(self.idx2name.get(index, index)).endswith("_full")

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight by the optimizer for weights, or keep a full gradient."""
        (self.aux_opt if self._is_full(index) else self.default_opt).update(index, weight, grad, state)

    def create_state(self, index: Any, weight: Any) -> Any:
        return (self.aux_opt if self._is_full(index) else self.default_opt).create_state(index, weight)
