"""Blocks that are optimized: what is asked of MXNet 1.9.1 and of the library that is compared with it.

Usage, under MXNet 1.9.1: ``python tests/golden/native/gluon_optimizing_cases.py libgluon_optimizing.so`` writes
``gluon_optimizing.json``. The library is built of ``tests/support/native/gluon_optimizing.cc``, with MXNet's header.
"""

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ANSWERS = HERE / "gluon_optimizing.json"
X = np.array([[0.25, 0.5], [0.75, 1.0]], "float32")


class Asked:
    """The library that is asked, with what backends are called there, and what they have noted."""

    def __init__(self, mx: Any, log: str, prefix: str = "opt_", operator: str = "_opt_elementwise") -> None:
        self.mx = mx
        self.log = log
        self.prefix = prefix
        self.operator = operator
        self.x = mx.nd.array(X)

    def noted(self) -> "list[str]":
        """Returns the lines that backends have written, and forgets them."""
        if not os.path.exists(self.log):
            return []
        lines = Path(self.log).read_text().splitlines()
        os.remove(self.log)
        return [line.replace(self.prefix, "opt_") for line in lines]

    def net(self, kind: str = "plain", values: bool = True, **options: Any) -> Any:
        """Returns a network of some kind, with values."""
        made = networks(self.mx)[kind](**options)
        if values:
            made.initialize(self.mx.init.Constant(0.125))
            draw = np.random.RandomState(7)
            for parameter in made.collect_params().values():
                if parameter.shape and 0 not in parameter.shape:
                    parameter.set_data(self.mx.nd.array(draw.uniform(0.05, 0.3, parameter.shape)))
        return made

    def optimize(self, net: Any, backend: str, x: Any = None, *more: Any, **options: Any) -> None:
        """Calls optimize_for with a backend of ours."""
        net.optimize_for(self.x if x is None else x, *more, backend=self.prefix + backend, **options)

    def hybridize(self, net: Any, backend: str, **options: Any) -> None:
        """Calls hybridize with a backend of ours."""
        net.hybridize(backend=self.prefix + backend, **options)

    def graph(self, net: Any) -> Any:
        """Returns the operators and names of a block's graph, None if there is none."""
        if not net._cached_graph:
            return None
        nodes = json.loads(net._cached_graph[1].tojson())["nodes"]
        return [[node["op"].replace(self.operator, "_opt_elementwise"), node["name"]] for node in nodes]

    def exported(self, net: Any) -> "list[str]":
        """Returns the names of the arrays that a block is exported with."""
        with tempfile.TemporaryDirectory() as folder:
            net.export(f"{folder}/net")
            return sorted(self.mx.nd.load(f"{folder}/net-0000.params"))

    def made(self, net: Any) -> "list[Any]":
        """Returns the parameters of the block's graph that are none of the block's."""
        known = net.collect_params()
        found = [one for is_input, one in net._cached_op_args if not is_input and one.name not in known]
        return sorted(found, key=lambda one: one.name)

    def failed(self, action: Any) -> str:
        """Returns the name of the error that something raises."""
        try:
            action()
        except Exception as error:
            kinds = [one.__name__ for one in type(error).__mro__]
            return next(one for one in kinds if one in ("ValueError", "RuntimeError", "KeyError", "AssertionError"))
        return "nothing"


def networks(mx: Any) -> "dict[str, Any]":
    """Returns the classes of networks, by name."""
    gluon = mx.gluon

    class Plain(gluon.HybridBlock):
        def __init__(self, known: bool = True, prefix: str = "net_") -> None:
            super().__init__(prefix=prefix)
            with self.name_scope():
                self.a = gluon.nn.Dense(3, in_units=2 if known else 0, prefix="a_")
                self.b = gluon.nn.Dense(2, in_units=3 if known else 0, prefix="b_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.b(F.sin(F.exp(self.a(x))))

    class Nested(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="outer_")
            with self.name_scope():
                self.one = Plain(prefix="one_")
                self.two = Plain(prefix="two_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.two(F.exp(self.one(x)))

    class Several(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="several_")
            with self.name_scope():
                self.a = gluon.nn.Dense(2, in_units=2, prefix="a_")

        def hybrid_forward(self, F: Any, x: Any, more: Any, last: Any = None) -> Any:
            y, z = F.exp(self.a(x)), F.log(more[0] + 2) + more[1][0]
            return y, [z if last is None else z + last, F.sin(y)]

    class Shared(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="shared_")
            with self.name_scope():
                self.a = gluon.nn.Dense(2, in_units=2, prefix="a_")
                self.b = gluon.nn.Dense(2, in_units=2, prefix="b_", params=self.a.params)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.b(F.exp(self.a(x)))

    class Normalized(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="normalized_")
            with self.name_scope():
                self.norm = gluon.nn.BatchNorm(in_channels=2, prefix="norm_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.exp(self.norm(x))

    class Tracking(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="tracking_")
            with self.name_scope():
                self.a = gluon.nn.Dense(2, in_units=2, prefix="a_")
                self.mean = self.params.get("mean", shape=(1,), init="zeros", grad_req="null", differentiable=False)

        def hybrid_forward(self, F: Any, x: Any, mean: Any) -> Any:
            return F.opt_track(self.a(x), mean)

    class Stepping(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="stepping_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.opt_steps(F.opt_steps(x) * 2)

    def graph() -> Any:
        data, extra = mx.sym.var("data"), mx.sym.var("extra")
        hidden = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
        total = mx.sym.elemwise_add(mx.sym.exp(hidden, name="e"), mx.sym.log(extra, name="l"), name="p")
        return gluon.SymbolBlock([mx.sym.sin(total, name="s"), hidden], [data, extra])

    return {
        "plain": Plain,
        "nested": Nested,
        "several": Several,
        "shared": Shared,
        "normalized": Normalized,
        "graph": graph,
        "tracking": Tracking,
        "stepping": Stepping,
    }


def flat(value: Any) -> "list[Any]":
    """Returns the values of nested arrays."""
    if isinstance(value, (list, tuple)):
        return [flat(one) for one in value]
    return value.asnumpy().tolist()


# -- cases -------------------------------------------------------------------------------------------------------------


def without_backend(asked: Asked) -> Any:
    net = asked.net()
    try:
        net.optimize_for(asked.x)
    except ValueError as error:
        return str(error).split(":")[0]
    return None


def partition(asked: Asked) -> Any:
    net = asked.net()
    before = flat(net(asked.x))
    asked.optimize(net, "exp", count=1, pair=(1, 2), text="a b")
    noted, graph = asked.noted(), asked.graph(net)
    return noted, graph, net._active, net._flags, before, flat(net(asked.x)), asked.noted()


def chain(asked: Asked) -> Any:
    net, found = asked.net(), []
    for backend, options in (("exp", {"a": 1}), ("sin", {}), ("scale", {"value": 1.5}), ("exp", {})):
        asked.optimize(net, backend, **options)
        found += [asked.noted(), asked.graph(net), flat(net(asked.x)), dict(net._backend_opts)]
    return found, asked.exported(net), sorted(net.collect_params())


def cleared(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale", value=1.5)
    asked.optimize(net, "exp", clear=True)
    found += [asked.noted(), asked.graph(net), flat(net(asked.x)), asked.exported(net)]
    net.hybridize()
    return found, flat(net(asked.x)), asked.graph(net), net._backend, dict(net._backend_opts), asked.noted()


def plain_again(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale")
    net.hybridize(False)
    found += [asked.graph(net), flat(net(asked.x)), net._active]
    net.hybridize(True)
    return found, flat(net(asked.x)), asked.graph(net)


def kept_inactive(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale")
    net.hybridize(False, clear=False)
    found += [asked.graph(net), flat(net(asked.x))]
    net.hybridize(True, clear=False)
    asked.noted()
    return found, flat(net(asked.x)), asked.noted()


def hybridized(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.hybridize(net, "scale", value=1.5)
    found += [asked.graph(net), asked.noted()]
    found += [flat(net(asked.x)), asked.graph(net), asked.noted()]
    found += [flat(net(asked.mx.nd.ones((5, 2)))), asked.noted()]
    net.hybridize(clear=False, static_alloc=True, static_shape=True)
    return found, flat(net(asked.x)), asked.noted(), net._flags


def options(asked: Asked) -> Any:
    net, found = asked.net(), []
    for given in ({"a": 1}, {"b": None}, {}, {"c": [1, "x"], "d": 1.5, "e": True}):
        asked.hybridize(net, "exp", **given)
        net(asked.x)
        found += [asked.noted(), sorted(net._backend_opts)]
    asked.optimize(net, "exp", skip_infer=True, clear=True)
    return found, asked.noted()


def rejected(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "exp", reject=True)
    return asked.noted(), asked.graph(net), flat(net(asked.x))


def refused(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "exp")
    before = asked.graph(net)
    found = [asked.failed(lambda: asked.optimize(net, "refuse"))]
    return found, asked.graph(net) == before, flat(net(asked.x))


def refused_when_called(asked: Asked) -> Any:
    net = asked.net()
    asked.hybridize(net, "refuse")
    found = [asked.failed(lambda: net(asked.x)), asked.failed(lambda: net(asked.x)), len(asked.noted())]
    net.hybridize()
    return found, flat(net(asked.x))


def unknown(asked: Asked) -> Any:
    net = asked.net()
    net.optimize_for(asked.x, backend="nowhere")
    found = [asked.graph(net), flat(net(asked.x)), net._active]
    net.hybridize(backend="nowhere")
    return found, flat(net(asked.x))


def deferred(asked: Asked) -> Any:
    net, found = asked.net(known=False), []
    asked.optimize(net, "scale")
    found += [asked.noted(), net.a.weight.shape, net.a.weight.data().shape, asked.graph(net), flat(net(asked.x))]
    net = asked.net(known=False)
    asked.hybridize(net, "exp")
    return found, flat(net(asked.x)), asked.noted(), asked.graph(net)


def uninitialized(asked: Asked) -> Any:
    net = asked.net(values=False)
    asked.failed(lambda: asked.optimize(net, "scale"))
    asked.hybridize(net, "scale")
    found = [asked.failed(lambda: net(asked.x)), asked.noted()]
    net.initialize(asked.mx.init.Constant(0.125))
    return found, flat(net(asked.x)), asked.noted()


def symbols(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale", asked.mx.sym.var("anything"))
    found += [asked.noted(), asked.graph(net), flat(net(asked.x)), asked.noted()]
    net = asked.net()
    asked.optimize(net, "exp", asked.mx.sym.var("anything", shape=(2, 2)))
    return found, asked.noted(), asked.graph(net), flat(net(asked.x))


def gradients(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "scale", value=1.5)
    trainer = asked.mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
    with asked.mx.autograd.record():
        loss = (net(asked.x) ** 2).sum()
    loss.backward()
    found = [[one.name, one.grad_req, flat(one.data()), flat(one.grad())] for one in asked.made(net)]
    found += [flat(one.grad()) for one in net.collect_params().values()]
    trainer.step(1)
    return found, flat(net(asked.x)), asked.exported(net)


def partitioned_gradients(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "exp")
    asked.optimize(net, "sin")
    trainer = asked.mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
    found = []
    for _ in range(3):
        with asked.mx.autograd.record():
            loss = (net(asked.x) ** 2).sum()
        loss.backward()
        found.append([flat(one.grad()) for one in net.collect_params().values()])
        trainer.step(1)
    return found, flat(net(asked.x))


def changed_parameters(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale", value=1.5)
    net.a.weight.set_data(asked.mx.nd.ones((3, 2)) * 0.25)
    found.append(flat(net(asked.x)))
    asked.made(net)[0].set_data(asked.mx.nd.array([0.5]))
    found.append(flat(net(asked.x)))
    with tempfile.TemporaryDirectory() as folder:
        asked.net().save_parameters(f"{folder}/net.params")
        net.load_parameters(f"{folder}/net.params")
        found += [flat(net(asked.x)), asked.graph(net)]
        net.save_parameters(f"{folder}/net.params")
        return found, sorted(asked.mx.nd.load(f"{folder}/net.params"))


def frozen(asked: Asked) -> Any:
    found = []
    for request in ("null", "add"):
        net = asked.net()
        net.collect_params().setattr("grad_req", request)
        asked.optimize(net, "scale")
        found.append([[one.name, one.grad_req] for one in asked.made(net)])
    return found


def cast(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "no_bias")
    asked.noted()
    net.cast("float64")
    found = [asked.graph(net), flat(net(asked.x.astype("float64")))]
    return found, asked.graph(net), asked.noted()


def cast_chain(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "no_bias")
    asked.optimize(net, "exchange", from_op="exp", to_op="log")
    net.cast("float64")
    asked.noted()
    return flat(net(asked.x.astype("float64"))), asked.graph(net), asked.noted()


def removed(asked: Asked) -> Any:
    net = asked.net()
    asked.optimize(net, "no_bias")
    found = [asked.noted(), asked.graph(net), sorted(net.collect_params()), asked.exported(net), flat(net(asked.x))]
    with asked.mx.autograd.record():
        loss = net(asked.x).sum()
    loss.backward()
    trainer = asked.mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
    trainer.step(1, ignore_stale_grad=True)
    found.append(flat(net(asked.x)))
    net.hybridize()
    return found, flat(net(asked.x))


def written(asked: Asked) -> Any:
    net = asked.net()
    asked.mx.nd.waitall()
    before = [flat(one.data()) for one in net.collect_params().values()]
    asked.optimize(net, "double")
    return before, [flat(one.data()) for one in net.collect_params().values()], flat(net(asked.x))


def new_state(asked: Asked) -> Any:
    net = asked.net("normalized")
    asked.failed(lambda: asked.optimize(net, "mean"))
    return asked.noted(), asked.graph(net), asked.failed(lambda: net(asked.x))


def nested(asked: Asked) -> Any:
    net, found = asked.net("nested"), []
    asked.optimize(net.one, "scale")
    found += [flat(net(asked.x)), asked.graph(net.one), asked.graph(net)]
    net.hybridize()
    found += [net.one._backend, net.one._active, asked.graph(net.one), flat(net(asked.x)), asked.graph(net)]
    asked.noted()
    asked.optimize(net, "exp")
    found += [asked.noted(), asked.graph(net), net.one._backend, net.one._active, flat(net(asked.x))]
    return found, flat(net.one(asked.x)), asked.graph(net.one)


def sequences(asked: Asked) -> Any:
    gluon, found = asked.mx.gluon, []
    for kind in (gluon.nn.Sequential, gluon.nn.HybridSequential):
        net = kind(prefix="sequence_")
        net.add(asked.net())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked.hybridize(net, "exp", option=1, static_alloc=True)
        found += [(net[0]._backend or "").replace(asked.prefix, "opt_"), net[0]._active, dict(net[0]._backend_opts)]
        found += [flat(net(asked.x)), asked.noted(), asked.graph(net[0])]
    return found


def several(asked: Asked) -> Any:
    net, found, ones = asked.net("several"), [], asked.mx.nd.ones((2, 2))
    asked.optimize(net, "exp", asked.x, [ones, [ones]])
    found += [asked.noted(), asked.graph(net), flat(net(asked.x, [ones, [ones]]))]
    asked.optimize(net, "scale", asked.x, [ones, [ones]])
    found += [asked.noted(), asked.graph(net), flat(net(asked.x, [ones, [ones]]))]
    net = asked.net("several")
    asked.optimize(net, "scale", asked.x, [ones, [ones]], None)
    found += [asked.noted(), flat(net(asked.x, [ones, [ones]], None))]
    net = asked.net("several")
    asked.optimize(net, "scale", asked.x, [ones, [ones]], ones)
    return found, asked.noted(), flat(net(asked.x, [ones, [ones]], ones))


def shared(asked: Asked) -> Any:
    net, found = asked.net("shared"), []
    for backend in ("scale", "no_bias"):
        asked.optimize(net, backend)
        found += [asked.noted(), asked.graph(net), flat(net(asked.x)), asked.exported(net)]
    with asked.mx.autograd.record():
        loss = net(asked.x).sum()
    loss.backward()
    return found, flat(net.a.weight.grad())


def symbol_block(asked: Asked) -> Any:
    net, found, ones = asked.net("graph"), [], asked.mx.nd.ones((2, 2))
    net(asked.x, ones)
    for parameter in net.collect_params().values():
        parameter.set_data(asked.mx.nd.ones(parameter.shape) * 0.25)
    for backend in ("exp", "scale", "no_bias"):
        asked.optimize(net, backend, asked.x, ones)
        found += [asked.noted(), asked.graph(net), flat(net(asked.x, ones)), asked.exported(net)]
    return found, sorted(net.collect_params())


def imported(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.optimize(net, "scale", value=1.5)
    asked.optimize(net, "exp")
    found.append(flat(net(asked.x)))
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net", 3)
        block = asked.mx.gluon.SymbolBlock.imports(f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0003.params")
    found += [flat(block(asked.x)), sorted(block.collect_params())]
    with asked.mx.autograd.record():
        loss = (block(asked.x) ** 2).sum()
    loss.backward()
    grads = {name: flat(one.grad()) for name, one in sorted(block.collect_params().items())}
    asked.noted()
    asked.optimize(block, "sin")
    return found, grads, asked.noted(), asked.graph(block), flat(block(asked.x))


def renewed(asked: Asked) -> Any:
    net, found = asked.net(), []
    asked.mx.nd.waitall()
    asked.optimize(net, "renew")
    found += [asked.noted(), flat(net(asked.x)), flat(net.a.weight.data()), asked.exported(net)]
    net.a.weight.set_data(asked.mx.nd.ones((3, 2)) * 0.125)
    found.append(flat(net(asked.x)))
    net.hybridize()
    return found, flat(net(asked.x))


def tracked(asked: Asked) -> Any:
    found = []
    for options in (None, {}, {"static_alloc": True, "static_shape": True}):
        net = asked.net("tracking")
        if options is not None:
            net.hybridize(**options)
        trainer = asked.mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(3):
            with asked.mx.autograd.record():
                loss = (net(asked.x) ** 2).sum()
            loss.backward()
            trainer.step(2)
            found += [flat(loss), flat(net.mean.data()), flat(net.a.weight.data())]
        found += [flat(net(asked.x)), flat(net.mean.data())]
        if options is not None:
            found.append(asked.exported(net))
    return found


def tracked_and_imported(asked: Asked) -> Any:
    net = asked.net("tracking")
    asked.optimize(net, "scale", value=1.5)
    found = [flat(net(asked.x)), asked.exported(net)]
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        block = asked.mx.gluon.SymbolBlock.imports(f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params")
    found += [flat(block(asked.x)), flat(block.collect_params()["tracking_mean"].data())]
    return found, block.collect_params()["tracking_mean"].grad_req, sorted(block.collect_params())


def stepped_and_optimized(asked: Asked) -> Any:
    found = []
    for options in ({}, {"static_alloc": True, "static_shape": True}):
        net = asked.net("stepping", values=False)
        asked.optimize(net, "exp", **options)
        found.append([flat(net(asked.x)) for _ in range(3)])
    return found


def stepped(asked: Asked) -> Any:
    found = []
    for options in (None, {}, {"static_alloc": True, "static_shape": True}):
        net = asked.net("stepping", values=False)
        if options is not None:
            net.hybridize(**options)
        found.append([flat(net(asked.x)) for _ in range(3)])
        if options:
            continue
        x = asked.x.copy()
        x.attach_grad()
        with asked.mx.autograd.record():
            loss = net(x).sum() + net(x * 3).sum()
        loss.backward()
        found.append(flat(x.grad))
    return found


# What asks for the library, and not for backends only.
NATIVE = [tracked, tracked_and_imported, stepped, stepped_and_optimized, renewed]

CASES = [
    without_backend,
    partition,
    chain,
    cleared,
    plain_again,
    kept_inactive,
    hybridized,
    options,
    rejected,
    refused,
    refused_when_called,
    unknown,
    deferred,
    uninitialized,
    symbols,
    gradients,
    partitioned_gradients,
    changed_parameters,
    frozen,
    cast,
    cast_chain,
    removed,
    written,
    new_state,
    nested,
    sequences,
    several,
    shared,
    symbol_block,
    imported,
]


def plain(value: Any) -> Any:
    """Returns a value as JSON holds it."""
    return json.loads(json.dumps(value, default=str))


def main() -> None:
    """Asks MXNet, and writes the answers."""
    import mxnet as mx

    with tempfile.TemporaryDirectory() as folder:
        os.environ["GLUON_OPTIMIZING_LOG"] = f"{folder}/log"
        mx.library.load(os.path.abspath(sys.argv[1]), False)
        answers = {}
        for case in [*CASES, *NATIVE]:
            asked = Asked(mx, f"{folder}/log")
            answers[case.__name__] = plain(case(asked))
            mx.nd.waitall()
            asked.noted()
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")
    print(f"{len(answers)} cases")


if __name__ == "__main__":
    main()
