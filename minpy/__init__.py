"""minpy: operators written in plain NumPy, differentiable everywhere."""

import gc
from os import environ
from typing import TYPE_CHECKING

from minpy.importing import import_module

# What importing makes is here to stay: looking for garbage among it, again and again, was a quarter of the time.
_collected = gc.isenabled()
gc.disable()
try:
    from minpy import context, namespaces, ndarray, random, wiring
    from minpy import ndarray as nd
    from minpy import random as rnd
    from minpy.context import Context, cpu, cpu_pinned, cpu_shared, current_context, gpu, num_gpus
    from minpy.core.customop import customop
    from minpy.core.errors import MXNetError
    from minpy.core.numpy_semantics import (
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
    from minpy.namespaces import install_as_mxnet
    from minpy.version import __version__
finally:
    if _collected:
        if not gc.get_freeze_count():  # to the oldest generation, or enabling begins with a walk over all of it
            gc.freeze()
            gc.unfreeze()
        gc.enable()

__all__ = [
    "AttrScope",
    "Context",
    "MXNetError",
    "Symbol",
    "__version__",
    "attribute",
    "autograd",
    "base",
    "callback",
    "checkpoint",
    "compile",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "customop",
    "deriv",
    "device",
    "differential_operators",
    "dlpack",
    "elementwise_grad",
    "engine",
    "error",
    "executor",
    "executor_manager",
    "extend",
    "gluon",
    "gpu",
    "grad",
    "grad_and_aux",
    "grad_and_loss",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "image",
    "img",
    "init",
    "initializer",
    "install_as_mxnet",
    "io",
    "is_np_array",
    "is_np_shape",
    "jacobian",
    "jvp",
    "kv",
    "kvstore",
    "libinfo",
    "library",
    "log",
    "lr_scheduler",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "metric",
    "misc",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "multigrad_dict",
    "name",
    "nd",
    "ndarray",
    "notebook",
    "np",
    "np_array",
    "np_shape",
    "np_symbol",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "onnx",
    "operator",
    "optimizer",
    "profiler",
    "random",
    "recordio",
    "registry",
    "reset_np",
    "rnd",
    "rnn",
    "rtc",
    "runtime",
    "set_np",
    "set_np_shape",
    "sym",
    "symbol",
    "tensor_jacobian_product",
    "test_util",
    "test_utils",
    "th",
    "torch",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "value_and_grad",
    "vector_jacobian_product",
    "visualization",
    "viz",
    "vjp",
    "vmap",
]

namespaces.install()
wiring.install()
__dir__ = namespaces.listing(__all__)

if TYPE_CHECKING:
    from minpy import (
        attribute,
        autograd,
        base,
        callback,
        contrib,
        device,
        differential_operators,
        dlpack,
        engine,
        error,
        executor,
        executor_manager,
        extend,
        gluon,
        image,
        initializer,
        io,
        kvstore,
        libinfo,
        library,
        log,
        lr_scheduler,
        metric,
        misc,
        model,
        module,
        monitor,
        name,
        notebook,
        numpy,
        numpy_extension,
        onnx,
        operator,
        optimizer,
        profiler,
        recordio,
        registry,
        rnn,
        rtc,
        runtime,
        symbol,
        test_util,
        test_utils,
        torch,
        util,
        visualization,
    )
    from minpy import graph as graph
    from minpy import initializer as init
    from minpy import kvstore as kv
    from minpy import numpy as np
    from minpy import numpy_extension as npx
    from minpy import symbol as sym
    from minpy import torch as th
    from minpy import visualization as viz
    from minpy.attribute import AttrScope
    from minpy.batching.mapping import vmap
    from minpy.compiling import compile as compile  # noqa: A004 - the name that users know
    from minpy.differential_operators import (
        checkpoint,
        deriv,
        grad_and_aux,
        grad_named,
        hessian_tensor_product,
        hessian_vector_product,
        holomorphic_grad,
        make_ggnvp,
        make_hvp,
        make_jvp,
        make_jvp_reversemode,
        make_vjp,
        multigrad_dict,
        tensor_jacobian_product,
        vector_jacobian_product,
    )
    from minpy.functional import elementwise_grad, grad, grad_and_loss, hessian, jacobian, jvp, value_and_grad, vjp
    from minpy.symbol import Symbol
    from minpy.symbol import numpy as np_symbol
else:
    _DEFINED_IN = {
        "AttrScope": "attribute",
        "Config": "dispatch.policy",
        "Symbol": "symbol",
        "checkpoint": "checkpointing",
        "compile": "compiling",
        "deriv": "linear_maps",
        "elementwise_grad": "functional",
        "get_global_policy": "dispatch.policy",
        "grad": "functional",
        "grad_and_aux": "differential_operators",
        "grad_and_loss": "functional",
        "grad_named": "differential_operators",
        "hessian": "functional",
        "hessian_tensor_product": "differential_operators",
        "hessian_vector_product": "differential_operators",
        "holomorphic_grad": "differential_operators",
        "jacobian": "functional",
        "jvp": "functional",
        "make_ggnvp": "linear_maps",
        "make_hvp": "linear_maps",
        "make_jvp": "linear_maps",
        "make_jvp_reversemode": "linear_maps",
        "make_vjp": "linear_maps",
        "multigrad_dict": "differential_operators",
        "set_global_policy": "dispatch.policy",
        "tensor_jacobian_product": "differential_operators",
        "value_and_grad": "functional",
        "vector_jacobian_product": "differential_operators",
        "vjp": "functional",
        "vmap": "batching.mapping",
        "wrap_policy": "dispatch.policy",
    }
    _OF_MINPY = ("array", "array_variants", "dispatch", "nn", "primitive", "tape", "utils")

    def __getattr__(name):
        if name in _OF_MINPY:
            return import_module(f"minpy.{name}")
        if name in namespaces.LATE:
            return globals().setdefault(name, import_module(f"minpy.{namespaces.ALIASES.get(name, name)}"))
        if name in _DEFINED_IN:
            return globals().setdefault(name, getattr(import_module(f"minpy.{_DEFINED_IN[name]}"), name))
        text = namespaces.missing_part(name)
        if text is not None:
            raise AttributeError(text)
        return namespaces.missing("minpy", "attribute", __all__)(name)


if environ.get("MXNET_PROFILER_AUTOSTART", "0") not in ("", "0"):
    from minpy.profiler.control import start_with_program

    start_with_program()
    del start_with_program
