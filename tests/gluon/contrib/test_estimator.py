"""The estimator: what its handlers see and in which order, what is logged, checkpoints that survive a crash."""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import files, gluon
from minpy.gluon.contrib.estimator import (
    BatchBegin,
    BatchEnd,
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    Estimator,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    ProgressBarHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

pytestmark = pytest.mark.filterwarnings("ignore:No trainer specified:UserWarning")


def loader(items: int = 12, batch_size: int = 4) -> gluon.data.DataLoader:
    data = np.random.RandomState(0).randn(items, 3).astype("float32")
    return gluon.data.DataLoader(
        gluon.data.ArrayDataset(mx.nd.array(data), mx.nd.array(data[:, 0] > 0)), batch_size=batch_size
    )


def network(*, seed: int | None = None) -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="relu", in_units=3), gluon.nn.Dense(2, in_units=4))
    if seed is not None:
        mx.random.seed(seed)
    net.initialize(mx.init.Constant(0.1) if seed is None else mx.init.Xavier())
    return net


def make(net: Any = None, **kwargs: Any) -> Estimator:
    return Estimator(network() if net is None else net, gluon.loss.SoftmaxCrossEntropyLoss(), **kwargs)


def log_of(estimator: Estimator) -> io.StringIO:
    text = io.StringIO()
    estimator.logger.handlers = [logging.StreamHandler(text)]
    return text


def without_times(text: str) -> list[str]:
    text = re.sub(r"in \d+\.\d+s", "in Ts", text)
    text = re.sub(r"total \d+s", "total Ts", text)
    return re.sub(r"interval: \d+\.\d+s", "interval: Ts", text).splitlines()


class Spy(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Notes when it is called, and with what."""

    def __init__(self, seen: list[str], name: str = "", priority: float | None = None) -> None:
        self.seen, self.name = seen, name
        if priority is not None:
            self.priority = priority

    def __getattribute__(self, name: str) -> Any:
        if name not in ("train_begin", "train_end", "epoch_begin", "epoch_end", "batch_begin", "batch_end"):
            return super().__getattribute__(name)

        def note(estimator: Estimator, **kwargs: Any) -> None:
            self.seen.append(f"{self.name}{name} {' '.join(sorted(kwargs))}".rstrip())

        return note


# -- the order of events -------------------------------------------------------------------------------------------


def test_the_moments_of_training() -> None:
    seen: list[str] = []
    estimator = make()
    log_of(estimator)
    estimator.fit(loader(8), epochs=2, event_handlers=Spy(seen))
    batch = ["batch_begin batch", "batch_end batch label loss pred"]
    epoch = ["epoch_begin", *batch, *batch, "epoch_end"]
    assert seen == ["train_begin", *epoch, *epoch, "train_end"]
    seen.clear()
    assert estimator.evaluate(loader(4), event_handlers=[Spy(seen)]) is None
    assert seen == ["epoch_begin", *batch, "epoch_end"]


def test_priorities_order_handlers_and_equal_ones_stay_as_given() -> None:
    seen: list[str] = []
    estimator = make()
    log_of(estimator)
    spies = [Spy(seen, "c "), Spy(seen, "b ", -1500), Spy(seen, "a ", -3000), Spy(seen, "d ")]
    estimator.fit(loader(4), batches=1, event_handlers=spies)
    assert [line[0] for line in seen if "train_begin" in line] == ["a", "b", "c", "d"]


def test_gradients_are_applied_before_metrics_and_both_before_other_handlers() -> None:
    order: list[str] = []

    class Update(GradientUpdateHandler):
        def batch_end(self, *args: Any, **kwargs: Any) -> bool:
            order.append("update")
            return super().batch_end(*args, **kwargs)

    class Metrics(MetricHandler):
        def batch_end(self, *args: Any, **kwargs: Any) -> bool:
            order.append("metrics")
            return super().batch_end(*args, **kwargs)

    estimator = make()
    log_of(estimator)
    handlers = [Spy(order), Metrics(estimator.train_metrics), Update()]
    estimator.fit(loader(4), epochs=1, event_handlers=handlers)
    assert [name for name in order if name in ("update", "metrics") or "batch_end" in name] == [
        "update",
        "metrics",
        "batch_end batch label loss pred",
    ]


def test_a_batch_handler_ends_the_epoch_and_an_epoch_handler_the_training() -> None:
    seen: list[str] = []

    class Short(BatchEnd, EpochEnd):
        epochs = 0

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            return True

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            self.epochs += 1
            return self.epochs == 2

    estimator = make()
    log_of(estimator)
    estimator.fit(loader(), epochs=7, event_handlers=[Short(), Spy(seen)])
    assert [seen.count(name) for name in ("epoch_end", "batch_begin batch")] == [2, 2]


@pytest.mark.parametrize(("batches", "epochs_seen"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_training_for_a_number_of_batches(batches: int, epochs_seen: int) -> None:
    seen: list[str] = []
    estimator = make()
    log_of(estimator)
    estimator.fit(loader(), batches=batches, event_handlers=Spy(seen))
    assert seen.count("batch_begin batch") == batches
    assert seen.count("epoch_end") == epochs_seen


# -- what is logged (by MXNet 1.9.1 word for word, but for the numbers of batches of checkpoints) ------------------


def test_the_log_of_a_training_with_validation() -> None:
    estimator = make()
    text = log_of(estimator)
    estimator.fit(loader(), loader(8), epochs=2)
    values = "training accuracy: 0.8333, training softmaxcrossentropyloss: 0.6923"
    assert without_times(text.getvalue()) == [
        "Training begin: using optimizer SGD with current learning rate 0.0010 ",
        "Train for 2 epochs.",
        "[Epoch 0] Begin, current learning rate: 0.0010",
        "Validation Begin",
        "[Epoch 0] Finished in Ts, validation accuracy: 1.0000, validation softmaxcrossentropyloss: 0.6921",
        "[Epoch 0] Finished in Ts, training accuracy: 0.5000, training softmaxcrossentropyloss: 0.6930",
        "[Epoch 1] Begin, current learning rate: 0.0010",
        "Validation Begin",
        "[Epoch 0] Finished in Ts, validation accuracy: 1.0000, validation softmaxcrossentropyloss: 0.6910",
        "[Epoch 1] Finished in Ts, training accuracy: 0.8333, training softmaxcrossentropyloss: 0.6923",
        "Train finished using total Ts with 2 epochs. " + values,
    ]


def test_the_log_of_batches() -> None:
    estimator = make()
    text = log_of(estimator)
    handler = LoggingHandler(log_interval=2, metrics=estimator.train_metrics + estimator.val_metrics[:1])
    estimator.fit(loader(), batches=3, event_handlers=[handler])
    values = "training accuracy: {}, training softmaxcrossentropyloss: {}, validation accuracy: nan"
    assert without_times(text.getvalue())[1:5] == [
        "Train for 3 batches.",
        "[Epoch 0] Begin, current learning rate: 0.0010",
        "[Epoch 0][Batch 0][Samples 4] time/interval: Ts " + values.format("0.0000", "0.6931"),
        "[Epoch 0][Batch 2][Samples 12] time/interval: Ts " + values.format("0.5000", "0.6930"),
    ]


def test_a_log_without_metrics_tells_those_of_training() -> None:
    estimator = make()
    text = log_of(estimator)
    estimator.fit(loader(), epochs=1, event_handlers=LoggingHandler())
    assert without_times(text.getvalue())[2] == "[Epoch 0] Begin, current learning rate: 0.0010"
    assert "training accuracy: 0.5000" in text.getvalue()


def test_validation_every_few_batches_or_epochs() -> None:
    estimator = make()
    calls: list[dict[str, Any]] = []

    def evaluate(**kwargs: Any) -> None:
        calls.append(kwargs)

    log_of(estimator)
    data = loader(4)
    spy = Spy([])
    handler = ValidationHandler(data, evaluate, epoch_period=2, batch_period=4, event_handlers=spy)
    estimator.fit(loader(), epochs=3, event_handlers=[handler])
    assert len(calls) == 1 + 2
    assert calls[0] == {"val_data": data, "batch_axis": 0, "event_handlers": spy}


# -- metrics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "names"),
    [
        (gluon.loss.SoftmaxCrossEntropyLoss(), ["training accuracy", "training softmaxcrossentropyloss"]),
        (gluon.loss.L2Loss(), ["training l_loss"]),
        (gluon.loss.HuberLoss(), ["training huberloss"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_metrics_that_are_there_by_default(loss: Any, names: list[str]) -> None:
    estimator = Estimator(network(), loss)
    found = [metric.name for metric in estimator.train_metrics]
    assert found == [name.replace("l_loss", "lloss") for name in names]
    assert [metric.name for metric in estimator.val_metrics] == [
        name.replace("training", "validation") for name in found
    ]


def test_composite_metrics_count_one_by_one_and_names_are_given_once() -> None:
    both = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.MAE()])
    for _ in range(2):
        estimator = make(train_metrics=both)
        assert [metric.name for metric in estimator.train_metrics] == ["training accuracy", "training mae"]
        assert [metric.name for metric in estimator.val_metrics] == ["validation accuracy", "validation mae"]


# -- training itself -----------------------------------------------------------------------------------------------


def test_fit_trains_as_a_loop_written_by_hand() -> None:
    net, other = network(seed=1), network(seed=1)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    estimator = make(net, trainer=trainer)
    log_of(estimator)
    estimator.fit(loader(10), epochs=3)
    trainer = gluon.Trainer(other.collect_params(), "adam", {"learning_rate": 0.05})
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(3):
        for data, label in loader(10):
            with mx.autograd.record():
                loss = loss_function(other(data), label)
            loss.backward()
            trainer.step(len(data))
    for mine, theirs in zip(net.collect_params().values(), other.collect_params().values(), strict=True):
        np.testing.assert_array_equal(mine.data().asnumpy(), theirs.data().asnumpy())


def test_several_devices_share_a_batch() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    one, two = network(seed=2), network(seed=2)
    two.collect_params().reset_ctx(contexts)
    sizes: list[int] = []

    class Sizes(BatchEnd):
        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            sizes.append(len(kwargs["pred"]))
            return False

    for net, context in ((one, None), (two, contexts)):
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        estimator = make(net, trainer=trainer, context=context)
        log_of(estimator)
        estimator.fit(loader(8), epochs=2, event_handlers=Sizes())
    assert sizes == [1] * 4 + [2] * 4
    for mine, theirs in zip(one.collect_params().values(), two.collect_params().values(), strict=True):
        np.testing.assert_allclose(mine.data().asnumpy(), theirs.data(mx.cpu(1)).asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_network_that_is_not_initialized_is_and_one_that_is_stays() -> None:
    net = gluon.nn.Dense(2)
    estimator = make(net, initializer=mx.init.One())
    log_of(estimator)
    estimator.evaluate(loader(4))
    assert net.weight.data().asnumpy().tolist() == [[1.0] * 3] * 2
    with pytest.warns(UserWarning, match=r"is initialized already, and the initializer is not used\. .*force_reinit"):
        make(net, initializer=mx.init.Zero())
    assert net.weight.data().asnumpy().tolist() == [[1.0] * 3] * 2


def test_a_batch_processor_of_ones_own() -> None:
    class Doubled(BatchProcessor):
        """Takes data, label and weights of examples."""

        def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> Any:
            data, label, weight = train_batch
            with mx.autograd.record():
                pred = estimator.net(data)
                loss = estimator.loss(pred, label, weight)
            loss.backward()
            return [data], [label], [pred], [loss]

    x, y, _ = (mx.nd.ones((4, 3)), mx.nd.ones(4), None)
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y, mx.nd.zeros((4, 1))), batch_size=4)
    net = network()
    estimator = make(net, batch_processor=Doubled())
    log_of(estimator)
    before = net[0].weight.data().asnumpy()
    estimator.fit(data, epochs=2)
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)  # weights of 0: nothing is learned


def test_what_is_evaluated_may_be_another_network_with_another_loss() -> None:
    net = network()
    other = gluon.nn.Dense(2, in_units=3)
    other.initialize(mx.init.Zero())
    estimator = make(net, val_net=other, val_loss=gluon.loss.SoftmaxCrossEntropyLoss(weight=2.0))
    log_of(estimator)
    estimator.evaluate(loader(8))
    assert estimator.val_metrics[1].get()[1] == pytest.approx(2 * np.log(2), rel=1e-6)


# -- early stopping ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "epochs", "best"),
    [
        ({}, 3, 0.8333333),
        ({"patience": 1}, 3, 0.8333333),
        ({"patience": 2}, 4, 0.8333333),
        ({"min_delta": 10}, 2, 0.5),
        ({"mode": "min"}, 2, 0.5),
        ({"baseline": 0.99}, 1, 0.99),
    ],
)
def test_early_stopping(options: dict[str, Any], epochs: int, best: float) -> None:
    estimator = make()
    text = log_of(estimator)
    handler = EarlyStoppingHandler(estimator.train_metrics[0], **options)
    estimator.fit(loader(), epochs=6, event_handlers=handler)
    assert handler.current_epoch == epochs
    assert handler.best == pytest.approx(best)
    assert f"[Epoch {epochs - 1}] EarlyStoppingHandler: early stopping due to training accuracy" in text.getvalue()


def test_early_stopping_watches_a_metric_that_is_never_updated() -> None:
    estimator = make()
    log_of(estimator)
    handler = EarlyStoppingHandler(estimator.val_metrics[0])
    with pytest.warns(RuntimeWarning, match=r"validation accuracy has no value after epoch 0: .*Was validation data"):
        estimator.fit(loader(), epochs=1, event_handlers=handler)


def test_an_unknown_mode_is_taken_for_auto() -> None:
    metric = mx.metric.Accuracy()
    with pytest.warns(RuntimeWarning, match=r"mode 'up' is unknown; expected 'auto', 'min' or 'max'"):
        assert EarlyStoppingHandler(metric, mode="up").monitor_op is np.greater
    assert EarlyStoppingHandler(mx.metric.MAE()).monitor_op is np.less


# -- checkpoints ---------------------------------------------------------------------------------------------------


def train(folder: Path, *, epochs: int | None = None, batches: int | None = None, **options: Any) -> tuple[Any, str]:
    """Return a network trained with momentum and checkpoints, and its log."""
    net = network(seed=3)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.9})
    estimator = make(net, trainer=trainer)
    text = log_of(estimator)
    handler = CheckpointHandler(str(folder), verbose=1, **options)
    estimator.fit(loader(), epochs=epochs, batches=batches, event_handlers=handler)
    return net, text.getvalue()


def weights(net: Any) -> list[np.ndarray]:
    return [parameter.data().asnumpy() for parameter in net.collect_params().values()]


@pytest.mark.parametrize("kind", ["epochs", "batches"])
def test_a_run_that_is_resumed_is_the_one_that_never_stopped(tmp_path: Path, kind: str) -> None:
    scale, options = (1, {}) if kind == "epochs" else (3, {"epoch_period": None, "batch_period": 3})
    whole, _ = train(tmp_path / "whole", **{kind: 5 * scale}, **options)
    train(tmp_path / "parts", **{kind: 2 * scale}, **options)
    resumed, text = train(tmp_path / "parts", **{kind: 5 * scale}, resume_from_checkpoint=True, **options)
    assert f"continue to train for {3 * scale} {kind} " in text
    for mine, theirs in zip(weights(resumed), weights(whole), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_names_of_checkpoints(tmp_path: Path) -> None:
    _, text = train(tmp_path / "a", epochs=3)
    assert "[Epoch 1] CheckpointHandler: trained total 6 batches, saving model at" in text
    names = ["model-epoch0batch3", "model-epoch1batch6", "model-epoch2batch9"]
    assert sorted(os.listdir(tmp_path / "a")) == [f"{name}.{kind}" for name in names for kind in ("params", "states")]
    _, text = train(tmp_path / "a", epochs=4, resume_from_checkpoint=True)
    assert "CheckpointHandler: Checkpoint resumed from epoch 2 batch 9, continue to train for 1 epochs " in text
    assert "model-epoch3batch12.params" in os.listdir(tmp_path / "a")
    train(tmp_path / "b", epochs=3, model_prefix="b", batch_period=2, epoch_period=None, max_checkpoints=2)
    assert sorted(os.listdir(tmp_path / "b"))[::2] == ["b-epoch1batch5.params", "b-epoch2batch7.params"]


def test_the_best_model_is_kept_beside_the_last_ones(tmp_path: Path) -> None:
    estimator = make()
    text = log_of(estimator)
    handler = CheckpointHandler(
        str(tmp_path), monitor=estimator.train_metrics[0], save_best=True, max_checkpoints=1, verbose=1
    )
    estimator.fit(loader(), epochs=3, event_handlers=handler)
    assert sorted(os.listdir(tmp_path)) == [
        "model-best.params",
        "model-best.states",
        "model-epoch2batch9.params",
        "model-epoch2batch9.states",
    ]
    lines = [line.partition("CheckpointHandler: ")[2] for line in text.getvalue().splitlines() if "accuracy " in line]
    assert [line.partition(",")[0] for line in lines if "improve" in line] == [
        "training accuracy improved from -inf to 0.50000",
        "training accuracy improved from 0.50000 to 0.83333",
        "training accuracy did not improve from 0.83333",
    ]


def test_a_hybridized_network_leaves_its_graph(tmp_path: Path) -> None:
    net = network()
    net.hybridize()
    estimator = make(net)
    log_of(estimator)
    estimator.fit(loader(), epochs=1, event_handlers=CheckpointHandler(str(tmp_path)))
    graph = mx.sym.load(str(tmp_path / "model-symbol.json"))
    inputs = {name: parameter.data() for name, parameter in net.collect_params().items()}
    data = mx.nd.ones((2, 3))
    (output,) = graph.eval(data=data, **inputs)
    np.testing.assert_array_equal(output.asnumpy(), net(data).asnumpy())


def test_nothing_to_resume_from_is_training_from_scratch(tmp_path: Path) -> None:
    _, text = train(tmp_path, epochs=1, resume_from_checkpoint=True)
    assert "CheckpointHandler: No checkpoint found, training from scratch for 1 epochs" in text


def test_a_run_that_is_done_is_not_resumed(tmp_path: Path) -> None:
    train(tmp_path, epochs=2)
    message = (
        r"model-epoch1batch6\.params has been trained for 2 epochs already, as long as fit\(\) was asked for\. Ask"
    )
    with pytest.raises(ValueError, match=message):
        train(tmp_path, epochs=2, resume_from_checkpoint=True)


class Killed(BaseException):
    """What ends a program in the middle of a file."""


@pytest.mark.parametrize("file", range(6))
@pytest.mark.parametrize("part", [0, 1, 3])
def test_a_program_killed_while_it_saves_is_resumed_from_what_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: int, part: int
) -> None:
    """Three epochs write six files; the program is killed in one of them."""
    whole, _ = train(tmp_path / "whole", epochs=3)
    write_whole, written = files.write_whole, []

    def write(path: str, chunks: Any) -> None:
        def cut() -> Any:
            for position, chunk in enumerate(chunks):
                if len(written) == file + 1 and position == part:
                    raise Killed
                yield chunk

        written.append(path)
        write_whole(path, cut())

    monkeypatch.setattr(files, "write_whole", write)
    ended = False
    try:
        train(tmp_path / "parts", epochs=3)
        ended = True
    except Killed:
        names = os.listdir(tmp_path / "parts")
        assert all(name.endswith((".params", ".states")) for name in names), names
    monkeypatch.undo()
    if ended:  # a file that has fewer parts
        assert part
        return
    resumed, text = train(tmp_path / "parts", epochs=3, resume_from_checkpoint=True)
    assert ("is incomplete or damaged, and passed over: " in text) == bool(file % 2)
    for mine, theirs in zip(weights(resumed), weights(whole), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", ["params", "states"])
@pytest.mark.parametrize("keep", [0, 1, 30, -1])
def test_a_checkpoint_cut_short_is_passed_over(tmp_path: Path, kind: str, keep: int) -> None:
    train(tmp_path, epochs=2)
    path = tmp_path / f"model-epoch1batch6.{kind}"
    path.write_bytes(path.read_bytes()[:keep])
    net, text = train(tmp_path, epochs=3, resume_from_checkpoint=True)
    assert "checkpoint model-epoch1batch6 is incomplete or damaged, and passed over: " in text
    assert "Checkpoint resumed from epoch 0 batch 3, continue to train for 2 epochs" in text
    whole, _ = train(tmp_path / "whole", epochs=3)
    for mine, theirs in zip(weights(net), weights(whole), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# -- a bar of progress ---------------------------------------------------------------------------------------------


def test_a_bar_of_progress() -> None:
    pytest.importorskip("tqdm")
    estimator = make()
    log_of(estimator)
    shown = io.StringIO()
    estimator.fit(loader(), epochs=2, event_handlers=ProgressBarHandler(file=shown, mininterval=0))
    text = shown.getvalue()
    assert "epoch 0: 100%" in text
    assert "epoch 1: 100%" in text
    assert "3/3" in text
    assert "training accuracy=0.8333" in text


def test_a_bar_without_tqdm_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"needs tqdm, .* python -m pip install tqdm"):
        ProgressBarHandler()


# -- errors --------------------------------------------------------------------------------------------------------

LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
ERRORS: dict[str, tuple[Any, str]] = {
    "neither epochs nor batches": (lambda: make().fit(loader()), r"one of epochs and batches says .*epochs=None and"),
    "both": (lambda: make().fit(loader(), epochs=1, batches=2), r"got epochs=1 and batches=2\. Give one"),
    "no loader": (
        lambda: make().fit([1, 2], epochs=1),
        r"train_data must be a gluon\.data\.DataLoader, got list .*\. Make one: gluon\.data\.DataLoader\(",
    ),
    "no loader to validate": (lambda: make().fit(loader(), 3, epochs=1), r"val_data must be a .*, got int 3\. Make"),
    "no batches": (lambda: make().fit(loader(0), epochs=1), r"train_data has no batches\. Does the dataset have any"),
    "no handler": (
        lambda: make().fit(loader(), epochs=1, event_handlers=[1]),
        r"event_handlers must be an EventHandler or a list of them, got int 1\. Handlers derive from TrainBegin",
    ),
    "a metric of somebody else": (
        lambda: make().fit(loader(), epochs=1, event_handlers=LoggingHandler(metrics=mx.metric.MAE())),
        r"refers to the metric 'mae', which is none of .* own, and so .* Take one of .*: training accuracy,",
    ),
    "no network": (lambda: Estimator(3, LOSS), r"net must be a gluon\.Block, got int 3"),
    "no loss": (lambda: Estimator(network(), "l2"), r"loss must be a gluon\.loss\.Loss, got str 'l2'"),
    "a metric's name": (lambda: make(train_metrics="acc"), r"got str 'acc'\. Make one .*mx\.metric\.create"),
    "no trainer": (lambda: make(trainer="sgd"), r"trainer must be a gluon\.Trainer, got str 'sgd'\. Make one: "),
    "no context": (lambda: make(context="cpu"), r"context must be a Context or a list of them, got str 'cpu', such as"),
    "no processor": (
        lambda: make(batch_processor=3),
        r"must have the methods .*; int 3 lacks fit_batch and evaluate_batch\. Derive it from BatchProcessor",
    ),
    "a batch without a label": (
        lambda: make().fit(gluon.data.DataLoader(mx.nd.ones((4, 3)), batch_size=2), epochs=1),
        r"a batch must hold data and a label, got float32 \(2, 3\)\. Let the dataset give pairs, or .* batch_processor",
    ),
    "an interval": (lambda: LoggingHandler("often"), r"log_interval must be a number of batches or 'epoch', got str"),
    "nothing to monitor": (lambda: CheckpointHandler("x", save_best=True), r"save_best needs a monitor, .* Give one"),
    "a period": (lambda: CheckpointHandler("x", epoch_period=0), r"epoch_period must be 1 or more, or None, got 0"),
    "monitoring a number": (lambda: EarlyStoppingHandler(3), r"monitor must be a metric of the estimator, got int 3"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        call()
    assert not os.listdir(tmp_path)


def test_the_best_by_a_metric_without_a_value(tmp_path: Path) -> None:
    estimator = make()
    log_of(estimator)
    handler = CheckpointHandler(str(tmp_path), monitor=estimator.val_metrics[0], save_best=True)
    message = r"validation accuracy has no value, so there is no best model\. If it is a metric of validation, give fit"
    with pytest.raises(ValueError, match=message):
        estimator.fit(loader(), epochs=1, event_handlers=handler)


def test_a_default_trainer_is_said() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        make()
    assert [str(warning.message) for warning in seen] == [
        "No trainer specified, default SGD optimizer with learning rate 0.001 is used."
    ]
    assert seen[0].filename == __file__


def test_a_stopping_handler_takes_over_what_fit_is_asked_for() -> None:
    estimator = make()
    log_of(estimator)
    handler = StoppingHandler(max_epoch=9)
    estimator.fit(loader(), epochs=2, event_handlers=handler)
    assert (handler.max_epoch, handler.current_epoch) == (2, 2)
