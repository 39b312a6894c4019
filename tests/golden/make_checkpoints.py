"""Writes the checkpoints that tests load: what MXNet 1.9.1's modules save, and what training that goes on comes to.

Usage, under MXNet 1.9.1: ``python tests/golden/make_checkpoints.py``. Without it, ``check FOLDER`` goes on from a
checkpoint in another folder, and prints the same numbers.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent / "checkpoints"
OPTIONS = {"learning_rate": 0.05, "momentum": 0.9}


def network():
    """A perceptron with BatchNorm."""
    import mxnet as mx

    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    hidden = mx.sym.Activation(mx.sym.BatchNorm(hidden, fix_gamma=False, name="bn"), act_type="tanh", name="act")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2"), name="softmax")


def data():
    """Twelve rows in batches of four."""
    import mxnet as mx

    random = np.random.RandomState(0)
    rows = random.rand(12, 5).astype("float32")
    return mx.io.NDArrayIter(rows, (rows.sum(1) > 2.5).astype("float32"), 4)


def trained(optimizer, epochs):
    """A module after some epochs, from parameters that are drawn by NumPy."""
    import mxnet as mx

    random = np.random.RandomState(1)
    module = mx.mod.Module(network())
    batches = data()
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.One())
    drawn = {name: mx.nd.array(random.rand(*array.shape) - 0.5) for name, array in module.get_params()[0].items()}
    module.set_params(drawn, module.get_params()[1])
    module.fit(batches, num_epoch=epochs, optimizer=optimizer, optimizer_params=OPTIONS if optimizer == "nag" else {})
    return module


def gone_on(folder, optimizer):
    """The parameters of a module that goes on from epoch 2 to 4."""
    import mxnet as mx

    module = mx.mod.Module.load(str(folder / optimizer), 2, load_optimizer_states=True)
    module.fit(
        data(),
        begin_epoch=2,
        num_epoch=4,
        optimizer=optimizer,
        optimizer_params=OPTIONS if optimizer == "nag" else {},
    )
    arg_params, aux_params = module.get_params()
    return {name: array.asnumpy().tolist() for name, array in {**arg_params, **aux_params}.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        print(json.dumps({optimizer: gone_on(Path(sys.argv[2]), optimizer) for optimizer in ("nag", "rmsprop")}))
    else:
        HERE.mkdir(exist_ok=True)
        for optimizer in ("nag", "rmsprop"):
            trained(optimizer, 2).save_checkpoint(str(HERE / optimizer), 2, save_optimizer_states=True)
        numbers = {optimizer: gone_on(HERE, optimizer) for optimizer in ("nag", "rmsprop")}
        (HERE / "gone_on.json").write_text(json.dumps(numbers) + "\n")
