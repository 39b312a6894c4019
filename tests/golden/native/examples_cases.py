"""Golden cases of the libraries of `examples/native`: snippets, as those of the other golden files, which find them loaded."""

# ruff: noqa: E501 - one case is one line of text

# Where minpy answers otherwise on purpose: what it does.
DIFFERENCES = {
    "batch_norm_symbol_shapes_of_unknown_dimensions": "shapes of which nothing is known are inferred; MXNet's allocation fails",
}

LIBRARIES = ("gemm", "batch_norm", "softmax_loss", "subgraph", "pass")

# Numbers that are the same everywhere, as they come from no generator.
NUMBERS = """
def numbers(*shape, dtype='float32', shift=0.0, scale=1.0):
    size = int(np.prod(shape))
    return mx.nd.array((np.sin(1.0 + 1.7 * np.arange(size)) * scale + shift).reshape(shape).astype(dtype), dtype=dtype)
def differentiated(function, *arrays, heads=None):
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = function(*arrays)
    y.backward(heads) if heads is not None else y.backward()
    return [y] + [array.grad for array in arrays]
"""

GEMM = NUMBERS + "A, B = numbers(3, 4), numbers(4, 5, shift=0.5)\n"

BATCH_NORM = (
    NUMBERS
    + """
x = numbers(4, 3, 2, 2, shift=2.0)
gamma, beta = numbers(3, shift=1.0), numbers(3)
mean, var = numbers(3, scale=0.1), numbers(3, shift=2.0)
"""
)

# What a graph is: its operators with their names and attributes, without what is of one version of the format. MXNet
# writes the attributes of layers at their weights as well, and lists such as `[,]` of shapes that are not known.
GRAPH = (
    NUMBERS
    + """
import json
def graph(symbol):
    def plain(text):
        read = json.loads(text) if isinstance(text, str) else text
        nodes = [[node['op'], node['name'], attributes(node), [entry[:2] for entry in node['inputs']],
                  [plain(sub) for sub in node.get('subgraphs', [])]] for node in read['nodes']]
        return [nodes, [head[:2] for head in read['heads']]]
    def attributes(node):
        pairs = sorted(node.get('attrs', {}).items())
        return [[key, value] for key, value in pairs
                if value.strip('[],') and (node['op'] != 'null' or key.startswith(('__', 'is', 'arg')))]
    return json.dumps(plain(symbol.tojson()))
a, b = mx.sym.Variable('a'), mx.sym.Variable('b')
def bound(symbol, **arrays):
    mx.nd.waitall()
    args = {name: array for name, array in arrays.items()}
    grads = {name: mx.nd.zeros(array.shape, dtype=array.dtype) for name, array in arrays.items()}
    executor = symbol.bind(mx.cpu(), args, args_grad=grads)
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(output.shape, dtype=output.dtype) * 0.5 for output in outputs])
    return list(outputs) + [grads[name] for name in sorted(grads)]
"""
)

# A network with two branches: exp and log stand before, between and after other operators.
BRANCHES = (
    GRAPH
    + """
e = mx.sym.exp(a, name='e')
l = mx.sym.log(mx.sym.exp(e, name='ee'), name='l')
s = mx.sym.broadcast_add(mx.sym.log(l + 2.0, name='ll'), mx.sym.exp(mx.sym.log(b, name='lb'), name='elb'), name='s')
net = mx.sym.Group([mx.sym.exp(s * 0.1, name='out'), e])
x, y = numbers(2, 3), numbers(2, 3, shift=2.0)
"""
)

NETWORK = (
    GRAPH
    + """
data = mx.sym.Variable('data')
z = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), name='conv1')
z = mx.sym.BatchNorm(z, fix_gamma=False, eps=1e-3, name='bn1')
z = mx.sym.Activation(z, act_type='relu', name='relu1')
z = mx.sym.Pooling(z, kernel=(2, 2), stride=(2, 2), pool_type='max', name='pool1')
z = mx.sym.Dropout(z, p=0.5, name='drop1')
z = mx.sym.Convolution(z, kernel=(3, 3), num_filter=3, num_group=1, no_bias=True, name='conv2') * 2.0 + 0.5
z = mx.sym.BatchNorm(z, name='bn2')
z = mx.sym.identity(mx.sym.Activation(z, act_type='tanh', name='tanh2'), name='same')
z = mx.sym.FullyConnected(z, num_hidden=5, name='fc1')
z = mx.sym.BatchNorm(z, fix_gamma=False, name='bn3')
net = mx.sym.softmax(mx.sym.BlockGrad(z, name='stop'), name='softmax')
shapes, _, aux_shapes = net.infer_shape(data=(2, 1, 8, 8))
args = {name: numbers(*shape, shift=0.1, scale=0.4) for name, shape in zip(net.list_arguments(), shapes) if name != 'data'}
aux = {name: numbers(*shape, shift=1.5 if name.endswith('var') else 0.0, scale=0.5) for name, shape in zip(net.list_auxiliary_states(), aux_shapes)}
x = numbers(2, 1, 8, 8) * mx.nd.array([1.0, 0.3]).reshape((2, 1, 1, 1))
mx.nd.waitall()
def predict(symbol, args, aux):
    executor = symbol.bind(mx.cpu(), {**args, 'data': x}, aux_states=aux)
    return executor.forward(is_train=False)[0]
"""
)

CASES = [
    # Matrix products
    ("gemm_float32", GEMM + "result = differentiated(mx.nd.my_gemm, A, B)"),
    (
        "gemm_float64",
        GEMM + "result = differentiated(mx.nd.my_gemm, numbers(3, 4, dtype='float64'), numbers(4, 5, dtype='float64'))",
    ),
    (
        "gemm_float64_digits",
        GEMM + "x = mx.nd.array([[1.0, 1e-12]], dtype='float64')\nresult = mx.nd.my_gemm(x, x, transpose_b=True)",
    ),
    (
        "gemm_transpose_a",
        GEMM
        + "result = differentiated(lambda a, b: mx.nd.my_gemm(a, b, transpose_a=True), numbers(4, 3), B, heads=numbers(3, 5))",
    ),
    (
        "gemm_transpose_b",
        GEMM
        + "result = differentiated(lambda a, b: mx.nd.my_gemm(a, b, transpose_b=True), A, numbers(5, 4), heads=numbers(3, 5))",
    ),
    (
        "gemm_transpose_both",
        GEMM
        + "result = differentiated(lambda a, b: mx.nd.my_gemm(a, b, transpose_a=True, transpose_b=1), numbers(4, 3), numbers(5, 4), heads=numbers(3, 5))",
    ),
    (
        "gemm_larger_than_a_part",
        GEMM + "result = differentiated(mx.nd.my_gemm, numbers(2, 133), numbers(133, 300), heads=numbers(2, 300))[:2]",
    ),
    (
        "gemm_of_its_own_output",
        GEMM + "result = differentiated(lambda a: mx.nd.my_gemm(mx.nd.my_gemm(a, a), a), numbers(3, 3))",
    ),
    ("gemm_of_a_view", GEMM + "result = mx.nd.my_gemm(numbers(6, 4)[2:5], B)"),
    ("gemm_of_a_transposed_array", GEMM + "result = mx.nd.my_gemm(numbers(4, 3).T, B)"),
    (
        "gemm_one_gradient",
        GEMM + "A.attach_grad()\nwith autograd.record():\n    y = mx.nd.my_gemm(A, B)\ny.backward()\nresult = A.grad",
    ),
    ("gemm_shapes_do_not_fit", GEMM + "result = mx.nd.my_gemm(A, A)"),
    ("gemm_vector", GEMM + "result = mx.nd.my_gemm(A, numbers(4))"),
    ("gemm_mixed_types", GEMM + "result = mx.nd.my_gemm(A, B.astype('float64'))"),
    ("gemm_of_int32", GEMM + "result = mx.nd.my_gemm(A.astype('int32'), B.astype('int32'))"),
    ("gemm_of_float16", GEMM + "result = mx.nd.my_gemm(A.astype('float16'), B.astype('float16'))"),
    ("gemm_three_inputs", GEMM + "result = mx.nd.my_gemm(A, B, B)"),
    ("gemm_wrong_flag", GEMM + "result = mx.nd.my_gemm(A, B, transpose_a='perhaps')"),
    (
        "gemm_symbol_names",
        GRAPH
        + "c = mx.sym.my_gemm(a, b, transpose_b=True, name='c')\nresult = [c.list_arguments(), c.list_outputs(), graph(c)]",
    ),
    (
        "gemm_symbol_shapes",
        GRAPH + "c = mx.sym.my_gemm(a, b, name='c')\nresult = list(c.infer_shape(a=(2, 3), b=(3, 4)))",
    ),
    (
        "gemm_symbol_types",
        GRAPH
        + "c = mx.sym.my_gemm(a, b, name='c')\nresult = [[np.dtype(t).name for t in types] for types in c.infer_type(a='float64')]",
    ),
    ("gemm_symbol_shapes_do_not_fit", GRAPH + "result = list(mx.sym.my_gemm(a, b).infer_shape(a=(2, 3), b=(4, 4)))"),
    (
        "gemm_executor",
        GRAPH + "result = bound(mx.sym.my_gemm(a, b, transpose_a=True) * 2.0, a=numbers(4, 3), b=numbers(4, 2))",
    ),
    (
        "gemm_gluon",
        GEMM
        + """
class Dense(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix='dense_')
        self.weight = self.params.get('weight', shape=(2, 4))
    def hybrid_forward(self, F, x, weight):
        return F.my_gemm(x, weight, transpose_b=True)
result = []
for hybridize in (False, True):
    net = Dense()
    net.initialize()
    net.weight.set_data(numbers(2, 4))
    if hybridize:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.1})
    with autograd.record():
        loss = (net(A) ** 2).sum()
    loss.backward()
    trainer.step(1)
    result += [loss, net.weight.grad(), net.weight.data()]
""",
    ),
    (
        "gemm_gluon_deferred",
        GEMM
        + """
class Dense(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix='dense_')
        self.weight = self.params.get('weight', shape=(0, 2), allow_deferred_init=True)
    def hybrid_forward(self, F, x, weight):
        return F.my_gemm(x, weight)
net = Dense()
net.initialize(mx.init.Constant(0.5))
result = [net(A), net.weight.shape]
""",
    ),
    ("state_gemm", GEMM + "result = differentiated(mx.nd.state_gemm, A, B)"),
    (
        "state_gemm_counts_one_call",
        GEMM + "result = [mx.nd.state_gemm(A, B, count=True), mx.nd.state_gemm(A, B, count=True)]",
    ),
    (
        "state_gemm_counts_in_an_executor",
        GRAPH
        + """
c = mx.sym.state_gemm(a, b, count=True, name='c')
args = {'a': numbers(2, 3), 'b': numbers(3, 2)}
first, second = c.bind(mx.cpu(), args), c.bind(mx.cpu(), args)
result = [c.list_outputs()]
for executor in (first, first, second, first):
    result.append(executor.forward()[1].asnumpy())
""",
    ),
    (
        "state_gemm_differentiated_with_its_count",
        GEMM
        + """
A.attach_grad()
with autograd.record():
    c, count = mx.nd.state_gemm(A, B, count=True, transpose_a=False)
    y = (c * c).sum()
y.backward()
result = [count, A.grad]
""",
    ),
    (
        "state_gemm_in_a_static_graph",
        GEMM
        + """
class Counting(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        return F.state_gemm(x, y, count=True)
net = Counting()
net.hybridize(static_alloc=True, static_shape=True)
result = [net(A, B)[1].asnumpy().copy() for _ in range(3)]
""",
    ),
    # Batch normalization
    (
        "batch_norm_training",
        BATCH_NORM
        + "result = differentiated(lambda x, g, b: mx.nd.my_batch_norm(x, g, b, mean, var), x, gamma, beta, heads=numbers(4, 3, 2, 2)) + [mean, var]",
    ),
    (
        "batch_norm_float64",
        BATCH_NORM
        + "x, gamma, beta, mean, var = (a.astype('float64') for a in (x, gamma, beta, mean, var))\nresult = differentiated(lambda x, g, b: mx.nd.my_batch_norm(x, g, b, mean, var, momentum=0.5), x, gamma, beta, heads=numbers(4, 3, 2, 2, dtype='float64')) + [mean, var]",
    ),
    (
        "batch_norm_inference",
        BATCH_NORM
        + "result = differentiated(lambda x, g, b: mx.nd.my_batch_norm(x, g, b, mean, var, training=False), x, gamma, beta, heads=numbers(4, 3, 2, 2)) + [mean, var]",
    ),
    (
        "batch_norm_of_rows",
        BATCH_NORM
        + "result = differentiated(lambda x, g, b: mx.nd.my_batch_norm(x, g, b, mean, var, eps=0.1), numbers(7, 3), gamma, beta, heads=numbers(7, 3)) + [mean, var]",
    ),
    (
        "batch_norm_twice",
        BATCH_NORM
        + "result = [mx.nd.my_batch_norm(x, gamma, beta, mean, var), mx.nd.my_batch_norm(x, gamma, beta, mean, var), mean, var]",
    ),
    (
        "batch_norm_large_mean",
        BATCH_NORM + "result = mx.nd.my_batch_norm(numbers(4, 3, shift=30000.0), gamma, beta, mean, var)",
    ),
    ("batch_norm_momentum", BATCH_NORM + "result = mx.nd.my_batch_norm(x, gamma, beta, mean, var, momentum=1.5)"),
    ("batch_norm_eps", BATCH_NORM + "result = mx.nd.my_batch_norm(x, gamma, beta, mean, var, eps='small')"),
    ("batch_norm_channels", BATCH_NORM + "result = mx.nd.my_batch_norm(x, numbers(4), beta, mean, var)"),
    ("batch_norm_type", BATCH_NORM + "result = mx.nd.my_batch_norm(x, gamma.astype('float64'), beta, mean, var)"),
    ("batch_norm_one_dimension", BATCH_NORM + "result = mx.nd.my_batch_norm(gamma, gamma, beta, mean, var)"),
    (
        "batch_norm_symbol",
        GRAPH
        + """
v = [mx.sym.Variable(name) for name in ('data', 'gamma', 'beta', 'mean', 'var')]
y = mx.sym.my_batch_norm(*v, name='y')
result = [y.list_arguments(), y.list_auxiliary_states(), y.list_inputs(), [[np.dtype(t).name for t in types] for types in y.infer_type(data='float64')]]
""",
    ),
    (
        "batch_norm_symbol_shapes",
        GRAPH
        + """
v = [mx.sym.Variable('data')] + [mx.sym.Variable(name, shape=(0,)) for name in ('gamma', 'beta', 'mean', 'var')]
result = list(mx.sym.my_batch_norm(*v, name='y').infer_shape(data=(2, 3, 4)))
""",
    ),
    (
        "batch_norm_symbol_shapes_of_unknown_dimensions",
        GRAPH
        + """
v = [mx.sym.Variable(name) for name in ('data', 'gamma', 'beta', 'mean', 'var')]
result = list(mx.sym.my_batch_norm(*v, name='y').infer_shape(data=(2, 3, 4)))
""",
    ),
    (
        "batch_norm_executor",
        BATCH_NORM
        + """
v = [mx.sym.Variable(name) for name in ('data', 'gamma', 'beta', 'mean', 'var')]
y = mx.sym.my_batch_norm(*v, name='y')
args, aux = {'data': x, 'gamma': gamma, 'beta': beta}, {'mean': mean, 'var': var}
grads = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
executor = y.bind(mx.cpu(), args, args_grad=grads, aux_states=aux)
def now(array):
    mx.nd.waitall()
    return array.asnumpy().copy()
result = [now(executor.forward(is_train=True)[0])]
executor.backward(numbers(4, 3, 2, 2))
result += [now(grads[name]) for name in sorted(grads)] + [now(executor.aux_dict['mean']), now(executor.aux_dict['var'])]
result += [now(executor.forward(is_train=False)[0]), now(executor.aux_dict['mean'])]
""",
    ),
    (
        "batch_norm_gluon",
        BATCH_NORM
        + """
class Norm(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix='norm_')
        self.gamma = self.params.get('gamma', shape=(0,), init='ones', allow_deferred_init=True)
        self.beta = self.params.get('beta', shape=(0,), init='zeros', allow_deferred_init=True)
        self.moving_mean = self.params.get('moving_mean', shape=(0,), init='zeros', grad_req='null', allow_deferred_init=True)
        self.moving_var = self.params.get('moving_var', shape=(0,), init='ones', grad_req='null', allow_deferred_init=True)
    def hybrid_forward(self, F, x, gamma, beta, moving_mean, moving_var):
        return F.my_batch_norm(x, gamma, beta, moving_mean, moving_var)
result = []
for hybridize in (False, True):
    net = Norm()
    net.initialize()
    if hybridize:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.1})
    for _ in range(2):
        with autograd.record():
            loss = ((net(x) - 1.0) ** 2).sum()
        loss.backward()
        trainer.step(1)
        result += [loss] + [p.data().asnumpy().copy() for p in (net.gamma, net.beta, net.moving_mean, net.moving_var)]
""",
    ),
    # The loss of a classifier
    (
        "softmax_loss",
        NUMBERS
        + "labels = mx.nd.array([0, 3, 2])\nresult = differentiated(lambda x: mx.nd.my_softmax_loss(x, labels), numbers(3, 4, scale=2.0), heads=numbers(3))",
    ),
    (
        "softmax_loss_float64",
        NUMBERS
        + "labels = mx.nd.array([0, 3, 2], dtype='float64')\nresult = differentiated(mx.nd.my_softmax_loss, numbers(3, 4, dtype='float64'), labels)",
    ),
    (
        "softmax_loss_of_large_scores",
        NUMBERS + "result = mx.nd.my_softmax_loss(numbers(3, 4, scale=1e4), mx.nd.array([0, 1, 2]))",
    ),
    ("softmax_loss_label_too_large", NUMBERS + "result = mx.nd.my_softmax_loss(numbers(3, 4), mx.nd.array([0, 4, 2]))"),
    (
        "softmax_loss_label_is_no_whole_number",
        NUMBERS + "result = mx.nd.my_softmax_loss(numbers(3, 4), mx.nd.array([0, 1.5, 2]))",
    ),
    ("softmax_loss_rows", NUMBERS + "result = mx.nd.my_softmax_loss(numbers(3, 4), mx.nd.array([0, 1]))"),
    # Subgraphs of exp and log
    ("subgraph_values", BRANCHES + "result = bound(net, a=x, b=y)"),
    ("subgraph_graph", BRANCHES + "result = graph(net.optimize_for('exp_log'))"),
    ("subgraph_graph_with_arrays", BRANCHES + "result = graph(net.optimize_for('exp_log', {'a': x, 'b': y}))"),
    (
        "subgraph_graph_without_duplicates",
        BRANCHES + "result = graph(net.optimize_for('exp_log', dedup_subgraph=True))",
    ),
    ("subgraph_partitioned", BRANCHES + "result = bound(net.optimize_for('exp_log', {'a': x, 'b': y}), a=x, b=y)"),
    (
        "subgraph_partitioned_float64",
        BRANCHES
        + "x, y = x.astype('float64'), y.astype('float64')\nresult = bound(net.optimize_for('exp_log', {'a': x, 'b': y}), a=x, b=y)",
    ),
    ("subgraph_min_size", BRANCHES + "result = graph(net.optimize_for('exp_log', min_size=2))"),
    ("subgraph_min_size_of_all", BRANCHES + "result = graph(net.optimize_for('exp_log', min_size=9))"),
    (
        "subgraph_min_size_partitioned",
        BRANCHES + "result = bound(net.optimize_for('exp_log', {'a': x, 'b': y}, min_size=2), a=x, b=y)",
    ),
    ("subgraph_wrong_size", BRANCHES + "result = graph(net.optimize_for('exp_log', min_size='large'))"),
    (
        "subgraph_of_float16_stays",
        GRAPH
        + "n = mx.sym.exp(mx.sym.exp(mx.sym.cast(a, dtype='float16', name='half'), name='e16') , name='f16')\nresult = graph(n.optimize_for('exp_log', {'a': numbers(3)}))",
    ),
    ("subgraph_chosen", BRANCHES + "result = graph(net.optimize_for('exp_log_chosen'))"),
    ("subgraph_chosen_exp", BRANCHES + "result = graph(net.optimize_for('exp_log_chosen', operators='exp'))"),
    ("subgraph_chosen_two", BRANCHES + "result = graph(net.optimize_for('exp_log_chosen', max_size=2))"),
    (
        "subgraph_chosen_two_partitioned",
        BRANCHES + "result = bound(net.optimize_for('exp_log_chosen', {'a': x, 'b': y}, max_size=2), a=x, b=y)",
    ),
    (
        "subgraph_chosen_wrong_operators",
        BRANCHES + "result = graph(net.optimize_for('exp_log_chosen', operators='sin'))",
    ),
    (
        "subgraph_several_outputs",
        GRAPH
        + "e = mx.sym.exp(a, name='e')\nnet = mx.sym.Group([mx.sym.log(e, name='l'), mx.sym.exp(e, name='ee'), e])\nx = numbers(2, 3)\nn = net.optimize_for('exp_log', {'a': x})\nresult = [graph(n)] + bound(n, a=x)",
    ),
    (
        "subgraph_larger_than_a_part",
        GRAPH
        + "n = mx.sym.log(mx.sym.exp(mx.sym.exp(a) * 0.5) + 1.0)\nx = numbers(30, 40)\nresult = [out.asnumpy()[-1] for out in bound(n.optimize_for('exp_log', {'a': x}), a=x)]",
    ),
    (
        "subgraph_files",
        BRANCHES
        + """
n = net.optimize_for('exp_log', {'a': x, 'b': y})
result = bound(mx.sym.load_json(n.tojson()), a=x, b=y)
""",
    ),
    (
        "subgraph_gluon",
        BRANCHES
        + """
class LogSum(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.log(F.sum(F.exp(F.log(F.exp(x))), axis=1))
net = LogSum()
net.hybridize()
net.optimize_for(x, backend='exp_log')
x.attach_grad()
with autograd.record():
    out = net(x)
out.backward()
result = [out, x.grad]
""",
    ),
    # Passes
    ("pass_network", NETWORK + "result = predict(net, args, aux)"),
    (
        "pass_identities_graph",
        NETWORK + "result = graph(net.optimize_for('remove_identities', args, aux, skip_infer=True))",
    ),
    (
        "pass_identities",
        NETWORK
        + "n = net.optimize_for('remove_identities', args, aux)\nresult = [predict(n, args, aux), sorted(args), sorted(aux)]",
    ),
    ("pass_identities_without_arrays", NETWORK + "n = net.optimize_for('remove_identities')\nresult = graph(n)"),
    (
        "pass_dropout_always",
        GRAPH
        + "n = mx.sym.Dropout(mx.sym.Dropout(a, mode='always', name='d1'), name='d2')\nresult = graph(n.optimize_for('remove_identities'))",
    ),
    (
        "pass_identity_of_a_variable",
        GRAPH + "n = mx.sym.identity(a, name='same')\nresult = graph(n.optimize_for('remove_identities'))",
    ),
    (
        "pass_fold_graph",
        NETWORK
        + "n = net.optimize_for('fold_batch_norm', args, aux, skip_infer=True)\nresult = [graph(n), sorted(args), sorted(aux)]",
    ),
    (
        "pass_fold",
        NETWORK
        + "n = net.optimize_for('fold_batch_norm', args, aux)\nmx.nd.waitall()\nresult = [predict(n, args, aux)] + [args[name] for name in sorted(args)]",
    ),
    (
        "pass_both",
        NETWORK
        + "n = net.optimize_for('remove_identities', args, aux, skip_infer=True).optimize_for('fold_batch_norm', args, aux, skip_infer=True)\nmx.nd.waitall()\nresult = [graph(n), predict(n, args, aux)]",
    ),
    ("pass_fold_without_values", NETWORK + "result = graph(net.optimize_for('fold_batch_norm'))"),
    (
        "pass_fold_twice",
        NETWORK
        + "n = net.optimize_for('fold_batch_norm', args, aux, skip_infer=True).optimize_for('fold_batch_norm', args, aux, skip_infer=True)\nresult = graph(n)",
    ),
    (
        "pass_fold_shared_weights",
        GRAPH
        + """
w = mx.sym.Variable('w')
f1 = mx.sym.FullyConnected(a, w, no_bias=True, num_hidden=3, name='f1')
f2 = mx.sym.FullyConnected(b, w, no_bias=True, num_hidden=3, name='f2')
n = mx.sym.Group([f1 * 3.0, f2])
args = {'w': numbers(3, 2)}
n = n.optimize_for('fold_batch_norm', args, {}, skip_infer=True)
mx.nd.waitall()
executor = n.bind(mx.cpu(), {**args, 'a': numbers(2, 2), 'b': numbers(2, 2, shift=1.0)})
result = [graph(n), sorted(args)] + executor.forward()
""",
    ),
    (
        "pass_fold_layer_with_two_readers",
        GRAPH
        + "f = mx.sym.FullyConnected(a, num_hidden=3, name='f')\nresult = graph(mx.sym.Group([f * 2.0, mx.sym.exp(f, name='e')]).optimize_for('fold_batch_norm', skip_infer=True))",
    ),
    (
        "pass_gluon",
        NETWORK
        + """
class Net(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix='net_')
        with self.name_scope():
            self.conv = mx.gluon.nn.Conv2D(3, 3, in_channels=1)
            self.norm = mx.gluon.nn.BatchNorm(in_channels=3)
            self.drop = mx.gluon.nn.Dropout(0.5)
    def hybrid_forward(self, F, x):
        return self.drop(F.relu(self.norm(self.conv(x))))
net = Net()
net.initialize()
for p in net.collect_params().values():
    p.set_data(numbers(*p.shape, shift=1.2))
mx.nd.waitall()
before = net(x)
net.hybridize()
net.optimize_for(x, backend='fold_batch_norm')
result = [before, net(x)]
""",
    ),
]
