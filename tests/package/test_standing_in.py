"""What programs find once minpy stands in for MXNet: classes by their names, Python's modules, arrays in matplotlib."""

from __future__ import annotations

import pickle
import pydoc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_namespaces import CALLABLES, MODULES

import minpy as mx
from minpy import nd
from minpy.core.errors import MissingPartError

ROOT = Path(mx.__file__).parent.parent

LOCATED = {
    "mxnet.nd.array": nd.array,
    "mxnet.ndarray.array": nd.array,
    "mxnet.ndarray.ndarray.NDArray": nd.NDArray,
    "mxnet.numpy.ndarray": mx.np.ndarray,
    "mxnet.context.Context": mx.Context,
    "mxnet.cpu": mx.cpu,
    "mxnet.gluon.nn.Dense": mx.gluon.nn.Dense,
    "mxnet.gluon.nn.basic_layers.Dense": mx.gluon.nn.Dense,
    "mxnet.gluon.block.HybridBlock": mx.gluon.HybridBlock,
    "mxnet.gluon.parameter.Parameter": mx.gluon.Parameter,
    "mxnet.gluon.loss.L2Loss": mx.gluon.loss.L2Loss,
    "mxnet.initializer.Xavier": mx.init.Xavier,
    "mxnet.metric.Accuracy": mx.metric.Accuracy,
    "mxnet.symbol.symbol.Symbol": mx.sym.Symbol,
    "mxnet.optimizer.optimizer.Adam": mx.optimizer.Adam,
    "mxnet.lr_scheduler.FactorScheduler": mx.lr_scheduler.FactorScheduler,
    "mxnet.gluon.data.DataLoader": mx.gluon.data.DataLoader,
    "mxnet.nosuch.thing": None,
    "mxnet.gluon.nosuch": None,
    "minpy.nosuch": None,
    "minpy.api": None,
}


@pytest.fixture
def _as_mxnet():
    """Stand in for MXNet in one test, and leave no trace."""
    from minpy import namespaces

    before = mx.Context.__module__
    mx.install_as_mxnet()
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "mxnet"]:
        del sys.modules[name]
    namespaces._finder.packages.discard("mxnet")
    mx.Context.__module__ = before


def run(program: str) -> str:
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.usefixtures("_as_mxnet")
@pytest.mark.parametrize("name", LOCATED)
def test_classes_and_functions_are_located_by_name(name):
    assert pydoc.locate(name) is LOCATED[name]


@pytest.mark.usefixtures("_as_mxnet")
@pytest.mark.parametrize("module", ["gluon.model_zoo.vision.alexnet"])
def test_importing_a_module_leaves_the_class_of_its_name(module):
    holder, _, name = module.rpartition(".")
    before = getattr(sys.modules[f"minpy.{holder}"], name)
    assert callable(before)
    __import__(f"mxnet.{module}")
    assert getattr(sys.modules[f"minpy.{holder}"], name) is before


@pytest.mark.usefixtures("_as_mxnet")
@pytest.mark.parametrize("name", ["mxnet.nd.array", "mxnet.api", "mxnet.ndarray.nosuch"])
def test_an_error_of_an_import_names_the_module(name):
    with pytest.raises(MissingPartError) as caught:
        __import__(name)
    assert caught.value.name == name
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.name) == (str(caught.value), name)


def test_public_classes_are_found_by_module_and_name():
    lost = set()
    for module, name in CALLABLES:
        value = getattr(MODULES[module], name)
        if isinstance(value, type) and value.__module__.startswith("minpy"):
            full = f"{value.__module__}.{value.__qualname__}"
            if pydoc.locate(full) is not value:
                lost.add(full)
    assert lost <= {"minpy.gluon.model_zoo.vision.alexnet.AlexNet"}  # a function of MXNet's has the module's name


@pytest.mark.usefixtures("_as_mxnet")
def test_contexts_say_that_they_are_mxnets():
    assert f"{mx.Context.__module__}.{mx.Context.__qualname__}" == "mxnet.context.Context"
    assert pydoc.locate("mxnet.context.Context")("cpu", 1) == mx.cpu(1)


PICKLES = """
import pickle, sys
import minpy
minpy.install_as_mxnet()
import mxnet as mx
net = mx.gluon.nn.Dense(1, in_units=2)
net.initialize(mx.init.One(), ctx=mx.cpu(1))
updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
updater(0, mx.nd.ones(2), mx.nd.ones(2))
print(pickle.dumps([mx.cpu(1), mx.nd.ones(2, ctx=mx.cpu(1)), mx.np.ones(2), net, {"context": mx.cpu(2)}]).hex())
print(updater.get_states().hex())
"""


def test_what_is_pickled_while_standing_in_is_read_without():
    arrays, states = run(PICKLES).split()
    context, array, in_numpy, net, inside = pickle.loads(bytes.fromhex(arrays))
    assert (context, array.context, inside) == (mx.cpu(1), mx.cpu(1), {"context": mx.cpu(2)})
    assert type(in_numpy) is mx.np.ndarray
    assert net(nd.ones((1, 2), ctx=mx.cpu(1))).asscalar() == 2
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    updater.set_states(bytes.fromhex(states))
    assert updater.states[0].asnumpy().tolist() == pytest.approx([-0.01, -0.01])


def test_modules_that_mxnet_imports_are_there():
    program = """
import minpy, sys
minpy.install_as_mxnet()
print(*(name for name in ("multiprocessing.pool", "multiprocessing.queues", "urllib.request") if name in sys.modules))
"""
    assert run(program).split() == ["multiprocessing.pool", "multiprocessing.queues", "urllib.request"]


def test_a_network_that_is_hybridized_may_ask_for_contexts():
    program = """
import minpy
minpy.install_as_mxnet()
import mxnet as mx
class Net(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.place = mx.cpu(0)
    def forward(self, x):
        return x * 2 if self.place == mx.cpu(0) else x
net = Net()
net.hybridize()
x = mx.np.ones(2)
for _ in range(4):
    y = net(x)
net.place = mx.cpu(1)
print(y.tolist(), net(x).tolist())
"""
    assert run(program) == "[2.0, 2.0] [1.0, 1.0]\n"


# -- arrays without axes ---------------------------------------------------------------------------------------------


def test_an_array_without_axes_is_not_iterable():
    text = r"iteration over a zero-dimensional array: it has no axis\. Use \.item\(\) for its value, or \.reshape\(-1\)"
    with pytest.raises(TypeError, match=text):
        iter(mx.np.array(1.0))
    with mx.util.np_shape(True), pytest.raises(TypeError, match=text):
        iter(nd.zeros(()))
    assert not np.iterable(mx.np.array(1.0))
    assert np.iterable(mx.np.array([1.0]))
    assert [float(one) for one in mx.np.array([1, 2])] == [1, 2]


def _drawings(ax):
    from minpy import np as mnp

    one, row = mnp.array(1.0), mnp.arange(3)
    return {
        "axvline": lambda: ax.axvline(one),
        "axhspan": lambda: ax.axhspan(one, mnp.array(2.0)),
        "vlines": lambda: ax.vlines(one, 0, 1),
        "bar": lambda: ax.bar(row, row),
        "errorbar": lambda: ax.errorbar(row, row, yerr=mnp.array(0.1)),
        "scatter": lambda: ax.scatter(one, mnp.array(2.0)),
        "plot": lambda: ax.plot(row, row),
        "fill_between": lambda: ax.fill_between(row, mnp.array(0.0), row),
        "hist": lambda: ax.hist(nd.arange(5)),
        "text": lambda: ax.text(one, mnp.array(2.0), "x"),
    }


@pytest.mark.parametrize("name", _drawings(None))
def test_matplotlib_draws_arrays(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    try:
        _drawings(ax)[name]()
        if name == "axvline":
            assert [float(value) for value in ax.lines[0].get_xdata()] == [1, 1]
        if name == "bar":
            assert [patch.get_height() for patch in ax.patches] == [0, 1, 2]
    finally:
        pyplot.close(figure)


def test_numpy_keeps_objects_beside_arrays():
    left, right = np.broadcast_arrays(mx.np.arange(2), np.array([None, "x"], object))
    assert type(left) is mx.np.ndarray
    assert type(right) is np.ndarray
    assert right.tolist() == [None, "x"]
