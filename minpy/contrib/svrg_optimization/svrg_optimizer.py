"""`mx.contrib.svrg_optimization.svrg_optimizer`: it has no public names. `SVRGModule` takes any optimizer as it is."""

from minpy.namespaces import module_functions

__all__: list[str] = []
__dir__, __getattr__ = module_functions(__name__, __all__)
