"""Golden cases of `foreach`, `while_loop` and `cond`: numbers and gradients, on arrays and in graphs, and files.

Where a loop ends early, the rest of what MXNet returns is memory that nobody wrote to: no case looks there.
"""

# ruff: noqa: E501, ISC004 - one case is one text

from textwrap import dedent

BEGINNING = """
import re

sym = mx.sym
V = sym.var

def array(values, dtype='float32'):
    return nd.array(np.array(values, dtype), dtype=dtype)

def recorded(function, dtype='float32', **values):
    arrays = {name: array(value, dtype) for name, value in values.items()}
    for one in arrays.values():
        one.attach_grad()
    with autograd.record():
        heads = function(**arrays)
        loss = sum((head * head).sum() for head in heads)
    loss.backward()
    return [list(heads), [one.grad for one in arrays.values()]]

def flat(value):
    return [value] if isinstance(value, sym.Symbol) else [one for part in value for one in flat(part)]

def bound(symbols, dtype='float32', rounds=2, **values):
    net = sym.Group(flat(symbols))
    arrays = {name: array(value, dtype) for name, value in values.items()}
    gradients = {name: nd.zeros(one.shape, dtype=dtype) for name, one in arrays.items()}
    executor = net.bind(mx.cpu(), arrays, gradients)
    for _ in range(rounds):
        outputs = executor.forward(is_train=True)
        executor.backward([one * 2 for one in outputs])
    return [outputs, [gradients[name] for name in sorted(gradients)]]

def written(make):
    with mx.name.NameManager():
        text = sym.Group(flat(make())).tojson()
    return re.sub(r'"__subgraph_name__": "[^"]*"', lambda found: re.sub(r'\\d+', 'N', found.group()), text)

D = [[0.5, -1.0], [2.0, 0.25], [-0.5, 1.5]]
"""

CELL = """
def cell(F, w):
    def body(row, states):
        state = F.tanh(F.dot(row, w) + states[0] * 0.5)
        return [state, [row * states[1]]], [state, states[1] + row.sum()]
    return body
"""

ON_ARRAYS = [
    ("sum", "result = recorded(lambda d, s: nd.contrib.foreach(lambda r, t: (r * t, r + t), d, s), d=D, s=[1., 2.])"),
    (
        "cell",
        CELL
        + """
W = [[0.1, 0.2], [-0.3, 0.4]]
def run(d, w, s):
    (out, (other,)), (last, total) = nd.contrib.foreach(cell(nd, w), d, [s, s])
    return [out, other, last, total]
result = recorded(run, d=[[[v] for v in row] for row in D], w=[[0.7]], s=[[0.5], [1.0]])
""",
    ),
    (
        "lists",
        "result = nd.contrib.foreach(lambda d, s: ([d[0], [d[1] * 2]], [s[0], [s[1][0] + 1]]), [array(D)] * 2, [array([1.]), [array([2.])]])",
    ),
    ("only_states", "result = nd.contrib.foreach(lambda d, s: ([], d + s), array(D), array([1., 2.]))"),
    ("no_states", "result = nd.contrib.foreach(lambda d, s: (d * 2, []), array(D), [])"),
    ("number_as_output", "result = nd.contrib.foreach(lambda d, s: (3, s), array(D), array([1., 2.]))"),
    ("number_as_data", "result = nd.contrib.foreach(lambda d, s: (d, s), 3, array([1., 2.]))"),
    ("number_as_state", "result = nd.contrib.foreach(lambda d, s: (d, s), array(D), 3)"),
    ("no_data", "result = nd.contrib.foreach(lambda d, s: (s, s), [], array([1., 2.]))"),
    ("growing_state", "result = nd.contrib.foreach(lambda d, s: (d, nd.concat(s, s, dim=0)), array(D), array([1.]))"),
    ("growing_output", "result = nd.contrib.foreach(lambda d, s: (s, nd.concat(s, s, dim=0)), array(D), array([1.]))"),
    ("lengths_differ", "result = nd.contrib.foreach(lambda d, s: (d[0], s), [array(D), array(D[:2])], array([1.]))"),
    (
        "nested",
        """
def run(d, s, w):
    def outer(row, total):
        out, total = nd.contrib.foreach(lambda x, t: (x * w + t, t * x), row, total)
        return out * total, total
    return nd.contrib.foreach(outer, d, s)
result = recorded(run, d=D, s=[0.5], w=[3.0])
""",
    ),
    (
        "while",
        """
def run(i, s):
    out, last = nd.contrib.while_loop(lambda i, s: i <= 3, lambda i, s: ([i * s], [i + 1, s + i]), (i, s), max_iterations=4)
    return [*out, *last]
result = recorded(run, i=[0.], s=[2.])
""",
    ),
    (
        "while_full",
        "result = nd.contrib.while_loop(lambda i: i < 9, lambda i: ([i, [i]], i + 1), array([0.]), max_iterations=3)",
    ),
    (
        "while_never",
        "result = nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i + 1), [array([0.])], max_iterations=4)",
    ),
    (
        "while_no_output",
        "result = nd.contrib.while_loop(lambda i: i < 2, lambda i: ([], i + 1), array([0.]), max_iterations=4)",
    ),
    (
        "while_none",
        "result = nd.contrib.while_loop(lambda i: i < 2, lambda i: (None, i + 1), array([0.]), max_iterations=4)",
    ),
    (
        "while_zero",
        "result = nd.contrib.while_loop(lambda i: i < 2, lambda i: (i, i + 1), array([0.]), max_iterations=0)",
    ),
    ("while_no_most", "result = nd.contrib.while_loop(lambda i: i < 2, lambda i: (i, i + 1), array([0.]))"),
    (
        "while_most_as_text",
        "result = nd.contrib.while_loop(lambda i: i < 9, lambda i: (i, i + 1), array([0.]), max_iterations='2')",
    ),
    (
        "while_most_as_word",
        "result = nd.contrib.while_loop(lambda i: i < 9, lambda i: (i, i + 1), array([0.]), max_iterations='x')",
    ),
    (
        "while_fraction",
        "result = nd.contrib.while_loop(lambda i: i < 9, lambda i: (i, i + 1), array([0.]), max_iterations=2.6)",
    ),
    (
        "while_python_bool",
        "result = nd.contrib.while_loop(lambda i: True, lambda i: (i, i + 1), array([0.]), max_iterations=2)",
    ),
    (
        "while_vector",
        "result = nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), array([0., 1.]), max_iterations=2)",
    ),
    (
        "while_fewer_variables",
        "result = nd.contrib.while_loop(lambda i, s: i < 3, lambda i, s: (i, i), [array([0.])] * 2, max_iterations=2)",
    ),
    ("while_no_variables", "result = nd.contrib.while_loop(lambda: True, lambda: (1, []), [], max_iterations=2)"),
    (
        "while_more_outputs",
        "result = nd.contrib.while_loop(lambda i: i < 3, lambda i: ([i] * int(i.asscalar()), i + 1), array([1.]), max_iterations=4)",
    ),
    (
        "cond_true",
        "result = recorded(lambda a, b: [nd.contrib.cond(a.sum() < b.sum(), lambda: a * b, lambda: a - b)], a=[1., 2.], b=[3., 4.])",
    ),
    (
        "cond_false",
        "result = recorded(lambda a, b: [nd.contrib.cond(a.sum() > b.sum(), lambda: a * b, lambda: a - b)], a=[1., 2.], b=[3., 4.])",
    ),
    ("cond_bool", "result = nd.contrib.cond(True, lambda: array([1.]), lambda: array([2.]))"),
    (
        "cond_callable",
        "result = nd.contrib.cond(lambda: array([0.]), lambda: array([1.]), lambda: [array([2.]), (array([3.]),)])",
    ),
    ("cond_vector", "result = nd.contrib.cond(array([0., 1.]), lambda: array([1.]), lambda: array([2.]))"),
]

MAKERS = {
    "sum": ("lambda: sym.contrib.foreach(lambda r, t: (r * t, r + t), V('d'), V('s'))", "d=D, s=[1., 2.]"),
    "captured": (
        "lambda: sym.contrib.foreach(lambda r, t: (r * E + W, [t[0] * r, t[1] + W]), V('d') + 1, [E * 1, V('s')])",
        "d=D, s=[1., 2.], e=[0.5, 2.], w=[3., -1.]",
    ),
    "lists": (
        "lambda: sym.contrib.foreach(lambda d, s: ([d[0], [d[1] * 2, d[0] + d[1]]], [s[0] * 2, [s[1][0] + d[0]]]), "
        "[V('d'), V('x')], [V('s'), [V('t')]])",
        "d=D, x=D, s=[1., 2.], t=[0.5, 0.25]",
    ),
    "only_states": ("lambda: sym.contrib.foreach(lambda d, s: ([], [s[0] * d]), V('d'), [V('s')])", "d=D, s=[1., 2.]"),
    "outputs_twice": (
        "lambda: sym.contrib.foreach(lambda d, s: ([twice(V('x') * 2), d], s * d), V('d'), V('s'))",
        "d=D, s=[1., 2.], x=[1., 3.]",
    ),
    "while_twice": (
        "lambda: sym.contrib.while_loop(lambda i: i < 3, lambda i: twice(i * 2), V('i'), max_iterations=2)",
        "i=[1.]",
    ),
    "no_states": ("lambda: sym.contrib.foreach(lambda d, s: (d * W, []), V('d'), [])", "d=D, w=[1., 2.]"),
    "same_twice": ("lambda: sym.contrib.foreach(lambda d, s: twice(d * s), V('d'), V('s'))", "d=D, s=[1., 2.]"),
    "untouched": ("lambda: sym.contrib.foreach(lambda d, s: (d, s), V('d'), V('s'))", "d=D, s=[1., 2.]"),
    "inner_variable": (
        "lambda: sym.contrib.foreach(lambda d, s: (d * V('q'), s), V('d'), V('s'))",
        "d=D, s=[1.], q=[2., 3.]",
    ),
    "split": ("lambda: sym.contrib.foreach(halves, V('d'), V('s'))", "d=D, s=[1.]"),
    "nested": ("lambda: sym.contrib.foreach(outer, V('d'), V('s'))", "d=D, s=[0.5], w=[3.0]"),
    "dense": (
        "lambda: sym.contrib.foreach(lambda d, s: [sym.tanh(sym.FullyConnected(d, V('w'), V('b'), num_hidden=2) + s)] "
        "* 2, V('d'), V('s'))",
        "d=[D, D], s=[[0.1, 0.2]] * 3, w=[[0.3, -0.5], [0.7, 0.1]], b=[0.5, -1]",
    ),
    "while": (
        "lambda: sym.contrib.while_loop(lambda i, s: i <= 2, lambda i, s: ([i * s * W], [i + 1, s + i]), "
        "(V('i'), V('s')), max_iterations=3)",
        "i=[0.], s=[2.], w=[0.5]",
    ),
    "while_full": (
        "lambda: sym.contrib.while_loop(lambda i, s: i <= 9, lambda i, s: (s * E, [i + 1, s * i + E]), "
        "[V('i'), E + 1], max_iterations=3)",
        "i=[1.], e=[0.5]",
    ),
    "while_no_output": (
        "lambda: sym.contrib.while_loop(lambda i: i < 3, lambda i: ([], i * 2), V('i'), max_iterations=4)",
        "i=[1.]",
    ),
    "while_outside": (
        "lambda: sym.contrib.while_loop(lambda i, s: i <= N, lambda i, s: ([i * s * W], [i + 1, s + i]), "
        "(V('i'), V('s')), max_iterations=5)",
        None,
    ),
    "while_flag": (
        "lambda: sym.contrib.while_loop(lambda i, s: F, lambda i, s: (s, [i, s * W]), [V('i'), V('s')], "
        "max_iterations=3)",
        None,
    ),
    "cond_true": (
        "lambda: sym.contrib.cond(F < N, lambda: [W * N, [W]], lambda: [W - N, [F * W]])",
        "f=[1.], n=[2.], w=[3.]",
    ),
    "cond_false": (
        "lambda: sym.contrib.cond(F > N, lambda: W * N, lambda: W * W - N, name='choice')",
        "f=[1.], n=[2.], w=[3.]",
    ),
    "cond_computed": (
        "lambda: sym.contrib.cond(sym.BlockGrad(E.sum()), lambda: E * W, lambda: W + 0)",
        "e=[1., 2.], w=[3., 4.]",
    ),
    "cond_in_foreach": (
        "lambda: sym.contrib.foreach(lambda d, s: (sym.contrib.cond(d.sum() < s.sum(), lambda: d * 2, lambda: s * W), "
        "s + d), V('d'), V('s'))",
        None,
    ),
    "foreach_in_while": (
        "lambda: sym.contrib.while_loop(lambda i, s: i < 2, lambda i, s: (s, [i + 1, "
        "sym.contrib.foreach(lambda d, t: ([], d * t), V('d'), s)[1]]), [V('i'), V('s')], max_iterations=2)",
        "i=[0.], s=[1., 2.], d=D",
    ),
    "scope": ("scoped", "d=D, s=[1., 2.]"),
}

OF_SYMBOLS = """
W, N, F, e = V('w'), V('n'), V('f'), V('e')
E = sym.square(e, name='squared')

def twice(value):
    return value, value

def halves(d, s):
    parts = sym.split(d, num_outputs=2, axis=0, name='parts')
    return [parts[1], parts[0] * s], s

def outer(row, total):
    out, total = sym.contrib.foreach(lambda x, t: (x * W + t, t * x + row.sum()), row, total)
    return out, total

def scoped():
    with mx.AttrScope(ctx_group='one'), mx.name.Prefix('net_'):
        return sym.contrib.foreach(lambda d, s: (d * 2, s * d), V('d'), V('s'))
"""

REFUSED = [
    ("data_unused", "sym.contrib.foreach(lambda d, s: (s, s), V('d'), V('s'))"),
    ("state_unused", "sym.contrib.foreach(lambda d, s: (d, d), V('d'), V('s'))"),
    ("number_as_output", "sym.contrib.foreach(lambda d, s: (3, s), V('d'), V('s'))"),
    ("number_as_data", "sym.contrib.foreach(lambda d, s: (d, s), 3, V('s'))"),
    ("number_as_state", "sym.contrib.foreach(lambda d, s: (d, s), V('d'), 3)"),
    ("fewer_states", "sym.contrib.foreach(lambda d, s: (d, [s[0]]), V('d'), [V('s'), V('t')])"),
    ("one_result", "sym.contrib.foreach(lambda d, s: d, V('d'), V('s'))"),
    ("while_no_most", "sym.contrib.while_loop(lambda i: i < 2, lambda i: (i, i + 1), V('i'))"),
    ("while_zero", "sym.contrib.while_loop(lambda i: i < 2, lambda i: (i, i + 1), V('i'), max_iterations=0)"),
    (
        "while_unused",
        "sym.contrib.while_loop(lambda i, s: i < s, lambda i, s: (i, [i, i]), [V('i'), V('s')], max_iterations=2)",
    ),
    (
        "while_more_variables",
        "sym.contrib.while_loop(lambda i: i < 2, lambda i: (i, [i, i]), [V('i')], max_iterations=2)",
    ),
    ("while_no_variables", "sym.contrib.while_loop(lambda: 3, lambda: (1, []), [], max_iterations=2)"),
    ("cond_number", "sym.contrib.cond(1, lambda: V('a'), lambda: V('b'))"),
    ("cond_counts", "sym.contrib.cond(V('p'), lambda: V('a'), lambda: [V('b'), V('c')])"),
]

INFERRED = [
    ("shapes", "lists", "infer_shape", "d=(3, 2), x=(3, 2), s=(2,), t=(2,)"),
    ("shapes_back", "dense", "infer_shape", "d=(5, 3, 4), s=(3, 2)"),
    ("shapes_of_state", "dense", "infer_shape", "d=(5, 3, 4)"),
    ("types", "captured", "infer_type", "d='float64', s='float64', e='float64', w='float64'"),
    ("types_while", "while", "infer_type", "i='float16', s='float16', w='float16'"),
]

CASES = [
    *((f"control_flow_{name}", BEGINNING + snippet) for name, snippet in ON_ARRAYS),
    *(
        (
            f"control_flow_{name}_{dtype}",
            BEGINNING + snippet.replace("recorded(", f"recorded(dtype={dtype!r}, function="),
        )
        for name, snippet in ON_ARRAYS
        if "recorded(" in snippet
        for dtype in ("float64",)
    ),
    *(
        (
            f"control_flow_symbol_{name}_{dtype}",
            f"{BEGINNING}{OF_SYMBOLS}\nresult = bound(({make})(), {dtype!r}, {values})",
        )
        for name, (make, values) in MAKERS.items()
        for dtype in ("float32", "float64")
        # MXNet infers neither float64 for conditions nor shapes of those in loops, and fails if they capture variables.
        if values and not (name.startswith("cond") and dtype == "float64")
    ),
    *(
        (f"control_flow_file_{name}", f"{BEGINNING}{OF_SYMBOLS}\nresult = written({make})")
        for name, (make, _) in MAKERS.items()
    ),
    *((f"control_flow_refused_{name}", f"{BEGINNING}\n{call}\nresult = None") for name, call in REFUSED),
    *(
        (
            f"control_flow_{name}",
            f"{BEGINNING}{OF_SYMBOLS}\nnet = sym.Group(flat(({MAKERS[of][0]})()))\n"
            f"result = [list(part) for part in net.{method}({given})]",
        )
        for name, of, method, given in INFERRED
    ),
]
CASES = [(name, dedent(snippet)) for name, snippet in CASES]
