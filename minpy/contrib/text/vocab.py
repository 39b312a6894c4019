"""`Vocabulary`: words and their indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, OutOfRangeError, describe
from minpy.namespaces import listing

__all__ = ["Vocabulary"]
__dir__ = listing(__all__)


class Vocabulary:
    """Tokens, each with an index: the unknown token has 0, reserved tokens follow, then the others, the most frequent
    first; of equally frequent ones the first in the order of the alphabet.

    Parameters
    ----------
    counter : collections.Counter, optional
        How often each token is there.
    most_freq_count : int, optional
        How many tokens of the counter to take at most; all if left out.
    min_freq : int
        How often a token must be there at least.
    unknown_token : hashable
        What stands for all tokens that are not indexed.
    reserved_tokens : list of hashable, optional
        Tokens that are always indexed, such as those of padding.

    Raises
    ------
    ArgumentError
        If the counter is none.
    ArgumentValueError
        If `min_freq` is below 1, or the reserved tokens are not different from each other and from the unknown one.

    Examples
    --------
    >>> from collections import Counter
    >>> from minpy.contrib import text
    >>> words = text.vocab.Vocabulary(Counter('abbccc'), min_freq=2, reserved_tokens=['<pad>'])
    >>> words.idx_to_token
    ['<unk>', '<pad>', 'c', 'b']
    >>> words.to_indices(['b', 'a'])
    [3, 0]
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ) -> None:
        if min_freq < 1:
            raise ArgumentValueError(f"Vocabulary: min_freq is {min_freq}; it must be 1 at least.")
        if counter is not None and not isinstance(counter, Counter):
            raise ArgumentError(f"Vocabulary: expected a collections.Counter, got {describe(counter)}.")
        reserved = None if reserved_tokens is None else list(reserved_tokens)
        for position, token in enumerate(reserved or ()):
            if token == unknown_token:
                raise ArgumentValueError(
                    f"Vocabulary: the reserved token {token!r} is the unknown token, which is indexed anyway; "
                    "leave it out."
                )
            if token in (reserved or ())[:position]:
                raise ArgumentValueError(f"Vocabulary: the reserved token {token!r} is there twice.")
        self._unknown_token = unknown_token
        self._reserved_tokens = reserved
        self._idx_to_token: list[Any] = [unknown_token, *(reserved or ())]
        self._token_to_idx: dict[Any, int] = {token: index for index, token in enumerate(self._idx_to_token)}
        if counter is not None:
            self._index_counted(counter, most_freq_count, min_freq)

    def _index_counted(self, counter: Counter[Any], most: int | None, min_freq: int) -> None:
        tokens = sorted(counter.items(), key=lambda pair: pair[0])
        tokens.sort(key=lambda pair: pair[1], reverse=True)
        left = len(counter) if most is None else most
        for token, frequency in tokens:
            if frequency < min_freq or left <= 0:
                break
            if token not in self._token_to_idx:
                self._add(token)
                left -= 1

    def _add(self, token: Any) -> None:
        self._token_to_idx[token] = len(self._idx_to_token)
        self._idx_to_token.append(token)

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The index of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens, in the order of their indices."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """What stands for all tokens that are not indexed."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The tokens that are always indexed; None if there are none."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """Return the indices of tokens; that of the unknown token for those that are not indexed.

        Parameters
        ----------
        tokens : str or list of str

        Returns
        -------
        int or list of int
        """
        if isinstance(tokens, (list, tuple)):
            return [self._token_to_idx.get(token, 0) for token in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: Any) -> Any:
        """Return the tokens at indices.

        Parameters
        ----------
        indices : int or list of int

        Returns
        -------
        str or list of str

        Raises
        ------
        ArgumentError
            For what is no integer.
        OutOfRangeError
            For an index that no token has.
        """
        if isinstance(indices, (list, tuple)):
            return [self.to_tokens(index) for index in indices]
        try:
            index = indices.__index__()
        except AttributeError:
            raise ArgumentError(f"to_tokens: expected an index, got {describe(indices)}.") from None
        if not -len(self) <= index < len(self):
            raise OutOfRangeError(f"to_tokens: there is no token {index}; indices go from 0 to {len(self) - 1}.")
        return self._idx_to_token[index]
