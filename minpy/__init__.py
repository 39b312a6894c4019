"""minpy: operators written in plain NumPy, differentiable everywhere."""

from importlib import import_module
from typing import TYPE_CHECKING

from minpy import (
    attribute,
    autograd,
    context,
    executor,
    name,
    namespaces,
    ndarray,
    numpy,
    numpy_extension,
    operator,
    random,
    symbol,
)
from minpy import ndarray as nd
from minpy import numpy as np
from minpy import numpy_extension as npx
from minpy import random as rnd
from minpy import symbol as sym
from minpy.attribute import AttrScope
from minpy.context import Context, cpu, cpu_pinned, cpu_shared, current_context, gpu, num_gpus
from minpy.core.customop import customop
from minpy.core.errors import MXNetError
from minpy.core.switches import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)
from minpy.functional import elementwise_grad, grad, grad_and_loss, hessian, jacobian, jvp, value_and_grad, vjp
from minpy.symbol import Symbol
from minpy.version import __version__

__all__ = [
    "AttrScope",
    "Context",
    "MXNetError",
    "Symbol",
    "__version__",
    "attribute",
    "autograd",
    "context",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "customop",
    "elementwise_grad",
    "executor",
    "gpu",
    "grad",
    "grad_and_loss",
    "hessian",
    "is_np_array",
    "is_np_shape",
    "jacobian",
    "jvp",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_shape",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "operator",
    "random",
    "reset_np",
    "rnd",
    "set_np",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "value_and_grad",
    "visualization",
    "viz",
    "vjp",
]

namespaces.install()
__dir__ = namespaces.listing(__all__)

if TYPE_CHECKING:
    from minpy import test_utils, visualization
    from minpy import visualization as viz
else:
    _LATE = {"test_utils": "test_utils", "visualization": "visualization", "viz": "visualization"}

    def __getattr__(name):
        if name in _LATE:  # tools: most programs use neither, and need not import them
            return globals().setdefault(name, import_module(f"minpy.{_LATE[name]}"))
        text = namespaces.missing_part(name)
        if text is not None:
            raise AttributeError(text)
        return namespaces.missing("minpy", "attribute", __all__)(name)
