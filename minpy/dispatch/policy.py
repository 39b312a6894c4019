"""Policies: which library computes a function. Here there is one, NumPy, so that they change nothing.

MinPy ran a function by MXNet or by NumPy, as a policy decided, and kept lists of what had failed in MXNet. Programs
that set policies run as they are: `AutoBlacklistPolicy`, `PreferMXNetPolicy` and `OnlyNumPyPolicy` all compute with
NumPy. So does `OnlyMXNetPolicy`, with a warning that says so, as it asks for what is not there.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from minpy.core.errors import ArgumentError, nearest
from minpy.namespaces import listing

__all__ = [
    "AutoBlacklistPolicy",
    "OnlyMXNetPolicy",
    "OnlyNumPyPolicy",
    "Policy",
    "PreferMXNetPolicy",
    "create",
    "get_global_policy",
    "set_global_policy",
    "wrap_policy",
]
__dir__ = listing(__all__)


class Policy:
    """A policy, by name. It changes nothing: NumPy computes.

    Examples
    --------
    >>> OnlyNumPyPolicy().name
    'OnlyNumPyPolicy'
    """

    @property
    def name(self) -> str:
        """What the policy is called."""
        return type(self).__name__

    def show_op_stat(self) -> None:
        """Print what computes: NumPy."""
        print(f"{self.name}: all functions are computed by NumPy.")


class AutoBlacklistPolicy(Policy):
    """MXNet where it had not failed before; here NumPy. What is said of lists of rules is accepted and not used.

    Examples
    --------
    >>> AutoBlacklistPolicy(gen_rule=True).name
    'AutoBlacklistPolicy'
    """

    def __init__(self, gen_rule: bool = False, append_rule: bool = True, loc: str | None = None) -> None:
        self.gen_rule, self.append_rule, self.loc = gen_rule, append_rule, loc

    def save_rules(self) -> None:
        """Write nothing: there are no rules."""


class PreferMXNetPolicy(Policy):
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


class OnlyMXNetPolicy(Policy):
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
        warnings.warn("OnlyMXNetPolicy: MXNet is not there; NumPy computes all functions.", stacklevel=2)


_NAMES: dict[str, type[Policy]] = {
    "auto_blacklist": AutoBlacklistPolicy,
    "prefer_mxnet": PreferMXNetPolicy,
    "only_numpy": OnlyNumPyPolicy,
    "only_mxnet": OnlyMXNetPolicy,
}
_current: list[Policy] = [PreferMXNetPolicy()]


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
    """Set the policy that `get_global_policy` returns; it changes nothing else.

    Examples
    --------
    >>> set_global_policy('prefer_mxnet')
    """
    _current[0] = create(plc)


def get_global_policy() -> Policy:
    """Return the policy that was set last.

    Examples
    --------
    >>> get_global_policy().name
    'PreferMXNetPolicy'
    """
    return _current[0]


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
