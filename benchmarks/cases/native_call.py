"""What one call of an operator of a native library costs: the same library under minpy and under MXNet."""

from __future__ import annotations

from harness.case import Array, Case, Step
from harness.native import library, matrices

case = Case(
    "an operator of a native library (a product) on 4x4, forward",
    lambda: matrices(4),
    lambda a, b: (a @ b,),
    targets={"mxnet": 0.5},
    limit=15e-6,
)


@case.implementation("minpy")
def with_minpy(a: Array, b: Array) -> Step:
    import minpy as mx

    mx.library.load(library("gemm"), verbose=False)
    x, y = mx.nd.array(a), mx.nd.array(b)
    return lambda: mx.nd.my_gemm(x, y)


@case.implementation("minpy on NumPy arrays", peer="minpy")
def with_minpy_on_numpy_arrays(a: Array, b: Array) -> Step:
    import minpy as mx

    mx.library.load(library("gemm"), verbose=False)
    return lambda: mx.nd.my_gemm(a, b)


@case.implementation("mxnet")
def with_mxnet(a: Array, b: Array) -> Step:
    import mxnet as mx

    mx.library.load(library("gemm"), False)
    x, y = mx.nd.array(a), mx.nd.array(b)

    def step():
        z = mx.nd.my_gemm(x, y)
        z.wait_to_read()
        return z

    return step
