"""Which modules complete those below them: imported when what they complete is used for the first time.

The modules below know the names on the left (`minpy.core.extensions`), and nothing of those on the right.
"""

from __future__ import annotations

from minpy.core.extensions import add_module, provide

__all__ = ["install"]

_EXTENSIONS = {
    "CompiledFunction.export_onnx": "minpy.onnx.exporting.direct:export_function",
    "Executor.export_onnx": "minpy.onnx.exporting.direct:export_executor",
    "HybridBlock.export_onnx": "minpy.onnx.exporting.direct:export_block",
    "Operator.check": "minpy.checking:check_operator",
    "Operator.check frameworks": "minpy.frameworks.checking:check_frameworks",
    "Operator.compile": "minpy.jit.compiled_operators:install",
    "Operator.infer": "minpy.frameworks.inference:infer",
    "Operator.trace_report": "minpy.capture.report:trace_report",
    "Operator.traced": "minpy.frameworks.tracing:traced",
    # The class of arrays that functions written for NumPy, or for MXNet, are given.
    "array of mxnet": "minpy.ndarray.ndarray:NDArray",
    "array of numpy": "minpy.numpy.array_class:ndarray",
    # The operators of nodes that stand for the groups of partitioners written in Python.
    "PythonStrategy.family": "minpy.symbol.graph_operators:GraphOperatorFamily",
    # Updates of large weights run natively, once they have been called often enough.
    "Update.natively": "minpy.backends.native.optimizer_updates:run",
    # Backends, in the order in which they are asked.
    "backends.native": "minpy.backends.native.native_backend:NativeBackend",
    "backends.python": "minpy.backends.python.python_backend:PythonBackend",
    # What MinPy's programs import from `minpy.core`.
    "minpy.core.Function": "minpy.legacy:Function",
    "minpy.core.MXNetSymbolError": "minpy.legacy:MXNetSymbolError",
    "minpy.core.convert_args": "minpy.legacy:convert_args",
    "minpy.core.function": "minpy.legacy:function",
    "minpy.core.grad": "minpy.legacy:grad",
    "minpy.core.grad_and_loss": "minpy.legacy:grad_and_loss",
    "minpy.core.minpy_to_numpy": "minpy.legacy:minpy_to_numpy",
    "minpy.core.numpy_to_minpy": "minpy.legacy:numpy_to_minpy",
    "minpy.core.return_numpy": "minpy.legacy:return_numpy",
    # What MXNet has in `npx`, too.
    "minpy.numpy_extension.get_cuda_compute_capability": "minpy.util:get_cuda_compute_capability",
    # What MinPy's programs call in its NumPy: what chooses, and counts, functions by a policy.
    "minpy.numpy.generate_attrs": "minpy.numpy.mocking:NUMPY.generate_attrs",
    "minpy.numpy.policy": "minpy.numpy.mocking:NUMPY.policy",
    "minpy.numpy.record_op_stat": "minpy.numpy.mocking:NUMPY.record_op_stat",
    "minpy.numpy.set_policy": "minpy.numpy.mocking:NUMPY.set_policy",
    "minpy.numpy.show_op_stat": "minpy.numpy.mocking:NUMPY.show_op_stat",
    "minpy.numpy.random.generate_attrs": "minpy.numpy.mocking:RANDOM.generate_attrs",
    "minpy.numpy.random.policy": "minpy.numpy.mocking:RANDOM.policy",
    "minpy.numpy.random.record_op_stat": "minpy.numpy.mocking:RANDOM.record_op_stat",
    "minpy.numpy.random.set_policy": "minpy.numpy.mocking:RANDOM.set_policy",
    "minpy.numpy.random.show_op_stat": "minpy.numpy.mocking:RANDOM.show_op_stat",
}


def install() -> None:
    """Enter everything; nothing of it is imported."""
    provide(_EXTENSIONS)
    add_module("captured functions", "minpy.gluon.block.own_functions")
    add_module("Operator.check", "minpy.ndarray.checking")
    add_module("Operator.check", "minpy.symbol.checking")
