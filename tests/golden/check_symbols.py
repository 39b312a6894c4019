"""Proves that MXNet 1.9.1 loads and runs the symbols that minpy writes. In two steps, on demand:

``python tests/golden/check_symbols.py write FOLDER`` under minpy makes the networks of `symbol_cases.py`, and some that
only minpy can make, and writes each as `-symbol.json`, with arguments, states and outputs in a `.params` file; the
networks of `symbols/` are loaded and written again as well.
``python tests/golden/check_symbols.py read FOLDER`` under MXNet 1.9.1 loads them, compares names and shapes, runs them,
and compares the outputs; then it writes them itself, and compares the texts.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SYMBOLS = HERE / "symbols"
sys.path.insert(0, str(HERE))
cases = importlib.import_module("symbol_cases")


def aliases(mx: Any) -> Any:
    """Returns calls under names that MXNet does not know, or knows as other operators."""
    sym = mx.sym
    x, y = sym.var("x"), sym.var("y")
    binary = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "greater", "logical_and")
    found = [getattr(sym, name)(x, y, name=f"{name}_node") for name in binary]
    found += [
        getattr(sym, name)(x, name=f"{name}_node") for name in ("fix", "trunc", "relu", "flatten", "stop_gradient")
    ]
    found += [sym.split_v2(x, (1, 3), axis=2, name="by_index"), sym.split_v2(x, 2, axis=2, name="by_count")]
    found += [
        sym.power(sym.abs(x, name="abs_node"), y, name="power_node"),
        sym.pad(
            sym.expand_dims(x, axis=0), mode="constant", pad_width=(0, 0, 0, 0, 1, 2, np.int64(1), 0), name="padded"
        ),
    ]
    return sym.Group(found)


def odd_names(mx: Any) -> Any:
    """Returns a graph with names that need escapes, and annotations."""
    x = mx.sym.var('größe "x"\\\t', lr_mult=0.5, attr={"note": 'a "word"\n'})
    return mx.sym.tanh(x, name="/t é\x01", attr={"__note__": "日本"}) + x


def shared_states(mx: Any) -> Any:
    """Returns two layers with the same moving statistics, one of which is an output too."""
    mean, variance = mx.sym.var("mean"), mx.sym.var("var")
    net = mx.sym.var("data")
    for number in (1, 2):
        net = mx.sym.BatchNorm(net, moving_mean=mean, moving_var=variance, name=f"bn{number}", fix_gamma=False)
    return net


def upgraded(mx: Any) -> Any:
    """Returns a network that was loaded from a file of MXNet 0.8."""
    return mx.sym.load(str(SYMBOLS / "version_0_8-symbol.json"))


NETWORKS = {
    **cases.NETWORKS,
    "aliases": (aliases, {"x": (2, 3, 4), "y": (2, 3, 4)}),
    "odd_names": (odd_names, {'größe "x"\\\t': (2, 2)}),
    "shared_states": (shared_states, {"data": (3, 2)}),
    "upgraded": (upgraded, {"data": (2, 3, 6, 6)}),
}


def write(folder: Path) -> None:
    """Writes the networks, under minpy."""
    import minpy as mx

    symbols = {name: (build(mx), shapes) for name, (build, shapes) in NETWORKS.items()}
    for name, (_, shapes) in cases.NETWORKS.items():
        symbols[f"again_{name}"] = mx.sym.load(str(SYMBOLS / f"{name}-symbol.json")), shapes
    for name, (symbol, shapes) in symbols.items():
        arguments, states, outputs = cases.run(mx, symbol, shapes)
        arrays = {f"arg:{key}": array for key, array in arguments.items()}
        arrays.update({f"aux:{key}": array for key, array in states.items()})
        arrays.update({f"out:{position}": array for position, array in enumerate(outputs)})
        mx.nd.save(folder / f"{name}.params", arrays)
        symbol.save(str(folder / f"{name}-symbol.json"))
        lists = [symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs()]
        facts = {"lists": lists, "inputs": shapes, "shapes": symbol.infer_shape(**shapes)}
        (folder / f"{name}-facts.json").write_text(json.dumps(facts, default=int), encoding="utf-8")
    print(f"wrote {len(symbols)} networks")


def read(folder: Path) -> None:
    """Loads, runs and compares the networks, under MXNet."""
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"  # see make_symbols.py
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"the reference is MXNet 1.9.1, this is {mx.__version__}")
    cases.register(mx)
    paths = sorted(folder.glob("*-symbol.json"))
    for path in paths:
        name = path.name[: -len("-symbol.json")]
        facts = json.loads((folder / f"{name}-facts.json").read_text(encoding="utf-8"))
        symbol = mx.sym.load(str(path))
        compare(
            name,
            "names",
            [symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs()],
            facts["lists"],
        )
        shapes = symbol.infer_shape(**{key: tuple(shape) for key, shape in facts["inputs"].items()})
        compare(name, "shapes", [[list(shape) for shape in part] for part in shapes], facts["shapes"])
        text = path.read_text(encoding="utf-8")
        # A state that is loaded gets an initializer from its operator.
        again = json.loads(symbol.tojson(), strict=False)
        expected = json.loads(text, strict=False)
        for node, own in zip(again["nodes"], expected["nodes"], strict=True):
            if node["op"] == "null" and "__init__" not in own.get("attrs", {}) and "attrs" in node:
                node["attrs"].pop("__init__", None)
                if not node["attrs"]:
                    del node["attrs"]
        compare(name, "text", again, expected)
        run(mx, name, symbol, mx.nd.load(str(folder / f"{name}.params")))
    print(f"MXNet loads {len(paths)} networks as minpy wrote them, computes the same, and writes the same text")


def run(mx: Any, name: str, symbol: Any, arrays: Any) -> None:
    """Runs a network, and compares the outputs."""
    parts = {
        kind: {key[4:]: array for key, array in arrays.items() if key.startswith(kind)} for kind in ("arg:", "aux:")
    }
    outputs = symbol.bind(mx.cpu(), parts["arg:"], aux_states=parts["aux:"]).forward(is_train=False)
    for position, output in enumerate(outputs):
        expected, got = arrays[f"out:{position}"], output
        compare(name, "kind of output", [got.shape, got.dtype], [expected.shape, expected.dtype])
        if not np.allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5):
            raise SystemExit(f"{name}: output {position} ({symbol.list_outputs()[position]}) is {got}, not {expected}")


def compare(name: str, what: str, got: Any, expected: Any) -> None:
    """Ends the program if two things differ."""
    if got != expected:
        raise SystemExit(f"{name}: {what}: MXNet says\n{got}\nexpected\n{expected}")


if __name__ == "__main__":
    commands = {"write": write, "read": read}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    target = Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    commands[sys.argv[1]](target)
