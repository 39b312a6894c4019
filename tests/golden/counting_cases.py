"""Golden cases of counting operators, of casts in mixed precision, and of integers that numbers wrap around in."""

# ruff: noqa: E501 - one case is one line of text

START = "I = nd._internal\nx = nd.array([[0, 1, 2, 3], [4, 5, 2, 10]], dtype='{}')\n"

_HISTOGRAMS = (
    ("uniform", "nd.histogram(x, bins=5, range=(0, 5))"),
    ("wide", "nd.histogram(x, bins=3, range=(-1.5, 20))"),
    ("edges", "nd.histogram(x, bins=nd.array([0, 1, 2, 5], dtype=x.dtype))"),
    ("operator", "I._histogram(x, bin_cnt=4, range=(0, 5))"),
    ("outside", "nd.histogram(x, bins=2, range=(11, 12))"),
    ("symbol", "sym.histogram(sym.var('x'), bins=5, range=(0, 5)).eval(x=x)"),
)
_SYMBOLS = (
    ("histogram", "s = sym.histogram(sym.var('x'), bins=5, range=(0, 5))", "x=(3, 4)", "x='float64'"),
    ("edges", "s = sym.histogram(sym.var('x'), bins=sym.var('b'))", "x=(3, 4), b=(6,)", "x='float64', b='float64'"),
    ("amp_cast", "s = sym.amp_cast(sym.var('x'), dtype='float16')", "x=(3, 4)", "x='int32'"),
)
_BACKWARD = """
w = nd.array([1, 0, 1], dtype='{dtype}')
w.attach_grad()
with autograd.record():
    y = {call}
y.backward()
result = [y, w.grad]
"""
_WRAPPED = (
    ("multiply", "int8", "nd.multiply(w, 200)"),
    ("multiply_negative", "uint8", "nd.multiply(w, -1)"),
    ("divide", "uint8", "nd.divide(w, -1)"),
    ("power", "int8", "nd.power(w, 200)"),
    ("power_small", "int8", "nd.power(w, 3)"),
    ("maximum", "int8", "nd.maximum(w, 200)"),
    ("minimum", "uint8", "nd.minimum(w, 300)"),
)

CASES = [
    *(
        (f"histogram_{name}_{dtype}", f"{START.format(dtype)}result = {call}")
        for name, call in _HISTOGRAMS
        for dtype in ("float32", "float64")
    ),
    *(
        (f"{name}_inferred", f"{symbol}\nresult = [s.infer_shape({shapes})[1], [str(np.dtype(t)) for t in s.infer_type({dtypes})[1]]]")
        for name, symbol, shapes, dtypes in _SYMBOLS
    ),
    ("onehot_encode", "result = nd._internal._onehot_encode(nd.array([1, 0, 5]), nd.zeros((3, 3)))"),
    *(
        (f"amp_cast_{dtype}_{wanted}", f"y = nd.amp_cast(nd.array([1, 0], dtype='{dtype}'), dtype='{wanted}')\nresult = [y, str(np.dtype(y.dtype))]")
        for dtype in ("float16", "float32", "int8", "int32", "uint8")
        for wanted in ("float16", "float32")
    ),
    (
        "amp_cast_gradient",
        _BACKWARD.format(dtype="float32", call="nd.amp_cast(w, dtype='float16') * 3"),
    ),
    *((f"wrapped_{name}", _BACKWARD.format(dtype=dtype, call=call)) for name, dtype, call in _WRAPPED),
    ("split_v2_name", "s = sym.split_v2(sym.var('x'), 2, axis=1)\nresult = [s.name, s.list_outputs()]"),
    (
        "location",
        "import importlib\nmodule = importlib.import_module(nd.__name__.split('.')[0] + '.test_utils')\nresult = module.locationError(np.zeros((2, 2)), np.ones((2, 2)), (0, 1), ('a', 'b'), maxError=True)",
    ),
]  # fmt: skip
