"""Parameters of blocks: `gluon.parameter`."""

from minpy.gluon.parameter.constant import Constant
from minpy.gluon.parameter.messages import DeferredInitializationError
from minpy.gluon.parameter.parameter import Parameter, tensor_types
from minpy.gluon.parameter.parameter_dict import ParameterDict
from minpy.namespaces import listing, missing

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.parameter", "name", __all__)
