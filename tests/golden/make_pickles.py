"""Writes pickles of MXNet's objects, which programs that run on minpy read. Runs under MXNet 1.9.1."""

import pickle
from pathlib import Path


def main() -> None:
    """Writes each object in two protocols."""
    import mxnet as mx

    objects = {
        "nd32": mx.nd.array([[1, 2], [3, 4.5]]),
        "nd64": mx.nd.array([1, 2], dtype="float64"),
        "ndi": mx.nd.array([1, 2], dtype="int32"),
        "np": mx.np.array([1, 2, 3.0]),
        "npscalar": mx.np.array(3.0),
        "sym": mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"),
        "ctx": mx.cpu(1),
    }
    folder = Path(__file__).parent / "pickles"
    folder.mkdir(exist_ok=True)
    for name, value in objects.items():
        for protocol in (0, 2):
            (folder / f"{name}.{protocol}.pkl").write_bytes(pickle.dumps(value, protocol))


if __name__ == "__main__":
    main()
