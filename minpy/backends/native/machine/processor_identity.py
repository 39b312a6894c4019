"""What the system says of the processor, without LLVM: enough to tell whether what LLVM has said of it still holds."""

from __future__ import annotations

import os
import sys

__all__ = ["identity"]

# Of the first processor's lines, those that say what it can do; the others change from moment to moment.
_LASTING = frozenset(
    {
        "vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags",
        "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
    }
)  # fmt: skip
_FILE = "/proc/cpuinfo"


def identity() -> str | None:
    """Return a text that is another one on another kind of processor; None where the system does not say enough.

    Examples
    --------
    >>> identity() == identity()
    True
    """
    if not sys.platform.startswith("linux"):
        return None
    lines = []
    try:
        with open(_FILE) as file:
            for line in file:
                if not line.strip():
                    break  # the next processor
                name, _, value = line.partition(":")
                if name.strip() in _LASTING:
                    lines.append(f"{name.strip()}: {value.strip()}")
    except (OSError, UnicodeError):
        return None
    if not any(line.startswith(("flags:", "Features:")) for line in lines):
        return None
    return "\n".join([os.uname().machine, *lines])
