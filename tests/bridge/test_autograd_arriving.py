"""HIPS autograd is imported by whoever needs it, and knows our arrays and operators from then on."""

from __future__ import annotations

import subprocess
import sys

import pytest

USE = """
import importlib.util
assert autograd.__spec__.loader is autograd.__loader__
assert type(autograd.__loader__).__module__.startswith(("importlib", "_frozen_importlib"))
assert importlib.util.find_spec("autograd") is autograd.__spec__

@mx.customop("numpy")
def cube(x):
    return x ** 3
cube.def_grad(lambda ans, x: lambda g: 3 * x * x * g)

assert autograd.grad(cube)(2.0) == 12
assert autograd.grad(autograd.grad(cube))(2.0) == 12
assert autograd.grad(lambda x: mx.nd.exp(x) * 2)(0.0) == 2
gradient = autograd.grad(lambda x: anp.sum(mx.nd.sin(x) * x))(mx.nd.array([1.0, 2.0]))  # our array: a box of its buffer
assert numpy.allclose(gradient, numpy.sin([1, 2]) + numpy.cos([1, 2]) * [1, 2])
class Own(mx.nd.NDArray):
    pass
own = mx.nd.array([1.0]).__class__
assert autograd.tracer.Box.type_mappings[Own] and autograd.tracer.Box.type_mappings[mx.np.ndarray]
assert autograd.grad(lambda x: mx.np.sum(x * x))(numpy.ones(2)).tolist() == [2, 2]
"""
IMPORTS = {
    "before": "import numpy, autograd, autograd.numpy as anp\nimport minpy as mx",
    "after": "import numpy\nimport minpy as mx\nimport autograd, autograd.numpy as anp",
    "after, a part first": "import numpy\nimport minpy as mx\nfrom autograd import numpy as anp\nimport autograd",
    "after our own use": (
        "import numpy\nimport minpy as mx\nx = mx.np.ones(3)\nx.attach_grad()\n"
        "with mx.autograd.record():\n    y = mx.np.sum(mx.np.diff(x) ** 2)\ny.backward()\n"
        "import autograd, autograd.numpy as anp"
    ),
    "after probing": (
        "import importlib.util, numpy\nimport minpy as mx\nspec = importlib.util.find_spec('autograd')\n"
        "assert spec.loader.get_filename('autograd') == spec.origin\nimport autograd, autograd.numpy as anp"
    ),
}


@pytest.mark.parametrize("when", IMPORTS)
def test_autograd_may_be_imported_at_any_time(when):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORTS[when] + USE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


NOT_USED = """
import sys, minpy as mx
from minpy import gluon
net = gluon.nn.Dense(2)
net.initialize()
with mx.autograd.record():
    loss = net(mx.nd.ones((3, 4))).sum() + mx.np.sum(mx.np.ones(3)).as_nd_ndarray()
loss.backward()
assert not [name for name in sys.modules if name.partition(".")[0] == "autograd"]
"""


def test_networks_do_not_import_autograd():
    subprocess.run([sys.executable, "-W", "ignore", "-c", NOT_USED], check=True)


THREADS = """
import threading
import numpy
import minpy as mx
start, done = threading.Barrier(5), []

def recorded():
    x = mx.np.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.np.sum(mx.np.diff(x) ** 2)
    y.backward()

def work(use):
    start.wait()
    use()
    done.append(use)

uses = [
    recorded,
    lambda: numpy.median(mx.nd.array([1.0, 2.0])),
    lambda: mx.grad(lambda x: x * x)(1.0),
    lambda: mx.compile(lambda x: x * 2)(numpy.ones(2)),
    lambda: mx.value_and_grad(lambda x: mx.np.sum(mx.np.cross(x, x)))(numpy.ones(3)),
]
threads = [threading.Thread(target=work, args=(use,)) for use in uses]
[one.start() for one in threads], [one.join(60) for one in threads]
assert len(done) == 5
import autograd
assert autograd.grad(lambda x: mx.nd.exp(x))(0.0) == 1
"""


def test_threads_that_need_autograd_at_once_do_not_wait_for_each_other():
    for _ in range(3):
        subprocess.run([sys.executable, "-W", "ignore", "-c", THREADS], check=True, timeout=120)
