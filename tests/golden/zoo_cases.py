"""Golden cases of `gluon.model_zoo`: parameters, graphs and numbers of its networks."""

# ruff: noqa: E501, SIM905 - one case is one line of text

from textwrap import dedent

NAMES = (
    "alexnet densenet121 densenet161 densenet169 densenet201 inceptionv3 mobilenet0.25 mobilenet0.5 mobilenet0.75 "
    "mobilenet1.0 mobilenetv2_0.25 mobilenetv2_0.5 mobilenetv2_0.75 mobilenetv2_1.0 resnet18_v1 resnet34_v1 resnet50_v1 "
    "resnet101_v1 resnet152_v1 resnet18_v2 resnet34_v2 resnet50_v2 resnet101_v2 resnet152_v2 squeezenet1.0 squeezenet1.1 "
    "vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn"
).split()

# For each part of a network: how many parameters, how many numbers, and a hash of names, shapes and initializers; then a
# hash of the graph's operators with their attributes and inputs, and of the names in files of parameters.
TABLE = """
import hashlib, json
def digest(value): return hashlib.sha1(repr(value).encode()).hexdigest()[:12]
net = mx.gluon.model_zoo.vision.{make}
symbol = net(mx.sym.var('data'))
shapes, _, states = symbol.infer_shape(data=(1, 3, {side}, {side}))
table = dict(zip(symbol.list_arguments() + symbol.list_auxiliary_states(), shapes + states))
parts = dict()
for name, parameter in net.collect_params().items():
    part = name.split('_')[1] if name.startswith('net_stage') or name.count('_') > 2 else name.split('_')[1][:5]
    first = parameter.init if isinstance(parameter.init, str) else type(parameter.init).__name__
    parts.setdefault(part, []).append((name, table[name], parameter.grad_req, first))
result = [[part, len(rows), sum(int(np.prod(row[1])) for row in rows), digest(rows)] for part, rows in parts.items()]
nodes = [(node['op'], node['name'], sorted(node.get('attrs', dict()).items()), [place[:2] for place in node['inputs']])
         for node in json.loads(symbol.tojson())['nodes']]
result.append([len(nodes), digest(nodes), digest(sorted(net._collect_params_with_prefix())), digest(repr(net))])
"""

NUMBERS = """
net = mx.gluon.model_zoo.vision.{make}
net.initialize()
wave = np.sin(np.arange(3 * {side} * {side}) * 0.37).reshape((1, 3, {side}, {side})).astype('float32')
net(nd.array(wave))
for number, (name, parameter) in enumerate(sorted(net.collect_params().items())):
    values = np.sin(np.arange(np.prod(parameter.shape)) * 0.71 + number).reshape(parameter.shape)
    if name.endswith(('gamma', 'var')):
        values = 1 + 0.3 * values
    elif name.endswith('weight'):
        values = values * (2 / np.prod(parameter.shape[1:])) ** 0.5
    else:
        values = 0.1 * values
    parameter.set_data(nd.array(values))
result = [net(nd.array(wave)).asnumpy()]
net.hybridize()
result.append(net(nd.array(wave)).asnumpy())
"""

NETWORKS = {
    "resnet18_v1": 64, "resnet50_v1": 32, "resnet18_v2": 32, "resnet50_v2": 64, "mobilenet0.25": 64,
    "mobilenetv2_0.25": 64, "vgg11_bn": 32, "squeezenet1.0": 224, "squeezenet1.1": 212, "densenet121": 224,
}  # fmt: skip

SMALL = {
    "thumbnail_v1": ("resnet.ResNetV1({zoo}.BasicBlockV1, [1, 1], [8, 8, 16], classes=5, thumbnail=True, prefix='net_')", 16),
    "thumbnail_v2": ("resnet.ResNetV2({zoo}.BottleneckV2, [1, 2], [8, 8, 16], classes=5, thumbnail=True, prefix='net_')", 16),
    "dense": ("densenet.DenseNet(8, 4, [2, 1], bn_size=2, dropout=0.3, classes=5, prefix='net_')", 64),
    "vgg": ("VGG([1, 2], [4, 8], classes=5, batch_norm=True, prefix='net_')", 8),
    "mobile": ("MobileNet(0.1, classes=5, prefix='net_')", 32),
    "mobile_v2": ("MobileNetV2(1.5, classes=5, prefix='net_')", 32),
}  # fmt: skip

ERRORS = {
    "unknown": "get_model('resnet18')",
    "version": "get_resnet(3, 18)",
    "layers": "get_resnet(1, 19)",
    "vgg": "get_vgg(12)",
    "densenet": "densenet.get_densenet(5)",
    "squeezenet": "squeezenet.get_squeezenet('2.0')",
    "lists": "ResNetV1(None, [1, 1], [1, 1])",
}

CASES = [
    *[
        (f"zoo_{name}", TABLE.format(make=f"get_model('{name}', prefix='net_')", side=299 if "inc" in name else 224))
        for name in NAMES
    ],
    *[
        (f"zoo_numbers_{name}", NUMBERS.format(make=f"get_model('{name}', classes=7, prefix='net_')", side=side))
        for name, side in NETWORKS.items()
    ],
    *[
        (f"zoo_small_{name}", NUMBERS.format(make=make.format(zoo="mx.gluon.model_zoo.vision"), side=side))
        for name, (make, side) in SMALL.items()
    ],
    *[(f"zoo_error_{name}", f"result = mx.gluon.model_zoo.vision.{call}") for name, call in ERRORS.items()],
    ("zoo_case", "result = mx.gluon.model_zoo.vision.get_model('ResNet18_V1', classes=3, prefix='a_').output.name"),
    ("zoo_hash", "result = [mx.gluon.model_zoo.model_store.short_hash(n) for n in ('alexnet', 'mobilenetv2_1.0')]"),
    ("zoo_no_hash", "result = mx.gluon.model_zoo.model_store.short_hash('lenet')"),
    (
        "zoo_hashes",
        "result = sorted(mx.gluon.model_zoo.model_store._model_sha1.items())",
    ),
    (
        "zoo_auxiliary",
        dedent("""
            net = mx.gluon.model_zoo.vision.inception.make_aux(5)
            net.initialize(mx.init.One())
            x = nd.arange(17 * 17).reshape((1, 1, 17, 17)) / 300
            result = net(x)
        """).strip(),
    ),
    (
        "zoo_relu6_symbol",
        "result = mx.gluon.model_zoo.vision.mobilenet.RELU6(prefix='a_')(mx.sym.var('data')).list_outputs()",
    ),
    (
        "zoo_names",
        dedent("""
            vision = mx.gluon.model_zoo.vision
            with mx.name.NameManager():
                result = [getattr(vision, name)(prefix=name + '_').name for name in ('alexnet', 'vgg11_bn', 'resnet18_v2')]
        """).strip(),
    ),
]
