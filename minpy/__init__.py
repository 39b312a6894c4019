"""minpy: operators written in plain NumPy, differentiable everywhere."""

from minpy import autograd, context, ndarray, numpy, operator, random
from minpy import ndarray as nd
from minpy.core.customop import customop
from minpy.core.errors import MXNetError
from minpy.functional import elementwise_grad, grad, grad_and_loss, hessian, jacobian, jvp, value_and_grad, vjp
from minpy.context import Context, cpu, cpu_pinned, cpu_shared, current_context, gpu, num_gpus

__version__ = "0.1.0.dev0"
