"""Which tests run: a newcomer's run of all leaves out the drawn-out rest, and `-m quick` takes a little of every room.

`python -m pytest` walks every operator in every mode, every guide, every public name, every golden number and the texts
of errors. What is drawn out beyond that runs with `-m drawn_out`; all runs with `-m "drawn_out or not drawn_out"`, and
wherever files or tests are named on the command line.

The rule: a test takes half a second of a processor at most, and all cases of one function together a third of a second
(`--processor-times` tells of those that take more), unless it is one of `PROMISED`. Of cases that take longer, every
n-th stays, so that they do not; tests that take longer one by one stay out: long random programs, another compiler,
processes started anew. Which cases stay is another choice for each function, so that functions that walk the same rows
do not leave out the same ones. Of `op.check`, which walks the table of operators, the first row of every operator
stays, and every sixth of the further ones; of the networks that MXNet has computed, every second one.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["DRAWN_OUT", "PROMISED", "QUICK", "Selecting", "Times", "mark", "named"]

_ALONE, _TOGETHER = 0.5, 0.33  # seconds of a processor
_TABLE = Path(__file__).parent / "drawn_out.json"
# By "file::test": every how many cases one stays in a run of all; 0 for none.
DRAWN_OUT: dict[str, int] = json.loads(_TABLE.read_text())

# What a run of all takes its time for: see above.
PROMISED = (
    "test_dropped_gradients.py::",
    "test_operator_table.py::",
    "test_gluon_operators.py::",
    "test_definitions.py::",
    "test_symbol_table.py::",
    "test_golden.py::",
    "test_library_golden.py::",
    "test_old_models.py::test_outputs_are_those_of_mxnet",
    "test_native_graphs.py::test_answers_are_those_of_mxnet",
    "test_native_partitions.py::test_as_mxnet",
    "test_partitions.py::test_as_mxnet",
    "test_gluon_optimize.py::test_as_in_mxnet",
    "test_guide.py::",
    "test_tutorials.py::",
    "test_docstrings.py::",
    "test_namespaces.py::",
    "test_namespace_record.py::",
    "test_stubs.py::test_the_stubs_are_current",
    "test_layers.py::",
    "test_bad_input.py::",
    "test_symbol_json.py::test_broken_files_say_where",
)

_TABLE_OF_OPERATORS = "test_operator_table.py::test_op_check"

# Of every room, files of tests that take a second at most: what a change breaks first.
QUICK: dict[str, tuple[str, ...]] = {
    "array_variants": ("test_minpy_gradients.py",),
    "bridge": ("test_numpy_protocols.py",),
    "backends": ("test_backends.py",),
    "batching": ("test_operator_calls.py", "test_vmap.py"),
    "capture": ("test_capture.py", "test_tracing_reading.py"),
    "checking": ("test_check.py", "test_arguments.py"),
    "compiling": ("test_compile_function.py", "test_guards_of_gradients.py"),
    "contrib": ("test_contrib_text.py", "test_amp_training.py"),
    "core": (
        "test_autograd.py",
        "test_base_operator.py",
        "test_configured.py",
        "test_customop.py",
        "test_ownership.py",
        "test_signatures.py",
        "test_writes.py",
    ),
    "custom": ("test_custom_prop.py", "test_custom_prop_errors.py", "test_function.py"),
    "differentiation": ("test_differential_operators.py", "test_functional.py"),
    "dispatch": ("test_minpy_api.py",),
    "dlpack": ("test_ndarray.py",),
    "dropin": ("test_first_steps.py",),
    "frameworks": ("test_derivatives.py", "test_not_installed.py"),
    "onnx": ("test_parameter_conversion.py",),
    "gluon": (
        "test_gluon_blocks.py",
        "test_gluon_forward.py",
        "test_gluon_hybridize.py",
        "test_gluon_layer_errors.py",
        "test_gluon_parameters.py",
        "test_trainer.py",
    ),
    "graph": (
        "test_frames.py",
        "test_graph_passes.py",
        "test_native_fusing.py",
        "test_native_linking.py",
        "test_native_newcomers.py",
        "test_partitioners.py",
        "test_tracing_reading.py",
    ),
    "image": ("test_image.py",),
    "initializer": ("test_initializer.py",),
    "inspection": ("test_first_steps.py",),
    "io": ("test_io_arrays.py", "test_io_files.py"),
    "jit": ("test_compile_function.py", "test_explain_retraces.py"),
    "kvstore": ("test_kvstore.py",),
    "library": ("test_library_host.py", "test_library_passes.py"),
    "metric": ("test_metric.py",),
    "model": ("test_feed_forward_resets.py",),
    "module": ("test_module.py", "test_module_meetings.py"),
    "profiler": ("test_profiler.py",),
    "rnn": ("test_rnn_cells.py",),
    "ndarray": ("test_ndarray.py", "test_saving.py", "test_sparse_content.py"),
    "nn": ("test_model_builder.py",),
    "notebook": ("test_notebook.py",),
    "numpy": ("test_switches.py", "test_numpy_protocols.py"),
    "numpy_table": ("test_numpy_table.py",),
    "numpy_extension": ("test_npx.py",),
    "ops": (
        "test_convolution.py",
        "test_linear_algebra.py",
        "test_operator_semantics.py",
        "test_sampling_operators.py",
        "test_symbol_operators.py",
    ),
    "optimizer": ("test_optimizer.py", "test_lr_scheduler.py"),
    "pictures": ("test_pictures.py",),
    "recordio": ("test_recordio.py",),
    "symbol": ("test_executor.py", "test_symbol_naming.py", "test_symbol_namespace.py"),
    "test_utils": ("test_test_utils.py",),
    "utils": ("test_minpy_dispatch.py",),
    "tools": ("test_im2rec.py",),
    "all of them": ("test_docstrings.py", "test_exports.py", "test_small_modules.py", "test_visualization.py"),
}


def named(config: pytest.Config) -> bool:
    """Tell whether files or tests are named on the command line: then all of them run, each case by itself."""
    return any(".py" in str(argument) for argument in config.args)


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests that are drawn out, and those that are quick."""
    drawn_out, quick = pytest.mark.drawn_out, pytest.mark.quick
    quick_files = {name for names in QUICK.values() for name in names}
    seen: Counter[str] = Counter()
    rows = set()
    for item in items:
        name = _function(item)
        every = DRAWN_OUT.get(name)
        if name == _TABLE_OF_OPERATORS:
            operator = item.callspec.params["row"].name
            every = 6 if operator in rows else None
            rows.add(operator)
        if every is not None:
            seen[name] += 1
            if not every or (seen[name] + zlib.crc32(name.encode())) % every:
                item.add_marker(drawn_out)
                continue
        if item.path.name in quick_files:
            item.add_marker(quick)


def _function(item: pytest.Item) -> str:
    """Return "file::test" of a test, without its case."""
    return item.nodeid.partition("[")[0].rpartition("/")[2]


class Selecting:
    """A plugin that marks tests before they are chosen by that, and imports nothing of which nothing is to run."""

    def __init__(self, config: pytest.Config) -> None:
        if not config.option.markexpr and not named(config):
            config.option.markexpr = "not drawn_out"
        self._quick = config.option.markexpr == "quick"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark what is drawn out, and what is quick."""
        mark(items)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out files of which nothing is quick, where only that is to run."""
        other = collection_path.suffix == ".py" and all(collection_path.name not in names for names in QUICK.values())
        return True if self._quick and other else None


class Times:
    """A plugin that tells which functions take more of a processor than the rule allows: see `--processor-times`."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test, with the processes that it starts."""
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self._times[_function(item)].append(sum(os.times()[:4]) - before)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what is to be written to drawn_out.json."""
        for name, times in sorted(self._times.items(), key=lambda pair: -sum(pair[1])):
            if sum(times) > (_ALONE if len(times) == 1 else _TOGETHER):
                long = sum(times) > _ALONE * len(times)
                every = 0 if long else min(int(sum(times) / _TOGETHER) + 1, len(times))
                promised = " (promised)" if name.startswith(PROMISED) else ""
                terminalreporter.write_line(
                    f"{sum(times):7.2f} s in {len(times):4} cases: {json.dumps(name)}: {every}{promised}"
                )
