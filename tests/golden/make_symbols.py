"""Writes `symbols/`: networks as MXNet 1.9.1 saves them, and what it computes with them; and what it calls operators.

Usage: ``python tests/golden/make_symbols.py`` under MXNet 1.9.1, not under the library itself. For each network of
`symbol_cases.py` there is a `-symbol.json`, a `.params` with the arguments, states and outputs ("out:0" and so on), and
an entry in `facts.json`. `version_0_8-symbol.json` is no output of MXNet's, but was written by hand. `names.json` maps
every name of an operator to the one that MXNet writes.
"""

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SYMBOLS = HERE / "symbols"
INTERNAL = ("_backward", "_cv", "_sg", "_sparse", "_CustomFunction")


def facts(symbol: Any, shapes: Any) -> Any:
    """Returns what MXNet says about a symbol: its names, and the shapes that it infers."""
    arguments, outputs, states = symbol.infer_shape(**shapes)
    return {
        "arguments": symbol.list_arguments(),
        "auxiliary": symbol.list_auxiliary_states(),
        "outputs": symbol.list_outputs(),
        "shapes": [arguments, outputs, states],
        "attributes": {
            name: {key: text for key, text in attributes.items() if key.startswith("__")}
            for name, attributes in sorted(symbol.attr_dict().items())
        },
    }


def written_name(mx: Any, name: str) -> str:
    """Returns what MXNet writes for an operator of that name."""
    base = importlib.import_module("mxnet.base")
    handle, found = base.OpHandle(), ctypes.c_char_p()
    base.check_call(base._LIB.NNGetOpHandle(base.c_str(name), ctypes.byref(handle)))
    rest = [ctypes.c_char_p(), ctypes.c_uint(), *(ctypes.POINTER(ctypes.c_char_p)() for _ in range(3))]
    rest += [ctypes.c_char_p(), ctypes.c_char_p()]
    base.check_call(base._LIB.MXSymbolGetAtomicSymbolInfo(handle, ctypes.byref(found), *map(ctypes.byref, rest)))
    return found.value.decode()


def write(name: str, content: Any) -> None:
    """Writes a JSON file with an entry a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(content[key], sort_keys=True)}" for key in sorted(content)]
    (SYMBOLS / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Makes the golden files."""
    # What MXNet fuses with its MKLDNN backend is wrong for the residual network: by 0.25 in one output.
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    cases = importlib.import_module("symbol_cases")
    SYMBOLS.mkdir(exist_ok=True)
    known = {}
    networks = {}
    for name, (build, shapes) in cases.NETWORKS.items():
        with mx.name.NameManager():
            symbol = build(mx)
        networks[name] = symbol, shapes
        symbol.save(str(SYMBOLS / f"{name}-symbol.json"))
    for name, shapes in cases.OLDER.items():
        networks[name] = mx.sym.load(str(SYMBOLS / f"{name}-symbol.json")), shapes
    for name, (symbol, shapes) in networks.items():
        arguments, states, outputs = cases.run(mx, symbol, shapes)
        arrays = {f"arg:{key}": array for key, array in arguments.items()}
        arrays.update({f"aux:{key}": array for key, array in states.items()})
        arrays.update({f"out:{position}": array for position, array in enumerate(outputs)})
        mx.nd.save(str(SYMBOLS / f"{name}.params"), arrays)
        known[name] = facts(symbol, shapes)
    write("facts.json", known)
    names = [name for name in mx.operator.get_all_registered_operators() if not name.startswith(INTERNAL)]
    names += ["Custom", "cumsum"]
    write("names.json", {name: written_name(mx, name) for name in names})
    total = sum(path.stat().st_size for path in SYMBOLS.iterdir())
    print(f"{len(known)} networks, {len(names)} names, {total} bytes")


if __name__ == "__main__":
    main()
