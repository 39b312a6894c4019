"""Wrong uses of blocks and parameters: each has its own error, which says which one, got and expected, what to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import (
    ArgumentError,
    ContextError,
    DTypeError,
    FileFormatError,
    FileMissingError,
    MXNetError,
    NotTraceableError,
    ShapeError,
)
from minpy.gluon import nn
from minpy.gluon.parameter import DeferredInitializationError

BATCH = nd.ones((2, 3))


def row(*units: tuple[int, int], prefix: str = "net_") -> Any:
    """Return fully connected layers, each with its number of outputs and of inputs."""
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(*[nn.Dense(out, in_units=into) for out, into in units])
    return net


class Written(gluon.HybridBlock):
    """Defines `forward`, and does not say how the shape of its parameter follows."""

    def __init__(self, shape: Any, **options: Any) -> None:
        super().__init__(**options)
        self.w = gluon.Parameter("w", shape=shape, allow_deferred_init=True)

    def forward(self, x: Any) -> Any:
        return x * self.w.data()


# -- values that are not there yet -----------------------------------------------------------------------------------


def in_a_child() -> Any:
    net = row((2, 3), (2, 2))
    net[0].initialize()
    return net


NOT_INITIALIZED: dict[str, tuple[Callable[[], Any], str]] = {
    "layer": (lambda: nn.Dense(2, prefix="a_"), "a_weight"),
    "child": (in_a_child, "net_dense1_weight"),
    "forward": (lambda: Written((3,), prefix="p_"), "p_w"),
}


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("case", NOT_INITIALIZED)
def test_parameters_that_are_not_initialized(case: str, hybridize: bool) -> None:
    make, name = NOT_INITIALIZED[case]
    net = make()
    net.hybridize(hybridize)
    with pytest.raises(
        MXNetError, match=rf"^Parameter '{name}' is not initialized. Call initialize\(\) on its block"
    ) as caught:
        net(BATCH)
    assert type(caught.value) is MXNetError
    net.initialize(force_reinit=True)
    assert net(BATCH).shape[0] == 2


@pytest.mark.parametrize("hybridize", [False, True])
def test_shapes_that_nobody_says(hybridize: bool) -> None:
    net = Written((0,), prefix="p_")
    net.initialize()
    net.hybridize(hybridize)
    with pytest.raises(ShapeError, match=r"p_w.*\(0,\).*[Gg]ive the (shapes|lengths)"):
        net(BATCH)


@pytest.mark.parametrize(
    "ask",
    [
        lambda net, path: net.weight.data(),
        lambda net, path: net.weight.grad(),
        lambda net, path: net.weight.list_data(),
        lambda net, path: net.save_parameters(path),
        lambda net, path: net.collect_params().save(str(path)),
    ],
)
def test_values_that_wait_for_the_first_call(ask: Any, tmp_path: Path) -> None:
    net = nn.Dense(2, prefix="d_")
    net.initialize()
    path = tmp_path / "file"
    path.write_bytes(b"old")
    words = r"^Parameter 'd_weight' has no values yet: its shape is \(2, 0\).*Call the block with a batch first"
    with pytest.raises(DeferredInitializationError, match=words):
        ask(net, path)
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the parameters of a network in both formats."""
    net = row((4, 3), (2, 4))
    net.initialize()
    net.save_parameters(tmp_path / "places")
    net.collect_params().save(str(tmp_path / "names"))
    (tmp_path / "junk").write_bytes(b"junk" * 9)
    return tmp_path


LOADED: list[tuple[str, Callable[[], Any], dict[str, Any], type, str]] = [
    (
        "places",
        lambda: row((5, 3), (2, 5)),
        {},
        ShapeError,
        r"Parameter 'net_dense0_weight': the file '.*places' has shape \(4, 3\), the block \(5, 3\)\.",
    ),
    (
        "names",
        lambda: row((5, 3), (2, 5)),
        {},
        ShapeError,
        r"Parameter 'net_dense0_weight': the file '.*names' has shape \(4, 3\), the block \(5, 3\)\.",
    ),
    (
        "places",
        lambda: row((4, 3), (2, 4), (1, 2)),
        {},
        MXNetError,
        r"^2 parameter\(s\) are missing in the .*places': '2.weight', '2.bias'. It has '0.weight', .*Did you mean '1.w",
    ),
    (
        "names",
        lambda: row((4, 3), (2, 4), (1, 2)),
        {},
        MXNetError,
        r"^2 parameter\(s\) are missing in the file '.*names': 'net_dense2_weight', .*Did you mean 'net_dense1_weight'",
    ),
    (
        "places",
        lambda: row((4, 3)),
        {},
        MXNetError,
        r"^The file '.*places' has 2 name\(s\) that the block has not: '1.weight', .* has '0.weight', .*Give ignore_",
    ),
    ("places", lambda: row((4, 3)), {"allow_missing": True}, MXNetError, r"Give ignore_extra=True"),
    ("nmaes", lambda: row((4, 3)), {}, FileMissingError, r"cannot read '.*nmaes'.*Did you mean 'names'\?"),
    ("junk", lambda: row((4, 3)), {}, FileFormatError, r"'.*junk', byte 0: this is no file of NDArrays"),
]


@pytest.mark.parametrize("number", range(len(LOADED)))
def test_files_that_do_not_fit_change_nothing(number: int, files: Path) -> None:
    name, make, options, kind, words = LOADED[number]
    net = make()
    net.initialize(mx.init.One())
    with pytest.raises(kind, match=words):
        net.load_parameters(files / name, **options)
    assert all(parameter.data().asnumpy().min() in (0, 1) for parameter in net.collect_params().values())


def test_files_of_another_dtype_and_other_contexts(files: Path) -> None:
    net = row((4, 3), (2, 4))
    net.initialize()
    with pytest.raises(ContextError, match=r"'net_dense0_weight' lies on cpu\(0\), and is loaded on cpu\(1\)"):
        net.load_parameters(files / "places", ctx=mx.cpu(1))
    net.cast("float64")
    with pytest.raises(DTypeError, match=r"has dtype float32, the block float64\. Give cast_dtype=True"):
        net.load_parameters(files / "places")


WRITER = """
import sys
import minpy as mx
net = mx.gluon.nn.Dense(600, in_units=2000)
net.initialize(mx.init.One())
net(mx.nd.ones((1, 2000)))
print("ready", flush=True)
while True:
    net.save_parameters(sys.argv[1])
"""


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "net.params"
    net = nn.Dense(600, in_units=2000)
    net.initialize(mx.init.One())
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parent.parent)}
    for delay in (0.003, 0.011, 0.027):
        net.save_parameters(path)
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        net.load_parameters(path)
    net.save_parameters(path)
    assert [*tmp_path.iterdir()] == [path]


# -- contexts, gradients, children -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridize", [False, True])
def test_arguments_on_another_context(hybridize: bool) -> None:
    net = row((4, 3))
    net.initialize()
    net.hybridize(hybridize)
    with pytest.raises(
        ContextError, match=r"^Parameter 'net_dense0_weight' is not on cpu\(1\): it was initialized on cpu\(0\)\. Call"
    ):
        net(BATCH.as_in_context(mx.cpu(1)))
    with pytest.raises(ArgumentError, match=r"Parameter 'net_dense0_weight': ctx is str 'cpu'; expected a Context"):
        net.collect_params().reset_ctx("cpu")


def test_stale_gradients() -> None:
    net = row((4, 3), (2, 4))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net[0](BATCH).sum()
    loss.backward()
    with pytest.raises(MXNetError, match=r"gradient of the parameter 'net_dense1_.*' on cpu\(0\) since the last step"):
        trainer.step(1)


CHILDREN: list[tuple[Callable[[], Any], str]] = [
    (lambda: nn.Sequential(prefix="s_").add(3), r"^s.register_child: got int 3; children of blocks are blocks"),
    (lambda: nn.HybridSequential(prefix="h_").add(nn.Sequential()), r"^h: a child of a HybridBlock must be a HybridB"),
    (lambda: nn.HybridSequential(prefix="h_").register_child(None), r"^h: a child .* got NoneType"),
    (lambda: setattr(Written((3,)), "w", 3), r"^Written.w is a Parameter, .* and cannot become int 3\. Give it ano"),
]


@pytest.mark.parametrize("number", range(len(CHILDREN)))
def test_children_that_are_none(number: int) -> None:
    do, words = CHILDREN[number]
    with pytest.raises(ArgumentError, match=words):
        do()


# -- values, while a block is traced ---------------------------------------------------------------------------------

ASKED: dict[str, tuple[str, str, str]] = {
    "value in a helper": ("hybrid_forward(self, F, x)", "return x * helper(x)", "has no value that could become a num"),
    "indexing": ("hybrid_forward(self, F, x)", "return x[0:1] * 2", r"is indexed with slice\(0, 1, None\)"),
    "rows": ("hybrid_forward(self, F, x)", "return F.concat(*[r for r in x], dim=0)", "is iterated over"),
    "storing": ("hybrid_forward(self, F, x)", "x[0] = 1; return x", "a symbol has no elements"),
    "array": ("hybrid_forward(self, F, x)", "return F.broadcast_add(x, nd.ones(3))", "expected a Symbol.*get_constant"),
    "numpy array": ("hybrid_forward(self, F, x)", "return x + np.ones(3, 'f')", "symbols are combined with symbols"),
}
WRITTEN: dict[str, tuple[str, str]] = {
    "value in a helper": ("return x * helper(x)", "asks for the values of an NDArray"),
    "choice": ("return x if x.sum() > 0 else -x", "asks for the values of an NDArray"),
    "asnumpy": ("return x * x.asnumpy().max()", r"asks for the values of an NDArray: asnumpy\(\)"),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("case", ASKED)
def test_values_that_are_asked_for_while_a_block_is_traced(case: str, nested: bool, tmp_path: Path) -> None:
    head, line, words = ASKED[case]
    net, path = layer(head, line, nested, tmp_path)
    place = f"{path}:2" if "helper" in line else f"{path}:5"
    with pytest.raises(NotTraceableError, match=words) as caught:
        net(nd.ones((2, 3)))
    text = str(caught.value)
    assert text.startswith(f"net is hybridized, and at {place}")
    assert "hybridize(False)" in text
    net.hybridize(False)
    assert net(nd.ones((2, 3))).shape[0] >= 1


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("case", WRITTEN)
def test_values_that_a_forward_asks_for_are_those_of_a_run_as_written(case: str, nested: bool, tmp_path: Path) -> None:
    line, words = WRITTEN[case]
    net, path = layer("forward(self, x)", line, nested, tmp_path)
    place = f"({path.name}:{2 if 'helper' in line else 5})"
    with pytest.warns(UserWarning, match=words) as caught:
        answers = [net(nd.ones((2, 3))).asnumpy() for _ in range(3)]
    (text,) = [str(warning.message) for warning in caught]
    assert text.startswith("net is hybridized, and runs as it is written, because it cannot become a graph: ")
    assert place in text
    assert "hybridize(False)" in text
    net.hybridize(False)
    for answer in answers:
        np.testing.assert_array_equal(answer, net(nd.ones((2, 3))).asnumpy())


@pytest.mark.parametrize("line", ["x[0] = 1; return x", "x += 1; return x"])
def test_arguments_that_a_forward_changes(line: str, tmp_path: Path) -> None:
    net, _ = layer("forward(self, x)", line, False, tmp_path)
    for _ in range(3):
        x = nd.zeros((2, 3))
        answer = net(x)
        expected = [[1, 1, 1], [0, 0, 0] if "[" in line else [1, 1, 1]]
        assert x.asnumpy().tolist() == answer.asnumpy().tolist() == expected


def layer(head: str, line: str, nested: bool, tmp_path: Path) -> tuple[Any, Path]:
    """Return a hybridized block of a file with one method, perhaps in others; and the file."""
    source = (
        f"def helper(x):\n    return float(x.sum())\nclass Layer(gluon.HybridBlock):\n    def {head}:\n        {line}\n"
    )
    path = tmp_path / "layer.py"
    path.write_text(source)
    scope: dict[str, Any] = {"gluon": gluon, "nd": nd, "np": np, "__name__": "layer"}
    exec(compile(source, str(path), "exec"), scope)
    net = scope["Layer"](prefix="net_")
    if nested:
        outer = nn.HybridSequential(prefix="net_")
        outer.add(nn.HybridSequential())
        outer[0].add(net)
        net = outer
    net.hybridize()
    return net, path
