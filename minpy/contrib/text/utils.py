"""Words of a text, counted."""

from __future__ import annotations

import re
from collections import Counter

from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import listing

__all__ = ["count_tokens_from_str"]
__dir__ = listing(__all__)


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    r"""Return how often each token is in a text.

    Parameters
    ----------
    source_str : str
    token_delim : str
        A regular expression of what stands between the tokens of a sequence.
    seq_delim : str
        A regular expression of what stands between sequences.
    to_lower : bool
        Whether to count in lower case.
    counter_to_update : collections.Counter, optional
        What to add the counts to.

    Returns
    -------
    collections.Counter
        `counter_to_update` itself, if there is one.

    Raises
    ------
    ArgumentError
        If the text is no string.

    Examples
    --------
    >>> from minpy.contrib import text
    >>> counts = text.utils.count_tokens_from_str(' one fish\ntwo fish ')
    >>> sorted(counts.items())
    [('fish', 2), ('one', 1), ('two', 1)]
    """
    if not isinstance(source_str, str):
        raise ArgumentError(f"count_tokens_from_str: expected a string, got {describe(source_str)}.")
    tokens = [token for token in re.split(f"{token_delim}|{seq_delim}", source_str) if token]
    counts = Counter() if counter_to_update is None else counter_to_update
    counts.update(token.lower() for token in tokens) if to_lower else counts.update(tokens)
    return counts
