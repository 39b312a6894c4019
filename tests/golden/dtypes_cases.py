"""Golden cases of integers and booleans: operators, numbers beside them, in place, in graphs; ranges and histograms."""

# ruff: noqa: E501 - one case is one line of text

INTEGERS = ("uint8", "int8", "int32", "int64")

# Whose answers for small whole numbers are no more than any of these dtypes holds, and not undefined.
UNARY = {
    "exp": "[0, 1, 4]", "expm1": "[0, 1, 4]", "log": "[1, 2, 90]", "log10": "[1, 10, 99]", "log2": "[1, 8, 100]",
    "log1p": "[0, 1, 100]", "sqrt": "[0, 5, 100]", "rsqrt": "[1, 2, 4]", "cbrt": "[0, 9, 64]", "rcbrt": "[1, 8, 27]",
    "square": "[0, 1, 5]", "reciprocal": "[1, 2, 5]", "sin": "[0, 1, 2]", "cos": "[0, 1, 3]", "tan": "[0, 1, 4]",
    "arcsin": "[0, 1, 0]", "arccos": "[0, 1, 0]", "arctan": "[0, 2, 100]", "sinh": "[0, 1, 5]", "cosh": "[0, 1, 5]",
    "tanh": "[0, 1, 5]", "arcsinh": "[0, 2, 100]", "arccosh": "[1, 2, 100]", "degrees": "[0, 1, 2]", "radians": "[0, 60, 120]",
    "sigmoid": "[0, 1, 5]", "softsign": "[0, 1, 100]", "relu": "[0, 1, 5]", "erf": "[0, 1, 2]", "gamma": "[1, 2, 5]",
    "gammaln": "[1, 2, 20]", "abs": "[0, 1, 5]", "sign": "[0, 1, 5]", "floor": "[0, 1, 5]", "round": "[0, 1, 5]",
}  # fmt: skip
NUMBERS = {
    "plus_2": "x + 2", "plus_fraction": "x + 2.5", "minus_fraction": "x - 2.5", "from_fraction": "7.5 - x", "times_fraction": "x * 2.5",
    "over_2": "x / 2", "over_fraction": "x / 2.5", "number_over": "7 / x", "squared": "x ** 2", "to_the_half": "x ** 0.5",
    "to_minus_1": "x ** -1", "to_minus_3": "x ** -3", "power_of_2": "2 ** x", "mod": "x % 2", "mod_fraction": "x % 2.5",
    "greater": "x > 2.5", "equal": "x == 2.5", "negative": "2 * -x + 20",
}  # fmt: skip
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "nansum", "nanprod", "argmax", "argmin", "norm", "cumsum")


def _integers(dtype):
    x = f"x = nd.array([1, 2, 5], dtype='{dtype}')"
    yield from (
        (f"{name}_{dtype}", f"result = nd.{name}(nd.array({data}, dtype='{dtype}'))") for name, data in UNARY.items()
    )
    yield from ((f"{name}_{dtype}", f"{x}; result = {expression}") for name, expression in NUMBERS.items())
    for name, expression in NUMBERS.items():
        bound = (
            f"s = mx.sym.var('x'); s = {expression.replace('x', 's')}; result = s.bind(mx.cpu(), {{'x': x}}).forward()"
        )
        yield f"{name}_{dtype}_symbol", f"{x}; {bound}"
    for sign in ("+=", "-=", "*=", "/=", "%="):
        for label, other in (("array", f"nd.array([2, 3, 2], dtype='{dtype}')"), ("number", "2"), ("fraction", "2.5")):
            yield (
                f"in_place_{sign}_{label}_{dtype}",
                f"x = nd.array([7, 8, 9], dtype='{dtype}'); x {sign} {other}; result = x",
            )
    yield (
        f"power_of_arrays_{dtype}",
        f"x = nd.array([1, 2, 5], dtype='{dtype}'); result = x ** nd.array([3, 2, 1], dtype='{dtype}')",
    )
    if dtype != "uint8":
        yield (
            f"negative_powers_{dtype}",
            f"x = nd.array([1, -1, 5, -2], dtype='{dtype}'); result = x ** nd.array([-3, -1, -1, -2], dtype='{dtype}')",
        )
    for name in REDUCTIONS:
        yield f"{name}_{dtype}", f"result = nd.{name}(nd.array([[1, 0, 5], [1, 2, 3]], dtype='{dtype}'))"
        yield f"{name}_{dtype}_axis", f"result = nd.{name}(nd.array([[1, 0, 5], [1, 2, 3]], dtype='{dtype}'), axis=0)"
    yield f"mean_of_large_{dtype}", f"result = nd.mean(nd.array([100, 100, 100, 20], dtype='{dtype}'))"
    for name in ("softmax", "LeakyReLU", "sgd_update"):
        arguments = "x, x, lr=0.1" if name == "sgd_update" else "x"
        yield f"{name}_{dtype}", f"{x}; result = nd.{name}({arguments})"


def _booleans():
    x = "x = nd.array([1, 0, 1], dtype='bool')"
    for name, expression in NUMBERS.items():
        if "7 / x" in expression or "-1" in expression or "-3" in expression:  # divisions by zero
            continue
        yield f"{name}_bool", f"{x}; result = {expression}"
        bound = (
            f"s = mx.sym.var('x'); s = {expression.replace('x', 's')}; result = s.bind(mx.cpu(), {{'x': x}}).forward()"
        )
        yield f"{name}_bool_symbol", f"{x}; {bound}"
    for name in ("sum", "mean", "prod", "max", "min", "norm"):
        yield f"{name}_bool", f"result = nd.{name}(nd.array([[1, 0, 1], [1, 1, 1]], dtype='bool'), axis=0)"
    yield "cumsum_bool", f"{x}; result = [nd.cumsum(x), nd.cumsum(x, dtype='int32')]"
    yield "cumsum_bool_symbol", f"{x}; result = mx.sym.cumsum(mx.sym.var('x')).bind(mx.cpu(), {{'x': x}}).forward()"
    yield "exp_bool", f"{x}; result = nd.exp(x)"
    yield "argmax_bool", f"{x}; result = nd.argmax(x)"
    yield "softmax_of_bool", f"{x}; result = nd.softmax(x)"
    yield "in_place_number_bool", f"{x}; x += 2; result = x"
    yield "in_place_fraction_bool", f"{x}; x *= 2.5; result = x"


RANGES = ("1.3, 10, 1.3", "0, 10, 2.5", "-3.7, 3, 1.1", "5, 0, -1.3", "0.5, 5, 0.5", "2.5")


def _ranges():
    for index, bounds in enumerate(RANGES):
        for dtype in (*INTEGERS, "float32", "float64"):
            yield f"arange_{index}_{dtype}", f"result = nd.arange({bounds}, dtype='{dtype}')"
        yield (
            f"arange_{index}_symbol",
            f"result = mx.sym.arange({bounds}, dtype='int32').bind(mx.cpu(), {{}}).forward()",
        )
    yield "arange_repeat_int32", "result = nd.arange(1.3, 10, 1.3, repeat=2, dtype='int32')"
    yield "arange_float16", "result = nd.arange(0.5, 5, 0.5, dtype='float16')"


DATA, ROWS = "nd.array([1, 2, 3])", "nd.array([[1, 2, 3], [4, 5, 6]])"
PICKS = {
    "vector": f"{DATA}, nd.array([1]), axis=0",
    "vector_kept": f"{DATA}, nd.array([1]), axis=0, keepdims=True",
    "vector_last": f"{DATA}, nd.array([2])",
    "one_row": "nd.array([[1, 2, 3]]), nd.array([1])",
    "columns": f"{ROWS}, nd.array([1, 0, 1]), axis=0",
    "rows_kept_index": f"{ROWS}, nd.array([[1], [0]])",
}


def _picks():
    yield from ((f"pick_{name}", f"result = nd.pick({arguments})") for name, arguments in PICKS.items())
    for shape, axis in (((3,), 0), ((1, 3), 1), ((2, 3), 0)):
        call = f"mx.sym.pick(mx.sym.var('d'), mx.sym.var('i'), axis={axis}).infer_shape(d={shape})"
        yield f"pick_inferred_{len(shape)}_{axis}", f"result = [list(shapes) for shapes in {call}]"
    yield (
        "pick_vector_gradient",
        f"x = {DATA}; x.attach_grad()\nwith autograd.record():\n    y = nd.pick(x, nd.array([1]), axis=0) * 2\ny.backward(); result = [y, x.grad]",
    )


def _histograms():
    for dtype in (*INTEGERS, "float32", "float64"):
        x = f"x = nd.array([0, 1, 1, 2, 9], dtype='{dtype}')"
        yield f"histogram_{dtype}", f"{x}; result = nd.histogram(x, bins=3)"
        yield f"histogram_{dtype}_range", f"{x}; result = nd.histogram(x, bins=3, range=(0, 3))"
        yield (
            f"histogram_{dtype}_edges",
            f"{x}; result = nd.histogram(x, bins=nd.array([0, 1, 5, 10], dtype='{dtype}'))",
        )


CASES = [
    *(case for dtype in INTEGERS for case in _integers(dtype)),
    *_booleans(),
    *_ranges(),
    *_picks(),
    *_histograms(),
]
CASES = [(f"dtypes_{name}", snippet) for name, snippet in CASES]
