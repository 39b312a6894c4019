"""Writes inference.json: what MXNet 1.9.1 infers in every case. Run under MXNet 1.9.1, not under the library itself.

Usage: ``python tests/golden/make_inference.py``.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
PREFIX = "node_"


def short(name: str) -> str:
    """Returns a name without its node's."""
    return name[len(PREFIX) :]


def call(mx: Any, operator: str, attributes: dict[str, Any]) -> Any:
    """Returns the symbol of an operator whose inputs are all variables."""
    options = dict(attributes)
    inputs = [mx.sym.Variable(f"{PREFIX}arg{index}") for index in range(options.pop("num_args", 0))]
    return getattr(mx.sym, operator)(*inputs, name=PREFIX[:-1], **options)


def consumed(mx: Any, symbol: Any) -> Any:
    """Returns a symbol through which the first output of ``symbol`` has the shape and dtype of ``output``."""
    first = symbol[0] if len(symbol.list_outputs()) > 1 else symbol
    outputs = [symbol[index] for index in range(len(symbol.list_outputs()))]
    return mx.sym.Group([*outputs, mx.sym.elemwise_add(first, mx.sym.Variable(f"{PREFIX}output"))])


def inferred(mx: Any, symbol: Any, known: dict[str, Any], what: str) -> dict[str, Any]:
    """Returns the shapes or dtypes of all inputs, outputs and states that follow from those ``known``."""
    names = symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states()
    asked = consumed(mx, symbol) if "output" in known else symbol
    infer = asked.infer_shape_partial if what == "shape" else asked.infer_type_partial
    try:
        answers = infer(**{PREFIX + name: value for name, value in known.items()})
    except mx.MXNetError:
        return {"error": "MXNetError"}
    described = shape if what == "shape" else dtype
    listed = asked.list_arguments(), asked.list_outputs(), asked.list_auxiliary_states()
    found = {name: value for part in zip(listed, answers, strict=True) for name, value in zip(*part, strict=True)}
    return {
        part: {short(name): described(found[name]) for name in chosen}
        for part, chosen in zip(("arguments", "outputs", "auxiliary"), names, strict=True)
    }


def shape(value: Any) -> Any:
    """Returns a shape as JSON holds it; None for one of which nothing is known."""
    return list(value) if value else None


def dtype(value: Any) -> Any:
    """Returns the name of a dtype; None for one that is not known."""
    return None if value is None else np.dtype(value).name


def answer(mx: Any, operator: str, attributes: Any, shapes: Any, dtypes: Any) -> dict[str, Any]:
    """Returns everything that MXNet says about one case."""
    symbol = call(mx, operator, attributes)
    return {
        "arguments": [short(name) for name in symbol.list_arguments()],
        "outputs": [short(name) for name in symbol.list_outputs()],
        "auxiliary": [short(name) for name in symbol.list_auxiliary_states()],
        "shapes": [inferred(mx, symbol, known, "shape") for known in shapes],
        "dtypes": [inferred(mx, symbol, known, "dtype") for known in dtypes],
    }


def main() -> None:
    """Makes the golden file."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    sys.path.insert(0, str(HERE))
    answers = {}
    for name, *case in importlib.import_module("inference_cases").CASES:
        if name in answers:
            raise ValueError(f"inference_cases.py has two cases named {name}")
        answers[name] = answer(mx, *case)
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], sort_keys=True)}" for name in sorted(answers)]
    temporary = HERE / f".inference.json.{os.getpid()}"
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    temporary.replace(HERE / "inference.json")
    print(f"inference.json: {len(answers)} cases")


if __name__ == "__main__":
    main()
