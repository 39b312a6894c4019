"""Golden cases of `viz.print_summary`: the rows that it prints for networks, and the total."""

TABLE = """
import contextlib, io

def table(symbol, **shapes):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        mx.viz.print_summary(symbol, shape=shapes or None)
    rows = []
    for line in text.getvalue().splitlines()[3:]:
        cells = [line[start:end].strip() for start, end in ((0, 52), (52, 76), (76, 88), (88, 120))]
        if line.startswith('Total'):
            rows.append(line)
        elif cells[0] and line[0] not in '_=':
            rows.append(' | '.join(cells))
        elif cells[3] and line[0] not in '_=':
            rows[-1] += ', ' + cells[3]
    return rows

data = mx.sym.var('data')
"""

UNITS = """
def normalized(x, name):
    x = mx.sym.BatchNorm(x, fix_gamma=False, name=name + '_bn')
    return mx.sym.Activation(x, act_type='relu', name=name + '_relu')

def unit(x, name, filters, stride, project):
    first = normalized(x, name + '_a')
    y = mx.sym.Convolution(first, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), num_filter=filters, no_bias=True,
                           name=name + '_conv1')
    y = mx.sym.Convolution(normalized(y, name + '_b'), kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True,
                           name=name + '_conv2')
    if project:
        x = mx.sym.Convolution(first, kernel=(1, 1), stride=(stride, stride), num_filter=filters, no_bias=True,
                               name=name + '_project')
    return mx.sym.elemwise_add(y, x, name=name + '_add')
"""

NETWORKS = [
    (
        "mlp",
        """
x = mx.sym.FullyConnected(data, num_hidden=128, name='fc1')
x = mx.sym.Activation(x, act_type='relu', name='relu1')
x = mx.sym.FullyConnected(x, num_hidden=64, no_bias=True, name='fc2')
x = mx.sym.Activation(x, act_type='relu', name='relu2')
x = mx.sym.FullyConnected(x, num_hidden=10, name='fc3')
result = table(mx.sym.SoftmaxOutput(x, name='softmax'), data=(32, 784))
""",
    ),
    (
        "lenet",
        """
x = mx.sym.Convolution(data, kernel=(5, 5), num_filter=20, name='conv1')
x = mx.sym.Activation(x, act_type='tanh', name='tanh1')
x = mx.sym.Pooling(x, pool_type='max', kernel=(2, 2), stride=(2, 2), name='pool1')
x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=50, name='conv2')
x = mx.sym.Activation(x, act_type='tanh', name='tanh2')
x = mx.sym.Pooling(x, pool_type='max', kernel=(2, 2), stride=(2, 2), name='pool2')
x = mx.sym.FullyConnected(mx.sym.Flatten(x, name='flatten'), num_hidden=500, name='fc1')
x = mx.sym.Activation(x, act_type='tanh', name='tanh3')
x = mx.sym.FullyConnected(x, num_hidden=10, name='fc2')
result = table(mx.sym.SoftmaxOutput(x, name='softmax'), data=(1, 1, 28, 28))
""",
    ),
    (
        "resnet",
        f"""{UNITS}
x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=16, no_bias=True, name='conv0')
for number, (filters, stride, project) in enumerate([(16, 1, False), (16, 1, False), (32, 2, True), (32, 1, False)]):
    x = unit(x, 'unit%d' % number, filters, stride, project)
x = mx.sym.Pooling(normalized(x, 'last'), global_pool=True, pool_type='avg', kernel=(8, 8), name='pool')
x = mx.sym.FullyConnected(mx.sym.Flatten(x, name='flatten'), num_hidden=10, name='fc')
result = table(mx.sym.SoftmaxOutput(x, name='softmax'), data=(4, 3, 32, 32))
""",
    ),
    (
        "groups",
        """
x = mx.sym.Convolution(data, kernel=(3, 3), num_filter=8, num_group=4, name='grouped')
result = table(x, data=(1, 4, 8, 8))
""",
    ),
    (
        "one_dimension",
        """
result = table(mx.sym.Convolution(data, kernel=(3,), num_filter=8, name='conv'), data=(1, 4, 9))
""",
    ),
    (
        "embedding",
        """
result = table(mx.sym.Embedding(data, input_dim=100, output_dim=5, name='embedding'), data=(2, 3))
""",
    ),
    (
        "dense_on_every_row",
        """
result = table(mx.sym.FullyConnected(data, num_hidden=4, flatten=False, name='fc'), data=(5, 2, 3))
""",
    ),
    (
        "shared_weight",
        """
weight = mx.sym.var('weight')
x = mx.sym.FullyConnected(data, weight=weight, num_hidden=3, no_bias=True, name='fc1')
x = mx.sym.FullyConnected(x, weight=weight, num_hidden=3, no_bias=True, name='fc2')
result = table(x, data=(2, 3))
""",
    ),
    (
        "transposed_convolution",
        """
result = table(mx.sym.Deconvolution(data, kernel=(3, 3), num_filter=8, name='deconv'), data=(1, 4, 8, 8))
""",
    ),
    (
        "layer_norm",
        """
result = table(mx.sym.LayerNorm(data, name='norm'), data=(2, 3))
""",
    ),
    (
        "free_parameter",
        """
scale = mx.sym.var('scale', shape=(1, 3))
result = table(mx.sym.broadcast_mul(data, scale, name='scaled'), data=(2, 3))
""",
    ),
    (
        "two_inputs",
        """
x = mx.sym.FullyConnected(mx.sym.var('x'), num_hidden=3, name='fc1')
y = mx.sym.FullyConnected(mx.sym.var('y'), num_hidden=3, name='fc2')
result = table(mx.sym.elemwise_add(x, y, name='sum'), x=(2, 3), y=(2, 4))
""",
    ),
    (
        "read_twice",
        """
result = table(mx.sym.Concat(data, data, name='twice'), data=(2, 3))
""",
    ),
    (
        "several_outputs",
        """
result = table(mx.sym.SliceChannel(data, num_outputs=3, name='parts'), data=(2, 3))
""",
    ),
]

CASES = [(name, TABLE + network) for name, network in NETWORKS]
