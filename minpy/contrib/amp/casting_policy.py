"""In which dtype operators compute: MXNet's lists, or lists of the program's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

from minpy.contrib.amp.lists import symbol_fp16 as lists
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, describe, nearest
from minpy.ops.registry import find_operator

__all__ = ["LOW", "WIDE", "WIDEST", "Policy", "checked_target", "dtype_name", "policy_of"]

# Where an operator computes: in float16, in float32, in the widest dtype of its inputs.
LOW, WIDE, WIDEST = "float16", "float32", "widest"

Conditions = Sequence[tuple[str, str, Sequence[str]]]

# Names that may be listed although the registry has no such operators.
_UNREGISTERED = frozenset(["Custom", "_cond", "_foreach", "_while_loop"])


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype; that of bfloat16, which NumPy does not have, as MXNet describes it to NumPy, too."""
    name = getattr(dtype, "__name__", None) or str(dtype)
    return "bfloat16" if name == "[('bfloat16', '<u2')]" else name


def checked_target(caller: str, dtype: Any) -> None:
    """Raise unless the low precision is float16."""
    name = dtype_name(dtype)
    if name == "bfloat16":
        raise DTypeError(
            f"{caller}: target_dtype is bfloat16, and NumPy has no such dtype. Use 'float16', with "
            "amp.init_trainer and amp.scale_loss for its range; or leave mixed precision off: float32 is the fastest "
            "on a CPU."
        )
    if name != "float16":
        raise DTypeError(f"{caller}: target_dtype is {describe(dtype)}; expected 'float16'.")


def _checked_names(caller: str, argument: str, names: Any) -> list[str]:
    """Return a list of operators' names."""
    if isinstance(names, str) or not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{caller}: {argument} is {describe(names)}; expected a list of operators' names.")
    for name in names:
        _require_operator(caller, argument, name)
    return list(names)


def _checked_conditions(caller: str, argument: str, conditions: Any) -> list[tuple[str, str, list[str]]]:
    """Return a list of (operator, attribute, values)."""
    checked = []
    listed: list[Any] = list(conditions) if isinstance(conditions, (list, tuple)) else [None]
    for condition in listed:
        whole = (
            isinstance(condition, (list, tuple))
            and len(condition) == 3
            and isinstance(condition[0], str)
            and isinstance(condition[1], str)
        )
        if not whole or isinstance(condition[2], str) or not isinstance(condition[2], Collection):
            raise ArgumentError(
                f"{caller}: {argument} is {describe(conditions)}; expected a list of (operator, attribute, list of "
                "values), such as [('Activation', 'act_type', ['softrelu'])]."
            )
        _require_operator(caller, argument, condition[0])
        checked.append((condition[0], condition[1], [*map(str, condition[2])]))
    return checked


def _require_operator(caller: str, argument: str, name: str) -> None:
    listed = [*lists.FP16_FUNCS, *lists.FP32_FUNCS, *lists.FP16_FP32_FUNCS, *lists.WIDEST_TYPE_CASTS]
    if name in _UNREGISTERED or name in listed:
        return
    try:
        find_operator(name)
    except ArgumentError:
        text = f"{caller}: {argument} names {name!r}, which is no operator.{nearest(name, listed)}"
        raise ArgumentValueError(text) from None


class Policy:
    """Where operators compute, by the names that nodes have.

    Parameters
    ----------
    low, wide, widest : collection of str
        The operators that compute in float16, in float32, in the widest dtype of their inputs.
    conditions : sequence of (str, str, sequence of str)
        Operator, attribute, and its values with which the operator computes in float32.
    """

    def __init__(
        self,
        low: Collection[str] = lists.FP16_FUNCS,
        wide: Collection[str] = lists.FP32_FUNCS,
        widest: Collection[str] = lists.WIDEST_TYPE_CASTS,
        conditions: Conditions = lists.CONDITIONAL_FP32_FUNCS,
    ) -> None:
        self.places: dict[str, str] = {}
        for names, place in ((widest, WIDEST), (low, LOW), (wide, WIDE)):
            self.places.update(dict.fromkeys(names, place))
        self.conditions: dict[str, list[tuple[str, Sequence[str]]]] = {}
        for name, attribute, values in conditions:
            self.conditions.setdefault(name, []).append((attribute, values))

    def names(self) -> set[str]:
        """Return the names of all operators that may be cast."""
        return {*self.places, *self.conditions}

    def place(self, names: Sequence[str], attributes: Mapping[str, Any]) -> str | None:
        """Return where a call computes, of an operator that has these names; None: in the dtype that it is given."""
        for name in names:
            for attribute, values in self.conditions.get(name, ()):
                if str(attributes.get(attribute)) in values:
                    return WIDE
        return next((self.places[name] for name in names if name in self.places), None)


def policy_of(caller: str, low: tuple[str, Any], wide: tuple[str, Any], conditional: tuple[str, Any]) -> Policy:
    """Return the policy of a program's lists, by the names of its arguments; those left out are None.

    Default lists stand in for these, without the operators that the others hold.
    """
    lows = None if low[1] is None else _checked_names(caller, *low)
    wides = None if wide[1] is None else _checked_names(caller, *wide)
    conditions = None if conditional[1] is None else _checked_conditions(caller, *conditional)
    named = {low[0]: {*(lows or ())}, wide[0]: {*(wides or ())}}
    named[conditional[0]] = {condition[0] for condition in conditions or ()}
    for (argument, names), (conflicting, conflicting_names) in combinations(named.items(), 2):
        in_both = ", ".join(sorted(names & conflicting_names))
        if in_both:
            raise ArgumentValueError(
                f"{caller}: {in_both} stands both in {argument} and in {conflicting}; leave it in one."
            )
    placed = set().union(*named.values())
    if lows is None:
        lows = [name for name in lists.FP16_FUNCS if name not in placed]
    if wides is None:
        wides = [name for name in lists.FP32_FUNCS if name not in placed]
    if conditions is None:
        conditions = [condition for condition in lists.CONDITIONAL_FP32_FUNCS if condition[0] not in placed]
    return Policy(lows, wides, conditions=conditions)
