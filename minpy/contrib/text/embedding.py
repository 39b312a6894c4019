"""Vectors of words, from files of pretrained embeddings: one line a token, which is followed by its vector."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy

from minpy import ndarray as nd
from minpy.base import data_dir
from minpy.contrib.text._names import FASTTEXT, GLOVE
from minpy.contrib.text.vocab import Vocabulary
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, FileMissingError, describe, nearest
from minpy.files import access_error, open_to_read
from minpy.namespaces import listing
from minpy.registry import get_create_func, get_register_func, get_registry

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]
__dir__ = listing(__all__)

_Vectors = Callable[..., nd.NDArray]


class _TokenEmbedding(Vocabulary):
    """A vocabulary whose tokens have vectors. Derived classes fill in `_idx_to_vec`.

    Parameters
    ----------
    **kwargs
        As for a `Vocabulary`.
    """

    # The files that are published, and the archive of each.
    pretrained_files: ClassVar[Mapping[str, str]] = {}

    _idx_to_vec: nd.NDArray

    # -- reading -------------------------------------------------------------------------------------------------------

    def _load(
        self, path: str, elem_delim: str, init_unknown_vec: _Vectors, vocabulary: Vocabulary | None, encoding: str
    ) -> None:
        """Take the vectors of a file: of its own tokens, or of those of a vocabulary."""
        if vocabulary is not None:
            _require_vocabulary(vocabulary)
        table = array("f")
        rows: dict[Any, int] = {}
        length = 0
        for number, token, text in _lines(path, elem_delim, encoding):
            values = _numbers(text, token, number, path)
            if len(values) == 1 or token in rows:
                problem = (
                    f"one number only, {values[0]!r}; it is taken for a header and left out."
                    if len(values) == 1
                    else "a vector already, of an earlier line; this one is left out."
                )
                warnings.warn(f"{path}, line {number}: the token {token!r} has {problem}", UserWarning, stacklevel=3)
                continue
            length = length or len(values)
            if len(values) != length:
                raise FileFormatError(
                    f"{path}, line {number}: the vector of {token!r} has {len(values)} numbers, those before "
                    f"have {length}. All must have as many; is {elem_delim!r} between them, and in no token?"
                )
            rows[token] = len(rows)
            table.extend(values)
        if not rows:
            raise FileFormatError(f"{path}: there is no vector in it. Its lines must be a token and its numbers.")
        vectors = numpy.frombuffer(table, numpy.float32).reshape(-1, length)
        if self.unknown_token in rows:
            unknown = vectors[rows[self.unknown_token]]
        else:
            unknown = init_unknown_vec(shape=length).asnumpy()
        if vocabulary is None:
            for token in rows:
                if token not in self._token_to_idx:
                    self._add(token)
        else:
            self._take_tokens(vocabulary)
        data = numpy.empty((len(self), length), numpy.float32)
        for index, token in enumerate(self._idx_to_token):
            data[index] = unknown if index == 0 or token not in rows else vectors[rows[token]]
        self._idx_to_vec = nd.array(data)

    def _take_tokens(self, vocabulary: Vocabulary) -> None:
        self._token_to_idx = vocabulary.token_to_idx.copy()
        self._idx_to_token = vocabulary.idx_to_token.copy()
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens

    @classmethod
    def _published(cls, name: str, embedding_root: str | None) -> str:
        """Return where a published file lies, if it is there."""
        kind = cls.__name__
        if name not in cls.pretrained_files:
            raise ArgumentValueError(
                f"{kind}: there is no published file {name!r}.{nearest(name, cls.pretrained_files)} "
                f"text.embedding.get_pretrained_file_names({kind.lower()!r}) lists them; CustomEmbedding takes any."
            )
        root = os.path.join(data_dir(), "embeddings") if embedding_root is None else embedding_root
        path = os.path.join(os.path.expanduser(root), kind.lower(), name)
        if not os.path.isfile(path):
            raise FileMissingError(
                f"{kind}: there is no file {path!r}, and none is downloaded. Fetch {cls.pretrained_files[name]}, "
                "unpack the file there, or say with embedding_root where it is."
            )
        return path

    # -- what there is -------------------------------------------------------------------------------------------------

    @property
    def vec_len(self) -> int:
        """How many numbers a vector has."""
        return self._idx_to_vec.shape[1]

    @property
    def idx_to_vec(self) -> nd.NDArray:
        """The vectors, one a row, in the order of the tokens."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: str | Sequence[str], lower_case_backup: bool = False) -> nd.NDArray:
        """Return the vectors of tokens; that of the unknown token for those that are not there.

        Parameters
        ----------
        tokens : str or list of str
        lower_case_backup : bool
            Whether to look for a token that is not there in lower case.

        Returns
        -------
        NDArray
            (vec_len,) for one token, (n, vec_len) for a list.
        """
        single = not isinstance(tokens, (list, tuple))

        def index_of(token: Any) -> int:
            if lower_case_backup and token not in self._token_to_idx:
                token = str(token).lower()
            return self._token_to_idx.get(token, 0)

        indices = [index_of(token) for token in ([tokens] if single else tokens)]
        vectors = self._idx_to_vec.asnumpy()[indices] if indices else numpy.empty((0, self.vec_len), numpy.float32)
        return nd.array(vectors[0] if single else vectors)

    def update_token_vectors(self, tokens: str | Sequence[str], new_vectors: nd.NDArray) -> None:
        """Replace the vectors of tokens.

        Parameters
        ----------
        tokens : str or list of str
            Indexed ones; the unknown token itself, if its vector is to change.
        new_vectors : NDArray
            (vec_len,) for one token, or (n, vec_len).

        Raises
        ------
        ArgumentError
            If the vectors are no NDArray of that shape.
        ArgumentValueError
            For a token that is not indexed.
        """
        names = [tokens] if not isinstance(tokens, (list, tuple)) else list(tokens)
        expected = (len(names), self.vec_len)
        shape = getattr(new_vectors, "shape", None)
        if not isinstance(new_vectors, nd.NDArray) or shape not in (expected, expected[1:] if len(names) == 1 else ()):
            raise ArgumentError(
                f"update_token_vectors: expected an NDArray of shape {expected}, a vector for each of the tokens; got "
                f"{describe(new_vectors)}."
            )
        for token in names:
            if token not in self._token_to_idx:
                raise ArgumentValueError(
                    f"update_token_vectors: the token {token!r} is not indexed."
                    f"{nearest(str(token), self._idx_to_token)} The vector of all such tokens is that of "
                    f"{self.unknown_token!r}: name it to change that."
                )
        self._idx_to_vec[[self._token_to_idx[token] for token in names]] = new_vectors.reshape(expected)


def _lines(path: str, elem_delim: str, encoding: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (number of the line, token, the texts of its numbers)."""
    try:
        with open_to_read(path, "r", encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, *texts = line.rstrip().split(elem_delim)
                if texts:
                    yield number, token, texts
                elif token:
                    raise FileFormatError(
                        f"{path}, line {number}: {token[:40]!r} is followed by no number. Numbers must follow, with "
                        f"{elem_delim!r} between them; elem_delim says what is."
                    )
    except OSError as error:
        raise access_error("text.embedding", "read", path, error) from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: it is not in {encoding}: {error}. Say with encoding in what it is.") from error


def _numbers(texts: Sequence[str], token: str, number: int, path: str) -> list[float]:
    try:
        return [float(text) for text in texts]
    except ValueError as error:
        raise FileFormatError(
            f"{path}, line {number}: the vector of {token!r} is no list of numbers: {error}."
        ) from None


def _require_vocabulary(vocabulary: Any) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"vocabulary must be a text.vocab.Vocabulary, got {describe(vocabulary)}.")


# -- by name -------------------------------------------------------------------------------------------------------

_register = get_register_func(_TokenEmbedding, "token embedding")
_create = get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: type) -> Any:
    """Make a class of embeddings known to `create`, under its name in lower case.

    Parameters
    ----------
    embedding_cls : type

    Returns
    -------
    type
        The class.
    """
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """Return an embedding by the name of its class.

    Parameters
    ----------
    embedding_name : str
        'glove' or 'fasttext', or what has been registered.
    **kwargs
        For the class.

    Raises
    ------
    ArgumentValueError
        For an unknown name.
    """
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Return the names of the files that embeddings were published as.

    Parameters
    ----------
    embedding_name : str, optional
        Such as 'glove'; all if left out.

    Returns
    -------
    list of str, or dict of such lists by the name of the embedding

    Raises
    ------
    ArgumentValueError
        For an unknown name.

    Examples
    --------
    >>> from minpy.contrib import text
    >>> 'glove.6B.50d.txt' in text.embedding.get_pretrained_file_names('glove')
    True
    """
    classes: dict[str, Any] = get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {name: list(cls.pretrained_files) for name, cls in classes.items()}
    if embedding_name not in classes:
        raise ArgumentValueError(
            f"get_pretrained_file_names: there is no token embedding {embedding_name!r}."
            f"{nearest(embedding_name, classes)} There are {', '.join(map(repr, classes))}."
        )
    return list(classes[embedding_name].pretrained_files)


# -- embeddings ----------------------------------------------------------------------------------------------------


def _reading(default: str) -> Callable[..., None]:
    """Return the `__init__` of embeddings that were published, which reads one of their files."""

    def __init__(
        self: _TokenEmbedding,
        pretrained_file_name: str = default,
        embedding_root: str | None = None,
        init_unknown_vec: _Vectors = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        path = self._published(pretrained_file_name, embedding_root)
        Vocabulary.__init__(self, **kwargs)
        self._load(path, " ", init_unknown_vec, vocabulary, "utf8")

    return __init__


_FURTHER = """
embedding_root : str, optional
    The file is looked for in the folder `glove` of this one; by default `embeddings` in `MXNET_HOME`.
init_unknown_vec : callable
    Makes the unknown token's vector from `shape`, if the file has none: `nd.zeros`.
vocabulary : Vocabulary, optional
    The tokens to take the vectors of; those of the file if left out.
**kwargs
    As for a `Vocabulary`.

Raises
------
ArgumentValueError
    For an unknown name.
FileMissingError
    If the file is not there.
FileFormatError
    If it holds something else.
"""


@register
@documented(further=_FURTHER)
class GloVe(_TokenEmbedding):
    """The vectors of GloVe, from a file that has been fetched. (Pennington, Socher and Manning, "GloVe: Global Vectors
    for Word Representation", 2014.)

    Parameters
    ----------
    pretrained_file_name : str
        One of `get_pretrained_file_names('glove')`.
    {further}
    """

    pretrained_files = GLOVE

    __init__ = _reading("glove.840B.300d.txt")


@register
@documented(further=_FURTHER.replace("glove", "fasttext"))
class FastText(_TokenEmbedding):
    """The vectors of FastText, from a file that has been fetched. (Bojanowski, Grave, Joulin and Mikolov, "Enriching
    Word Vectors with Subword Information", 2017.)

    Parameters
    ----------
    pretrained_file_name : str
        One of `get_pretrained_file_names('fasttext')`.
    {further}
    """

    pretrained_files = FASTTEXT

    __init__ = _reading("wiki.simple.vec")


class CustomEmbedding(_TokenEmbedding):
    """The vectors of a file of one's own.

    Parameters
    ----------
    pretrained_file_path : str
    elem_delim : str
        What stands between a token and its numbers, and between these.
    encoding : str
        Of the file.
    init_unknown_vec : callable
        Makes the unknown token's vector from `shape`, if the file has none: `nd.zeros`.
    vocabulary : Vocabulary, optional
        The tokens to take the vectors of; those of the file if left out.
    **kwargs
        As for a `Vocabulary`. Reserved tokens have the file's vectors; those that are not in it, the unknown token's.

    Raises
    ------
    ArgumentError
        If the vocabulary is none.
    FileMissingError
        If the file is not there.
    FileFormatError
        If it holds something else: vectors of several lengths, or no numbers.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy.contrib import text
    >>> path = os.path.join(tempfile.mkdtemp(), 'vectors.txt')
    >>> with open(path, 'w') as file:
    ...     count = file.write('fish 1 2\\nboat 3 4\\n')
    >>> words = text.embedding.CustomEmbedding(path)
    >>> words.get_vecs_by_tokens(['boat', 'goat']).asnumpy()
    array([[3., 4.],
           [0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: _Vectors = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load(os.path.expanduser(pretrained_file_path), elem_delim, init_unknown_vec, vocabulary, encoding)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of several embeddings, side by side, for the tokens of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
    token_embeddings : embedding or list of embeddings

    Raises
    ------
    ArgumentError
        If one is of another kind.
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        _require_vocabulary(vocabulary)
        parts = list(token_embeddings) if isinstance(token_embeddings, (list, tuple)) else [token_embeddings]
        for part in parts:
            if not isinstance(part, _TokenEmbedding):
                raise ArgumentError(
                    f"CompositeEmbedding: expected embeddings, such as a CustomEmbedding; got {describe(part)}."
                )
        super().__init__()
        self._take_tokens(vocabulary)
        tokens = self._idx_to_token
        self._idx_to_vec = nd.concat(*(part.get_vecs_by_tokens(tokens) for part in parts), dim=1)
