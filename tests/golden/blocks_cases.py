"""Golden cases of Gluon's blocks and parameters: names, sharing, files, forms of what blocks return, parameters' states."""

# ruff: noqa: E501 - one case is one line of text

START = """
import os, tempfile, warnings
warnings.simplefilter('ignore')
gluon, nn = mx.gluon, mx.gluon.nn

def names(block):
    return list(block.collect_params().keys())

def places(block):
    return list(block._collect_params_with_prefix().keys())

def filled(block):
    for number, parameter in enumerate(block.collect_params().values()):
        if parameter._data is not None and not isinstance(parameter, gluon.Constant):
            size = int(np.prod(parameter.shape))
            parameter.set_data(nd.array((np.arange(size) % 7 * 0.25 - 0.5 + number * 0.125).reshape(parameter.shape)))
    return block

def mlp(**options):
    net = nn.HybridSequential(**options)
    with net.name_scope():
        net.add(nn.Dense(3, activation='relu'))
        net.add(nn.Dense(2))
    return net

class Mixed(gluon.HybridBlock):
    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            self.first = nn.Dense(3, in_units=4)
            self.shift = self.params.get('shift', shape=(3,), init='ones')
            self.shared = nn.Dense(3, in_units=4, params=self.first.params)
            self.table = self.params.get_constant('table', nd.array([1, 2, 3]))
        self.outside = nn.Dense(2)

    def hybrid_forward(self, F, x, shift, table):
        return self.outside(F.broadcast_mul(self.first(x) + self.shared(x), F.broadcast_add(table, shift)))

class Forms(gluon.HybridBlock):
    def hybrid_forward(self, F, x, y=None, *rest):
        return [x + 1, (x * 2, x if y is None else y), []]

def data(*shape):
    return nd.array((np.arange(int(np.prod(shape))) % 5 * 0.5 - 1).reshape(shape))

def kinds(value):
    if isinstance(value, (list, tuple)):
        return [kinds(one) for one in value]
    return 'none' if value is None else str(value.shape)

def folder():
    return tempfile.mkdtemp()
"""

NAMES = [
    (
        "counts",
        "result = [nn.Dense(1, prefix=None).name.rstrip('0123456789'), nn.Dense(1, prefix='a_').name, nn.Dense(1, prefix='a').name, nn.Dense(1, prefix='').name]",
    ),
    (
        "scope",
        "net = mlp(prefix='net_'); result = [net.prefix, net.name, net.params.prefix, net[0].name, net[1].prefix, net[0].act.prefix, *names(net)]",
    ),
    (
        "scope_again",
        "net = nn.HybridSequential(prefix='n_')\nfor _ in range(2):\n    with net.name_scope():\n        net.add(nn.Dense(2), nn.Dense(3))\nresult = names(net)",
    ),
    (
        "nested",
        "net = nn.HybridSequential(prefix='o_')\nwith net.name_scope():\n    inner = mlp()\n    net.add(inner, mlp(prefix='given_'), nn.Dense(2, prefix=''))\nresult = names(net) + places(net)",
    ),
    (
        "empty_prefix",
        "net = nn.HybridSequential(prefix='e_')\nwith net.name_scope():\n    inner = nn.HybridSequential(prefix='')\n    with inner.name_scope():\n        inner.add(nn.Dense(2), nn.Dense(2))\n    net.add(inner)\n    net.add(nn.Dense(2))\nresult = names(net)",
    ),
    (
        "mixed",
        "net = Mixed(prefix='m_'); result = [name for name in names(net) if name.startswith('m_')] + places(net) + list(net.params.keys())",
    ),
    (
        "select",
        "net = mlp(prefix='net_'); result = [list(net.collect_params(one).keys()) for one in ('.*weight', 'net_dense0.*', 'dense', '.*bias|.*dense1_weight', '')]",
    ),
    (
        "shared",
        "first = nn.Dense(2, in_units=3, prefix='first_'); second = nn.Dense(2, in_units=3, prefix='second_', params=first.params); result = [names(second), second.prefix, second.weight is first.weight, second.params.prefix]",
    ),
    (
        "shared_by_net",
        "first = mlp(prefix='f_'); second = mlp(prefix='s_', params=first.collect_params()); result = [names(second), second[0].weight is first[0].weight]",
    ),
    (
        "slice",
        "net = nn.HybridSequential(prefix='net_')\nwith net.name_scope():\n    net.add(nn.Dense(1), nn.Dense(2), nn.Dense(3))\npart = net[1:]; result = [len(net), len(part), part.prefix, names(part), type(part).__name__, part[0] is net[1], net[-1].name]",
    ),
    (
        "sequential",
        "net = nn.Sequential(prefix='s_')\nwith net.name_scope():\n    net.add(nn.Dense(1), nn.Dense(2))\nresult = [names(net), repr(net), [one.name for one in net]]",
    ),
    (
        "repr",
        "result = [repr(mlp(prefix='a_')), repr(nn.Dense(3, in_units=2, activation='tanh')), repr(Forms()), repr(nn.Activation('relu'))]",
    ),
    (
        "repr_of_parameters",
        "net = Mixed(prefix='m_'); result = [repr(net.params), repr(net.first.weight), repr(net.table), repr(gluon.ParameterDict()), repr(gluon.ParameterDict('p_'))]",
    ),
    ("class_in_name", "class MyBlock(gluon.Block):\n    pass\nresult = MyBlock().prefix.rstrip('0123456789_')"),
    (
        "symbols",
        "net = mlp(prefix='net_'); out = net(mx.sym.var('data')); result = [out.list_arguments(), out.list_outputs(), out.get_internals().list_outputs()]",
    ),
    (
        "symbols_in_scope",
        "net = Mixed(prefix='m_'); out = net(mx.sym.var('x')); result = [name for name in out.get_internals().list_outputs() if name.startswith('m_')]",
    ),
]

PARAMETERS = [
    (
        "shape_unknown",
        "p = gluon.Parameter('w', shape=(2, 0)); before = p.shape; p.shape = (2, 5); result = [before, p.shape]",
    ),
    ("shape_int", "result = gluon.Parameter('w', shape=3).shape"),
    ("shape_none", "result = gluon.Parameter('w').shape is None"),
    ("shape_contradicted", "p = gluon.Parameter('w', shape=(2, 3)); p.shape = (3, 3); result = 1"),
    (
        "get_completes",
        "d = gluon.ParameterDict('p_'); d.get('w', shape=(2, 0)); result = [d.get('w', shape=(0, 3)).shape, list(d.keys())]",
    ),
    (
        "get_contradicts",
        "d = gluon.ParameterDict('p_'); d.get('w', shape=(2, 1)); d.get('w', shape=(3, 1)); result = 1",
    ),
    (
        "get_other_dtype",
        "d = gluon.ParameterDict('p_'); d.get('w', shape=(2, 1)); d.get('w', dtype='float64'); result = 1",
    ),
    (
        "constant",
        "d = gluon.ParameterDict('p_'); c = d.get_constant('c', nd.array([1, 2])); c.initialize(); result = [c.data(), c.grad_req, c.name, d.get_constant('c') is c]",
    ),
    ("constant_of_list", "c = gluon.Constant('c', [[1, 2], [3, 4]]); c.initialize(); result = [c.data(), c.shape]"),
    ("constant_missing", "gluon.ParameterDict('p_').get_constant('c'); result = 1"),
    (
        "grad_req",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(); p.grad_req = 'add'; first = p.grad_req; p.grad_req = 'null'; result = [first, p.grad_req, p.data().grad is None]",
    ),
    ("grad_of_null", "p = gluon.Parameter('w', shape=(2,), grad_req='null'); p.initialize(); p.grad(); result = 1"),
    (
        "not_differentiable",
        "p = gluon.Parameter('w', shape=(2,), differentiable=False); p.grad_req = 'write'; result = p.grad_req",
    ),
    ("uninitialized", "gluon.Parameter('w', shape=(2,)).data(); result = 1"),
    ("unknown_shape", "gluon.Parameter('w', shape=(2, 0)).initialize(); result = 1"),
    ("deferred", "net = nn.Dense(2); net.initialize(); net.weight.data(); result = 1"),
    (
        "contexts",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)]); result = [str(c) for c in p.list_ctx()] + [p.data(mx.cpu(1)), len(p.list_grad())]",
    ),
    (
        "wrong_context",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(ctx=mx.cpu(1)); p.data(mx.cpu(2)); result = 1",
    ),
    (
        "reset_ctx",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(mx.init.One()); p.reset_ctx(mx.cpu(3)); result = [str(c) for c in p.list_ctx()] + [p.data()]",
    ),
    (
        "set_data",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(); p.set_data(nd.array([1, 2])); result = p.data()",
    ),
    (
        "set_data_before",
        "net = nn.Dense(1, use_bias=False); net.initialize(); net.weight.set_data(nd.array([[1, 2]])); result = [net.weight.shape, net(nd.ones((1, 2)))]",
    ),
    ("set_data_shape", "p = gluon.Parameter('w', shape=(2,)); p.initialize(); p.set_data(nd.ones((3,))); result = 1"),
    (
        "cast",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(mx.init.One()); p.cast('float16'); result = [p.data(), p.grad(), str(np.dtype(p.dtype))]",
    ),
    (
        "zero_grad",
        "p = gluon.Parameter('w', shape=(2,), grad_req='add'); p.initialize(mx.init.One())\nfor _ in range(2):\n    with autograd.record():\n        y = p.data() * 3\n    y.backward()\nbefore = p.grad().copy(); p.zero_grad(); result = [before, p.grad()]",
    ),
    (
        "var",
        "v = gluon.Parameter('w', shape=(2, 0), lr_mult=2, init='zeros').var(); result = [v.name, v.list_attr()['__shape__'], v.list_attr()['__lr_mult__'], v.list_attr()['__init__'], v.list_attr()['__dtype__'], v.list_attr()['__storage_type__']]",
    ),
    (
        "initialize_by_own",
        "d = gluon.ParameterDict(); a = d.get('weight', shape=(2,), init=mx.init.Constant(3)); b = d.get('other', shape=(2,)); c = d.get('bias', shape=(2,)); d.initialize(mx.init.Constant(7)); result = [a.data(), b.data(), c.data()]",
    ),
    (
        "reinitialize",
        "p = gluon.Parameter('w', shape=(2,)); p.initialize(mx.init.One()); p.initialize(mx.init.Zero()); first = p.data().copy(); p.initialize(mx.init.Zero(), force_reinit=True); result = [first, p.data()]",
    ),
    (
        "setattr",
        "net = mlp(); net.collect_params().setattr('lr_mult', 0.5); net.collect_params().setattr('grad_req', 'null'); result = [[p.lr_mult for p in net.collect_params().values()], [p.grad_req for p in net.collect_params().values()]]",
    ),
    (
        "update",
        "a = gluon.ParameterDict('a_'); a.get('w', shape=(1,)); b = gluon.ParameterDict('b_', shared=a); b.update(a); result = [list(b.keys()), len(b.items())]",
    ),
    (
        "update_conflict",
        "a = gluon.ParameterDict('a_'); a.get('w'); b = gluon.ParameterDict('a_'); b.get('w'); a.update(b); result = 1",
    ),
    (
        "two_contexts_of_block",
        "net = nn.Dense(2, in_units=3); net.initialize(ctx=[mx.cpu(0), mx.cpu(1)]); result = str(net(nd.ones((1, 3), ctx=mx.cpu(1))).context)",
    ),
]

BLOCKS = [
    ("forms", "result = [kinds(Forms()(data(2))), kinds(Forms()(data(2), None)), kinds(Forms()(data(2), data(3)))]"),
    ("forms_hybrid", "b = Forms(); b.hybridize(); result = kinds(b(data(2), data(3)))"),
    (
        "deferred_shapes",
        "net = mlp(); net.initialize(); net(data(5, 4)); result = [list(p.shape) for p in net.collect_params().values()]",
    ),
    (
        "deferred_shapes_hybrid",
        "net = mlp(); net.initialize(); net.hybridize(); net(data(5, 4)); result = [list(p.shape) for p in net.collect_params().values()]",
    ),
    (
        "infer_shape",
        "net = mlp(); net.infer_shape(data(5, 4)); result = [list(p.shape) for p in net.collect_params().values()]",
    ),
    ("numbers", "net = Mixed(prefix='m_'); net.initialize(); net(data(2, 4)); filled(net); result = net(data(2, 4))"),
    (
        "numbers_hybrid",
        "net = Mixed(prefix='m_'); net.initialize(); net(data(2, 4)); filled(net); net.hybridize(); result = net(data(2, 4))",
    ),
    (
        "gradients_hybrid",
        "net = Mixed(prefix='m_'); net.initialize(); net(data(2, 4)); filled(net); net.hybridize()\nwith autograd.record():\n    y = net(data(2, 4)) + net(data(2, 4) + 1)\ny.backward()\nresult = [p.grad() for p in net.collect_params().values() if p.grad_req != 'null']",
    ),
    ("cast", "net = mlp(); net.initialize(); net.cast('float64'); result = net(data(5, 4).astype('float64')).dtype"),
    (
        "hooks",
        "seen = []; net = mlp(); net.initialize(); one = net.register_forward_pre_hook(lambda b, i: seen.append(('pre', len(i)))); two = net.register_forward_hook(lambda b, i, o: seen.append(('post', o.shape))); net(data(5, 4)); one.detach(); net(data(5, 4)); two.detach(); net(data(5, 4)); result = [list(map(str, row)) for row in seen]",
    ),
    ("apply", "seen = []; net = mlp(prefix='n_'); net.apply(lambda b: seen.append(b.name)); result = seen"),
    ("children", "net = Mixed(prefix='m_'); result = [list(net._children.keys()), sorted(net._reg_params.keys())]"),
    ("no_forward", "class E(gluon.Block):\n    pass\nE()(data(2)); result = 1"),
    ("child_no_block", "nn.HybridSequential().add(3); result = 1"),
    ("child_no_hybrid_block", "nn.HybridSequential().add(nn.Sequential()); result = 1"),
    ("attribute_changes_kind", "net = Mixed(prefix='m_'); net.first = 3; result = 1"),
    ("attribute_replaced", "net = Mixed(prefix='m_'); net.first = nn.Dense(7); result = places(net)"),
    ("no_array", "mlp()(3); result = 1"),
    (
        "value_when_hybrid",
        "class E(gluon.HybridBlock):\n    def hybrid_forward(self, F, x):\n        return x if x.asnumpy().sum() > 0 else -x\ne = E(); e.hybridize(); e(data(2)); result = 1",
    ),
    (
        "stored",
        "path = os.path.join(folder(), 'a.params'); net = mlp(); net.initialize(); net(data(1, 4)); filled(net).save_parameters(path); other = mlp(); other.load_parameters(path); result = [list(nd.load(path).keys()), other(data(2, 4))]",
    ),
    (
        "stored_by_name",
        "path = os.path.join(folder(), 'a.params'); net = mlp(prefix='a_'); net.initialize(); net(data(1, 4)); filled(net).collect_params().save(path); other = mlp(prefix='a_'); other.collect_params().load(path); result = [list(nd.load(path).keys()), other(data(2, 4))]",
    ),
    (
        "stored_without_prefix",
        "path = os.path.join(folder(), 'a.params'); net = mlp(prefix='a_'); net.initialize(); net(data(1, 4)); filled(net).collect_params().save(path, strip_prefix='a_'); other = mlp(prefix='b_'); other.collect_params().load(path, restore_prefix='b_'); result = [list(nd.load(path).keys()), other(data(2, 4))]",
    ),
    (
        "save_params",
        "path = os.path.join(folder(), 'a.params'); net = mlp(prefix='a_'); net.initialize(); net(data(1, 4)); filled(net).save_params(path); other = mlp(prefix='b_'); other.load_params(path); result = [list(nd.load(path).keys()), other(data(2, 4))]",
    ),
    (
        "deduplicated",
        "path = os.path.join(folder(), 'a.params'); net = Mixed(prefix='m_'); net.initialize(); net(data(1, 4)); filled(net).save_parameters(path, deduplicate=True); other = Mixed(prefix='n_'); other.load_parameters(path); result = [list(nd.load(path).keys()), other(data(2, 4))]",
    ),
    (
        "missing",
        "path = os.path.join(folder(), 'a.params'); nd.save(path, {'0.weight': data(3, 4)}); mlp().load_parameters(path); result = 1",
    ),
    (
        "missing_allowed",
        "path = os.path.join(folder(), 'a.params'); nd.save(path, {'0.weight': data(3, 4)}); net = mlp(); net.load_parameters(path, allow_missing=True); result = net[0].weight.data()",
    ),
    (
        "extra",
        "path = os.path.join(folder(), 'a.params'); nd.save(path, {'weight.x': data(3, 4)}); mlp().load_parameters(path, allow_missing=True); result = 1",
    ),
    (
        "other_shape",
        "path = os.path.join(folder(), 'a.params'); net = mlp(); net.initialize(); net(data(1, 4)); net.save_parameters(path); other = nn.HybridSequential(); other.add(nn.Dense(7), nn.Dense(2)); other.load_parameters(path); result = 1",
    ),
    (
        "other_dtype",
        "path = os.path.join(folder(), 'a.params'); net = mlp(); net.cast('float64'); net.initialize(); net(data(1, 4).astype('float64')); net.save_parameters(path); mlp().load_parameters(path); result = 1",
    ),
    (
        "other_dtype_cast",
        "path = os.path.join(folder(), 'a.params'); net = mlp(); net.cast('float64'); net.initialize(); net(data(1, 4).astype('float64')); net.save_parameters(path); result = []\nfor source in ('current', 'saved'):\n    other = mlp(); other.load_parameters(path, cast_dtype=True, dtype_source=source); result.append(other[0].weight.data().dtype)",
    ),
    (
        "exported",
        "base = os.path.join(folder(), 'a'); net = mlp(prefix='a_'); net.initialize(); net.hybridize(); net(data(1, 4)); filled(net); net(data(1, 4)); net.export(base, epoch=3); other = gluon.SymbolBlock.imports(base + '-symbol.json', ['data'], base + '-0003.params'); result = [other(data(2, 4)), names(other), sorted(nd.load(base + '-0003.params').keys())]",
    ),
    (
        "exported_json",
        "base = os.path.join(folder(), 'a'); net = mlp(prefix='a_'); net.initialize(); net.hybridize(); net(data(1, 4)); net.export(base); result = open(base + '-symbol.json').read()",
    ),
    ("exported_too_early", "mlp().export(os.path.join(folder(), 'a')); result = 1"),
    (
        "symbol_block",
        "net = mlp(prefix='a_'); net.initialize(); net(data(1, 4)); filled(net); out = net(mx.sym.var('data')); block = gluon.SymbolBlock(out.get_internals()['a_dense0_relu_fwd_output'], mx.sym.var('data'), params=net.collect_params()); result = [block(data(2, 4)), block.prefix]",
    ),
    (
        "symbol_block_of_several",
        "x, y = mx.sym.var('x'), mx.sym.var('y'); block = gluon.SymbolBlock([x + y, x * y], [x, y]); result = block(data(2), data(2) + 1)",
    ),
    (
        "two_contexts",
        "net = nn.Dense(2, in_units=3); net.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)]); parts = gluon.utils.split_and_load(data(4, 3), [mx.cpu(0), mx.cpu(1)])\nwith autograd.record():\n    out = [net(part) for part in parts]\nfor one in out:\n    one.backward()\nresult = out + net.weight.list_grad()",
    ),
]

GROUPS = {"names": NAMES, "parameters": PARAMETERS, "blocks": BLOCKS}
CASES = [(f"{group}.{name}", START + snippet) for group, rows in GROUPS.items() for name, snippet in rows]
