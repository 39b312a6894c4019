"""Write the stubs of what is generated: operators, arithmetic and methods of arrays, other names of modules.

python tools/make_stubs.py [--check]
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Union, get_args, get_origin

import numpy

import minpy
import minpy.ndarray as nd
import minpy.symbol as sym
from minpy.core.operator import Operator
from minpy.core.signatures import REQUIRED
from minpy.namespaces import ALIASES
from minpy.ndarray import methods
from minpy.ops.registry import OPERATORS
from minpy.ops.ufunc import UnaryUfunc
from minpy.symbol import creation, symbol

numpy_semantics = import_module("minpy.numpy.array_class")
ROOT = Path(minpy.__file__).parent

NAMESPACE = '''"""The types of `{name}`, written by tools/make_stubs.py.

An operator answers in kind: of NDArrays, an NDArray; of NumPy arrays and boxes of HIPS autograd, one of these, which is
Any here. So is what an operator answers that may have several results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minpy.core.operator import Operator
{imports}

_P = ParamSpec("_P")
_A = TypeVar("_A", bound=NDArray)

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...

{functions}
'''

SYMBOLS = '''"""The types of `{name}`, written by tools/make_stubs.py. Inputs that are left out become variables."""

from collections.abc import Sequence
from typing import Any

{imports}

{functions}
'''

MEMBERS = '''"""What `{name}` is given on import: arithmetic and methods. Written by tools/make_stubs.py."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import Self

from {module} import {base}

class {cls}({base}):
{members}
'''

ALIAS = '''"""`minpy.{alias}` is `minpy.{module}`. Written by tools/make_stubs.py."""

{imports}
'''


_SIGNS = [*methods.ARITHMETIC, "floordiv"]


def type_text(name: str, kind: Any) -> str:
    """Return what an attribute may be given as, in source."""
    if kind is None or name == "dtype":
        return "Any"
    if get_origin(kind) is Union:  # of a Literal and None
        return " | ".join("None" if one is type(None) else type_text(name, one) for one in get_args(kind))
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return text.replace("typing.", "").replace(", ...]", "]").replace("tuple[", "Sequence[")


def parameters(operator: Operator, own: list[str], first: str = "Any") -> str:
    """Return the parameters of a call: inputs, then attributes, which may follow by position as in MXNet.

    `first` is the type of the first input, and of all where there is any number of them.
    """
    signature = operator.signature
    texts = []
    optional = False
    for position, name in enumerate(own):
        optional = optional or name in signature.defaults or bool(signature.synonyms)
        kind = "Any" if position else first
        texts.append(f"{name}: {kind} = ..." if optional else f"{name}: {kind}")
    if signature.variadic is not None:
        texts.append(f"*{signature.variadic}: {'Any' if own else first}")
        optional = False
    for name, attribute in signature.attributes.items():
        if name != "training":
            optional = attribute.default is not REQUIRED or (optional and signature.variadic is None)
            texts.append(f"{name}: {type_text(name, attribute.type)}{' = ...' if optional else ''}")
    if signature.variadic is None:
        texts.append("*")
    texts += [f"{name}: Any = ..." for name in signature.synonyms]
    return ", ".join([*texts, "out: Any = ...", "name: Any = ...", *(["**_: Any"] if signature.open_ended else [])])


def plain_parameters(function: Any) -> str:
    """Return the parameters of a plain function or method, in source."""
    texts = []
    for name, parameter in inspect.signature(function).parameters.items():
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = "Any" if parameter.annotation is parameter.empty else parameter.annotation
        texts.append(f"{mark}{name}: {kind}{'' if parameter.default is parameter.empty else ' = ...'}")
    return ", ".join(text for text in texts if not text.startswith("self:"))


def is_single(operator: Operator) -> bool:
    """Tell whether a call has one result, whatever its attributes."""
    definition = operator.definition
    if isinstance(operator, UnaryUfunc) or isinstance(definition, numpy.ufunc) or operator.visible_outputs == 1:
        return True
    return definition.__annotations__.get("return") in ("np.ndarray", "numpy.ndarray")


def result(operator: Operator) -> str:
    """Return the type of a method's result: an array of the same class, unless there may be several."""
    return "Self" if is_single(operator) else "Any"


def operator_of(name: str, operator: Operator) -> str:
    """Return the declaration of an operator of `minpy.nd`: of NDArrays it answers an NDArray, if that is one."""
    own = list(operator.signature.inputs)
    plain = parameters(operator, own)
    if not is_single(operator):
        return f"@_operator\ndef {name}({plain}) -> Any: ..."
    calls = [f"    def __call__(self, {plain}) -> NDArray: ..."]
    if own or operator.signature.variadic is not None:
        in_kind = parameters(operator, own, first="_A")
        calls = [
            f"    @overload\n    def __call__(self, {text}) -> {kind}: ..."
            for text, kind in ((in_kind, "_A"), (plain, "Any"))
        ]
    return "\n".join([f"class _{name}_(Operator):", *calls, f"{name}: _{name}_"])


def module_import(module: ModuleType, name: str) -> str:
    """Return the import of a module under a name."""
    package, _, own = module.__name__.rpartition(".")
    return f"from {package} import {own} as {name}"


def namespace(module: ModuleType = nd, name: str = "minpy.nd") -> str:
    """Return the stub of `minpy.nd`, or of a module in it, which imports the operators that `minpy.nd` has as well."""
    shared = {} if module is nd else {id(getattr(nd, name)): name for name in sorted(vars(nd)["__all__"])}
    inside = {one for one in vars(module)["__all__"] if isinstance(getattr(module, one), ModuleType)}
    imports = [module_import(getattr(module, one), one) for one in inside]
    functions = []
    for one in sorted(set(vars(module)["__all__"]) - inside):
        value = getattr(module, one)
        if id(value) in shared:
            imports.append(f"from minpy.ndarray import {shared[id(value)]} as {one}")
        elif isinstance(value, Operator):
            functions.append(operator_of(one, value))
        elif module is nd and one in nd.random.FUNCTIONS:
            functions.append(f"def {one}({plain_parameters(value)}) -> NDArray: ...")
        else:
            imports.append(f"from {value.__module__} import {one} as {one}")
    imports += [] if module is nd else ["from minpy.ndarray.ndarray import NDArray as NDArray"]
    return NAMESPACE.format(name=name, imports="\n".join(sorted(imports)), functions="\n".join(functions))


def signs(names: Iterable[str]) -> list[str]:
    """Return the declarations of `x + y`, `y + x` and `x += y` for each of the signs."""
    return [f"def __{prefix}{name}__(self, other: Any) -> Self: ..." for name in names for prefix in ("", "r", "i")]


def members() -> str:
    """Return the stub of what `NDArray` is given."""
    lines = signs(_SIGNS)
    for name in methods.COMPARISONS:
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"def __{name}__(self, other: Any) -> Self: ...{ignored}")
    for name in methods.METHODS:
        operator = OPERATORS[name]
        own = methods.shape_methods.METHODS.get(name)
        text = parameters(operator, list(operator.signature.inputs[1:])) if own is None else plain_parameters(own)
        lines.append(f"def {name}(self, {text}) -> {result(operator)}: ...")
    return _class(lines, name="minpy.nd.NDArray", module="minpy.bridge.protocols", base="NumPyProtocols", cls="Members")


def numpy_members() -> str:
    """Return the stub of what `minpy.numpy.ndarray` is given beside: NumPy's methods, which take what NumPy's do."""
    lines = []
    for name, ufunc in numpy_semantics.SIGNS.items():
        if ufunc.nin == 1:
            lines.append(f"def __{name}__(self) -> Self: ...")
        elif name not in _SIGNS:
            lines += signs([name])[:2]
    lines += [f"def {name}(self, *args: Any, **kwargs: Any) -> Any: ..." for name in sorted(numpy_semantics.METHODS)]
    return _class(lines, name="minpy.numpy.ndarray", module="minpy.ndarray.ndarray", base="NDArray", cls="NumPyMembers")


def symbol_parameters(operator: Operator, own: list[str]) -> str:
    """Return the parameters of a call on symbols: any input may be left out."""
    signature = operator.signature
    texts = [f"{name}: Any = ..." for name in own]
    if signature.variadic is not None:
        texts.append(f"*{signature.variadic}: Any")
    for name, attribute in signature.attributes.items():
        if name != "training":
            texts.append(f"{name}: {type_text(name, attribute.type)} = ...")
    if signature.variadic is None:
        texts.append("*")
    noted = ["name: str | None = ...", "attr: dict[str, str] | None = ...", "**_: Any"]
    return ", ".join([*texts, *noted])


def symbol_namespace(module: ModuleType = sym, name: str = "minpy.sym", prefix: str = "") -> str:
    """Return the stub of `minpy.sym`, or of a module in it whose operators' names begin with a prefix."""
    inside = {one for one in vars(module)["__all__"] if isinstance(getattr(module, one), ModuleType)}
    imports = [module_import(getattr(module, one), one) for one in inside]
    functions = []
    for one in sorted(set(vars(module)["__all__"]) - inside - {"Variable"}):
        if f"{prefix}{one}" not in OPERATORS:
            imports.append(f"from {getattr(module, one).__module__} import {one} as {one}")
        elif one in vars(creation)["__all__"]:
            imports.append(f"from minpy.symbol.creation import {one} as {one}")
        else:
            operator = OPERATORS[f"{prefix}{one}"]
            text = symbol_parameters(operator, list(operator.signature.inputs))
            functions.append(f"def {one}({text}) -> Symbol: ...")
    functions += ["Variable = var"] if module is sym else []
    if functions and module is not sym:
        imports.append("from minpy.symbol.symbol import Symbol as Symbol")
    return SYMBOLS.format(name=name, imports="\n".join(sorted(imports)), functions="\n".join(functions))


def symbol_members() -> str:
    """Return the stub of what `Symbol` is given."""
    lines = [line for line in signs(["add", "sub", "mul", "truediv", "mod", "pow"]) if "__i" not in line]
    lines += [f"def __{name}__(self) -> Self: ..." for name in ("neg", "abs")]
    for name, method in symbol.METHODS.items():
        signature = inspect.signature(method)
        given = [one.replace(annotation="Any") for one in list(signature.parameters.values())[1:]]
        texts = [
            str(one).replace("'", "").split(" = ")[0] + (" = ..." if one.default is not one.empty else "")
            for one in given
        ]
        result = {"Symbol": "Self", "str": "str", "None": "None"}.get(signature.return_annotation, "Any")
        lines.append(f"def {name}({', '.join(['self', *texts])}) -> {result}: ...")
    for name in methods.COMPARISONS:
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"def __{name}__(self, other: Any) -> Self: ...{ignored}")
    lines += [f"def {name}(self, *args: Any, **kwargs: Any) -> Self: ..." for name in ("reshape", "transpose")]
    lines.append("def astype(self, dtype: Any) -> Self: ...")
    for name in methods.METHODS:
        if name not in ("reshape", "transpose", "astype"):
            operator = OPERATORS[name]
            text = symbol_parameters(operator, list(operator.signature.inputs[1:]))
            lines.append(f"def {name}(self, {text}) -> Self: ...")
    text = _class(lines, name="minpy.sym.Symbol", module="", base="", cls="SymbolMembers")
    return text.replace("from  import \n\n", "").replace("SymbolMembers()", "SymbolMembers")


def alias(name: str) -> str:
    """Return the stub of a module under its other name."""
    module = ALIASES[name]
    imports = f"from minpy.{module} import *"
    if module == "numpy":  # most of whose names are generated from NumPy's
        own = [f"from minpy.numpy import {one} as {one}" for one in sorted(vars(import_module("minpy.numpy"))["_OWN"])]
        imports = "\n".join(["from typing import Any", "", *own, "", "def __getattr__(name: str) -> Any: ..."])
    if module == "numpy_extension":  # whose names are those of operators
        imports = f"from typing import Any\n\n{imports}\n\ndef __getattr__(name: str) -> Any: ..."
    return ALIAS.format(alias=name, module=module, imports=imports)


def _class(lines: list[str], **texts: str) -> str:
    return MEMBERS.format(members="\n".join(f"    {line}" for line in lines), **texts)


# The modules in `minpy.nd` and `minpy.sym` whose functions are generated, and how the names of their operators begin.
INSIDE = {"contrib": "_contrib_", "image": "_image_", "linalg": "_linalg_", "op": "", "sparse": ""}

STUBS: dict[Path, Callable[[], str]] = {
    ROOT / "ndarray" / "__init__.pyi": namespace,
    ROOT / "ndarray" / "members.pyi": members,
    ROOT / "numpy" / "members.pyi": numpy_members,
    ROOT / "symbol" / "__init__.pyi": symbol_namespace,
    ROOT / "symbol" / "members.pyi": symbol_members,
    **{ROOT / f"{name}.pyi": partial(alias, name) for name in ALIASES},
    **{ROOT / "ndarray" / f"{one}.pyi": partial(namespace, getattr(nd, one), f"minpy.nd.{one}") for one in INSIDE},
    **{
        ROOT / "symbol" / f"{one}.pyi": partial(symbol_namespace, getattr(sym, one), f"minpy.sym.{one}", prefix)
        for one, prefix in INSIDE.items()
    },
}


def written(make: Callable[[], str]) -> str:
    """Return the text of a stub, which imports `Literal` where it has enumerations."""
    text = make()
    return text.replace("from typing import Any", "from typing import Any, Literal", 1) if "Literal[" in text else text


def outdated() -> list[Path]:
    """Return the stubs that are not what would be written now."""
    return [
        path for path, make in STUBS.items() if not path.exists() or path.read_text(encoding="utf-8") != written(make)
    ]


def main() -> None:
    """Write the stubs, or with --check compare them."""
    parser = argparse.ArgumentParser(description="Write the stubs of what is generated.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a stub is not current")
    check = parser.parse_args().check
    for path in outdated():
        if check:
            sys.exit(f"{path} is not current: run python tools/make_stubs.py")
        temporary = path.with_suffix(".tmp")
        temporary.write_text(written(STUBS[path]), encoding="utf-8")
        os.replace(temporary, path)


if __name__ == "__main__":
    main()
