"""Parameters of blocks: `gluon.parameter`."""

from minpy.gluon.parameter.constant import Constant
from minpy.gluon.parameter.messages import DeferredInitializationError
from minpy.gluon.parameter.parameter import Parameter, tensor_types
from minpy.gluon.parameter.parameter_dict import ParameterDict
from minpy.namespaces import module_functions

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
__dir__, __getattr__ = module_functions(__name__, __all__)
