"""minpy: operators written in plain NumPy, differentiable everywhere."""

from minpy import autograd, context, ndarray, numpy, operator, random
from minpy import ndarray as nd
from minpy.context import Context, cpu, cpu_pinned, cpu_shared, current_context, gpu, num_gpus
from minpy.core.customop import customop
from minpy.core.errors import MXNetError
from minpy.functional import elementwise_grad, grad, grad_and_loss, hessian, jacobian, jvp, value_and_grad, vjp
from minpy.version import __version__

__all__ = [
    "Context",
    "MXNetError",
    "__version__",
    "autograd",
    "context",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "customop",
    "elementwise_grad",
    "gpu",
    "grad",
    "grad_and_loss",
    "hessian",
    "jacobian",
    "jvp",
    "nd",
    "ndarray",
    "num_gpus",
    "numpy",
    "operator",
    "random",
    "value_and_grad",
    "vjp",
]
