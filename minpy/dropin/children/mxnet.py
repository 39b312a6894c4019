"""`import mxnet` in processes that a program starts anew, as multiprocessing does: Python finds this file."""

if __name__ == "mxnet":
    import sys

    import minpy

    del sys.modules["mxnet"]
    minpy.install_as_mxnet()
    import mxnet  # type: ignore[import-not-found]  # noqa: F401 - Python returns what is there by now
