"""Writes `models/`: the networks of `model_networks.py` as MXNet 1.9.1 saves them, and what it computes with them.

Usage: ``python tests/golden/make_models.py [NAME ...]`` under MXNet 1.9.1, not under the library itself. For each there
is `NAME-symbol.json`, `NAME-0001.params`, and `NAME.npz`: the outputs in prediction ("predict:0" and so on), and, of a
network that is trained, its outputs ("train:0"), gradients ("grad:weight") and states after one step ("aux:mean").
Each is read again as older versions wrote it, which must compute the same.
"""

import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
MODELS = HERE / "models"


def run(mx: Any, networks: Any, name: str, symbol: Any) -> tuple[Any, Any, dict[str, np.ndarray]]:
    """Returns (arguments, states, what is computed with them)."""
    _, inputs, trained = networks.NETWORKS[name]
    shapes, _, state_shapes = symbol.infer_shape(**inputs)

    def array(key: str, shape: Any) -> Any:
        make = networks.input_values if key in inputs else networks.parameter_values
        return mx.nd.array(make(name, key, shape))

    arguments = {key: array(key, shape) for key, shape in zip(symbol.list_arguments(), shapes, strict=True)}
    states = {key: array(key, shape) for key, shape in zip(symbol.list_auxiliary_states(), state_shapes, strict=True)}
    found = {}
    outputs = symbol.bind(mx.cpu(), arguments, aux_states=states).forward(is_train=False)
    found.update({f"predict:{number}": output.asnumpy() for number, output in enumerate(outputs)})
    if trained:
        moving = {key: state.copy() for key, state in states.items()}
        gradients = {key: value.zeros_like() for key, value in arguments.items() if key not in inputs}
        executor = symbol.bind(mx.cpu(), arguments, args_grad=gradients, aux_states=moving)
        outputs = executor.forward(is_train=True)
        found.update({f"train:{number}": output.asnumpy() for number, output in enumerate(outputs)})
        executor.backward()
        found.update({f"grad:{key}": gradient.asnumpy() for key, gradient in gradients.items()})
        found.update({f"aux:{key}": state.asnumpy() for key, state in moving.items()})
    return {key: value for key, value in arguments.items() if key not in inputs}, states, found


def main(names: list[str]) -> None:
    """Makes the golden files."""
    # What MXNet fuses with its MKLDNN backend is wrong for residual networks: by 0.25 in one output.
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    warnings.simplefilter("error", RuntimeWarning)
    sys.path.insert(0, str(HERE))
    networks = importlib.import_module("model_networks")
    MODELS.mkdir(exist_ok=True)
    for name in names or networks.NETWORKS:
        with mx.name.NameManager():
            symbol = networks.NETWORKS[name][0](mx)
        arguments, states, found = run(mx, networks, name, symbol)
        mx.model.save_checkpoint(str(MODELS / name), 1, symbol, arguments, states)
        np.savez_compressed(MODELS / f"{name}.npz", **found)
        for key, value in found.items():
            if not np.isfinite(value).all():
                raise SystemExit(f"{name}: {key} is not finite")
            if key.startswith("grad:") and not value.any():
                print(f"{name}: {key} is zero")
        text = json.loads((MODELS / f"{name}-symbol.json").read_text(encoding="utf-8"))
        for version in networks.VERSIONS:
            try:
                older = mx.sym.load_json(json.dumps(networks.as_written_by(text, version)))
            except mx.base.MXNetError as error:
                print(f"{name} {version}: {str(error).splitlines()[-1]}")
                continue
            again = run(mx, networks, name, older)[2]
            for key, value in found.items():
                if not np.array_equal(again[key], value):
                    print(f"{name} {version}: {key} differs by {np.abs(again[key] - value).max()}")
        shown = [f"{output.shape} {np.abs(output).mean():.3g}" for key, output in found.items() if key[0] == "p"]
        total = sum(path.stat().st_size for path in MODELS.glob(f"{name}[-.]*"))
        print(f"{name}: {total} bytes; {', '.join(shown)}")


if __name__ == "__main__":
    main(sys.argv[1:])
