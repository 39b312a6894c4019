"""The profiler: what it times, that nothing is left of it when it is off, its tables and traces, what programs name."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd, profiler, sym
from minpy.core import dispatch, tape_walk
from minpy.core.base_operator import BaseOperator
from minpy.graph.frame import Frame
from minpy.ndarray import NDArray
from minpy.ops.ufunc import UnaryUfunc
from minpy.profiler.control import _profiler
from minpy.profiler.event_log import LOG


@pytest.fixture(autouse=True)
def _fresh(tmp_path):
    """Begin and end with a profiler that has never run."""
    config = _profiler.config.copy()
    profiler.set_config(filename=str(tmp_path / "profile.json"))
    yield
    profiler.set_state("stop")
    _profiler.config.update(config)
    _profiler.has_run = False
    LOG.clear()
    LOG.reset_statistics()


def counts(category="operator"):
    return {name: known.count for (phase, kind, name), known in LOG.statistics().items() if kind == category}


def profiled(function):
    profiler.set_state("run")
    function()
    profiler.set_state("stop")
    return counts()


X = nd.array([[1.0, 2.0], [3.0, 4.0]])


def train():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    x.attach_grad()
    with autograd.record():
        y = nd.tanh(nd.dot(x, x) + 1).sum()
    y.backward()


CALLS = {
    "by name": (lambda: nd.exp(X), {"exp": 1}),
    "by method": (lambda: X.exp().sum(axis=0), {"exp": 1, "sum": 1}),
    "by sign": (lambda: X + X, {"broadcast_add": 1}),
    "with a number": (lambda: (X + 1, 1 - X, X**2), {"_plus_scalar": 1, "_rminus_scalar": 1, "_power_scalar": 1}),
    "shapes that differ": (lambda: X + nd.ones((1, 2)), {"broadcast_add": 1}),
    "of integers": (lambda: nd.array([1], dtype="int32") * 2, {"_mul_scalar": 1}),
    "out": (lambda: nd.exp(X, out=nd.zeros((2, 2))), {"exp": 1}),
    "several outputs": (lambda: nd.split(X, num_outputs=2), {"SliceChannel": 1}),
    "NumPy arrays": (lambda: nd.exp(np.ones(2)), {"exp": 1}),
    "NumPy's semantics": (lambda: mx.np.sin(mx.np.ones(2)) * mx.np.ones(2), {"sin": 1, "broadcast_mul": 1}),
    "an update": (lambda: nd.sgd_update(X, X, lr=0.1), {"sgd_update": 1}),
    "gradients": (
        train,
        {
            "dot": 1, "_plus_scalar": 1, "tanh": 1, "sum": 1,
            "_backward_dot": 1, "_backward_tanh": 1, "_backward_sum": 1,
        },
    ),
    "symbols that are composed": (lambda: mx.sym.exp(mx.sym.var("x")) + 1, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_timed_once(name):
    function, expected = CALLS[name]
    found = profiled(function)
    assert expected.items() <= found.items()
    assert {one for one in found if not one.startswith("_backward")} == {
        one for one in expected if not one.startswith("_backward")
    }


def test_results_are_what_they_are_without_it():
    def compute():
        x = nd.array([[0.5, -1.0], [2.0, 3.0]])
        x.attach_grad()
        with autograd.record():
            y = nd.concat(nd.softmax(x * 3 - 1), nd.split(x, num_outputs=2)[0] / 2, dim=1)
            y = nd.dropout(y, p=0.0) if hasattr(nd, "dropout") else y
        y.backward()
        x += 1
        return [array.asnumpy().tolist() for array in (y, x.grad, x)]

    expected = compute()
    profiler.set_state("run")
    assert compute() == expected


def test_steps_of_programs_are_timed():
    net = mx.sym.softmax(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="out")
    executor = net.simple_bind(mx.cpu(), data=(2, 4))
    for array in executor.arg_arrays:
        array[:] = 0.5
    outputs = []
    for running in (False, False, True, True, False):  # compiled, then step by step, then compiled
        profiler.set_state("run" if running else "stop")
        executor.forward(is_train=True)
        executor.backward(nd.array([[1, 2, 3], [4, 5, 6]]))
        outputs.append([executor.outputs[0].asnumpy(), *(array.asnumpy() for array in executor.grad_arrays)])
    for other in outputs[1:]:
        for one, first in zip(other, outputs[0], strict=True):
            np.testing.assert_array_max_ulp(one, first, 8)
    found = counts()
    assert found["FullyConnected"] == found["softmax"] == 2
    assert found["_backward_FullyConnected"] >= 2
    assert counts("program") == {"forward": 2, "backward": 2}
    steps = {event.details["node"] for event in LOG.events if event.category == "operator" and event.details}
    assert {"fc", "out"} <= steps


def test_monitors_see_the_steps_while_it_runs():
    executor = mx.sym.exp(mx.sym.var("x"), name="e").bind(mx.cpu(), {"x": nd.ones(2)})
    seen = []
    executor.set_monitor_callback(lambda name, value: seen.append(name))
    profiler.set_state("run")
    executor.forward()
    assert seen == ["e_output"]
    assert counts() == {"exp": 1}


def test_custom_operators_and_what_they_call_are_timed():
    class Double(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("profiled_double")
    class DoubleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Double()

    found = profiled(lambda: nd.Custom(X, op_type="profiled_double"))
    assert found == {"profiled_double": 1}
    assert counts("Custom Operator") == {"profiled_double::pure_python": 1, "profiled_double::_mul_scalar": 1}


@pytest.mark.parametrize(
    ("config", "operators", "programs"),
    [({"profile_imperative": False}, 1, 1), ({"profile_symbolic": False}, 1, 0), ({}, 2, 1)],
)
def test_what_is_timed_is_configured(config, operators, programs):
    profiler.set_config(**{"profile_all": False, **config})
    executor = mx.sym.exp(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.ones(2)})
    profiler.set_state("run")
    nd.exp(X)
    executor.forward()
    assert counts().get("exp", 0) == operators
    assert counts("program").get("forward", 0) == programs


# -- off -----------------------------------------------------------------------------------------------------------


def places():
    classes = (BaseOperator, UnaryUfunc, NDArray, mx.np.ndarray, Frame)
    modules = (dispatch, tape_walk)
    return [dict(vars(holder)) for holder in (*classes, *modules)]


def test_nothing_is_in_the_way_while_it_is_off():
    before = places()
    profiler.set_state("run")
    assert BaseOperator.__call__ is not dispatch.call
    assert places() != before
    profiler.pause()
    assert places() == before
    profiler.resume()
    assert places() != before
    profiler.set_state("run")
    profiler.set_state("stop")
    assert places() == before
    assert BaseOperator.__call__ is dispatch.call
    nd.exp(X)
    assert counts() == {}


def test_pausing():
    profiler.set_state("run")
    nd.exp(X)
    profiler.pause()
    nd.exp(X)
    profiler.resume()
    nd.log(X)
    profiler.set_state("stop")
    profiler.resume()
    nd.log(X)
    assert counts() == {"exp": 1, "log": 1}


def test_threads_are_told_apart():
    profiler.set_state("run")
    threads = [threading.Thread(target=lambda: [nd.exp(X) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts() == {"exp": 200}


def test_errors_leave_it_as_it_was():
    profiler.set_state("run")
    with pytest.raises(mx.MXNetError):
        nd.dot(X, nd.ones(3))
    nd.exp(X)
    assert counts() == {"exp": 1}


# -- what programs name --------------------------------------------------------------------------------------------


def name_things():
    domain = profiler.Domain("loading")
    task, frame = domain.new_task("read"), domain.new_frame("batch")
    event, counter = profiler.Event("work"), domain.new_counter("samples", 5)
    marker = domain.new_marker("now")
    for one in (task, frame, event):
        one.start()
    counter += 3
    counter -= 1
    counter.increment()
    counter.decrement(2)
    marker.mark("thread")
    for one in (task, frame, event):
        one.stop()
    return [str(one) for one in (domain, task, frame, event, counter, marker)]


def test_tasks_frames_events_counters_and_markers(tmp_path):
    profiler.set_state("run")
    assert name_things() == ["loading", "read", "batch", "work", "samples", "now"]
    profiler.set_state("stop")
    statistics = {key: known for key, known in LOG.statistics().items() if key[0] != "i"}
    assert {key: known.count for key, known in statistics.items()} == {
        ("X", "loading", "read"): 1,
        ("X", "loading,frame", "batch"): 1,
        ("X", "event", "work"): 1,
        ("C", "loading", "samples"): 5,
    }
    samples = statistics["C", "loading", "samples"]
    assert (samples.last, samples.smallest, samples.greatest) == (6, 5, 8)
    profiler.dump()
    events = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    phases = [(event["ph"], event["name"]) for event in events if event["ph"] != "M"]
    assert sorted(phases) == sorted(
        [("b", "read"), ("e", "read"), ("b", "batch"), ("e", "batch"), ("X", "work"), ("i", "now")]
        + [("C", "samples")] * 5
    )
    assert next(event["s"] for event in events if event["ph"] == "i") == "t"
    assert [event["args"]["samples"] for event in events if event["ph"] == "C"] == [5, 8, 7, 8, 6]


def test_nothing_is_noted_of_them_while_it_is_off():
    name_things()
    assert LOG.statistics() == {}


def test_scopes_begin_names():
    profiler.set_state("run")
    with profiler.scope("encoder:"), profiler.scope("first:"):
        nd.exp(X)
    nd.exp(X)
    assert counts() == {"encoder:first:exp": 1, "exp": 1}


# -- tables and traces ---------------------------------------------------------------------------------------------


def test_the_table():
    profiler.set_state("run")
    for _ in range(3):
        nd.exp(X)
    nd.dot(X, X)
    name_things()
    profiler.set_state("stop")
    table = profiler.dumps(sort_by="count")
    lines = table.splitlines()
    assert lines[1] == "Profile Statistics:"
    start = lines.index("operator")
    assert lines[start + 2].split("  ")[0] == "Name"
    assert lines[start + 2].endswith("Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)")
    rows = [line.split() for line in lines[start + 4 : start + 6]]
    assert [row[:2] for row in rows] == [["exp", "3"], ["dot", "1"]]
    for row in rows:
        count, total, smallest, greatest, average = map(float, row[1:])
        assert 0 <= smallest <= average <= greatest <= total
        assert average == pytest.approx(total / count, abs=1e-4)
    assert "loading, counters" in lines
    ascending = profiler.dumps(sort_by="count", ascending=True)
    assert ascending.index("dot  ") < ascending.index("exp  ")
    assert profiler.dumps(reset=True, sort_by="count") == table
    assert profiler.dumps() == "\nProfile Statistics:\n"


def test_the_table_as_json():
    profiler.set_state("run")
    nd.exp(X)
    name_things()
    found = json.loads(profiler.dumps(format="json"))
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}
    assert found["Time"]["operator"]["exp"]["Count"] == 1
    assert set(found["Time"]["operator"]["exp"]) == {"Count", "Total", "Min", "Max", "Avg"}
    assert found["Counters"]["loading"]["samples"]["Last"] == 6


def test_the_trace(tmp_path):
    profiler.set_state("run")
    executor = mx.sym.exp(mx.sym.var("x"), name="e").bind(mx.cpu(), {"x": nd.ones(2)})
    executor.forward()
    nd.dot(X, X)
    profiler.dump()
    trace = json.loads((tmp_path / "profile.json").read_text())
    events = trace["traceEvents"]
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == ["minpy", "MainThread"]
    spans = {event["name"]: event for event in events if event["ph"] == "X"}
    assert {"dot", "exp", "forward"} <= spans.keys()
    for event in spans.values():
        assert {"name", "cat", "ph", "ts", "dur", "pid", "tid"} <= event.keys()
        assert event["dur"] >= 0
    step, program = spans["exp"], spans["forward"]
    assert step["args"] == {"node": "e"}
    assert program["ts"] <= step["ts"]
    assert step["ts"] + step["dur"] <= program["ts"] + program["dur"]
    assert spans["dot"]["ts"] >= program["ts"] + program["dur"]
    assert not [path for path in tmp_path.iterdir() if path.name != "profile.json"]


def test_dumps_of_what_goes_on_and_of_what_is_over(tmp_path):
    path = tmp_path / "profile.json"
    profiler.set_state("run")
    nd.exp(X)
    profiler.dump(finished=False)
    nd.log(X)
    profiler.dump()
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert names == ["exp", "log"]
    with pytest.raises(
        mx.MXNetError, match=r"profiler\.dump: there is nothing to write: .* Call profiler\.set_state\('run'"
    ):
        profiler.dump()
    profiler.set_state("run")
    nd.sqrt(X)
    profiler.dump()
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert names == ["sqrt"]
    assert counts() == {"exp": 1, "log": 1, "sqrt": 1}


def test_continuous_dumps_are_written_at_stops(tmp_path):
    profiler.set_config(continuous_dump=True)
    profiler.set_state("run")
    nd.exp(X)
    profiler.set_state("stop")
    assert "exp" in (tmp_path / "profile.json").read_text()


def test_a_program_that_is_profiled_from_its_start(tmp_path):
    code = "import minpy as mx; mx.nd.exp(mx.nd.ones(2))"
    for value, there in (("1", True), ("0", False)):
        path = tmp_path / value
        path.mkdir()
        environment = {"MXNET_PROFILER_AUTOSTART": value, "PYTHONPATH": ":".join(sys.path)}
        subprocess.run([sys.executable, "-c", code], cwd=path, env=environment, check=True, timeout=60)
        assert (path / "profile.json").exists() is there
    events = json.loads((tmp_path / "1" / "profile.json").read_text())["traceEvents"]
    assert "exp" in [event["name"] for event in events]


# -- bad input -----------------------------------------------------------------------------------------------------

WRONG = {
    "state": (
        lambda: profiler.set_state("runn"),
        r"profiler\.set_state: the state is 'runn', expected 'run' or 'stop'\. Did you mean 'run'",
    ),
    "configuration": (
        lambda: profiler.set_config(filname="x"),
        r"profiler\.set_config has no argument 'filname'\. Did you mean 'filename'\? It takes filename, profile_all, ",
    ),
    "process": (
        lambda: profiler.pause("sever"),
        r"profiler\.pause: profile_process is 'sever', expected 'worker' or 'server'\. Did you mean 'server'",
    ),
    "server": (lambda: profiler.resume("server"), r"profiler\.resume: there are no servers of parameters to profile;"),
    "order": (
        lambda: profiler.dumps(sort_by="totl"),
        r"sort_by is 'totl', expected one of 'total', 'avg', 'min', 'max', 'count'\. Did you mean 'total'",
    ),
    "format": (lambda: profiler.dumps(format="xml"), r"the format is 'xml', expected 'table' or 'json'\."),
    "stopped": (
        lambda: profiler.Event("work").stop(),
        r"profiler: Event 'work' is stopped, and was not started\. Call start\(\)\.",
    ),
    "counted": (
        lambda: profiler.Domain("d").new_counter("c", "3"),
        r"profiler: the value of Counter 'c' must be a number, got str '3'\.",
    ),
    "marked": (
        lambda: profiler.Domain("d").new_marker("m").mark("proces"),
        r"the scope of Marker 'm' is 'proces', expected one of 'global', 'process', .*Did you mean 'process'",
    ),
    "filename": (lambda: profiler.set_config(filename=3), r"profiler\.set_config: .* int 3"),
    "mode": (
        lambda: _quietly(profiler.profiler_set_config, "some"),
        r"the mode is 'some', expected 'symbolic' or 'all'",
    ),
}


def _quietly(function, *arguments):
    with pytest.warns(DeprecationWarning, match=r"is the old name of profiler\."):
        function(*arguments)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    function, text = WRONG[name]
    with pytest.raises(mx.MXNetError, match=text):
        function()


def test_a_file_that_cannot_be_written(tmp_path):
    profiler.set_config(filename=str(tmp_path / "nowhere" / "profile.json"))
    profiler.set_state("run")
    with pytest.raises(mx.MXNetError, match=r"profiler\.dump: .*nowhere"):
        profiler.dump()


def test_old_names_still_work(tmp_path):
    _quietly(profiler.profiler_set_config, "all", str(tmp_path / "old.json"))
    _quietly(profiler.profiler_set_state, "run")
    nd.exp(X)
    _quietly(profiler.dump_profile)
    assert "exp" in (tmp_path / "old.json").read_text()


class _Sum(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 1)


@mx.operator.register("profiled_sum")
class _SumProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Sum()


def _custom_times() -> dict[str, dict[str, float]]:
    times: dict[str, dict[str, float]] = json.loads(profiler.dumps(reset=True, format="json"))["Time"]
    return times["Custom Operator"]


def test_custom_operators_and_what_they_call_have_a_category_of_their_own(tmp_path):
    profiler.set_config(profile_all=True, filename=str(tmp_path / "profile.json"))
    symbol = sym.Custom(sym.var("x"), op_type="profiled_sum")
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    x = nd.ones((3,))
    x.attach_grad()
    profiler.set_state("run")
    with autograd.record():
        y = nd.Custom(x, op_type="profiled_sum")
    y.backward()
    executor.forward(is_train=True)
    executor.backward(nd.ones((2,)))
    profiler.set_state("stop")
    times = _custom_times()
    assert {name: row["Count"] for name, row in times.items()} == {
        "profiled_sum::pure_python": 2,
        "profiled_sum::_plus_scalar": 2,
        "_backward_profiled_sum::pure_python": 2,
        "_backward_profiled_sum::_mul_scalar": 2,
    }
    assert all(row["Total"] > 0 for row in times.values())


def test_what_a_custom_operator_calls_is_not_its_own_time(tmp_path):
    class Waits(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            mx.nd.Custom(in_data[0], op_type="profiled_waiting_inside")
            self.assign(out_data[0], req[0], in_data[0])

    class Inside(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            time.sleep(0.05)
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("profiled_waiting")
    class _(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Waits()

    @mx.operator.register("profiled_waiting_inside")
    class _(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Inside()

    profiler.set_config(profile_all=True, filename=str(tmp_path / "profile.json"))
    profiler.set_state("run")
    nd.Custom(nd.ones((3,)), op_type="profiled_waiting")
    profiler.set_state("stop")
    events = {event.name: event for event in LOG.events}
    whole, inside = events["profiled_waiting::pure_python"], events["profiled_waiting::profiled_waiting_inside"]
    assert whole.duration > inside.duration >= 50e6
    own = _custom_times()["profiled_waiting::pure_python"]["Total"]
    assert own == pytest.approx((whole.duration - inside.duration) / 1e6)
