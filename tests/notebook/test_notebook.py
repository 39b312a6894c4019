"""`mx.notebook`, `mx.misc` and `mx.contrib.tensorboard`: training watched."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import MissingDependencyError

callback = mx.notebook.callback


def ended(batch: int = 0, epoch: int = 0, right: int | None = 1) -> mx.model.BatchEndParam:
    """Return the end of a batch, of which one of two instances was told right."""
    metric = None
    if right is not None:
        metric = mx.metric.create("acc")
        metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.2, 0.8] if right == 2 else [0.8, 0.2]])])
    return mx.model.BatchEndParam(epoch=epoch, nbatch=batch, eval_metric=metric, locals=None)


def test_what_pandas_notes() -> None:
    pytest.importorskip("pandas")
    logger = callback.PandasLogger(batch_size=8, frequent=2)
    for batch in range(5):
        logger.train_cb(ended(batch, right=None if batch == 0 else 2))
    logger.eval_cb(ended(9, 1))
    logger.epoch_cb(0, "symbol", {}, {})
    assert list(logger.train_df["minibatch_count"]) == [0, 2, 4]
    assert list(logger.train_df.columns[:5]) == [
        "batches_per_sec",
        "records_per_sec",
        "elapsed",
        "minibatch_count",
        "epoch",
    ]
    assert logger.train_df["accuracy"][0] is None or np.isnan(logger.train_df["accuracy"][0])
    assert list(logger.train_df["accuracy"][1:]) == [1.0, 1.0]
    assert logger.eval_df.loc[0, "accuracy"] == 0.5
    assert logger.eval_df.loc[0, "epoch"] == 1
    assert list(logger.epoch_df.columns) == ["elapsed", "epoch_time"]
    assert len(logger.epoch_df) == 1
    assert logger.all_dataframes["train"] is logger.train_df


def test_a_module_is_watched() -> None:
    pytest.importorskip("pandas")
    logger = callback.PandasLogger(batch_size=4, frequent=1)
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    data = mx.io.NDArrayIter(np.ones((8, 3), "float32"), np.zeros(8), 4)
    mx.mod.Module(net).fit(data, data, num_epoch=2, **callback.args_wrapper(logger))
    assert (len(logger.train_df), len(logger.eval_df), len(logger.epoch_df)) == (4, 2, 2)


def test_charts_are_drawn_by_bokeh(monkeypatch) -> None:
    bokeh = pytest.importorskip("bokeh")
    for module in ("bokeh.io", "bokeh.plotting"):
        pytest.importorskip(module)
    pushed = []
    monkeypatch.setattr(bokeh.io, "output_notebook", lambda: None)
    monkeypatch.setattr(bokeh.io, "push_notebook", lambda handle: pushed.append(handle))
    monkeypatch.setattr(bokeh.plotting, "show", lambda figure, notebook_handle: ("handle", notebook_handle))
    curve = callback.LiveLearningCurve("accuracy", display_freq=-1, frequent=2)
    for batch in range(4):
        curve.batch_cb(ended(batch))
    curve.eval_cb(ended(0, right=2))
    assert list(curve.sources["train"].data["accuracy"]) == [0.5, 0.5]
    assert list(curve.sources["eval"].data["accuracy"]) == [1.0]
    assert pushed == [("handle", True)] * 5
    series = callback.LiveTimeSeries(title="loss")
    series.update_chart_data(3.5)
    assert list(series.source.data["value"]) == [3.5]
    assert len(pushed) == 6
    assert list(callback.args_wrapper(curve, curve)) == ["batch_end_callback", "eval_end_callback"]

    class Own(callback.LiveBokehChart):
        def setup_chart(self):
            return "own"

    own = Own(None, "accuracy", display_freq=1e9)
    own.batch_cb(ended())
    assert len(pushed) == 6
    with pytest.raises(NotImplementedError, match="update_chart_data must be defined"):
        own.eval_cb(ended())
    with pytest.raises(NotImplementedError, match="setup_chart must be defined"):
        callback.LiveBokehChart(None, "accuracy")


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("pandas", lambda: callback.PandasLogger(3)),
        ("bokeh.io", lambda: callback.LiveLearningCurve("acc")),
        ("tensorboardX", lambda: mx.contrib.tensorboard.LogMetricsCallback("logs")),
    ],
)
def test_missing_packages_are_named(module: str, make, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"python -m pip install {module.partition('.')[0]}\."):
        make()


def test_metrics_go_to_tensorboard(tmp_path, monkeypatch) -> None:
    pytest.importorskip("tensorboardX")
    for prefix, name in ((None, "accuracy"), ("train", "train-accuracy")):
        write = mx.contrib.tensorboard.LogMetricsCallback(tmp_path / name, prefix)
        seen = []
        add_scalar = write.summary_writer.add_scalar

        def note(*given, add_scalar=add_scalar, seen=seen, **named):
            seen.append((given, named))
            add_scalar(*given, **named)

        monkeypatch.setattr(write.summary_writer, "add_scalar", note)
        write(ended(7, 3))
        write(ended(7, 3, None))
        write.summary_writer.close()
        assert seen == [((name, 0.5), {"global_step": 3})]
        assert any(path.stat().st_size for path in (tmp_path / name).iterdir())


def test_the_first_learning_rates(caplog) -> None:
    rate = mx.misc.FactorScheduler(3, 0.5)
    with caplog.at_level(logging.INFO):
        rates = [rate(iteration) for iteration in range(10)]
    assert rates == [0.01] * 3 + [0.005] * 3 + [0.0025] * 3 + [0.00125]
    assert [record.getMessage() for record in caplog.records] == [
        f"At Iteration [{step}]: Swith to new learning rate {lr:.5f}"
        for step, lr in ((3, 0.005), (6, 0.0025), (9, 0.00125))
    ]
    with pytest.raises(ValueError, match="Schedule step must be greater or equal than 1 round, got 0"):
        mx.misc.FactorScheduler(0)
    with pytest.raises(ValueError, match=r"Factor must be less than 1 to make lr reduce, got 1\.0"):
        mx.misc.FactorScheduler(2, 1.0)
    with pytest.raises(NotImplementedError, match="must override this"):
        mx.misc.LearningRateScheduler()(1)
