"""What runs programs: backends behind one protocol.

`native` makes machine code of a program, `python` Python's source; `docs/guide/backends.md` shows how to write another.
`protocol` says what a backend is, `registry` which there are, `switches` which of them run in a thread.
`memory_planner` plans where arrays lie in memory, and `source_parts` makes functions of Python source, for any of them.
"""

from minpy.backends.registry import names, register
from minpy.backends.switches import using

__all__ = ["names", "register", "using"]
