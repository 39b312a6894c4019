"""Golden cases of probability densities, with their logarithms and gradients."""

# ruff: noqa: E501 - one case is one line of text

PREPARE = """
def draw(*shape, dtype, step=7, modulus=23):
    values = (np.arange(np.prod(shape)) * step % modulus - modulus // 2).reshape(shape) / 8
    return nd.array(values, dtype=dtype)
def backward(function, *inputs):
    for value in inputs:
        value.attach_grad()
    with autograd.record():
        y = function(*inputs)
    several = y if isinstance(y, (list, tuple)) else [y]
    autograd.backward(list(several), [draw(*part.shape, dtype=part.dtype, step=5, modulus=13) for part in several])
    return list(several) + [value.grad for value in inputs]
"""

SAMPLE = "nd.array([[1, 2, 3], [0.5, 0.25, 4]]{d})"
COUNTS = "nd.array([[1, 2, 3], [0, 5, 4]]{d})"
ONE, TWO, PART = "nd.array([1.5, 2.5]{d})", "nd.array([3, 0.5]{d})", "nd.array([0.3, 0.6]{d})"
VECTORS = "nd.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]{d})"
CUBE = "draw(2, 2, 3{d}).abs() + 0.125"
# name, inputs
DENSITIES = [
    ("uniform", [SAMPLE, "nd.array([0, 0.125]{d})", "nd.array([3.5, 5]{d})"]),
    ("normal", [SAMPLE, ONE, TWO]),
    ("gamma", [SAMPLE, ONE, TWO]),
    ("exponential", [SAMPLE, ONE]),
    ("poisson", [COUNTS, ONE]),
    ("negative_binomial", [COUNTS, ONE, PART]),
    ("generalized_negative_binomial", [COUNTS, ONE, TWO]),
    ("dirichlet", [VECTORS, "nd.array([[0.1, 0.4, 0.9], [1, 2, 3]]{d})"]),
]
# name, distribution, inputs
SHAPES = [
    ("normal_each", "normal", ["nd.array([1, 2]{d})", ONE, TWO]),
    ("normal_cubes", "normal", ["draw(2, 2, 2{d})", ONE, TWO]),
    ("poisson_matrices", "poisson", [COUNTS, "draw(2, 3{d}).abs() + 0.5"]),
    ("dirichlet_one", "dirichlet", [VECTORS, "nd.array([0.1, 0.4, 0.9]{d})"]),
    ("dirichlet_cubes", "dirichlet", [CUBE, "nd.array([[0.5, 0.4, 0.9], [1, 2, 3]]{d})"]),
]
PLAIN = [
    ("float16", "nd.random_pdf_normal(nd.array([[1, 2]], dtype='float16'), nd.ones((1,), dtype='float16'), nd.ones((1,), dtype='float16'))"),
    ("int32", "nd.random_pdf_poisson(nd.array([[1, 2]], dtype='int32'), nd.ones((1,), dtype='int32'))"),
    ("inner_name", "nd._internal._random_pdf_exponential(nd.array([[1, 2]]), nd.array([2]))"),
    ("too_many_parameters", "nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,)))"),
    ("parameters_differ", "nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((2,)), nd.ones((1,)))"),
    ("one_parameter_for_all", "nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((1,)), nd.ones((1,)))"),
    ("gamma_at_zero", "nd.random_pdf_gamma(nd.zeros((1,)), nd.array([1.5]), nd.array([3]))"),
    ("poisson_at_zero", "nd.random_pdf_poisson(nd.zeros((1,)), nd.array([1.5]))"),
    ("poisson_below_zero", "nd.random_pdf_poisson(nd.array([-1]), nd.array([1.5]))"),
    ("uniform_outside", "nd.random_pdf_uniform(nd.array([7]), nd.array([0]), nd.array([2]))"),
    ("dirichlet_unnormalised", "nd.random_pdf_dirichlet(nd.array([[1, 2], [2, 3]]), nd.array([2.5, 2.5]))"),
]  # fmt: skip

CASES = [
    (
        f"pdf_{name}{'_log' if is_log else ''}_{dtype}",
        (
            f"{PREPARE}\nresult = backward(lambda *inputs: nd.random_pdf_{distribution}(*inputs, is_log={is_log}), "
            f"{', '.join(inputs).replace('{d}', text)})"
        ),
    )
    for name, distribution, inputs in [*((name, name, inputs) for name, inputs in DENSITIES), *SHAPES]
    for is_log in (False, True)
    for dtype in ("float32", "float64")
    for text in (f", dtype={dtype!r}",)
]
CASES += [(f"pdf_{name}", f"{PREPARE}\nresult = {code}") for name, code in PLAIN]
