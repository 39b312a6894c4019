"""Proves that MXNet 1.9.1 loads the network of examples/symbolic_digits.py, and predicts what minpy predicts.

In two steps, on demand: ``python examples/symbolic_digits.py --output FOLDER`` under minpy trains and saves;
``python tests/golden/check_symbolic_digits.py FOLDER`` under MXNet 1.9.1 registers the example's own operator, loads
what was saved, and compares its probabilities for the test digits with those in the folder. It also saves what it
loaded, and compares the bytes. The operator is run as the example's text has it: only what ``mx`` means differs.
"""

import __future__

import ast
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "symbolic_digits.py"
OPERATOR = ("Swish", "SwishProp")
TOLERANCE = 1e-5  # of probabilities, in float32; convolutions sum in another order
BATCHES = (1, 32, 360)


def register_operator(mx: Any) -> None:
    """Runs the classes of the example that are its operator, with MXNet as ``mx``."""
    tree = ast.parse(EXAMPLE.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in OPERATOR]
    if len(tree.body) != len(OPERATOR):
        raise SystemExit(f"{EXAMPLE} does not define {' and '.join(OPERATOR)}")
    flags = __future__.annotations.compiler_flag
    exec(compile(tree, str(EXAMPLE), "exec", flags, dont_inherit=True), {"mx": mx, "np": np, "__name__": "example"})


def check_files(mx: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Returns the symbol and its arrays, if MXNet writes the bytes that it reads."""
    files = [folder / "digits-symbol.json", folder / "digits.params"]
    net, arrays = mx.sym.load(str(files[0])), mx.nd.load(str(files[1]))
    with tempfile.TemporaryDirectory() as again:
        copies = [Path(again) / file.name for file in files]
        net.save(str(copies[0]))
        mx.nd.save(str(copies[1]), arrays)
        for file, copy in zip(files, copies, strict=True):
            same = file.read_bytes() == copy.read_bytes()
            print(f"{file.name}: {file.stat().st_size} bytes, MXNet writes {'the same' if same else 'OTHERS'}")
            if not same:
                raise SystemExit(f"{file.name}: MXNet writes other bytes")
    return net, arrays


def predict(mx: Any, net: Any, arrays: dict[str, Any], images: np.ndarray, size: int) -> np.ndarray:
    """Returns MXNet's probabilities, computed in batches."""
    learned, averaged = ({n[4:]: a for n, a in arrays.items() if n.startswith(kind)} for kind in ("arg:", "aux:"))
    inputs = ["data", "softmax_label"]
    if {*learned, *inputs} != {*net.list_arguments()} or {*averaged} != {*net.list_auxiliary_states()}:
        raise SystemExit(f"the arrays are {', '.join(arrays)}; the symbol has other names")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(size, *images.shape[1:]))
    executor.copy_params_from(learned, averaged)
    answers = []
    for start in range(0, len(images), size):
        batch = images[start : start + size]
        if len(batch) < size:
            executor = executor.reshape(data=batch.shape, softmax_label=(len(batch),))
        answers.append(executor.forward(is_train=False, data=mx.nd.array(batch))[0].asnumpy())
    return np.concatenate(answers)


def main() -> None:
    """Checks a folder, and prints what was found."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"the reference is MXNet 1.9.1, this is {mx.__version__}")
    folder = Path(sys.argv[1])
    register_operator(mx)
    net, arrays = check_files(mx, folder)
    with np.load(folder / "predictions.npz") as archive:
        images, labels, expected = archive["images"], archive["labels"], archive["probabilities"]
    for size in BATCHES:
        found = predict(mx, net, arrays, images, size)
        worst = float(abs(found - expected).max())
        agree = int((found.argmax(axis=1) == expected.argmax(axis=1)).sum())
        right = int((found.argmax(axis=1) == labels).sum())
        print(
            f"batches of {size}: the same digit {agree} times of {len(labels)}, {right} right; probabilities differ by "
            f"up to {worst:.2g}"
        )
        if found.shape != expected.shape or agree != len(labels) or not worst <= TOLERANCE:
            raise SystemExit("MXNet predicts something else")


if __name__ == "__main__":
    main()
