"""`mx.contrib.amp`: training and inference in mixed precision."""

from minpy.contrib.amp import amp, lists, loss_scaler
from minpy.contrib.amp.amp import *
from minpy.namespaces import module_functions

__all__ = ["amp", "lists", "loss_scaler"]
__all__ += amp.__all__
__all__.remove("LossScaler")  # these two MXNet does not list here
__all__.remove("convert_bucketing_module")
__dir__, __getattr__ = module_functions(__name__, __all__)
