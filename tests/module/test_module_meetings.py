"""Modules where features meet: states and shapes, buckets and new shapes, buckets of different parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

import minpy as mx
from minpy import nd

RNG = np.random.RandomState(0)
ROWS = RNG.rand(4, 4).astype("float32")
LABELS = np.array([0, 1, 1, 0], "float32")


def batch(count: int, key: int | None = None) -> Any:
    return mx.io.DataBatch(
        [nd.array(ROWS[:count])],
        [nd.array(LABELS[:count])],
        bucket_key=key,
        provide_data=[mx.io.DataDesc("data", (count, 4))],
        provide_label=[mx.io.DataDesc("softmax_label", (count,))],
    )


def test_states_go_on_when_batches_have_other_shapes() -> None:
    state = mx.sym.var("state", shape=(1, 4))
    net = mx.sym.MakeLoss(mx.sym.sum(mx.sym.broadcast_add(mx.sym.var("data"), state)))
    module = mx.mod.Module(net, label_names=None, state_names=["state"])
    module.bind([("data", (2, 4))])
    module.init_params()
    module.set_states(value=3)
    found = []
    for count, value in ((2, None), (3, None), (2, 5), (3, None)):
        if value is not None:
            module.set_states(value=value)
        module.forward(mx.io.DataBatch([nd.ones((count, 4))]))
        found.append(float(module.get_outputs()[0].asscalar()))
    assert found == [32, 48, 48, 72]  # the sums of ones and states, as MXNet gives for the first three
    assert module.get_states(merge_multi_context=False)[0][0].asnumpy().tolist() == [[5, 5, 5, 5]]


def layers(key: int) -> Any:
    """Return a network that has a layer more in the bucket 2."""
    rows = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="first")
    if key == 2:
        rows = mx.sym.FullyConnected(rows, num_hidden=3, name="middle")
    return (
        mx.sym.SoftmaxOutput(mx.sym.FullyConnected(rows, num_hidden=2, name="last"), name="softmax"),
        ("data",),
        ("softmax_label",),
    )


def bucketing(sym_gen: Any = layers, **options: Any) -> Any:
    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=2)
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    mx.random.seed(1)
    module.init_params(mx.init.Uniform(1))
    module.init_optimizer(optimizer_params={"learning_rate": 1.0, **options})
    return module


def step(module: Any, count: int, key: int) -> None:
    module.forward_backward(batch(count, key))
    module.update()


def test_parameters_that_the_current_bucket_lacks_are_saved_as_they_are() -> None:
    module = bucketing()
    before = module.get_params()[0]["middle_weight"].asnumpy()
    step(module, 4, 2)
    step(module, 4, 1)
    saved = module.get_params()[0]["middle_weight"].asnumpy()
    assert not np.array_equal(saved, before)
    module.switch_bucket(2, None)
    (executor,) = module._curr_module._exec_group.execs
    np.testing.assert_array_equal(saved, executor.arg_dict["middle_weight"].asnumpy())


def test_buckets_that_are_bound_anew_go_on_with_their_optimizer() -> None:
    module, other = (bucketing(lambda key: layers(1), momentum=0.9) for _ in range(2))
    for one in (module, other):
        step(one, 4, 2)
        step(one, 4, 1)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], force_rebind=True)
    for one in (module, other):
        step(one, 2, 1)
        step(one, 2, 2)
    expected = other.get_params()[0]
    for name, array in module.get_params()[0].items():
        np.testing.assert_allclose(array.asnumpy(), expected[name].asnumpy(), rtol=1e-5, atol=1e-6)
