"""Says what of minpy does not work as the first thing that a process does: what needs something that others import.

`python first_use.py entries|names|modules [n]` prints one fault a line, of every n-th name or module. Each is tried in
a process of its own, forked from one that has imported NumPy and nothing of minpy.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import re
import signal
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - what every program has

_SECONDS = 60
# How a module ends that stands on a library which is not installed.
_IS_MISSING = re.compile(
    r"minpy\.core\.errors\.MissingDependencyError: |ModuleNotFoundError: .*'(jax|pytensor|torch)\b"
)

# What programs begin with: each is the first that its process does. `folder` holds what `prepare` has written.
ENTRIES = {
    "a saved symbol": "import minpy as mx\nassert mx.sym.load(f'{folder}/net.json').list_outputs() == ['y_output']",
    "a symbol of NumPy's functions": """
        import minpy as mx
        text = open(f'{folder}/numpy.json').read()
        assert '"op": "_np' in text
        assert mx.sym.load_json(text).bind(mx.cpu(), {'x': mx.np.ones(3)}).forward()[0].asnumpy().tolist() == 3""",
    "a symbol with a loop": """
        import minpy as mx
        net = mx.sym.load(f'{folder}/loop.json')
        assert net.bind(mx.cpu(), {'x': mx.nd.ones((3, 2)), 's': mx.nd.zeros(2)}).forward()[0].shape == (3, 2)""",
    "a block of a saved symbol": """
        from minpy.gluon import SymbolBlock
        import minpy as mx
        net = SymbolBlock.imports(f'{folder}/net.json', ['x'], f'{folder}/net.params')
        assert net(mx.nd.ones((2, 3))).shape == (2, 4)""",
    "parameters": "from minpy import nd\nassert nd.load(f'{folder}/net.params')['arg:y_weight'].shape == (4, 3)",
    "pickles": """
        import pickle
        for text, (data, shown) in pickle.load(open(f'{folder}/pickles', 'rb')).items():
            assert shown in (None, repr(pickle.loads(data))), text""",
    "a CustomOp": """
        import minpy.operator
        class Twice(minpy.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * 2)
        @minpy.operator.register('twice')
        class TwiceProp(minpy.operator.CustomOpProp):
            def create_operator(self, ctx, shapes, dtypes):
                return Twice()
        assert minpy.nd.Custom(minpy.nd.ones(2), op_type='twice').asnumpy().tolist() == [2, 2]""",
    "a partitioner": """
        from minpy.graph import register_partitioner
        register_partitioner('first', ['exp'], operator='first_group')
        import minpy as mx
        assert mx.sym.exp(mx.sym.var('x')).optimize_for('first').list_outputs()""",
    "a pass": """
        from minpy.graph import register_pass
        register_pass('first', lambda graph, **options: graph)
        import minpy as mx
        assert mx.sym.exp(mx.sym.var('x')).optimize_for('first').list_outputs()""",
    "a library that is not there": """
        from minpy import library, MXNetError
        try:
            library.load(f'{folder}/libnone.so')
        except MXNetError as error:
            assert 'libnone.so' in str(error)""",
    "a function of NumPy's": """
        import numpy, minpy
        x = minpy.np.ones((2, 2))
        assert type(numpy.linalg.norm(x)) is type(x) and numpy.concatenate([x, x]).shape == (4, 2)""",
    "a function of NumPy's on an NDArray": """
        import numpy, minpy
        assert numpy.trace(minpy.nd.ones((2, 2))).asnumpy() == 2 and numpy.sin(minpy.nd.zeros(2)).shape == (2,)""",
    "a function of NumPy's without an operator": """
        import numpy, minpy
        x = minpy.np.array([1.0, 2.0, 4.0])
        x.attach_grad()
        with minpy.autograd.record():
            y = numpy.ptp(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [-1, 0, 1]""",
    "autograd over an operator": """
        import minpy, autograd, numpy
        assert autograd.grad(lambda x: minpy.nd.exp(x).sum())(numpy.zeros(2)).tolist() == [1, 1]""",
    "autograd before minpy": """
        import autograd, autograd.numpy, numpy, minpy
        assert autograd.grad(lambda x: autograd.numpy.sum(minpy.nd.relu(x)))(numpy.ones(2)).tolist() == [1, 1]""",
    "a functional gradient": "import minpy\nassert minpy.grad(lambda x: x * x)(3.0) == 6",
    "a recorded call": """
        from minpy import autograd, nd
        x = nd.ones(2)
        x.attach_grad()
        with autograd.record():
            y = nd.softmax(x).log()
        y.backward()
        assert abs(x.grad.asnumpy()).max() < 1e-6""",
    "a second derivative": """
        import minpy as mx
        x = mx.np.array([2.0])
        x.attach_grad()
        with mx.autograd.record():
            (g,) = mx.autograd.grad(mx.np.power(x, 3), [x], create_graph=True)
        g.backward()
        assert x.grad.item() == 12""",
    "copies": """
        import copy, minpy as mx
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(2, in_units=2))
        assert len(copy.deepcopy([net, mx.nd.ones(2), mx.sym.var('x'), mx.nd.LRN, mx.cpu()])) == 5""",
    "a check": "import minpy as mx\nassert not mx.nd.tanh.check(mx.nd.ones(2)).failures",
    "a trace report": "import minpy as mx\nassert mx.customop('numpy')(lambda x: x * 2).trace_report(mx.nd.ones(2))",
    "a compiled operator": """
        import minpy, numpy
        assert minpy.customop('numpy', compile=True)(lambda x: x * 2 + 1)(numpy.ones(3)).tolist() == [3, 3, 3]""",
    "a compiled function of a context": """
        import minpy as mx
        CONTEXT, OPERATORS = mx.cpu(), {'exp': mx.nd.exp}
        def branch(x):
            return x + 1 if x.context == CONTEXT else x
        def look_up(x):
            return OPERATORS['exp'](x) * 0 + len(CONTEXT.device_type)
        for function, expected in ((branch, 2), (look_up, 3)):
            compiled = mx.compile(function)
            assert [compiled(mx.nd.ones(1)).asscalar() for _ in range(3)] == [expected] * 3
            assert '1 capture' in compiled.explain_retraces(), compiled.explain_retraces()""",
    "a compiled function that imports": """
        import minpy as mx
        def function(x):
            import minpy.np as other
            import numpy.fft
            return other.exp(x) + other.linalg.norm(x)
        compiled = mx.compile(function)
        compiled(mx.np.ones(2))
        assert '1 capture' in compiled.explain_retraces(), compiled.explain_retraces()""",
    "a native update": """
        import numpy
        from minpy.backends.native import optimizer_updates
        from minpy.backends.native.machine import llvm
        from minpy.ops.registry import OPERATORS
        optimizer_updates._CALLS_BEFORE_COMPILING = 1
        update = OPERATORS['sgd_mom_update']
        arrays = [numpy.ones(100_000) for _ in range(3)]
        assert optimizer_updates.run(update, arrays, {**update.defaults, 'lr': 0.1}) or not llvm.available()""",
    "a hybridized block": """
        from minpy.gluon import nn
        import minpy as mx
        net = nn.HybridSequential()
        net.add(nn.Conv2D(2, 3, in_channels=1), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(2))
        net.initialize(mx.init.Xavier())
        net.hybridize()
        assert [net(mx.nd.ones((1, 1, 4, 4))).shape for _ in range(2)] == [(1, 2)] * 2""",
    "what is created by name": """
        import minpy as mx
        assert mx.init.create('xavier') and mx.metric.create('acc') and mx.kv.create('local')
        assert mx.optimizer.create('adam') and mx.gluon.model_zoo.vision.get_model('squeezenet1.0')
        assert mx.registry.get_create_func(mx.init.Initializer, 'initializer')('zeros')""",
    "an iterator": """
        import minpy
        batch = next(iter(minpy.io.NDArrayIter(minpy.nd.ones((4, 2)), batch_size=2)))
        assert batch.data[0].shape == (2, 2)""",
    "a loader with workers": """
        from minpy.gluon.data import ArrayDataset, DataLoader
        import minpy
        loader = DataLoader(ArrayDataset(minpy.nd.ones((4, 2))), batch_size=2, num_workers=1)
        assert [batch.shape for batch in loader] == [(2, 2)] * 2""",
    "errors by name": "import minpy.base\nassert 'InternalError' in minpy.base.error_types",
    "stars": """
        names = {}
        exec('from minpy.gluon.nn import *; from minpy.nd import *'.replace('; ', chr(10)), names)
        assert names['Dense'](2)""",
    "as MXNet": """
        import minpy
        minpy.install_as_mxnet()
        from mxnet.gluon.model_zoo import vision
        import mxnet.ndarray.contrib, mxnet as mx
        compiled = mx.compile(lambda x: x + 1 if x.context == CONTEXT else x)
        CONTEXT = mx.cpu()
        assert vision.alexnet and compiled(mx.nd.ones(1)).asscalar() == 2""",
    "threads that import at once": """
        import sys, threading
        import minpy as mx
        sys.setswitchinterval(1e-5)
        looks = [
            lambda: mx.gluon.nn.Dense(2), lambda: mx.sym.LRN(mx.sym.var('x'), nsize=3),
            lambda: mx.np.linalg.norm(mx.np.ones(2)),
            lambda: mx.compile(lambda x: x + 1)(mx.nd.ones(2)), lambda: mx.grad(lambda x: x * x)(3.0),
            lambda: mx.metric.create('acc'), lambda: mx.autograd.record(), lambda: mx.mod.Module,
            lambda: mx.sym.np.exp(mx.sym.var('x').as_np_ndarray()), lambda: mx.npx.softmax(mx.np.ones(2)),
            lambda: mx.image.imresize, lambda: mx.test_utils.assert_almost_equal,
        ]
        start, done, errors = threading.Barrier(len(looks)), [], []
        def work(look):
            start.wait()
            try:
                done.append(look())
            except BaseException as error:
                errors.append(repr(error))
        threads = [threading.Thread(target=work, args=(look,), daemon=True) for look in looks]
        [thread.start() for thread in threads], [thread.join(30) for thread in threads]
        assert len(done) == len(looks), errors""",
}

# What is pickled by a process that has imported everything.
PICKLED = """
mx.nd.ones(2)|mx.np.ones(2)|mx.sym.var('x') + 1|mx.sym.np.exp(mx.sym.var('x').as_np_ndarray())|mx.cpu(1)|mx.nd.LRN
mx.nd.contrib.quadratic|mx.nd.linalg.gemm|mx.nd.random.normal|mx.sym.exp|mx.sym.contrib.quadratic|mx.np.exp
mx.np.linalg.inv|mx.np.random.normal|mx.npx.softmax|mx.random.normal|mx.gluon.nn.Dense|mx.gluon.loss.L2Loss
mx.gluon.Parameter('p', shape=(2,))|mx.optimizer.Adam()|mx.init.Xavier()|mx.metric.Accuracy()|mx.name.Prefix('a')
mx.lr_scheduler.FactorScheduler(1)|mx.gluon.data.ArrayDataset([1])|mx.io.DataDesc('x', (1,))|mx.MXNetError('text')
mx.callback.Speedometer(1)|mx.operator.CustomOp|mx.nd.sparse.dot
mx.gluon.data.vision.transforms.ToTensor|mx.autograd.record|mx.compile|mx.kv.create|mx.nd.NDArray.relu|mx.nd.NDArray
"""


def prepare(folder: str) -> None:
    """Write what entries read."""
    import minpy as mx

    x = mx.sym.var("x")
    y = mx.sym.FullyConnected(x, num_hidden=4, name="y")
    y.save(f"{folder}/net.json")
    mx.nd.save(f"{folder}/net.params", {"arg:y_weight": mx.nd.ones((4, 3)), "arg:y_bias": mx.nd.zeros(4)})
    mx.sym.np.sum(x.as_np_ndarray()).save(f"{folder}/numpy.json")
    states, _ = mx.sym.contrib.foreach(lambda data, state: (data + state, data + state), x, mx.sym.var("s"))
    states.save(f"{folder}/loop.json")
    pickles = {}
    for text in PICKLED.replace("\n", "|").strip("|").split("|"):
        value = eval(text, {"mx": mx})
        shown = repr(value)
        pickles[text] = pickle.dumps(value), None if " at 0x" in shown else shown
    Path(f"{folder}/pickles").write_bytes(pickle.dumps(pickles))


def in_fork(function: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return what a function returns in a process of its own, and the error that it raises there, or None."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(_SECONDS)  # ends a process that waits for ever
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - it is open as long as the process
        try:
            answer = function(), None
        except BaseException:
            answer = None, traceback.format_exc()[-1500:]
        with os.fdopen(writing, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    if not text:
        return None, f"the process ended with status {status}"
    answer, error = json.loads(text)
    return answer, error


def run(snippet: str, folder: str) -> None:
    exec(inspect.cleandoc(snippet), {"folder": folder, "__name__": "first"})


def entries() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        _, error = in_fork(lambda: prepare(folder))
        assert error is None, error
        for name, snippet in ENTRIES.items():
            _, error = in_fork(lambda snippet=snippet: run(snippet, folder))  # type: ignore[misc]
            if error is not None:
                yield f"{name}: {error}"


# -- names -------------------------------------------------------------------------------------------------------------


def text(function: Callable[[], Any]) -> str:
    """Return as text what a function returns, or raises; the same in each process."""
    try:
        answer = str(function())
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    return re.sub(r"0x[0-9a-f]+", "0x", answer)


def described(value: Any) -> dict[str, str]:
    """Return what there is to be seen of a public value."""
    return {
        "class": type(value).__name__ if not isinstance(value, types.ModuleType) else "module",
        "repr": text(lambda: repr(value)),
        "dir": text(lambda: [name for name in dir(value) if name != "__slotnames__"]),  # which pickling leaves behind
        "doc": text(lambda: value.__doc__),
        "signature": text(lambda: inspect.signature(value)),
        "pickle": text(lambda: len(pickle.dumps(value))),
    }


def public_names() -> list[tuple[str, str]]:
    import minpy

    modules: dict[str, types.ModuleType] = {}
    waiting = [minpy]
    while waiting:
        module = waiting.pop()
        if module.__name__ not in modules:
            modules[module.__name__] = module
            members = (getattr(module, name) for name in dir(module))
            waiting += [member for member in members if isinstance(member, types.ModuleType)]
    return [(module, name) for module in sorted(modules) for name in dir(modules[module])]


def of_all(every: int) -> list[tuple[str, str, dict[str, str]]]:
    chosen = public_names()[::every]
    return [(module, name, described(getattr(import_module(module), name))) for module, name in chosen]


def names(every: int) -> Iterator[str]:
    found, error = in_fork(lambda: of_all(every))
    assert error is None, error
    for module, name, expected in found:
        first, error = in_fork(lambda module=module, name=name: described(getattr(import_module(module), name)))  # type: ignore[misc]
        if error is not None:
            yield f"{module}.{name}: {error}"
        elif first != expected:
            differing = {what: (first[what], expected[what]) for what in first if first[what] != expected[what]}
            yield f"{module}.{name}: is at first, and later: {differing}"


def modules(every: int) -> Iterator[str]:
    root = Path(__file__).parents[2]
    files = sorted(path.relative_to(root) for path in (root / "minpy").rglob("*.py") if path.name != "__main__.py")
    for path in files[::every]:
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        _, error = in_fork(lambda module=module: import_module(module) and None)  # type: ignore[misc]
        if error is not None and not _IS_MISSING.match(error.strip().rpartition("\n")[2]):
            yield f"{module}: {error}"


def main() -> None:
    warnings.simplefilter("ignore")
    assert not [name for name in sys.modules if name.partition(".")[0] == "minpy"]
    kind, *every = sys.argv[1:]
    numbers = [int(number) for number in every]
    for fault in {"entries": entries, "names": names, "modules": modules}[kind](*numbers):  # type: ignore[operator]
        print(fault, flush=True)


if __name__ == "__main__":
    main()
