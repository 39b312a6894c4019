"""Golden cases of operators of native libraries: `operators.c` and `failing.c` of `tests/support/native` are loaded."""

from textwrap import dedent

IMPERATIVE = [
    ("affine", "result = nd.raw_affine(nd.array([[1, 2], [3, 4]]), scale=3, shift=-1)"),
    ("affine_float64", "result = nd.raw_affine(nd.array([1, 2], dtype='float64'), scale=0.1)"),
    ("affine_int8", "result = nd.raw_affine(nd.array([1, -2, 100], dtype='int8'), scale=2)"),
    ("affine_slice", "result = nd.raw_affine(nd.arange(12).reshape((3, 4))[1:], scale=2)"),
    ("affine_transposed", "result = nd.raw_affine(nd.arange(6).reshape((2, 3)).T, scale=2)"),
    ("pair", "result = nd.raw_pair(nd.array([1, 2]), nd.array([3, 4]))"),
    ("cut", "result = nd.raw_cut(nd.arange(6), parts=3)"),
    ("cut_one", "result = nd.raw_cut(nd.arange(6), parts=1)"),
    ("sum", "result = nd.raw_sum(*[nd.full((2,), k) for k in range(5)], count=5)"),
    ("cast_half", "result = nd.raw_cast(nd.array([0.1, 1000.7, -3]), dtype=2)"),
    ("cast_int32", "result = nd.raw_cast(nd.array([0.1, 1000.7, -3]), dtype=4)"),
    ("rows", "result = nd.raw_rows(nd.arange(6).reshape((3, 2)), nd.array([2, 0, 2], dtype='int64'))"),
    ("largest", "result = nd.raw_largest(nd.array([1, 5, 2])).asscalar()"),
    ("dense", "result = nd.raw_dense(nd.arange(6).reshape((2, 3)), nd.ones((4, 3)), hidden=4)"),
    ("description", "result = nd.raw_description(nd.zeros((2, 3), dtype='int32'))"),
    ("workspace", "result = nd.raw_workspace(nd.arange(3), bytes=1000, times=1)"),
    ("hidden", "result = nd._internal._raw_hidden(nd.ones((2,)), scale=5)"),
    ("contributed", "result = nd.contrib.raw_contributed(nd.ones((2,)), scale=5)"),
    ("name_in_op", "result = nd.op.raw_affine(nd.ones((2,)), scale=5)"),
    (
        "out",
        """
        out = nd.zeros((2,))
        nd.raw_affine(nd.ones((2,)), scale=5, out=out)
        result = out
        """,
    ),
    (
        "out_is_input",
        """
        x = nd.array([1, 2])
        nd.raw_affine(x, scale=5, out=x)
        result = x
        """,
    ),
    (
        "random",
        """
        mx.random.seed(42)
        result = [nd.raw_random(nd.zeros((1,)), state=3, count=5) for _ in range(2)]
        """,
    ),
    (
        "random_of_another_seed",
        """
        mx.random.seed(7)
        result = [nd.raw_random(nd.zeros((1,)), state=k, count=3) for k in (0, 1023)]
        """,
    ),
    (
        "versions",
        """
        x, y = nd.zeros((2,)), nd.zeros((2,))
        before = nd.raw_versions(x, y).asnumpy()
        x[:] = 1
        after = nd.raw_versions(x, y).asnumpy()
        result = bool(after[0] > before[0])
        """,
    ),
    ("counted", "result = [nd.raw_counted(nd.ones((2,)), scale=3) for _ in range(2)]"),
    ("told", "result = nd.raw_told(nd.zeros((4, 5), dtype='int8'))"),
    (
        "running",
        """
        mean = nd.array([10])
        result = [nd.raw_running(nd.array([1, 3]), mean), mean]
        """,
    ),
    (
        "remember",
        """
        memory, count = nd.ones((2,)), nd.array([4], dtype='int32')
        result = [nd.raw_remember(memory, nd.array([2, 3]), count), memory, count]
        """,
    ),
    (
        "extra_inputs",
        "result = nd.raw_sum(nd.ones((2,)), nd.ones((2,)), nd.ones((2,)), count=2, __ext_extra_inputs__=1)",
    ),
]

SHOWN = [
    ("flag", "True"),
    ("pair", "(1, 2)"),
    ("nothing", "None"),
    ("real", "1.5"),
    ("words", "'he llo'"),
    ("listed", "[1, 'x']"),
    ("empty", "''"),
    ("letters", "'grün'"),
    ("quotes", "'a \"b\" \\\\'"),
    ("axis", "-1"),
    ("data", "3"),
]
ATTRIBUTES = [
    (
        f"attributes_{key}",
        f"result = bytes(nd.raw_attributes(nd.zeros((1,)), {key}={value}).asnumpy().tolist()).decode()",
    )
    for key, value in SHOWN
] + [
    (
        f"attributes_{key}_symbol",
        f"""
        node = mx.sym.raw_attributes(mx.sym.var('x'), {key}={value})
        result = bytes(node.eval(x=nd.zeros((1,)))[0].asnumpy().tolist()).decode()
        """,
    )
    for key, value in SHOWN
]
ATTRIBUTES += [
    (
        "attributes_noted",
        """
        with mx.AttrScope(ctx_group='dev1', lr_mult='2', __mine__='3'):
            node = mx.sym.raw_attributes(mx.sym.var('x'), own=1, attr={'wd_mult': '4'})
        result = bytes(node.eval(x=nd.zeros((1,)))[0].asnumpy().tolist()).decode()
        """,
    ),
    (
        "attributes_name",
        "result = bytes(nd.raw_attributes(nd.zeros((1,)), name='n', own=1).asnumpy().tolist()).decode()",
    ),
]

GRADIENTS = [
    (
        "gradient_affine",
        """
        x = nd.array([1, 2]); x.attach_grad()
        with autograd.record():
            y = nd.raw_affine(x, scale=3)
        y.backward(nd.array([1, 10]))
        result = x.grad
        """,
    ),
    (
        "gradient_pair",
        """
        x, y = nd.array([1, 2]), nd.array([3, 4])
        x.attach_grad(); y.attach_grad()
        with autograd.record():
            z = nd.raw_pair(x, y)
        autograd.backward(z, [nd.array([1, 10]), nd.array([2, 20])])
        result = [x.grad, y.grad]
        """,
    ),
    (
        "gradient_of_one_output",
        """
        x, y = nd.array([1, 2]), nd.array([3, 4])
        x.attach_grad(); y.attach_grad()
        with autograd.record():
            z = nd.raw_pair(x, y)[1]
        z.backward()
        result = [x.grad, y.grad]
        """,
    ),
    (
        "gradient_of_one_input",
        """
        x, y = nd.array([1, 2]), nd.array([3, 4])
        y.attach_grad()
        with autograd.record():
            z = nd.raw_pair(x, y)[0]
        z.backward()
        result = y.grad
        """,
    ),
    (
        "gradient_added",
        """
        x = nd.array([1, 2]); x.attach_grad('add')
        for _ in range(3):
            with autograd.record():
                y = nd.raw_affine(x, scale=2)
            y.backward()
        result = x.grad
        """,
    ),
    (
        "gradient_rows",
        """
        table = nd.arange(6).reshape((3, 2)); table.attach_grad()
        with autograd.record():
            y = nd.raw_rows(table, nd.array([2, 0, 2], dtype='int64'))
        y.backward()
        result = table.grad
        """,
    ),
    (
        "gradient_counted",
        """
        x = nd.array([1, 2]); x.attach_grad()
        with autograd.record():
            y = nd.raw_counted(nd.raw_counted(x, scale=2), scale=3)
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "gradient_stateful_pair",
        """
        x, y = nd.array([1, 2]), nd.array([3, 4])
        x.attach_grad(); y.attach_grad()
        with autograd.record():
            first, second = nd.raw_stateful_pair(x, y), nd.raw_stateful_pair(y, x)
            z = first[0] + second[1]
        z.backward()
        result = [x.grad, y.grad]
        """,
    ),
    (
        "gradient_running",
        """
        x, mean = nd.array([1, 3]), nd.array([10])
        x.attach_grad()
        with autograd.record():
            y = nd.raw_running(x, mean)
        y.backward()
        result = [y, mean, x.grad]
        """,
    ),
    (
        "gradient_remember",
        """
        memory, x, count = nd.ones((2,)), nd.array([2, 3]), nd.array([4], dtype='int32')
        x.attach_grad()
        with autograd.record():
            y = nd.raw_remember(memory, x, count)
        y.backward()
        result = [y, memory, count, x.grad]
        """,
    ),
    (
        "gradient_missing",
        """
        x = nd.array([1, 2]); x.attach_grad()
        with autograd.record():
            y = nd.raw_plain(x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "gradient_second_order",
        """
        x = nd.array([1, 2]); x.attach_grad()
        with autograd.record():
            y = nd.raw_affine(x, scale=2)
            g = autograd.grad(y, [x], create_graph=True)[0]
            z = g * x
        z.backward()
        result = x.grad
        """,
    ),
    (
        "gradient_storage_insisted_on",
        """
        x = nd.array([1, 2]); x.attach_grad()
        with autograd.record():
            y = nd.raw_storage_dense(x)
        y.backward()
        result = x.grad
        """,
    ),
]

# MXNet writes past its memory where the shape of an input is not known: here all are.
SYMBOLS = [
    ("symbol_arguments", "result = mx.sym.raw_pair(mx.sym.var('x'), mx.sym.var('y'), name='p').list_arguments()"),
    ("symbol_outputs", "result = mx.sym.raw_pair(mx.sym.var('x'), mx.sym.var('y'), name='p').list_outputs()"),
    ("symbol_output", "result = mx.sym.raw_affine(mx.sym.var('x'), name='a').list_outputs()"),
    ("symbol_name", "result = [mx.sym.raw_affine(mx.sym.var('x')).name[:-1] for _ in range(2)]"),
    (
        "symbol_states",
        """
        node = mx.sym.raw_remember(mx.sym.var('m'), mx.sym.var('x'), mx.sym.var('c'), name='r')
        result = [node.list_arguments(), node.list_auxiliary_states(), node.list_inputs()]
        """,
    ),
    (
        "symbol_shapes",
        """
        node = mx.sym.raw_dense(mx.sym.var('x'), mx.sym.var('w'), hidden=5)
        result = [list(map(str, part)) for part in node.infer_shape(x=(4, 3), w=(5, 3))]
        """,
    ),
    (
        "symbol_types",
        """
        node = mx.sym.raw_dense(mx.sym.var('x'), mx.sym.var('w'), hidden=5)
        result = [[np.dtype(one).name for one in part] for part in node.infer_type(x='float64')]
        """,
    ),
    (
        "symbol_state_shapes",
        """
        node = mx.sym.raw_remember(mx.sym.var('m'), mx.sym.var('x'), mx.sym.var('c'), name='r')
        result = [list(map(str, part)) for part in node.infer_shape(x=(2, 3), m=(2, 3), c=(1,))]
        """,
    ),
    (
        "executor_counts",
        """
        bound = mx.sym.raw_counted(mx.sym.var('x'), scale=2).simple_bind(mx.cpu(), x=(2,))
        bound.arg_dict['x'][:] = 1
        result = [bound.forward()[0].copy() for _ in range(3)]
        """,
    ),
    (
        "executor_gradients",
        """
        bound = mx.sym.raw_pair(mx.sym.var('x'), mx.sym.var('y')).simple_bind(mx.cpu(), x=(2,), y=(2,))
        bound.arg_dict['x'][:] = nd.array([1, 2])
        bound.arg_dict['y'][:] = nd.array([3, 4])
        bound.forward(is_train=True)
        bound.backward([nd.ones((2,)), nd.ones((2,))])
        result = [bound.grad_dict['x'], bound.grad_dict['y']]
        """,
    ),
    (
        "executor_added_gradients",
        """
        bound = mx.sym.raw_affine(mx.sym.var('x'), scale=2).simple_bind(mx.cpu(), grad_req='add', x=(2,))
        for _ in range(3):
            bound.forward(is_train=True)
            bound.backward([nd.ones((2,))])
        result = bound.grad_dict['x']
        """,
    ),
    (
        "executor_states",
        """
        node = mx.sym.raw_running(mx.sym.var('x'), mx.sym.var('mean'))
        bound = node.bind(mx.cpu(), {'x': nd.array([1, 3])}, aux_states={'mean': nd.array([10])})
        for _ in range(2):
            out = bound.forward(is_train=False)[0]
        result = [out, bound.aux_dict['mean']]
        """,
    ),
    (
        "json",
        """
        node = mx.sym.raw_cut(mx.sym.var('x'), parts=2, name='c')
        again = mx.sym.load_json(node.tojson())
        result = [again.list_outputs(), again.eval(x=nd.arange(4))]
        """,
    ),
]

BLOCK = """
        class Block(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return F.raw_counted(x, scale=2)
        block = Block()
"""
GLUON = [
    (f"block_{name}", f"{BLOCK}        {line}\n        result = [block(nd.ones((2,))) for _ in range(3)]\n")
    for name, line in (
        ("plain", "pass"),
        ("hybridized", "block.hybridize()"),
        ("static", "block.hybridize(static_alloc=True, static_shape=True)"),
    )
]

STATIC = """
        class Block(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return F.raw_counted(x, scale=1)
        class Two(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x, y):
                return F.raw_counted(x), F.raw_counted(F.raw_counted(y))
        def static(kind=Block):
            block = kind()
            block.hybridize(static_alloc=True, static_shape=True)
            return block
        block, counts = static(), []
        x = nd.ones((1,))
        x.attach_grad()
        def call(recorded, **how):
            if not recorded:
                y = block(nd.ones((1,)))
            else:
                with mx.autograd.record(**how):
                    y = block(x)
            counts.append(float(y.asnumpy()[0]))
            return y if recorded else None
"""
# Static blocks: which state a call has, when others are in flight, of other modes, or of other shapes.
STATES = (
    ("in_flight", "ys = [call(True) for _ in range(3)]\nfor y in reversed(ys):\n    y.backward()", "[counts, x.grad]"),
    ("chained", "with mx.autograd.record():\n    y = block(block(x))\ny.backward()", "[y, x.grad]"),
    (
        "sum_in_flight",
        """
        for _ in range(3):
            call(False)
        with mx.autograd.record():
            y = block(x) + block(2 * x)
        y.backward()
        """,
        "[y, x.grad]",
    ),
    ("overwritten", "for _ in range(4):\n    y = call(True)", "counts"),
    ("done", "for _ in range(4):\n    y = call(True)\n    y.backward()", "counts"),
    (
        "retained",
        """
        y = call(True)
        y.backward(retain_graph=True)
        z = call(True)
        y.backward()
        w = call(True)
        """,
        "counts",
    ),
    ("modes", "for recorded in (0, 0, 1, 1, 0, 1, 1, 0):\n    y = call(recorded)\n    y = None", "counts"),
    (
        "training",
        """
        for how in (True, False, True):
            y = call(True, train_mode=how)
            y = None
        with mx.autograd.train_mode():
            call(False)
        call(False)
        """,
        "counts",
    ),
    ("predicted_in_flight", "y = call(True)\ncall(False)\ncall(False)\ny.backward()\ncall(False)", "[counts, x.grad]"),
    (
        "first_that_is_free",
        """
        for _ in range(3):
            y = call(True)
            y = None
        first = call(True)
        second = call(True)
        first = None
        second = None
        ys = [call(True) for _ in range(4)]
        ys[2] = None
        ys[1] = None
        ys[0] = None
        ys += [call(True) for _ in range(3)]
        """,
        "counts",
    ),
    (
        "shapes",
        """
        block = static(Two)
        for n, m in ((1, 1), (1, 1), (1, 2), (1, 2), (2, 2), (1, 1)):
            counts.append([float(one.asnumpy()[0]) for one in block(nd.ones((n,)), nd.ones((m,)))])
        """,
        "counts",
    ),
)
GLUON += [
    (f"static_{name}", f"{dedent(STATIC)}\n{dedent(text).strip()}\nresult = {result}\n")
    for name, text, result in STATES
]

REFUSED = [
    ("refused_arity", "result = nd.raw_pair(nd.ones((2,)))"),
    ("refused_arity_symbol", "result = mx.sym.raw_pair(mx.sym.var('x'))"),
    ("refused_parse", "result = nd.raw_fail(nd.ones((2,)), at='parse')"),
    ("refused_shape", "result = nd.raw_fail(nd.ones((2,)), at='shape', message='bad')"),
    ("refused_type", "result = nd.raw_fail(nd.ones((2,)), at='type', message='bad')"),
    ("refused_forward", "result = nd.raw_fail(nd.ones((2,)), at='forward', message='bad'); result.wait_to_read()"),
    ("refused_mutate", "result = nd.raw_fail_mutate(nd.ones((2,)), at='mutate', message='bad')"),
    ("refused_storage", "result = nd.raw_fail_storage(nd.ones((2,)), at='storage', message='bad')"),
    ("refused_create", "result = nd.raw_fail_state(nd.ones((2,)), at='create', message='bad')"),
    ("refused_parts", "result = nd.raw_cut(nd.ones((2,)))"),
    ("refused_gpu", "result = nd.raw_gpu_only(nd.ones((2,)))"),
    ("refused_shapes", "result = nd.raw_pair(nd.ones((2,)), nd.ones((3,)))"),
    ("refused_types", "result = nd.raw_pair(nd.ones((2,)), nd.ones((2,), dtype='float64'))"),
]

CASES = [
    (f"native_{name}", dedent(snippet))
    for name, snippet in IMPERATIVE + ATTRIBUTES + GRADIENTS + SYMBOLS + GLUON + REFUSED
]

# Where minpy's answer is another on purpose: `differences.py` says why.
DIFFERENT = {
    "native_gradient_added": {"kind": "array", "shape": [2], "dtype": "float32", "values": [6.0, 6.0]},
    "native_executor_added_gradients": {"kind": "array", "shape": [2], "dtype": "float32", "values": [6.0, 6.0]},
    "native_gradient_storage_insisted_on": {"kind": "array", "shape": [2], "dtype": "float32", "values": [1.0, 1.0]},
}
