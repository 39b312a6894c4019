"""Golden cases of stores of parameters, and of Trainer: steps on one and two contexts, stores that update, states."""

# ruff: noqa: E501 - one case is one line of text

from textwrap import dedent

_PRELUDE = """
from functools import partial
gluon, autograd = mx.gluon, mx.autograd
def parameter(name, values=(1, -2), ctx=None, **settings):
    made = gluon.Parameter(name, shape=(len(values),), **settings)
    made.initialize(mx.init.Constant(0), ctx=ctx or mx.cpu())
    made.set_data(nd.array(values))
    return made
def backward(parameters, factor=1):
    losses = []
    with autograd.record():
        for position, ctx in enumerate(parameters[0].list_ctx()):
            loss = 0
            for one in parameters:
                loss = loss + factor * (position + 1) * (one.data(ctx) ** 2).sum()
            losses.append(loss)
    autograd.backward(losses)
two = [mx.cpu(0), mx.cpu(1)]
"""

_STORE = """
store = mx.kv.create({name!r})
def pulled(key, shape=2, **settings):
    out = nd.zeros(shape, **settings)
    store.pull(key, out=out)
    return out
"""


def _trainer(text):
    return f"{_PRELUDE}{dedent(text)}"


def _store(text, name="local"):
    return f"{_STORE.format(name=name)}{dedent(text)}"


_STORES = {
    "init": "store.init(3, nd.ones(2)); result = pulled(3)",
    "push": "store.init(3, nd.ones(2)); store.push(3, nd.array([1, 2])); result = pulled(3)",
    "push_twice": "store.init(3, nd.ones(2)); store.push(3, nd.ones(2)); store.push(3, nd.array([1, 2])); "
    "result = pulled(3)",
    "push_several": "store.init('a', nd.ones(2)); "
    "store.push('a', [nd.array([i, 2], ctx=mx.cpu(i)) for i in range(4)])\n"
    "result = pulled('a')",
    "keys": "store.init(['a', 'b'], [nd.ones(2), nd.zeros(3)]); "
    "store.push(['a', 'b'], [[nd.ones(2)] * 2, [nd.ones(3)] * 3])\n"
    "result = [pulled('a'), pulled('b', 3)]",
    "keys_tuple": "store.init((1, 2), (nd.ones(2), nd.zeros(3))); result = [pulled(1), pulled(2, 3)]",
    "key_twice_pushed": "store.init(1, nd.ones(2)); store.push([1, 1], [nd.ones(2), nd.array([1, 2])]); "
    "result = pulled(1)",
    "pull_several": "store.init(1, nd.ones(2)); out = [nd.zeros(2, ctx=mx.cpu(i)) for i in range(2)]; "
    "store.pull(1, out=out)\n"
    "result = out + [str(one.context) for one in out]",
    "pull_other_dtype": "store.init(1, nd.array([1.5, 2])); "
    "result = [pulled(1, dtype='float64'), pulled(1, dtype='int32')]",
    "pushpull": "store.init(1, nd.ones(2)); x = [nd.array([1, 2]), nd.array([3, 4])]; store.pushpull(1, x); "
    "result = x + [pulled(1)]",
    "pushpull_out": "store.init(1, nd.ones(2)); x = nd.array([1, 2]); out = nd.zeros(2); "
    "store.pushpull(1, [x, x], out=out)\n"
    "result = [x, out, pulled(1)]",
    "broadcast": "out = [nd.zeros(2), nd.zeros(2, ctx=mx.cpu(1))]; store.broadcast('z', nd.array([3, 4]), out)\n"
    "result = [*out, pulled('z')]",
    "stored_is_a_copy": "x = nd.ones(2); store.init(1, x); x[:] = 5; result = [pulled(1), x]",
    "pushed_is_copied": "x = nd.ones(2); store.init(1, x); store.push(1, x); x[:] = 5; result = pulled(1)",
    "updater": "def update(key, given, stored):\n    stored += key * given\n"
    "store._set_updater(update); store.init(3, nd.ones(2)); store.push(3, [nd.ones(2), nd.array([1, 2])]); result = pulled(3)",
    "updater_pushpull": "def update(key, given, stored):\n    stored += key * given\n"
    "store._set_updater(update); store.init(3, nd.ones(2)); x = [nd.ones(2), nd.array([1, 2])]; store.pushpull(3, x)\n"
    "result = x",
    "updater_taken_away": "def update(key, given, stored):\n    stored += key * given\n"
    "store._set_updater(update); store.init(3, nd.ones(2)); result = store._updater is update",
    "optimizer": "store.init(['a', 'b'], [nd.ones(2), nd.ones(2)])\n"
    "store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))\n"
    "for i in range(3):\n    store.push('a', [nd.ones(2), nd.array([1, i])]); store.push('b', nd.ones(2))\n"
    "result = [pulled('a'), pulled('b')]",
    "properties": "result = [store.type, store.rank, store.num_workers, store.is_capable('optimizer')]",
    "capability_unknown": "store.is_capable('speed')",
    "init_twice": "store.init(3, nd.ones(2)); store.init(3, nd.ones(2))",
    "broadcast_twice": "x = nd.ones(2); store.broadcast(3, x, x.copy()); store.broadcast(3, x, x.copy())",
    "keys_mixed": "store.init(3, nd.ones(2)); store.init('a', nd.ones(2))",
    "key_unknown_pull": "pulled(3)",
    "key_unknown_push": "store.push(3, nd.ones(2))",
    "key_fraction": "store.init(3.5, nd.ones(2))",
    "keys_and_values": "store.init([1, 2], [nd.ones(2)])",
    "pull_nowhere": "store.init(3, nd.ones(2)); store.pull(3)",
    "pull_other_shape": "store.init(3, nd.ones(2)); pulled(3, (3, 2))",
    "push_other_shape": "store.init(3, nd.ones(2)); store.push(3, nd.ones((2, 2))); result = pulled(3, (2, 2))",
    "push_numpy": "import numpy\nstore.init(3, nd.ones(2)); store.push(3, numpy.ones(2))",
    "states_without_optimizer": "store.save_optimizer_states('nothing.states')",
    "optimizer_by_name": "store.set_optimizer('sgd')",
    "row_sparse": "store.init(3, nd.ones(2)); store.row_sparse_pull(3, out=nd.zeros(2), row_ids=nd.array([0]))",
    "compression": "store.set_gradient_compression({'type': '2bit', 'threshold': 0.5})",
}

_CREATED = {
    "name_upper": "result = mx.kv.create('Local').type",
    "name_allreduce": "result = mx.kv.create('local_allreduce_cpu').type",
    "name_default": "result = mx.kv.create().type",
    "name_none": "mx.kv.create(None)",
    "name_number": "mx.kv.create(3)",
    "name_unknown": "result = mx.kv.create('lokal').type",
    "base_abstract": "mx.kv.KVStoreBase().pushpull(1, nd.ones(2))",
    "base_type": "mx.kv.KVStoreBase().type",
    "base_capability": "result = mx.kv.KVStoreBase.OPTIMIZER",
    "register": """
    class GoldenStore(mx.kv.KVStoreBase):
        @property
        def type(self):
            return 'golden'
    result = [mx.kv.KVStoreBase.register(GoldenStore) is GoldenStore, mx.kv.create('goldenstore').type]
    """,
}

_WHERE = {
    "one": "ctx, store, on = None, 'device', None",
    "one_store": "ctx, store, on = None, mx.kv.create('local'), None",
    "one_store_apart": "ctx, store, on = None, mx.kv.create('device'), False",
    "two_device": "ctx, store, on = two, 'device', None",
    "two_local": "ctx, store, on = two, 'local', True",
    "two_apart": "ctx, store, on = two, 'device', False",
    "two_store": "ctx, store, on = two, mx.kv.create('device'), None",
    "two_none": "ctx, store, on = two, None, None",
}

# Steps with an optimizer and its settings.
_RUNS = {
    "sgd": ("'sgd', {'learning_rate': 0.1}", "trainer.step(2)"),
    "momentum": ("'sgd', {'learning_rate': 0.1, 'momentum': 0.9, 'wd': 0.01}", "trainer.step(2)"),
    "rescaled": ("'sgd', {'learning_rate': 0.1, 'rescale_grad': 0.5}", "trainer.step(4)"),
    "adam": ("'adam', {'learning_rate': 0.1}", "trainer.step(1)"),
    "rate_set": (
        "'sgd', {'learning_rate': 0.1}",
        "trainer.set_learning_rate(trainer.learning_rate / 2); trainer.step(1)",
    ),
    "schedule": (
        "'sgd', {'learning_rate': 0.5, 'lr_scheduler': mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5)}",
        "trainer.step(1)",
    ),
    "made": ("mx.optimizer.SGD(learning_rate=0.25, rescale_grad=0.5)", "trainer.step(1)"),
    "states": (
        "'sgd', {'learning_rate': 0.1, 'momentum': 0.9}",
        "trainer.step(1); trainer.save_states(path); trainer.load_states(path)",
    ),
}
_RUN = """
{where}
import tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'states')
parameters = [parameter('b', ctx=ctx), parameter('a', (3, 1, -0.5), ctx=ctx, lr_mult=0.5, wd_mult=2)]
trainer = gluon.Trainer(parameters, {optimizer}, kvstore=store, update_on_kvstore=on)
for step in range(3):
    backward(parameters, step + 1)
    {step}
result = [data for one in parameters for data in one.list_data()] + [trainer.learning_rate]
"""

_TRAINERS = {
    "order_of_dict": """
        trainer = gluon.Trainer({'x': parameter('b'), 'c': parameter('a')}, 'sgd')
        result = [one.name for one in trainer._params]
        """,
    "order_of_list": """
        trainer = gluon.Trainer([parameter('b'), parameter('a')], 'sgd')
        result = [one.name for one in trainer._params]
        """,
    "attributes": """
        a = parameter('a')
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.25, 'rescale_grad': 0.5})
        result = [trainer.learning_rate, trainer._scale, trainer._kv_initialized, trainer._kvstore is None,
                  trainer._update_on_kvstore is None, len(trainer._updaters), type(trainer.optimizer).__name__,
                  sorted(trainer._param2idx.items()), a._trainer is trainer]
        """,
    "attributes_two": """
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd')
        backward([a]); trainer.step(1)
        result = [trainer._kv_initialized, trainer._update_on_kvstore, len(trainer._updaters), trainer._kvstore.type,
                  len(trainer._params_to_init)]
        """,
    "counts": """
        parameters = [parameter('a'), parameter('b')]
        trainer = gluon.Trainer(parameters, 'sgd')
        for _ in range(3):
            backward(parameters); trainer.step(5)
        result = [trainer.optimizer.num_update, trainer.optimizer.rescale_grad]
        """,
    "apart": """
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1}, update_on_kvstore=False)
        backward([a]); trainer.allreduce_grads()
        result = [x.copy() for x in a.list_grad()]
        for gradient in a.list_grad():
            gradient[:] = gradient.clip(-3, 3)
        trainer.update(2)
        result += a.list_data()
        """,
    "apart_one": """
        a = parameter('a')
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); trainer.allreduce_grads(); trainer.update(2)
        result = [a.data(), a.grad()]
        """,
    "gradients_summed": """
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd', update_on_kvstore=False)
        backward([a]); trainer.step(1)
        result = a.list_grad()
        """,
    "gradients_left_by_store": """
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd')
        backward([a]); trainer.step(1)
        result = a.list_grad()
        """,
    "copies_made_equal": """
        a = parameter('a', ctx=two)
        a.list_data()[1][:] = 5
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.5})
        backward([a]); trainer.step(1)
        result = a.list_data()
        """,
    "gradients_added": """
        a = parameter('a', grad_req='add')
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); backward([a]); trainer.step(2)
        result = [a.data(), a.grad()]
        """,
    "without_gradient": """
        a, b = parameter('a'), parameter('b', grad_req='null')
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.5})
        backward([a, b]); trainer.step(1)
        result = [a.data(), b.data()]
        """,
    "gradient_request_changed": """
        a, b = parameter('a'), parameter('b', grad_req='null')
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.25})
        backward([a, b]); trainer.step(1)
        b.grad_req = 'write'
        backward([a, b]); trainer.step(1)
        result = [a.data(), b.data()]
        """,
    "stale_ignored": """
        a, b = parameter('a'), parameter('b')
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.25})
        backward([a, b]); trainer.step(1)
        backward([b]); trainer.step(1, ignore_stale_grad=True)
        result = [a.data(), b.data()]
        """,
    "stale_ignored_at_first": """
        a, b = parameter('a'), parameter('b')
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.25})
        trainer.step(1, ignore_stale_grad=True)
        result = [a.data(), b.data()]
        """,
    "stale_at_first": "a = parameter('a'); gluon.Trainer([a], 'sgd').step(1)",
    "stale_after_step": """
        a = parameter('a'); trainer = gluon.Trainer([a], 'sgd')
        backward([a]); trainer.step(1); trainer.step(1)
        """,
    "stale_after_zero_grad": """
        a = parameter('a', grad_req='add'); trainer = gluon.Trainer([a], 'sgd')
        backward([a]); trainer.step(1); a.zero_grad(); trainer.step(1)
        """,
    "stale_written_by_hand": """
        a = parameter('a'); trainer = gluon.Trainer([a], 'sgd'); a.grad()[:] = 3; trainer.step(1)
        """,
    "stale_on_one_context": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', update_on_kvstore=False)
        with autograd.record():
            loss = (a.data(mx.cpu(0)) ** 2).sum()
        loss.backward(); trainer.step(1)
        """,
    "stale_on_store_later": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); trainer.step(1); trainer.step(1)
        result = a.list_data()
        """,
    "stale_changes_nothing": """
        a, b = parameter('a', ctx=two), parameter('b', ctx=two)
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.1})
        backward([a])
        try:
            trainer.step(1)
        except Exception:
            result = a.list_data()
        """,
    "stale_of_one_keeps_others": """
        a, b = parameter('a'), parameter('b')
        trainer = gluon.Trainer([a, b], 'sgd', {'learning_rate': 0.25})
        backward([a])
        try:
            trainer.step(1)
        except Exception:
            trainer.step(1, ignore_stale_grad=True)
            result = [a.data(), b.data()]
        """,
    "stale_copies_stay_equal": """
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.25}, update_on_kvstore=False)
        backward([a]); trainer.step(1)
        with autograd.record():
            loss = (a.data(mx.cpu(0)) ** 2).sum()
        loss.backward(); trainer.step(1, ignore_stale_grad=True)
        result = a.list_data()
        """,
    "set_data": """
        a = parameter('a'); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1, 'momentum': 0.9})
        backward([a]); trainer.step(1); a.set_data(nd.array([5, 6])); backward([a]); trainer.step(1)
        result = a.data()
        """,
    "set_data_store": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); trainer.step(1); a.set_data(nd.array([5, 6])); backward([a]); trainer.step(1)
        result = a.list_data()
        """,
    "set_data_store_momentum": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1, 'momentum': 0.9})
        backward([a]); trainer.step(1); a.set_data(nd.array([5, 6])); backward([a]); trainer.step(1)
        result = a.list_data()
        """,
    "initialized_again_store": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); trainer.step(1)
        a.initialize(mx.init.Constant(3), ctx=two, force_reinit=True); backward([a]); trainer.step(1)
        result = a.list_data()
        """,
    "written_store": """
        a = parameter('a', ctx=two); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1})
        backward([a]); trainer.step(1)
        for data in a.list_data():
            data[:] = 3
        backward([a]); trainer.step(1)
        result = a.list_data()
        """,
    "deferred": """
        a = gluon.Parameter('a', shape=(0,), allow_deferred_init=True); a.initialize(mx.init.One())
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.25})
        a.shape = (3,); a._finish_deferred_init()
        backward([a]); trainer.step(1)
        result = a.data()
        """,
    "deferred_step": """
        a = gluon.Parameter('a', shape=(0,), allow_deferred_init=True); a.initialize(mx.init.One())
        gluon.Trainer([a], 'sgd').step(1)
        """,
    "factor_of_parameter_changed": """
        a = parameter('a'); trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.25})
        backward([a]); trainer.step(1); a.lr_mult = 0.5; backward([a]); trainer.step(1)
        result = a.data()
        """,
    "uninitialized": "gluon.Trainer([gluon.Parameter('a', shape=(2,))], 'sgd')",
    "other_contexts": "gluon.Trainer([parameter('a'), parameter('b', ctx=two)], 'sgd')",
    "no_parameters": "gluon.Trainer([], 'sgd')",
    "no_list": "gluon.Trainer(parameter('a'), 'sgd')",
    "arrays": "gluon.Trainer([nd.ones(2)], 'sgd')",
    "parameter_twice": "a = parameter('a'); result = len(gluon.Trainer([a, a], 'sgd')._params)",
    "optimizer_unknown": "gluon.Trainer([parameter('a')], 'sdg')",
    "optimizer_and_arguments": "gluon.Trainer([parameter('a')], mx.optimizer.SGD(), {'learning_rate': 1})",
    "store_number": "a = parameter('a', ctx=two); t = gluon.Trainer([a], 'sgd', kvstore=3); backward([a]); t.step(1)",
    "store_missing": "a = parameter('a'); t = gluon.Trainer([a], 'sgd', update_on_kvstore=True); backward([a]); "
    "t.step(1)",
    "allreduce_refused": "a = parameter('a', ctx=two); gluon.Trainer([a], 'sgd').allreduce_grads()",
    "update_refused": "a = parameter('a', ctx=two); t = gluon.Trainer([a], 'sgd'); backward([a]); t.update(1)",
    "batch_of_none": "a = parameter('a'); t = gluon.Trainer([a], 'sgd'); backward([a]); t.step(0)",
    "rate_of_schedule": """
        trainer = gluon.Trainer([parameter('a')], 'sgd', {'lr_scheduler': mx.lr_scheduler.FactorScheduler(2)})
        trainer.set_learning_rate(1)
        """,
    "states_missing": "gluon.Trainer([parameter('a')], 'sgd').load_states('/nowhere/at/all')",
    "compression": """
        a = parameter('a'); backward([a])
        gluon.Trainer([a], 'sgd', compression_params={'type': '2bit', 'threshold': 0.5}).step(1)
        result = a.data()
        """,
    "own_store": """
        class Averaging(mx.kv.KVStoreBase):
            def broadcast(self, key, value, out, priority=0):
                for one in out:
                    value.copyto(one)
            def pushpull(self, key, value, out=None, priority=0):
                mean = sum(one.as_in_context(mx.cpu()) for one in value) / len(value)
                for one in value if out is None else out:
                    mean.copyto(one)
            @staticmethod
            def is_capable(capability):
                return False
            type = 'averaging'
        mx.kv.KVStoreBase.register(Averaging)
        a = parameter('a', ctx=two)
        trainer = gluon.Trainer([a], 'sgd', {'learning_rate': 0.1}, kvstore='averaging')
        backward([a]); trainer.step(1)
        result = a.list_data() + [trainer._update_on_kvstore, type(trainer._kvstore).__name__]
        """,
}

CASES = [
    *((f"kvstore_{name}", _store(text)) for name, text in _STORES.items()),
    *((f"kvstore_{name}", dedent(text)) for name, text in _CREATED.items()),
    *(
        (f"trainer_{run}_{where}", _trainer(_RUN.format(where=setting, optimizer=optimizer, step=step)))
        for run, (optimizer, step) in _RUNS.items()
        for where, setting in _WHERE.items()
    ),
    *((f"trainer_{name}", _trainer(text)) for name, text in _TRAINERS.items()),
]
