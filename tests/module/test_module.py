"""Modules: what is refused, and what is as it was afterwards; training that stops and goes on; files of MXNet's."""

from __future__ import annotations

import copy
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN

import minpy as mx
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileFormatError,
    FileMissingError,
    NotReadyError,
    ParametersError,
    ShapeError,
)

RANDOM = np.random.RandomState(0)
ROWS = RANDOM.rand(14, 5).astype("float32")
LABELS = (ROWS.sum(1) > 2.5).astype("float32")


def network(hidden: int = 3, dropout: float = 0.0) -> Any:
    rows = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc")
    rows = mx.sym.BatchNorm(rows, fix_gamma=False, name="bn")
    if dropout:
        rows = mx.sym.Dropout(rows, p=dropout)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(rows, num_hidden=2, name="fc2"), name="softmax")


def data(size: int = 4) -> Any:
    return mx.io.NDArrayIter(ROWS, LABELS, size)


def batch(count: int = 4) -> Any:
    return mx.io.DataBatch([mx.nd.array(ROWS[:count])], [mx.nd.array(LABELS[:count])])


def bound(**options: Any) -> Any:
    module = mx.mod.Module(network(), **options)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return module


def values(module: Any) -> dict[str, np.ndarray]:
    arg_params, aux_params = module.get_params()
    return {name: array.asnumpy() for name, array in {**arg_params, **aux_params}.items()}


def require_equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)


# -- calls that come too early -----------------------------------------------------------------------------------------

EARLY = {
    "forward": lambda module: module.forward(batch()),
    "backward": lambda module: module.backward(),
    "update": lambda module: module.update(),
    "get_params": lambda module: module.get_params(),
    "init_params": lambda module: module.init_params(),
    "init_optimizer": lambda module: module.init_optimizer(),
    "get_outputs": lambda module: module.get_outputs(),
    "get_input_grads": lambda module: module.get_input_grads(),
    "update_metric": lambda module: module.update_metric(mx.metric.create("acc"), []),
    "score": lambda module: module.score(data(), "acc"),
    "predict": lambda module: module.predict(data()),
    "save_checkpoint": lambda module: module.save_checkpoint("never", 1),
    "save_optimizer_states": lambda module: module.save_optimizer_states("never"),
    "load_optimizer_states": lambda module: module.load_optimizer_states("never"),
    "install_monitor": lambda module: module.install_monitor(mx.mon.Monitor(1)),
    "data_shapes": lambda module: module.data_shapes,
    "output_shapes": lambda module: module.output_shapes,
}


def buckets() -> Any:
    return mx.mod.BucketingModule(lambda key: (network(), ["data"], ["softmax_label"]), default_bucket_key=1)


@pytest.mark.parametrize("make", [lambda: mx.mod.Module(network()), buckets], ids=["Module", "BucketingModule"])
@pytest.mark.parametrize("name", EARLY)
def test_before_bind_errors_name_the_next_call(name: str, make: Any) -> None:
    module = make()
    if not hasattr(type(module), name) and name.endswith("optimizer_states"):
        pytest.skip("buckets have no such call")
    with pytest.raises(NotReadyError, match=rf"{name}: the module is not bound\. Call bind\(data_shapes") as caught:
        EARLY[name](module)
    assert isinstance(caught.value, AssertionError)  # as programs written for MXNet catch it


def test_later_steps_name_the_next_call() -> None:
    module = mx.mod.Module(network())
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    with pytest.raises(NotReadyError, match=r"forward: the module has no parameters yet\. Call init_params\(\)"):
        module.forward(batch())
    module.init_params()
    module.forward_backward(batch())
    with pytest.raises(NotReadyError, match=r"update: the module has no optimizer yet\. Call init_optimizer\(\)"):
        module.update()
    with pytest.raises(NotReadyError, match="bound without inputs_need_grad=True"):
        module.get_input_grads()
    with pytest.raises(NotReadyError, match=r"fit: say how many epochs: num_epoch=10"):
        module.fit(data())
    module = mx.mod.Module(network())
    module.bind([("data", (4, 5))], for_training=False)
    module.init_params()
    module.forward(batch())
    with pytest.raises(NotReadyError, match="bound with for_training=False"):
        module.backward()


# -- names and shapes of inputs ----------------------------------------------------------------------------------------


def test_names_that_the_symbol_does_not_have() -> None:
    with pytest.raises(ArgumentValueError, match=r"data_names=\['dat'\].*no such argument\. Did you mean 'data'"):
        mx.mod.Module(network(), data_names=["dat"])
    with pytest.raises(ArgumentValueError, match=r"fixed_param_names=\['fc_wieght'\].*Did you mean 'fc_weight'"):
        mx.mod.Module(network(), fixed_param_names=["fc_wieght"])
    with pytest.warns(UserWarning, match=r"label_names=\['softmax_lab'\].*Did you mean 'softmax_label'"):
        mx.mod.Module(network(), label_names=["softmax_lab"])
    with pytest.raises(ArgumentError, match=r"data_names is str 'data'; expected a list of names"):
        mx.mod.Module(network(), data_names="data")
    with pytest.raises(ArgumentError, match="expected a Symbol"):
        mx.mod.Module("net-symbol.json")
    with pytest.raises(ArgumentError, match="work_load_list has 1 entries for 2 contexts"):
        mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1])


def test_shapes_that_do_not_fit() -> None:
    module = mx.mod.Module(network())
    with pytest.raises(ArgumentValueError, match=r"data_shapes describes 'datum'; the module's data_names are 'data'"):
        module.bind([("datum", (4, 5))])
    with pytest.raises(ArgumentError, match="data_shapes holds int 3; expected a name and a shape"):
        module.bind([3])
    with pytest.raises(ShapeError, match=r"'softmax_label' has shape \(3,\).*batch of 3; expected 4"):
        module.bind([("data", (4, 5))], [("softmax_label", (3,))])
    assert not module.binded
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params()
    before = values(module)
    with pytest.raises(ShapeError, match=r"'fc_weight' has shape \(3, 5\) in what is shared, and would have \(3, 7\)"):
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 7))], [mx.nd.ones(4)]))
    module.forward(batch())  # as it was
    assert module.get_outputs()[0].shape == (4, 2)
    require_equal(values(module), before)
    with pytest.raises(ArgumentError, match=r"the batch has 0 array\(s\) of data; expected 1: data"):
        module.forward(mx.io.DataBatch([], []))


def test_training_without_labels_is_refused_when_gradients_are_asked_for() -> None:
    module = bound()
    module.forward(mx.io.DataBatch([mx.nd.array(ROWS[:4])], None), is_train=True)  # dropout at prediction, say
    with pytest.raises(NotReadyError, match="the latest forward had no label, and the gradients depend on"):
        module.backward()
    module.forward_backward(batch())


def test_labels_come_back_after_batches_without() -> None:
    module = bound()
    assert module.predict(ROWS).shape == (14, 2)
    assert module.label_shapes is None
    found = module.score(data(), "ce")[0][1]
    assert module.label_shapes[0].shape == (4,)
    again = mx.mod.Module(network())
    again.bind([("data", (4, 5))], [("softmax_label", (4,))], for_training=False)
    again.set_params(*module.get_params())
    assert again.score(data(), "ce")[0][1] == pytest.approx(found)


# -- parameters that do not fit ----------------------------------------------------------------------------------------


def test_parameters_that_do_not_fit_are_one_table() -> None:
    module = bound()
    before = values(module)
    arg_params, aux_params = (dict(params) for params in module.get_params())
    arg_params["fc_wieght"] = arg_params.pop("fc_weight")
    arg_params["fc2_bias"] = mx.nd.ones(7)
    del arg_params["bn_gamma"]
    for change in (module.set_params, lambda *params: module.init_params(None, *params, force_init=True)):
        with pytest.raises(ParametersError) as caught:
            change(arg_params, {"bn_moving_mean": aux_params["bn_moving_mean"]})
        text = str(caught.value)
        assert "3 missing, 1 of another shape; nothing was changed." in text
        for row in (
            r"fc_weight +missing +\(3, 5\) +Did you mean 'fc_wieght'\?",
            r"bn_gamma +missing +\(3,\)",
            r"fc2_bias +\(7,\) +\(2,\)",
            r"bn_moving_var +missing +\(3,\)",
        ):
            assert re.search(row, text), f"{row}\n{text}"
        assert "Pass allow_missing=True" in text
        assert isinstance(caught.value, ValueError)
        require_equal(values(module), before)
        module.forward(batch(), is_train=False)


def test_superfluous_parameters() -> None:
    module = bound()
    arg_params, aux_params = (dict(params) for params in module.get_params())
    arg_params["fc_old_weight"] = mx.nd.ones((1, 2))
    module.set_params(arg_params, aux_params)  # as in MXNet: a network's first layers take what they need
    with pytest.raises(
        ParametersError, match=r"1 superfluous.*\n.*\n  fc_old_weight  \(1, 2\)  not there\n.*allow_extra"
    ):
        module.set_params(arg_params, aux_params, allow_missing=True)
    module.set_params(arg_params, aux_params, allow_missing=True, allow_extra=True)


def test_an_initializer_that_fails_leaves_the_module_as_it_was() -> None:
    class Failing(mx.init.Initializer):
        def _init_weight(self, name: str, arr: Any) -> None:
            if name == "fc_weight":
                raise ZeroDivisionError(name)
            arr[:] = 5

    module = bound()
    before = values(module)
    with pytest.raises(ZeroDivisionError, match="fc_weight"):
        module.init_params(Failing(), force_init=True)
    require_equal(values(module), before)


# -- checkpoints -------------------------------------------------------------------------------------------------------


def saved(folder: Path) -> tuple[str, Any]:
    module = bound()
    prefix = str(folder / "net")
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)
    return prefix, module


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_checkpoints_that_are_cut_short(tmp_path_factory: Any, draw: Any) -> None:
    folder = tmp_path_factory.mktemp("cut")
    prefix, module = saved(folder)
    ending = draw.draw(st.sampled_from(["-0002.params", "-symbol.json", "-0002.states"]))
    path = Path(prefix + ending)
    content = path.read_bytes()
    path.write_bytes(content[: draw.draw(st.integers(0, len(content) - 1))])
    before = values(module)
    read = {
        "-0002.states": lambda: module.load_optimizer_states(str(path)),
        "-0002.params": lambda: module.load_params(str(path)),
        "-symbol.json": lambda: mx.mod.Module.load(prefix, 2),
    }
    with pytest.raises(FileFormatError):
        read[ending]()
    require_equal(values(module), before)


def test_checkpoints_that_are_none(tmp_path: Path) -> None:
    prefix, module = saved(tmp_path)
    with pytest.raises(FileMissingError, match=r"net-0003\.params.*Did you mean 'net-0002\.params'"):
        mx.model.load_checkpoint(prefix, 3)
    with pytest.raises(ArgumentError, match=r"epoch is str 'x'; expected an integer, as 3 for .*net-0003\.params"):
        mx.model.load_params(prefix, "x")
    mx.nd.save(f"{prefix}-0005.params", {"fc_weight": mx.nd.ones(2), "arg:a": mx.nd.ones(1)})
    with pytest.raises(FileFormatError, match=r"names 'fc_weight'; a checkpoint's names begin with 'arg:' or 'aux:'"):
        mx.model.load_params(prefix, 5)
    mx.nd.save(f"{prefix}-0006.params", [mx.nd.ones(2)])
    with pytest.raises(FileFormatError, match="holds 1 arrays without names"):
        module.load_params(f"{prefix}-0006.params")


def test_a_checkpoint_of_another_network(tmp_path: Path) -> None:
    prefix, _ = saved(tmp_path)
    network(hidden=4).save(f"{prefix}-symbol.json")
    module = mx.mod.Module.load(prefix, 2)
    with pytest.raises(ParametersError, match=r"bind: .*7 of another shape"):
        module.bind([("data", (4, 5))], for_training=False)
    assert not module.binded


@pytest.mark.stays_python
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "nadam", "ftml", "lamb", "lars"])
@pytest.mark.parametrize("contexts", [1, 2])
def test_training_that_stopped_goes_on_as_if_it_had_not(tmp_path: Path, optimizer: str, contexts: int) -> None:
    options: dict[str, Any] = {"momentum": 0.9} if optimizer == "sgd" else {}
    options["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(3, 0.8, base_lr=0.01)
    where = [mx.cpu(number) for number in range(contexts)]

    def trained(module: Any, begin: int, end: int, callback: Any = None) -> Any:
        mx.random.seed(end)
        module.fit(
            data(),
            begin_epoch=begin,
            num_epoch=end,
            optimizer=optimizer,
            optimizer_params={"learning_rate": 0.01, **copy.deepcopy(options)},
            epoch_end_callback=callback,
        )
        return module

    # Two networks of the same parameters: one trains four epochs, the other two, and from its files two more.
    whole, half = (mx.mod.Module(network(), context=where) for _ in range(2))
    for module in (whole, half):
        module.bind(data().provide_data, data().provide_label)
    half.init_params(mx.init.Xavier())
    whole.set_params(*half.get_params())
    trained(whole, 0, 4)
    prefix = str(tmp_path / "net")
    trained(half, 0, 2, mx.callback.module_checkpoint(half, prefix, save_optimizer_states=True))
    again = mx.mod.Module.load(prefix, 2, load_optimizer_states=True, context=where)
    require_equal(values(trained(again, 2, 4)), values(whole))


@pytest.mark.parametrize("optimizer", ["nag", "rmsprop"])
def test_goes_on_from_checkpoints_of_mxnet(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mxnet", mx)
    monkeypatch.syspath_prepend(str(GOLDEN))
    import make_checkpoints

    wanted = json.loads((GOLDEN / "checkpoints" / "gone_on.json").read_text())[optimizer]
    found = make_checkpoints.gone_on(GOLDEN / "checkpoints", optimizer)
    assert found.keys() == wanted.keys()
    for name, numbers in found.items():
        np.testing.assert_allclose(numbers, wanted[name], atol=1e-5, err_msg=name)


# -- meetings ----------------------------------------------------------------------------------------------------------


def test_shared_modules_see_each_others_updates() -> None:
    one = bound()
    two = mx.mod.Module(network())
    two.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=one)
    two.forward_backward(batch(2))
    two.update()
    one.forward(batch(), is_train=False)
    two.forward(batch(), is_train=False)
    np.testing.assert_array_equal(one.get_outputs()[0].asnumpy(), two.get_outputs()[0].asnumpy())


def test_batches_of_other_sizes_keep_their_programs() -> None:
    module = bound()
    for count in (4, 2, 4, 2, 4):
        module.forward_backward(batch(count))
        module.update()
    group = module._exec_group
    assert len(group._bound) == 2
    assert {id(execs[0].arg_dict["fc_weight"]) for execs in group._bound.values()} == {id(group.param_arrays[0][0])}


def test_a_monitor_costs_nothing_between_its_batches() -> None:
    module = bound()
    monitor = mx.mon.Monitor(3, pattern="fc_output")
    module.install_monitor(monitor)
    seen = []
    for _ in range(4):
        monitor.tic()
        module.forward_backward(batch())
        seen.append((module._exec_group.execs[0]._monitor is not None, len(monitor.toc())))
    assert seen == [(True, 1), (False, 0), (False, 0), (True, 1)]
    with pytest.raises(ArgumentError, match="interval is int 0; expected a number of batches"):
        mx.mon.Monitor(0)
    monitor = mx.mon.Monitor(1, stat_func=lambda array: 3, pattern="fc_output")
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch())
    with pytest.raises(ArgumentError, match="stat_func returned int 3 for 'fc_output'; expected an NDArray"):
        monitor.toc()


def test_a_monitor_follows_batches_of_other_sizes() -> None:
    module = bound()
    monitor = mx.mon.Monitor(1, pattern="fc_(output|weight)")
    module.install_monitor(monitor)
    for count in (4, 2, 4):
        monitor.tic()
        module.forward_backward(batch(count))
        assert [name for _, name, _ in monitor.toc()] == ["fc_output", "fc_weight"]


def test_buckets_of_another_width_are_refused() -> None:
    def sym_gen(key: int) -> Any:
        rows = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(rows, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params()
    with pytest.raises(ShapeError, match=r"'fc_weight' has shape \(2, 5\) in what is shared, and would have \(2, 3\)"):
        module.switch_bucket(3, [("data", (4, 3))], [("softmax_label", (4,))])
    assert module._curr_bucket_key == 5
    assert list(module._buckets) == [5]
    with pytest.raises(ArgumentError, match=r"returned Symbol .*; expected symbol, data_names and label_names"):
        mx.mod.BucketingModule(lambda key: network(), default_bucket_key=1)
    with pytest.raises(NotReadyError, match="say default_bucket_key"):
        mx.mod.BucketingModule(sym_gen)


def test_input_gradients_of_modules_in_sequence() -> None:
    net = mx.mod.SequentialModule()
    net.add(mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), label_names=None))
    head = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc2"), name="softmax")
    net.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
    net.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
    net.init_params(mx.init.Xavier())
    net.forward(batch(), is_train=True)
    net.backward()
    weights = {name: array.asnumpy() for name, array in net.get_params()[0].items()}
    grad = net.get_outputs()[0].asnumpy()
    grad[np.arange(4), LABELS[:4].astype(int)] -= 1
    wanted = grad @ weights["fc2_weight"] @ weights["fc_weight"]
    np.testing.assert_allclose(net.get_input_grads()[0].asnumpy(), wanted, atol=1e-6)
    with pytest.raises(ArgumentValueError, match=r"no option 'take_label'\. Did you mean 'take_labels'"):
        net.add(mx.mod.Module(head), take_label=True)


def test_parameters_of_one_name_in_two_modules() -> None:
    net = mx.mod.SequentialModule()
    for _ in range(2):
        net.add(mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc"), label_names=None),
                auto_wiring=True)  # fmt: skip
    net.bind([("data", (4, 5))])
    with pytest.raises(NotReadyError, match="'fc_weight' is a parameter of the modules 0 and 1"):
        net.init_params()


def test_a_module_without_its_methods_says_which() -> None:
    module = mx.mod.BaseModule()
    for call in (module.update, module.backward, lambda: module.forward(batch()), lambda: module.data_names):
        with pytest.raises(NotImplementedError, match=r"BaseModule has no .*: write one, or derive from Module"):
            call()


def test_progress_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm

    drawn = []

    class Bar:
        def __init__(self, total: int, **options: Any) -> None:
            self.n = 0
            drawn.append([options["desc"], total])

        def update(self, count: int) -> None:
            self.n += count
            drawn[-1].append(self.n)

        def set_postfix(self, shown: Any, refresh: bool) -> None:
            drawn[-1].append(shown)

        def close(self) -> None:
            drawn[-1].append("closed")

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    show = mx.callback.ProgressBar(3)
    for epoch in range(2):
        for number in range(3):
            show(mx.model.BatchEndParam(epoch, number, None, None))
    assert drawn == [["Epoch 0", 3, 1, 2, 3, "closed"], ["Epoch 1", 3, 1, 2, 3, "closed"]]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(mx.core.errors.MissingDependencyError, match=r"pip install tqdm"):
        mx.callback.ProgressBar(3)(mx.model.BatchEndParam(0, 0, None, None))


def test_feed_forward_refuses() -> None:
    with pytest.raises(NotReadyError, match=r"there are no parameters yet\. Call fit first"):
        mx.model.FeedForward(network()).predict(ROWS)
    with pytest.raises(NotReadyError, match=r"say how many epochs: FeedForward\(\.\.\., num_epoch=10\)"):
        mx.model.FeedForward(network()).fit(ROWS, LABELS)
    with pytest.raises(ArgumentValueError, match="y is missing"):
        mx.model.FeedForward(network(), num_epoch=1).fit(ROWS)
    with pytest.raises(ArgumentValueError, match="X has 14 instances and y 3"):
        mx.model.FeedForward(network(), num_epoch=1).fit(ROWS, LABELS[:3])
    with pytest.raises(ParametersError, match=r"no 'foo'\. Pass allow_extra_params=True"):
        mx.model.FeedForward(network(), arg_params={"foo": mx.nd.ones(1)}, aux_params={}).predict(ROWS)


def test_losing_no_log(caplog: pytest.LogCaptureFixture) -> None:
    module = bound()
    with caplog.at_level(logging.INFO):
        module.bind([("data", (4, 5))])
        module.init_optimizer()
    assert [record.getMessage() for record in caplog.records] == [
        "Already bound, ignoring bind()",
        "optimizer already initialized, ignoring...",
    ]
    with pytest.warns(UserWarning, match="Parameters already initialized and force_init=False"):
        module.init_params()
    with pytest.warns(UserWarning, match="rescale_grad is not normalized .*1.0 vs. 0.25"):
        module.init_optimizer(optimizer=mx.optimizer.SGD(), force_init=True)


def test_progress_bar_is_shown_in_notebooks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import types

    tqdm = pytest.importorskip("tqdm")
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, **options: Any) -> None:
            made.append(options)
            super().__init__(**options, file=sys.stdout)

    def epoch() -> str:
        show = mx.callback.ProgressBar(2)
        for number in range(2):
            show(mx.model.BatchEndParam(3, number, None, None))
        return capsys.readouterr().out

    notebook = types.SimpleNamespace(tqdm_notebook=Bar)
    for name, module in (("ipywidgets", types.SimpleNamespace(IntProgress=object)), ("tqdm.notebook", notebook)):
        monkeypatch.setitem(sys.modules, name, module)
    assert "Epoch 3: 100%" in epoch()
    assert made == [{"total": 2, "desc": "Epoch 3", "unit": "batch"}]
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # then tqdm's bar for terminals, in the cell's output
    assert "Epoch 3: 100%" in epoch()
    assert len(made) == 1
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert epoch() == ""  # a file
