"""On which context each node of a graph is said to lie: `group2ctx`, by the groups that `AttrScope(ctx_group=...)` has.

All contexts share one memory here. What is placed are the arrays: they say where they were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minpy.context import Context, resolve_context
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.graph.ir import Node
from minpy.symbol.symbol import Symbol

__all__ = ["context_groups", "groups_of_each", "place_nodes"]

_KEY = "__ctx_group__"


def context_groups(caller: str, group2ctx: object) -> dict[str, Context]:
    """Return the context of each group that a call names; none for None.

    Raises
    ------
    ArgumentError
        If it is no dict of contexts by names.
    ContextError
        For a context that arrays cannot be on.
    """
    if group2ctx is None:
        return {}
    if not isinstance(group2ctx, Mapping):
        raise ArgumentError(
            f"{caller}: group2ctx is {describe(group2ctx)}; expected a dict of contexts by the names of groups, such "
            "as {'stage1': mx.cpu(0), 'stage2': mx.cpu(1)}."
        )
    for group, context in group2ctx.items():
        if not isinstance(context, Context):
            raise ArgumentError(
                f"{caller}: group2ctx[{group!r}] is {describe(context)}; expected a Context, such as mx.cpu(1)."
            )
    return {group: resolve_context(context) for group, context in group2ctx.items()}


def groups_of_each(group2ctxs: Any, count: int) -> list[dict[str, Any] | None]:
    """Return the `group2ctx` of each of a module's executors.

    Parameters
    ----------
    group2ctxs : dict or list of dict, optional
        One dict for each executor; or one for all, whose values are a context, or a list with one context for all
        executors or one for each.
    count : int
        How many executors there are.

    Raises
    ------
    ArgumentValueError
        If it is of another kind, or has another length.
    """
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, (list, tuple)):
        if len(group2ctxs) != count:
            raise ArgumentValueError(
                f"Module: group2ctxs has {len(group2ctxs)} dict(s) for {count} context(s). Give one for each, or one "
                "dict for all."
            )
        return list(group2ctxs)
    if not isinstance(group2ctxs, Mapping):
        raise ArgumentValueError(
            f"Module: group2ctxs is {describe(group2ctxs)}; expected a dict of contexts by the names of groups, such "
            "as {'stage1': mx.cpu(1)}, or a list of such dicts, one for each context."
        )
    by_executor: list[dict[str, Any] | None] = [{} for _ in range(count)]
    for group, contexts in group2ctxs.items():
        own_contexts = list(contexts) if isinstance(contexts, (list, tuple)) else [contexts]
        if len(own_contexts) not in (1, count):
            raise ArgumentValueError(
                f"Module: group2ctxs[{group!r}] has {len(own_contexts)} contexts for {count} context(s) of the module. "
                "Give one for all, or one for each."
            )
        for groups, context in zip(by_executor, own_contexts * (count // len(own_contexts)), strict=True):
            assert groups is not None
            groups[group] = context
    return by_executor


def place_nodes(caller: str, symbol: Symbol, default: Context, groups: Mapping[str, Context]) -> dict[Node, Context]:
    """Return where each node lies: on its group's context, or as its first input that has one, or on the default.

    States of an operator lie where it does. Variables of no group are on the default context.

    Raises
    ------
    ArgumentError
        If a node's group is none of those that are given.
    """
    contexts: dict[Node, Context] = {}
    if not groups:
        return dict.fromkeys(symbol.order, default)
    for node in symbol.order:
        group = node.annotations.get(_KEY)
        if group is not None:
            if group not in groups:
                raise ArgumentError(
                    f"{caller}: {node.name!r} is of ctx_group {group!r}, and group2ctx has no context for it: it has "
                    f"{', '.join(map(repr, groups))}.{nearest(group, groups)}"
                )
            contexts[node] = groups[group]
        else:
            inherited = (contexts[value.node] for value in node.inputs if value.node in contexts)
            context = next(inherited, None)
            if context is not None:
                contexts[node] = context
        if node in contexts:
            for value in node.auxiliary_inputs():
                contexts.setdefault(value.node, contexts[node])
    return {node: contexts.get(node, default) for node in symbol.order}
