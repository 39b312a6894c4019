"""Golden cases of whole networks of Gluon's layers: LeNet, and a narrow ResNet-18 for images of 32 x 32.

Two steps of gradient descent by hand, in float64, where numbers of both libraries agree closely; and the graphs.
"""

from textwrap import dedent

LENET = dedent("""
    from json import dumps, loads
    nn = mx.gluon.nn
    shape, classes = (4, 1, 28, 28), 10
    def build():
        net = nn.HybridSequential(prefix='lenet_')
        with net.name_scope():
            net.add(nn.Conv2D(6, 5, padding=2, activation='sigmoid'), nn.AvgPool2D(2, 2),
                    nn.Conv2D(16, 5, activation='tanh'), nn.MaxPool2D(2, 2), nn.Flatten(),
                    nn.Dense(24, activation='relu'), nn.Dense(classes))
        return net
""").strip()

# He et al., Deep Residual Learning for Image Recognition (2016), with one eighth of the channels, and a stem for small
# images.
RESNET = dedent("""
    from json import dumps, loads
    nn = mx.gluon.nn
    shape, classes = (2, 3, 32, 32), 10
    class Residual(mx.gluon.HybridBlock):
        def __init__(self, channels, stride, shortcut, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.body = nn.HybridSequential(prefix='')
                self.body.add(nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(),
                              nn.Activation('relu'), nn.Conv2D(channels, 3, 1, 1, use_bias=False), nn.BatchNorm())
                self.shortcut = None
                if shortcut:
                    self.shortcut = nn.HybridSequential(prefix='')
                    self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())
        def hybrid_forward(self, F, x):
            other = x if self.shortcut is None else self.shortcut(x)
            return F.Activation(other + self.body(x), act_type='relu')
    def build():
        net = nn.HybridSequential(prefix='resnet_')
        with net.name_scope():
            net.add(nn.Conv2D(8, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation('relu'))
            for stage, channels in enumerate((8, 16, 32, 64)):
                part = nn.HybridSequential(prefix=f'stage{stage}_')
                with part.name_scope():
                    part.add(Residual(channels, 2 if stage else 1, stage > 0), Residual(channels, 1, False))
                net.add(part)
            net.add(nn.GlobalAvgPool2D(), nn.Dense(classes))
        return net
""").strip()

# The loss, the outputs, and of each parameter and its gradient a weighted sum; then what the network predicts.
TRAIN = dedent("""
    net = build()
    net.initialize()
    net(nd.zeros(shape))
    net.cast('float64')
    for index, (name, parameter) in enumerate(net.collect_params().items()):
        if name.endswith(('weight', 'bias')):
            values = np.sin(np.arange(parameter.data().size) * 1.7 + index)
            scale = np.sqrt(2 / max(1, np.prod(parameter.shape[1:]))) if name.endswith('weight') else 0.1
            parameter.set_data(nd.array((values * scale).reshape(parameter.shape), dtype='float64'))
    if hybridized:
        net.hybridize(static_alloc=True)
    def weighted(array):
        values = array.asnumpy().ravel()
        return float((values * np.cos(np.arange(values.size))).sum())
    result = []
    for step in range(2):
        x = nd.array(np.sin(np.arange(np.prod(shape)) * (1.3 + step)).reshape(shape), dtype='float64')
        label = nd.array(np.arange(shape[0]) * 3 % classes, dtype='float64')
        with autograd.record():
            out = net(x)
            loss = -nd.pick(nd.log_softmax(out), label).mean()
        loss.backward()
        result += [loss, out]
        moved = []
        for parameter in net.collect_params().values():
            if parameter.grad_req != 'null':
                moved.append(weighted(parameter.grad()))
                parameter.set_data(parameter.data() - 0.05 * parameter.grad())
            moved.append(weighted(parameter.data()))
        result.append(np.array(moved))
    result.append(net(x))
""").strip()

GRAPH = dedent("""
    net = build()
    net.initialize()
    net.hybridize()
    net(nd.zeros(shape))
    nodes = loads(net._cached_graph[1].tojson())['nodes']
    result = [repr(net)] + [
        f"{node['op']} {node['name']} {dumps(node.get('attrs', {}), sort_keys=True)} {node['inputs']}" for node in nodes
    ]
""").strip()

CASES = [
    *[
        (f"networks_gluon_{name}_{mode}", f"{build}\nhybridized = {mode == 'hybridized'}\n{TRAIN}")
        for name, build in (("lenet", LENET), ("resnet18", RESNET))
        for mode in ("eager", "hybridized")
    ],
    ("networks_gluon_lenet_graph", f"{LENET}\n{GRAPH}"),
    ("networks_gluon_resnet18_graph", f"{RESNET}\n{GRAPH}"),
]
