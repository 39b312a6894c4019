"""`import mxnet` in processes that multiprocessing spawns: Python finds this file."""

if __name__ == "mxnet":
    import sys

    import minpy

    del sys.modules["mxnet"]
    minpy.install_as_mxnet()
    import mxnet  # type: ignore[import-not-found]  # noqa: F401 - now minpy, which Python's own import returns
