"""Writes `saved_blocks/`: blocks as MXNet 1.9.1 writes them by `save_parameters` and `save`, and what they answer.

Usage: ``python tests/golden/make_saved_blocks.py`` under MXNet 1.9.1, not under the library itself. With a folder after
it, it reads there, also under MXNet 1.9.1, what the library has written by `write` below, and compares.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# MXNet writes them, and does not find the names of the parameters again when it reads its own files.
ONLY_WRITTEN = ("graph", "graph_norm", "one_parameter", "named_alike")
SAVED = Path(__file__).resolve().parent / "saved_blocks"


def blocks(mx: Any) -> dict[str, Callable[[], Any]]:
    """Returns what makes each block; all take rows of four numbers."""
    gluon, nn, sym = mx.gluon, mx.gluon.nn, mx.sym

    def graph(prefix: str, norm: bool) -> Any:
        data = sym.var("data")
        hidden = sym.FullyConnected(data, num_hidden=3, name=prefix + "fc1")
        if norm:
            hidden = sym.BatchNorm(hidden, name=prefix + "bn")
        return gluon.SymbolBlock(sym.FullyConnected(hidden, num_hidden=2, name=prefix + "fc2"), data)

    def one_parameter() -> Any:
        data = sym.var("data")
        return gluon.SymbolBlock(sym.FullyConnected(data, num_hidden=2, no_bias=True, flatten=False, name="only"), data)

    def row() -> Any:
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Dense(3), nn.Dense(2))
        return net

    def with_graphs() -> Any:
        net = nn.HybridSequential()
        net.add(graph("ssd0_", False), nn.Dense(3), graph("ssd1_", True))
        return net

    def named_alike() -> Any:
        net = nn.HybridSequential(prefix="")
        net.add(nn.HybridSequential(prefix=""), nn.HybridSequential(prefix=""))
        net[0].add(nn.Dense(3))
        net[1].add(nn.Dense(2))
        return net

    class Nested(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.body = row()
                self.head = nn.Dense(2)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.head(self.body(x))

    class Imperative(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Dense(3)
            self.rest = row()

        def forward(self, x: Any) -> Any:
            return self.rest(self.first(x))

    return {
        "graph": lambda: graph("ssd0_", False),
        "graph_norm": lambda: graph("ssd0_", True),
        "one_parameter": one_parameter,
        "with_graphs": with_graphs,
        "row": row,
        "named_alike": named_alike,
        "nested": Nested,
        "imperative": Imperative,
    }


def write(mx: Any, folder: Path) -> None:
    """Writes each block, not hybridized and hybridized, and what it answers."""
    draw = np.random.RandomState(3)
    x = draw.uniform(-1, 1, (2, 4)).astype("float32")
    for name, make in blocks(mx).items():
        for hybridized in (False, True):
            block = make()
            block.initialize(mx.init.One())
            block(mx.nd.array(x))
            for parameter in block.collect_params().values():
                parameter.set_data(mx.nd.array(draw.uniform(0.1, 1, parameter.shape)))
            block.hybridize(hybridized)
            stem = str(folder / f"{name}{int(hybridized)}")
            answer = block(mx.nd.array(x)).asnumpy()
            if not hybridized:
                block.save_parameters(f"{stem}.params")
            if "graph" not in name and name != "one_parameter":  # MXNet's `load` does not know graphs
                block.save(stem)
            np.savez_compressed(f"{stem}.npz", x=x, answer=answer)


def read(mx: Any, folder: Path) -> list[str]:
    """Reads all of them in each way that there is, and returns what was compared."""
    compared = []
    for name, make in blocks(mx).items():
        if mx.__name__ == "mxnet" and name in ONLY_WRITTEN:
            continue
        for number in (0, 1):
            stem = folder / f"{name}{number}"
            known = np.load(f"{stem}.npz")
            ways = {".params": "load_parameters", "-model.json": "load"}
            for ending, method in ways.items():
                if not Path(f"{stem}{ending}").exists():
                    continue
                block = make()
                getattr(block, method)(f"{stem}{ending}" if ending == ".params" else str(stem))
                answer = block(mx.nd.array(known["x"])).asnumpy()
                np.testing.assert_allclose(answer, known["answer"], rtol=1e-4, atol=1e-5)
                compared.append(f"{name}{number}.{method}")
    return compared


def outline(path: Path) -> Any:
    """Returns what a file of `Block.save` says of the blocks, without graphs and the numbers of names."""

    def of(described: Any) -> Any:
        children = [(key, of(one)) for key, one in described.items() if isinstance(one, dict) and key != "children"]
        return [[*described["children"].values()], children]

    return [(key, of(one)) for key, one in json.loads(path.read_text(encoding="utf-8")).items()]


def main(arguments: list[str]) -> None:
    """Writes the golden files, or reads others."""
    import mxnet as mx

    if arguments:
        print("\n".join(read(mx, Path(arguments[0]))))
        return
    SAVED.mkdir(exist_ok=True)
    write(mx, SAVED)
    print("written")


if __name__ == "__main__":
    main(sys.argv[1:])
