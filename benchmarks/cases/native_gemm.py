"""What C++ buys: a product of matrices with its loops in a good order, beside the naive ones and NumPy's BLAS."""

from __future__ import annotations

from harness.case import Array, Case, Step
from harness.native import library, matrices

case = Case(
    "a product of 512x512 matrices by loops in C++, forward",
    lambda: matrices(512),
    lambda a, b: (a @ b,),
    targets={"naive loops": 0.5, "mxnet": 1.1},
    rtol=1e-3,
    atol=1e-4,
)


@case.implementation("minpy")
def with_minpy(a: Array, b: Array) -> Step:
    import minpy as mx

    mx.library.load(library("gemm"), verbose=False)
    x, y = mx.nd.array(a), mx.nd.array(b)
    return lambda: mx.nd.my_gemm(x, y)


@case.implementation("naive loops", peer="minpy")
def with_naive_loops(a: Array, b: Array) -> Step:
    import minpy as mx

    mx.library.load(library("naive_gemm"), verbose=False)
    x, y = mx.nd.array(a), mx.nd.array(b)
    return lambda: mx.nd.benchmark_naive_gemm(x, y)


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


@case.implementation("numpy")
def with_numpy(a: Array, b: Array) -> Step:
    return lambda: a @ b
