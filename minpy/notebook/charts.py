"""Charts that grow while a module is trained, drawn by Bokeh in a notebook (the extra `notebook`)."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

from minpy.core.errors import MissingDependencyError
from minpy.notebook.logging_frames import PandasLogger, metrics_of

__all__ = ["LiveBokehChart", "LiveLearningCurve", "LiveTimeSeries"]


def _bokeh() -> Any:
    try:
        import bokeh.io
        import bokeh.models
        import bokeh.plotting
    except ImportError:
        raise MissingDependencyError(
            "The charts of notebook.callback need the package bokeh, which is not installed. Install it with: "
            "python -m pip install bokeh."
        ) from None
    return bokeh


class LiveBokehChart:
    """The base of charts: a class of one's own has `setup_chart` and `update_chart_data`.

    Parameters
    ----------
    pandas_logger : PandasLogger or None
        Where the numbers are from; None makes one.
    metric_name : str
    display_freq : float
        After how many seconds the chart is drawn again.
    batch_size, frequent : int
        For the `PandasLogger` that is made.

    Raises
    ------
    MissingDependencyError
        If Bokeh, or pandas, is not installed.
    """

    def __init__(
        self,
        pandas_logger: PandasLogger | None,
        metric_name: str | None,
        display_freq: float = 10,
        batch_size: int | None = None,
        frequent: int = 50,
    ) -> None:
        self._bokeh = _bokeh()
        self.pandas_logger = pandas_logger or PandasLogger(batch_size=batch_size or 1, frequent=frequent)
        self.display_freq = display_freq
        self.last_update = time.time()
        self.metric_name = metric_name
        self._bokeh.io.output_notebook()
        self.handle = self.setup_chart()

    def setup_chart(self) -> Any:
        """Make the chart, and return the handle of what is shown."""
        raise NotImplementedError("Incomplete base class: setup_chart must be defined in the class of a chart.")

    def update_chart_data(self) -> None:
        """Put what is new into the chart."""
        raise NotImplementedError("Incomplete base class: update_chart_data must be defined in the class of a chart.")

    def interval_elapsed(self) -> bool:
        """Tell whether it is time to draw again."""
        return time.time() - self.last_update > self.display_freq

    def _push_render(self) -> None:
        self._bokeh.io.push_notebook(handle=self.handle)
        self.last_update = time.time()

    def _do_update(self) -> None:
        self.update_chart_data()
        self._push_render()

    def batch_cb(self, param: Any) -> None:
        """Draw again after a batch, if it is time."""
        if self.interval_elapsed():
            self._do_update()

    def eval_cb(self, param: Any) -> None:
        """Draw again after an evaluation."""
        self._do_update()

    def callback_args(self) -> dict[str, Callable[..., None]]:
        """Return the callbacks as arguments of `Module.fit`."""
        return {"batch_end_callback": self.batch_cb, "eval_end_callback": self.eval_cb}

    def _shown(self, figure: Any) -> Any:
        return self._bokeh.plotting.show(figure, notebook_handle=True)


class LiveTimeSeries(LiveBokehChart):
    """A number over time: `update_chart_data(value)` adds a point.

    Parameters
    ----------
    **fig_params
        For `bokeh.plotting.figure`.
    """

    def __init__(self, **fig_params: Any) -> None:
        bokeh = _bokeh()
        self.fig = bokeh.plotting.figure(x_axis_type="datetime", x_axis_label="Elapsed time", **fig_params)
        super().__init__(None, None)

    def setup_chart(self) -> Any:
        self.start_time = datetime.datetime.now()
        self.source = self._bokeh.models.ColumnDataSource({"elapsed": [], "value": []})
        self.fig.line("elapsed", "value", source=self.source)
        return self._shown(self.fig)

    def elapsed(self) -> datetime.timedelta:
        """Return how much time has passed."""
        return datetime.datetime.now() - self.start_time

    def update_chart_data(self, value: float) -> None:  # type: ignore[override]  # as MXNet's
        """Add a point, and draw."""
        self.source.stream({"elapsed": [self.elapsed()], "value": [value]})
        self._push_render()


class LiveLearningCurve(LiveBokehChart):
    """A metric in training and validation, over time.

    Give what `callback_args()` returns to `Module.fit`.

    Parameters
    ----------
    metric_name : str
        As the metric calls itself: 'accuracy', ...
    display_freq : float
        After how many seconds the chart is drawn again.
    frequent : int
        After how many batches of training there is a point.
    """

    def __init__(self, metric_name: str, display_freq: float = 10, frequent: int = 50) -> None:
        self.frequent = frequent
        self.start_time = datetime.datetime.now()
        self._data: dict[str, dict[str, list[Any]]] = {
            name: {"elapsed": [], metric_name: []} for name in ("train", "eval")
        }
        super().__init__(None, metric_name, display_freq, frequent=frequent)

    def setup_chart(self) -> Any:
        assert self.metric_name is not None
        self.fig = self._bokeh.plotting.figure(
            x_axis_type="datetime", x_axis_label="Training time", y_axis_label=self.metric_name
        )
        self.sources = {}
        for name, color, label in (("train", "#1f77b4", "train"), ("eval", "#d62728", "validation")):
            self.sources[name] = self._bokeh.models.ColumnDataSource({"elapsed": [], self.metric_name: []})
            self.fig.line("elapsed", self.metric_name, source=self.sources[name], line_color=color, legend_label=label)
        return self._shown(self.fig)

    def batch_cb(self, param: Any) -> None:
        """Note a batch of training, if it is its turn; draw, if it is time."""
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")
        if self.interval_elapsed():
            self._do_update()

    def eval_cb(self, param: Any) -> None:
        """Note an evaluation, and draw, if it is time."""
        self._process_batch(param, "eval")
        if self.interval_elapsed():
            self._do_update()

    def _process_batch(self, param: Any, df_name: str) -> None:
        for name, value in {**metrics_of(param), "elapsed": datetime.datetime.now() - self.start_time}.items():
            self._data[df_name].setdefault(name, []).append(value)

    def update_chart_data(self) -> None:
        assert self.metric_name is not None
        for name, source in self.sources.items():
            noted = self._data[name]
            there = len(source.data["elapsed"])
            count = min(len(noted["elapsed"]), len(noted[self.metric_name]))
            if count > there:
                source.stream({key: noted[key][there:count] for key in ("elapsed", self.metric_name)})
