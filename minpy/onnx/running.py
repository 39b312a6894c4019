"""ONNX models run on arrays: by onnxruntime, or by onnx's reference evaluator where that is missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy

from minpy.core.errors import InternalError, MissingDependencyError, MXNetError
from minpy.frameworks.libraries import require

__all__ = ["LoadedModel", "RuntimeFailure", "loaded", "outputs_added", "run_model", "runtime_name"]


class RuntimeFailure(MXNetError):
    """A model that onnxruntime, or the reference evaluator, could not load or run."""


def runtime_name() -> str:
    """Return what runs models here: "onnxruntime", or "onnx.reference"."""
    try:
        require("onnxruntime")
    except MissingDependencyError:
        return "onnx.reference"
    return "onnxruntime"


def run_model(
    model: Any, inputs: Mapping[str, numpy.ndarray], every_output: bool = False, runtime: str | None = None
) -> dict[str, numpy.ndarray]:
    """Return what a model computes, by the names of its values.

    Parameters
    ----------
    model : onnx.ModelProto, bytes, str or PathLike
        A path serves models of more than 2 GB, whose weights are in files beside it.
    inputs : mapping of str to numpy.ndarray
        By the names of the graph's inputs.
    every_output : bool
        Whether what the nodes of the main graph compute is returned, too, in the order of the nodes.
    runtime : {"onnxruntime", "onnx.reference"}, optional
        By default `runtime_name()`.

    Returns
    -------
    dict of str to numpy.ndarray

    Raises
    ------
    MissingDependencyError
        If onnx is not installed.
    RuntimeFailure
        If the model cannot be loaded or run; the text is the runtime's own.

    Examples
    --------
    >>> import numpy, onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 13]>
    ...     doubled (float[2] x) => (float[2] y) { y = Add(x, x) }''')
    >>> run_model(model, {"x": numpy.ones(2, "float32")})
    {'y': array([2., 2.], dtype=float32)}
    """
    if runtime not in (None, "onnxruntime", "onnx.reference"):
        raise InternalError(f"No runtime of ONNX models is called {runtime!r}.")
    if not every_output:
        return LoadedModel(model, runtime).run(inputs)
    require("onnx")
    with outputs_added(loaded(model)) as with_all:
        return LoadedModel(with_all, runtime).run(inputs)


class LoadedModel:
    """A model that is loaded once and run on several inputs: as `run_model`, which says the arguments and errors."""

    def __init__(self, model: Any, runtime: str | None = None) -> None:
        require("onnx")
        self.runtime = runtime or runtime_name()
        load = _load_in_onnxruntime if self.runtime == "onnxruntime" else _load_in_reference
        self._run = _guarded(self.runtime, load, model)

    def run(self, inputs: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        """Return what the model computes, by the names of its outputs."""
        outputs: dict[str, numpy.ndarray] = _guarded(self.runtime, self._run, dict(inputs))
        return outputs


def _guarded(runtime: str, function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except MXNetError:
        raise
    except Exception as error:  # each runtime has a family of exceptions of its own
        text = " ".join(str(error).split())
        raise RuntimeFailure(f"{runtime} cannot run the model: {text}") from error


def loaded(model: Any) -> Any:
    """Return the `onnx.ModelProto` of a model that is one, or bytes, or lies somewhere."""
    import onnx

    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    return model if isinstance(model, onnx.ModelProto) else onnx.load(model)


@contextmanager
def outputs_added(model: Any) -> Iterator[Any]:
    """Let a model return, after its own outputs, whatever the nodes of its main graph compute, for the time being."""
    import onnx

    count = len(model.graph.output)
    names = {value.name for value in model.graph.output}
    try:
        for node in model.graph.node:
            for name in node.output:
                if name and name not in names:
                    names.add(name)
                    # No type is said: the runtimes infer it.
                    model.graph.output.append(onnx.ValueInfoProto(name=name))
        yield model
    finally:
        del model.graph.output[count:]


def _load_in_onnxruntime(model: Any) -> Callable[[Any], Any]:
    import onnx

    onnxruntime = require("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    quiet = onnxruntime.RunOptions()
    quiet.log_severity_level = 4  # what fails is raised; it would be printed, too
    return lambda inputs: dict(zip(names, session.run(names, inputs, quiet), strict=True))


def _load_in_reference(model: Any) -> Callable[[Any], Any]:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)

    def run(inputs: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = evaluator.run(None, inputs)
        return dict(zip(evaluator.output_names, values, strict=True))

    return run
