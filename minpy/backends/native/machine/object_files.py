"""LLVM IR made into an object file: looked at, optimised, emitted.

The same object may be loaded by several processes and called by several threads at once: IR that has variables of its
own is refused, and so is IR that calls functions by name, which would be those of whatever library the process has
loaded; it takes addresses from tables.

llvmlite is given by the caller (`binding`), who knows whether it is there.
"""

from __future__ import annotations

import re
from typing import Any

from minpy.backends.native.machine.object_loader import RUNTIME, read
from minpy.core.errors import BuildError

__all__ = ["contracted", "object_of", "optimise"]

_GLOBAL = re.compile(r'@(?:"[^"]*"|[-\w$.]+) = (?:[a-z_]+(?:\([^)]*\))? )*?(global|constant) ')
_ROUNDED = re.compile(r"(= f(?:add|sub|mul|neg))(?= )")


def object_of(binding: Any, machine: Any, triple: str, ir: str, written: str = "") -> tuple[bytes, tuple[str, ...]]:
    """Return the object that modules become, optimised for a target machine, and the functions that it exports."""
    context = binding.create_context()
    module = _parsed(binding, machine, triple, ir, context)
    defined = [function.name for function in module.functions if not function.is_declaration]
    optimise(binding, machine, module)
    if written:
        second = _parsed(binding, machine, triple, written, context, frozenset(defined))
        _tidy(binding, machine, second)
        module.link_in(second)
    functions = [function for function in module.functions if not function.is_declaration]
    for function in functions:
        if function.visibility == binding.Visibility.hidden:
            function.linkage = "internal"
    local = (binding.Linkage.internal, binding.Linkage.private)
    names = tuple(function.name for function in functions if function.linkage not in local)
    try:
        content: bytes = machine.emit_object(module)
    except RuntimeError as error:
        raise _refused(ir, str(error)) from error
    file = read(content)
    # Other formats prefix names; there they are found, or not, when the object is loaded.
    undefined = file.undefined - RUNTIME - {"_GLOBAL_OFFSET_TABLE_"} if file is not None else ()
    if undefined:
        raise BuildError(
            f"native code must call no functions by name, but LLVM makes calls of {', '.join(sorted(undefined))} from "
            "intrinsics that this processor has no instructions for. Write them as arithmetic."
        )
    return content, names


def _parsed(
    binding: Any, machine: Any, triple: str, ir: str, context: Any, defined: frozenset[str] = frozenset()
) -> Any:
    """Return a module, or refuse it if it has what cached code cannot have."""
    try:
        module = binding.parse_assembly(ir, context)
    except RuntimeError as error:
        raise _refused(ir, str(error)) from error
    for variable in module.global_variables:
        text = str(variable)
        kind = _GLOBAL.match(text)
        if kind is None or kind[1] != "constant" or " thread_local" in text[: kind.end()]:
            raise BuildError(
                f"native code must have no variables of its own, as all threads would share them: {text.strip()}. "
                "Memory that it writes to is given by its caller."
            )
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and function.name not in defined:
            raise BuildError(
                f"native code must call no functions by name, but it declares {function.name!r}. Take its address "
                "from a table of pointers."
            )
    module.triple = triple
    module.data_layout = str(machine.target_data)
    return module


def optimise(binding: Any, machine: Any, module: Any) -> None:
    """Run LLVM's passes over a module: its loops become loops of vectors."""
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.loop_unrolling = True
    options.slp_vectorization = False  # loops are what there is; it would look at every straight line for nothing
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _tidy(binding: Any, machine: Any, module: Any) -> None:
    """Simplify what is written as it is to run; all of the rest is up to LLVM's code generator."""
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=1))
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def _refused(ir: str, said: str) -> BuildError:
    """Return the error for IR that LLVM does not take, with the line that it names."""
    error = BuildError(f"LLVM refuses the code that minpy has generated: {said.strip()}")
    place = re.search(r"<string>:(\d+):", said)
    error.output = said
    error.lineno = int(place[1]) if place else None
    return error


def contracted(ir: str) -> str:
    """Return IR whose sums and products may be contracted, except in functions of mathematics, called `minpy_...`.

    >>> contracted("  %c = fmul nnan float %a, %b")
    '  %c = fmul contract nnan float %a, %b'
    """
    lines, ours = [], False
    for line in ir.split("\n"):
        if line.startswith("define "):
            ours = "@minpy_" in line.partition("(")[0]
        lines.append(line if ours else _ROUNDED.sub(r"\1 contract", line))
    return "\n".join(lines)
