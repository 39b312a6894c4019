"""Golden cases of the tutorial on custom layers: its classes, as printed, with numbers in place of random ones."""

import re
from pathlib import Path

TUTORIAL = Path(__file__).resolve().parent.parent / "tutorials" / "custom_layers.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
NORMALIZATION, HYBRID_NORMALIZATION, WEIGHTED = BLOCKS[1], BLOCKS[2], BLOCKS[5]

BEGINNING = """
gluon, Dense = mx.gluon, mx.gluon.nn.Dense
X = nd.array(np.sin(np.arange(10) * 1.7).reshape(5, 2) * 10)
LABEL = nd.array(np.cos(np.arange(5) * 2.3).reshape(5, 1))

def fill(net):
    net(X)
    for index, parameter in enumerate(net.collect_params().values()):
        if not parameter.name.endswith('scales'):
            data = parameter.data()
            parameter.set_data(nd.array(np.sin(np.arange(data.size) * 2.3 + index).reshape(data.shape) * 0.5))
    return net

def sequential(layer):
    net = gluon.nn.HybridSequential(prefix='net_')
    with net.name_scope():
        net.add(Dense(5))
        net.add(layer())
        net.add(Dense(1))
    net.initialize()
    return net
"""
TRAINING = """
net = sequential(lambda: NormalizationHybridLayer(hidden_units=5, scales=nd.array([2])))
{hybridize}
fill(net)
mse_loss = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), 'sgd', {{'learning_rate': 0.1, 'momentum': 0.9 }})
result = [list(net.collect_params())]
for _ in range(3):
    with autograd.record():
        output = net(X)
        loss = mse_loss(output, LABEL)
    loss.backward()
    trainer.step(X.shape[0])
    result += [output, loss]
result += [parameter.data() for parameter in net.collect_params().values()]
"""
# What MXNet 1.9.1 hybridizes.
NUMBER = WEIGHTED.replace("mx.init.Constant(scales.asnumpy().tolist())", "mx.init.Constant(2)")


def _defined(classes, program):
    # The classes are executed where `super(Class, self)` finds them: among the variables of the case.
    return f"{BEGINNING}\n{classes}\n{program}"


CASES = [
    ("tutorial_normalization", _defined(NORMALIZATION, "result = NormalizationLayer()(nd.array([1, 2, 3]))")),
    *(
        (
            f"tutorial_hybrid_normalization_{hybridized}",
            _defined(
                HYBRID_NORMALIZATION,
                f"layer = NormalizationHybridLayer()\nlayer.hybridize({hybridized})\n"
                "result = [layer(nd.array([1, 2, 3], ctx=mx.cpu())), layer(X)]",
            ),
        )
        for hybridized in (False, True)
    ),
    *(
        (
            f"tutorial_network_{hybridized}",
            _defined(
                HYBRID_NORMALIZATION,
                f"net = sequential(NormalizationHybridLayer)\nnet.hybridize({hybridized})\nresult = fill(net)(X)",
            ),
        )
        for hybridized in (False, True)
    ),
    ("tutorial_training", _defined(WEIGHTED, TRAINING.format(hybridize=""))),
    ("tutorial_training_hybridized", _defined(WEIGHTED, TRAINING.format(hybridize="net.hybridize()"))),
    ("tutorial_training_of_a_number", _defined(NUMBER, TRAINING.format(hybridize=""))),
    ("tutorial_training_of_a_number_hybridized", _defined(NUMBER, TRAINING.format(hybridize="net.hybridize()"))),
]
