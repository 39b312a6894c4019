"""Policies: which library computes a function. Here there is one, NumPy, so that they change nothing.

MinPy ran a function by MXNet or by NumPy, as a policy decided, and kept lists of what had failed in MXNet. Programs
that set policies run as they are: `AutoBlacklistPolicy`, `PreferMXNetPolicy` and `OnlyNumPyPolicy` all compute with
NumPy. So does `OnlyMXNetPolicy`, with a warning that says so, as it asks for what is not there. Policies of a program's
own choose among operators that it has registered itself, and count calls: see `Policy`.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minpy.array_variants import ArrayType, variants_repr
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, nearest
from minpy.dispatch.rule import Blacklist
from minpy.namespaces import module_functions

__all__ = [
    "AutoBlacklistPolicy",
    "Config",
    "OnlyMXNetPolicy",
    "OnlyNumPyPolicy",
    "Policy",
    "PreferMXNetPolicy",
    "PrimitivePolicyError",
    "create",
    "get_global_policy",
    "set_global_policy",
    "wrap_policy",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


class PrimitivePolicyError(ArgumentError, ValueError):
    """A policy that chooses no operator.

    Parameters
    ----------
    name : str
        The function that was called.
    policy_name : str

    Examples
    --------
    >>> print(PrimitivePolicyError('sin', 'OnlyMine'))
    OnlyMine chooses nothing that computes sin(): nothing is registered that it takes, and that has the gradient needed.
    """

    def __init__(self, name: str, policy_name: str) -> None:
        super().__init__(
            f"{policy_name} chooses nothing that computes {name}(): nothing is registered that it takes, and that has "
            "the gradient needed."
        )


class Policy:
    """Chooses what runs, by the kind of array, for `resolve_call`; and counts that.

    A program's own policy defines `decide`. `minpy.numpy` asks it after `minpy.numpy.record_op_stat()`.

    Examples
    --------
    >>> OnlyNumPyPolicy().name
    'OnlyNumPyPolicy'
    """

    def __init__(self) -> None:
        self._counts: dict[int, Counter[str]] = {ArrayType.MXNET: Counter(), ArrayType.NUMPY: Counter()}

    @property
    def name(self) -> str:
        """What the policy is called."""
        return type(self).__name__

    def decide(self, candidates: Iterable[Any]) -> int | None:
        """Return the kind of array of the operator that is to run; None for none. To be defined.

        Parameters
        ----------
        candidates : iterable of Primitive
        """
        raise NotImplementedError(f"{self.name} defines no decide(self, candidates).")

    def resolve_call(self, name: str, reg: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what the operator returns that the policy chooses among those of a name, and count the call.

        Parameters
        ----------
        name : str
        reg : Registry
        args, kwargs
            What the operator is called with.

        Raises
        ------
        PrimitivePolicyError
            If the policy chooses none.
        """
        recorded = [index for index, arg in enumerate(args) if _is_recorded(arg)]
        keys = [key for key, arg in kwargs.items() if _is_recorded(arg)]
        chosen = self.decide(reg.iter_available_types(name, recorded, keys))
        if chosen is None:
            raise PrimitivePolicyError(name, self.name)
        self._counts[chosen][name] += 1
        return reg.get(name, chosen).call(args, kwargs)

    def show_op_stat(self) -> None:
        """Print how often each function has been called since `minpy.numpy.record_op_stat()`, by what computed it."""
        total = sum(map(Counter.total, self._counts.values()))
        print(f"{self.name}: {total} calls of functions were counted.")
        for kind, counts in self._counts.items():
            share = f", {counts.total() / total:.1%}" if total else ""
            print(f"By {variants_repr[kind]}: {counts.total()}{share}")
            for name, count in counts.items():
                print(f"  {name}: {count}")


def _is_recorded(value: Any) -> bool:
    return isinstance(value, Array) and value._node is not None


class _MXNetFirst(Policy):
    def decide(self, candidates: Iterable[Any]) -> int | None:
        """Return the kind of array of MXNet's operator if there is one, else of NumPy's; None without any."""
        return _first_of((ArrayType.MXNET, ArrayType.NUMPY), candidates)


class AutoBlacklistPolicy(_MXNetFirst):
    """MXNet where it had not failed before; here NumPy. Lists of rules are read and written, and change nothing.

    Parameters
    ----------
    gen_rule : bool
        Whether the rules are saved when the program ends.
    append_rule : bool
        Whether rules that were read stay; only with `gen_rule`.
    loc : str, optional
        The file of the rules: see `minpy.dispatch.rule.Rules`.

    Examples
    --------
    >>> AutoBlacklistPolicy().name
    'AutoBlacklistPolicy'
    """

    def __init__(self, gen_rule: bool = False, append_rule: bool = True, loc: str | None = None) -> None:
        super().__init__()
        self.gen_rule, self.append_rule, self.loc = gen_rule, append_rule, loc
        self._rules = Blacklist(loc=loc, save_config_atexit=gen_rule)
        if gen_rule and not append_rule:
            self._rules.reset_rules()

    def save_rules(self) -> None:
        """Write the rules to their file."""
        self._rules.save_rules_config()

    def query(self, nspace: Any, name: str) -> str:
        """Return a text with the rules of a function in a module."""
        return self._rules.query(nspace, name)


class PreferMXNetPolicy(_MXNetFirst):
    """MXNet where it had the function; here NumPy.

    Examples
    --------
    >>> PreferMXNetPolicy().name
    'PreferMXNetPolicy'
    """


class OnlyNumPyPolicy(Policy):
    """NumPy: as always here.

    Examples
    --------
    >>> create('only_numpy').name
    'OnlyNumPyPolicy'
    """

    def decide(self, candidates: Iterable[Any]) -> int | None:
        """Return NumPy's kind of array if one of the operators is of it, else None."""
        return _first_of((ArrayType.NUMPY,), candidates)


class OnlyMXNetPolicy(_MXNetFirst):
    """MXNet, which is not there: NumPy computes, and a warning says so.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter('always')
    ...     policy = OnlyMXNetPolicy()
    >>> len(caught)
    1
    """

    def __init__(self) -> None:
        super().__init__()
        warnings.warn("OnlyMXNetPolicy: MXNet is not there; NumPy computes all functions.", stacklevel=2)


def _first_of(kinds: Sequence[int], candidates: Iterable[Any]) -> int | None:
    there = {candidate.type for candidate in candidates}
    return next((kind for kind in kinds if kind in there), None)


_NAMES: dict[str, type[Policy]] = {
    "auto_blacklist": AutoBlacklistPolicy,
    "prefer_mxnet": PreferMXNetPolicy,
    "only_numpy": OnlyNumPyPolicy,
    "only_mxnet": OnlyMXNetPolicy,
}

# MinPy's: the policy of the program; `modules` are the namespaces that are told when it changes.
Config: dict[str, Any] = {"modules": [], "default_policy": PreferMXNetPolicy()}


def create(plc: str | Policy) -> Policy:
    """Return a policy by its name: 'auto_blacklist', 'prefer_mxnet', 'only_numpy' or 'only_mxnet'.

    Raises
    ------
    ArgumentError
        If there is no such policy.

    Examples
    --------
    >>> create('prefer_mxnet').name
    'PreferMXNetPolicy'
    """
    if isinstance(plc, Policy):
        return plc
    if plc not in _NAMES:
        raise ArgumentError(f"there is no policy {plc!r}; there are {', '.join(_NAMES)}.{nearest(str(plc), _NAMES)}")
    return _NAMES[plc]()


def set_global_policy(plc: str | Policy) -> None:
    """Set the policy that `get_global_policy` returns. Calls that a policy was asked for are counted no longer.

    Examples
    --------
    >>> set_global_policy('prefer_mxnet')
    """
    Config["default_policy"] = create(plc)
    for module in Config["modules"]:
        module.generate_attrs(Config["default_policy"])


def get_global_policy() -> Policy:
    """Return the policy that was set last.

    Examples
    --------
    >>> get_global_policy().name
    'PreferMXNetPolicy'
    """
    policy: Policy = Config["default_policy"]
    return policy


def wrap_policy(plc: str | Policy) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that sets a policy while a function runs.

    Examples
    --------
    >>> wrap_policy('only_numpy')(lambda: get_global_policy().name)()
    'OnlyNumPyPolicy'
    """
    policy = create(plc)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = get_global_policy()
            set_global_policy(policy)
            try:
                return function(*args, **kwargs)
            finally:
                set_global_policy(before)

        return call

    return decorate
