"""Files of well-known datasets, which are looked for in a folder and never fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence

from minpy.core.errors import FileMissingError

__all__ = ["default_root", "found"]


def default_root(name: str) -> str:
    """Return where MXNet keeps a dataset: a folder under `~/.mxnet`, or under that which `MXNET_HOME` names."""
    return os.path.join(os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet")), "datasets", name)


def found(dataset: str, root: str, names: Sequence[str], origin: str) -> str:
    """Return the path of the first of some files that there is in a folder."""
    for name in names:
        path = os.path.join(root, *name.split("/"))
        if os.path.isfile(path):
            return path
    raise FileMissingError(
        f"{dataset}: there is no {' and no '.join(names)} in the folder {root!r}, and nothing is downloaded. Get the "
        f"files of {origin}, and put them there, or give the folder that has them as root."
    )
