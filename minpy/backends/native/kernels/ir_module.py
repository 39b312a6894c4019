"""Several kernels as one module of LLVM IR: equal ones once, with the mathematics and declarations that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable

from minpy.backends.native import mathematics
from minpy.backends.native.kernels.element_functions import power_source
from minpy.backends.native.kernels.kernel import Kernel

__all__ = ["declaration", "module_text"]

_NODE = re.compile(r"!#(\d+)")
_MADE = re.compile(r"^declare .*?@([\w.]+)\(.*$", re.MULTILINE)


def declaration(kernel: Kernel, name: str) -> str:
    """Return the line by which another module declares a kernel's function.

    Examples
    --------
    >>> declaration(Kernel("(ptr %scratch, i64 %begin, i64 %end) { ret void }", ()), "kernel_0")
    'declare void @kernel_0(ptr, i64, i64)'
    """
    return f"declare void @{name}({'ptr, ' * (len(kernel.pointers) + 1)}i64, i64)"


def module_text(
    kernels: Iterable[Kernel], extra: str = "", *, linkage: str = "internal", first: int = 0
) -> tuple[str, dict[Kernel, str]]:
    """Return a module with kernels, and the name of the function that each is.

    `extra`: what else the module has: functions that call the kernels, say. Its metadata must have names, not numbers.
    `linkage`: LLVM's word for who calls the kernels: 'internal' for the module only, 'hidden' for modules that are
    linked with it, too, '' for everybody. `first`: the number of the first kernel's function, which its name ends with.

    Returns
    -------
    text : str
    names : dict of Kernel to str
        Without the `@`. Kernels with the same body have the same name.

    Examples
    --------
    >>> first, second = (Kernel("(ptr %p0, ptr %scratch, i64 %begin, i64 %end) { ret void }", ()) for _ in range(2))
    >>> text, names = module_text([first, second])
    >>> text.count("define"), set(names.values())
    (1, {'kernel_0'})
    """
    names: dict[Kernel, str] = {}
    functions: dict[tuple[str, tuple[str, ...]], str] = {}
    uses: dict[tuple[str, str], None] = {}
    declarations: dict[str, str] = {}
    lines: list[str] = []
    nodes: list[str] = []

    def declare(text: str) -> None:
        for result in _MADE.finditer(text):
            declarations.setdefault(result[1], result[0])

    for kernel in kernels:
        key = kernel.body, kernel.metadata
        if key not in functions:
            name = functions[key] = f"{kernel.name}_{first + len(functions)}"
            start = len(nodes)

            def numbered(text: str, start: int = start) -> str:
                return _NODE.sub(lambda match: f"!{int(match[1]) + start}", text)

            nodes.extend(numbered(node) for node in kernel.metadata)
            lines.append(f"define {linkage} void @{name}{numbered(kernel.body)}")
            uses.update(dict.fromkeys(sorted(kernel.uses)))
            declare("\n".join(sorted(kernel.declares)))
        names[kernel] = functions[key]
    powers = [kind for function, kind in uses if kind.startswith("i")]
    functions_text = mathematics.definitions(use for use in uses if not use[1].startswith("i"))
    declare(functions_text)
    functions_text = _MADE.sub("", functions_text)
    declare(extra)
    parts = [
        "\n".join(declarations[name] for name in sorted(declarations)),
        functions_text.strip(),
        *map(power_source, powers),
        *lines,
        _MADE.sub("", extra),
        "\n".join(f"!{number} = {node}" for number, node in enumerate(nodes)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n", names
