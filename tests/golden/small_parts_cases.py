"""Golden cases of small parts that MXNet's own tests and libraries ask for: groups of contexts, monitors, semantics."""

from textwrap import dedent

BEGINNING = """
sym, gluon = mx.sym, mx.gluon
Scope = mx.AttrScope
where = {'d1': mx.cpu(1), 'd2': mx.cpu(2)}

def stages():
    with Scope(ctx_group='d1'):
        a = sym.var('a')
        b = a * 2
    with Scope(ctx_group='d2'):
        return sym.broadcast_add(b, sym.var('c'), name='sum')

def contexts(executor):
    gradients = [None if g is None else str(g.context) for g in executor.grad_arrays]
    return [str(a.context) for a in executor.arg_arrays], gradients, [str(o.context) for o in executor.outputs]

def kinds(make, array):
    found = []
    for hybridized in (False, True):
        block = make()
        block.initialize()
        if hybridized:
            block.hybridize()
        for _ in range(2):
            with autograd.record():
                out = block(array)
            out.backward()
        parameter = list(block.collect_params().values())[0]
        for one in (out, parameter.data(), parameter.grad(), parameter.list_data()[0]):
            found.append('np' if isinstance(one, mx.np.ndarray) else 'nd')
    return found

@mx.util.use_np
class Scaled(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.w = self.params.get('w', shape=(2,), init='ones', allow_deferred_init=True)
    def hybrid_forward(self, F, x, w):
        return x * w

@mx.util.use_np
class Around(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.inner = gluon.nn.Dense(2)
    def hybrid_forward(self, F, x):
        return self.inner(x)
"""

GROUPS = [
    (
        "small_parts_groups_attributes",
        """
        again = sym.load_json(stages().tojson())
        result = [again.attr_dict()[name]['ctx_group'] for name in ('a', 'c', 'sum')]
        """,
    ),
    (
        "small_parts_groups_simple_bind",
        "result = contexts(stages().simple_bind(mx.cpu(0), group2ctx=where, a=(2,), c=(2,)))",
    ),
    (
        "small_parts_groups_without_map",
        "result = contexts(stages().simple_bind(mx.cpu(0), a=(2,), c=(2,)))",
    ),
    (
        "small_parts_groups_bind",
        """
        arrays = {name: nd.ones((2,), ctx=mx.cpu(number)) for name, number in (('a', 1), ('c', 2))}
        gradients = {name: nd.zeros((2,), ctx=array.context) for name, array in arrays.items()}
        e = stages().bind(mx.cpu(0), arrays, gradients, group2ctx=where)
        e.forward(is_train=True)
        e.backward(nd.ones((2,), ctx=mx.cpu(2)))
        result = contexts(e), e.outputs[0].asnumpy(), [g.asnumpy() for g in e.grad_arrays]
        """,
    ),
    (
        "small_parts_groups_inherited",
        """
        with Scope(ctx_group='d1'):
            f = sym.FullyConnected(sym.var('x'), num_hidden=2, name='f')
        x = sym.var('y')
        with Scope(ctx_group='d2'):
            z = x * 3
        e = sym.Group([f, f * 2, z, x + 1, z + f]).simple_bind(
            mx.cpu(0), grad_req='null', group2ctx=where, x=(2, 3), y=(2, 2))
        result = contexts(e)
        """,
    ),
    (
        "small_parts_groups_unknown",
        "result = contexts(stages().simple_bind(mx.cpu(0), group2ctx={'d1': mx.cpu(1)}, a=(2,), c=(2,)))",
    ),
]

SMALL = [
    (
        "small_parts_optimized_symbol",
        """
        x = sym.var('x')
        e = (sym.exp(x * 2, name='e') + sym.tanh(x * 2, name='t')).simple_bind(mx.cpu(), x=(2,))
        found = e.get_optimized_symbol()
        result = found.list_arguments(), len(found.get_internals().list_outputs())
        """,
    ),
    (
        "small_parts_get_symbol_hybridized",
        """
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(3), gluon.nn.Dense(2, activation='relu'))
        net.initialize()
        net.hybridize()
        x = nd.ones((1, 4))
        x.attach_grad()
        with autograd.record():
            y = net(x) * 2
        result = len(autograd.get_symbol(y).list_arguments())
        """,
    ),
    (
        "small_parts_monitor_names",
        """
        result = []
        y = sym.FullyConnected(sym.var('x'), num_hidden=2, name='f')
        e = y.simple_bind(mx.cpu(), x=(2, 3))
        e.set_monitor_callback(lambda name, array: result.append(mx.base.py_str(name)), True)
        e.forward()
        e.reshape(x=(4, 3), partial_shaping=True, allow_up_sizing=True).forward()
        nd.waitall()
        """,
    ),
    (
        "small_parts_monitor_of_executors",
        """
        y = sym.FullyConnected(sym.var('x'), num_hidden=2, name='f')
        module = mx.mod.Module(y, ['x'], None)
        module.bind([('x', (2, 3))])
        module.init_params()
        monitor = mx.mon.Monitor(1, lambda array: array.sum())
        for executor in module._exec_group.execs:
            monitor.install(executor)
        result = []
        for rows in (2, 4, 2, 3):
            monitor.tic()
            module.forward(mx.io.DataBatch([nd.ones((rows, 3))]), is_train=False)
            result.append([name for _, name, _ in monitor.toc()])
        """,
    ),
    (
        "small_parts_operator_hook_names",
        """
        result = []
        net = gluon.nn.Dense(2, in_units=3, prefix='d_')
        net.initialize()
        net.hybridize()
        text = mx.base.py_str
        net.register_op_hook(lambda name, kind, array: result.append((text(name), text(kind))), True)
        for rows in (2, 4):
            net(nd.ones((rows, 3)))
        nd.waitall()
        """,
    ),
    ("small_parts_features", "result = mx.runtime.Features() is mx.runtime.Features()"),
    (
        "small_parts_operator_arguments",
        """
        found = [mx.operator.get_operator_arguments(name) for name in ('Activation', 'Pooling', 'LeakyReLU', 'topk')]
        result = [[t for t in one.types if t.startswith('{') and 'NCHW' not in t and 'float' not in t] for one in found]
        result += [list(one.types) for one in map(mx.operator.get_operator_arguments, ('FullyConnected', 'Flatten'))]
        """,
    ),
    ("small_parts_initializer_names", "result = mx.init.NDArray is nd.NDArray, mx.initializer.is_np_array()"),
    (
        "small_parts_own_gradients",
        """
        class InPlace(mx.optimizer.SGD):
            def update(self, index, weight, grad, state):
                grad *= 2
                weight -= grad
            update_multi_precision = update
        mx.test_utils.compare_optimizer(InPlace(), InPlace(), (3,), 'float32')
        result = True
        """,
    ),
    (
        "small_parts_estimator_contexts",
        """
        from importlib import import_module
        Estimator = import_module(mx.gluon.__name__ + '.contrib.estimator').Estimator
        result = []
        for context in ([mx.gpu(0), mx.gpu(100)], mx.gpu(0), 'cpu', [mx.cpu(0), mx.cpu(1)]):
            try:
                net = gluon.nn.Dense(2)
                trainer = gluon.Trainer(net.collect_params(), 'sgd')
                made = Estimator(net, gluon.loss.L2Loss(), trainer=trainer, context=context)
                result.append([str(one) for one in made.context])
            except (AssertionError, ValueError) as error:
                result.append(isinstance(error, AssertionError))
        """,
    ),
    ("small_parts_kvstore_handle", "result = callable(mx.profiler.set_kvstore_handle)"),
]

KINDS = [
    ("small_parts_kinds_of_use_np", "result = kinds(Scaled, mx.np.ones((2, 2)))"),
    ("small_parts_kinds_of_use_np_around", "result = kinds(Around, mx.np.ones((2, 2)))"),
    ("small_parts_kinds_plain", "result = kinds(lambda: gluon.nn.Dense(2), nd.ones((2, 2)))"),
    (
        "small_parts_kinds_set_np",
        """
        mx.npx.set_np()
        try:
            result = kinds(lambda: gluon.nn.Dense(2), mx.np.ones((2, 2)))
        finally:
            mx.npx.reset_np()
        """,
    ),
    (
        "small_parts_use_np_of_inherited",
        """
        class Base:
            def method(self):
                return mx.util.is_np_array()
            def __call__(self):
                return mx.util.is_np_array()
            @property
            def attribute(self):
                return mx.util.is_np_array()
        @mx.util.use_np
        class Derived(Base):
            pass
        one = Derived()
        result = one.method(), one(), one.attribute, Base().method()
        """,
    ),
]

CASES = [(name, BEGINNING + dedent(snippet)) for name, snippet in (*GROUPS, *SMALL, *KINDS)]
