"""MinPy's lists of what is not to run by MXNet. NumPy computes everything here, so that no list has an effect.

Programs that read, change and save such lists run as they are, and files that MinPy wrote are read.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from minpy.array_variants import ArrayType
from minpy.core.array import Array
from minpy.core.errors import ArgumentError
from minpy.files import write_whole
from minpy.namespaces import module_functions

__all__ = ["Blacklist", "RuleError", "Rules"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class RuleError(ArgumentError, ValueError):
    """A rule that cannot be.

    Examples
    --------
    >>> issubclass(RuleError, ValueError)
    True
    """


class Rules:
    """Rules by namespace and function. Instances of a class share them.

    Parameters
    ----------
    loc : str, optional
        The file of the rules. If left out, the first of `.minpy_rules.conf` in the current folder, in that of the
        environment's MINPY_CONF, and in the user's home that can be read.
    save_config_atexit : bool
        Whether they are saved when the program ends.

    Examples
    --------
    >>> Blacklist().name
    'Blacklist'
    """

    _conf_file: ClassVar[str] = ".minpy_rules.conf"
    _loc: ClassVar[str | None] = None
    _rules: ClassVar[dict[str, dict[str, list[dict[str, list[str]]]]] | None] = None
    _saves_at_exit: ClassVar[bool] = False

    def __init__(self, loc: str | None = None, save_config_atexit: bool = False) -> None:
        cls = type(self)
        cls._loc = loc
        if save_config_atexit and not cls._saves_at_exit:
            cls._saves_at_exit = True
            atexit.register(cls.save_rules_config)
        cls.load_rules_config()

    @property
    def name(self) -> str:
        """What the rules are called."""
        return type(self).__name__

    @classmethod
    def load_rules_config(cls, force: bool = False) -> None:
        """Read the rules from their file, if they have not been read yet; there need not be one.

        Parameters
        ----------
        force : bool
            Whether to read again.

        Raises
        ------
        RuleError
            If a file is there that holds no rules.
        """
        if cls._rules is not None and not force:
            return
        folders = [".", os.environ.get("MINPY_CONF", "."), str(Path.home())]
        paths = [Path(folder, cls._conf_file) for folder in folders]
        for path in [Path(cls._loc)] if cls._loc is not None else paths:
            if path.is_file():
                cls._rules = _read(path)
                return
        cls._rules = {}

    @classmethod
    def save_rules_config(cls) -> None:
        """Write the rules to their file, in JSON, which is YAML as well: MinPy reads it."""
        folder = os.environ.get("MINPY_CONF", str(Path.home()))
        path = Path(cls._loc) if cls._loc is not None else Path(folder, cls._conf_file)
        write_whole(str(path), iter([json.dumps(cls._rules or {}, indent=1).encode()]))

    @classmethod
    def reset_rules(cls) -> None:
        """Forget all rules; the file stays."""
        cls._rules = {}

    def allow(self, name: str, nspace: str, impl_type: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Tell whether a call may run by a library. To be defined."""
        raise NotImplementedError(f"{self.name} defines no allow(self, name, nspace, impl_type, args, kwargs).")

    def add(self, name: str, nspace: str, impl_type: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Add a rule for a call. To be defined."""
        raise NotImplementedError(f"{self.name} defines no add(self, name, nspace, impl_type, args, kwargs).")


class Blacklist(Rules):
    """Calls that are not to run by MXNet.

    Examples
    --------
    >>> rules = Blacklist()
    >>> rules.add('sin', 'mine', ArrayType.MXNET, (1.0,), {})
    >>> [rules.allow('sin', 'mine', ArrayType.MXNET, args, {}) for args in ((2.0,), (2.0, 3.0))]
    [False, True]
    >>> Blacklist.reset_rules()
    """

    def allow(self, name: str, nspace: str, impl_type: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Tell whether a call may run by a library: NumPy always, MXNet if no rule is like the call.

        Parameters
        ----------
        name, nspace : str
            The function, and its namespace.
        impl_type : int
            `ArrayType.NUMPY` or `ArrayType.MXNET`.
        args, kwargs
            What it is called with: of arrays the number of dimensions counts, of others the type.
        """
        rules = (type(self)._rules or {}).get(nspace, {}).get(name, [])
        return impl_type != ArrayType.MXNET or _entry(args, kwargs) not in map(_sorted, rules)

    def add(self, name: str, nspace: str, impl_type: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Add the rule that calls like this one are not to run by MXNet.

        Raises
        ------
        RuleError
            For another library.
        """
        if impl_type != ArrayType.MXNET:
            raise RuleError("Blacklist.add: rules are of functions of MXNet (ArrayType.MXNET) only.")
        if self.allow(name, nspace, impl_type, args, kwargs):
            rules = type(self)._rules
            assert rules is not None
            rules.setdefault(nspace, {}).setdefault(name, []).append(_entry(args, kwargs))

    @classmethod
    def query(cls, nspace: Any, name: str) -> str:
        """Return a text with the rules of a function.

        Parameters
        ----------
        nspace : module
        name : str
            The function.
        """
        where = nspace.__name__
        if not hasattr(nspace, name):
            return f"{where} has no {name}."
        rules = (cls._rules or {}).get(where, {}).get(name, [])
        if not rules:
            return f"There is no rule for {where}.{name}."
        calls = (", ".join([*rule.get("args", ()), *(f"{key}=" for key in rule.get("kwargs", ()))]) for rule in rules)
        return "\n".join(f"{name}({call}) does not run by MXNet." for call in calls)


def _read(path: Path) -> dict[str, dict[str, list[dict[str, list[str]]]]]:
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError:
        try:
            import yaml
        except ModuleNotFoundError as error:
            raise RuleError(f"{path} is written in YAML. Install what reads it: pip install pyyaml") from error
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise RuleError(f"{path} holds no rules: it is neither JSON nor YAML. Remove it, or give loc=.") from error
    if not isinstance(content or {}, dict):
        raise RuleError(f"{path} holds no rules: expected a mapping of namespaces. Remove it, or give loc=.")
    return content or {}


def _entry(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, list[str]]:
    entry = {"args": [f"array_dim{arg.ndim}" if isinstance(arg, Array) else type(arg).__name__ for arg in args]}
    return {**entry, "kwargs": sorted(kwargs)} if kwargs else entry


def _sorted(rule: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {key: sorted(value) if key == "kwargs" else value for key, value in rule.items()}
