"""`mx.gluon.contrib.data.text`: texts for language models, from local files."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.contrib.text.utils import count_tokens_from_str
from minpy.contrib.text.vocab import Vocabulary
from minpy.core.errors import ArgumentValueError, FileFormatError, OutOfRangeError, describe
from minpy.core.families import with_defaults
from minpy.files import read_file
from minpy.gluon.data.dataset import _DownloadedDataset, default_root, file_of
from minpy.namespaces import module_functions

__all__ = ["WikiText2", "WikiText103"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_EOS = "<eos>"
_FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens", "test": "wiki.test.tokens"}


class _LanguageModelDataset(_DownloadedDataset):
    """The base of texts for language models: a vocabulary, and how often each token occurs."""

    _makes_root = False

    def __init__(self, root: str, namespace: str, vocabulary: Vocabulary | None) -> None:
        self._vocab = vocabulary
        self._counter: Counter[str] | None = None
        self._namespace = namespace
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary that turns tokens into indices."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """How often each token occurs in the text; without ends of sentences."""
        return self._counter

    def _build_vocab(self, content: str) -> None:
        """Count tokens, and make a vocabulary of them if none is given."""
        self._counter = count_tokens_from_str(content)
        if self._vocab is None:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[_EOS])


class _WikiText(_LanguageModelDataset):
    """Articles of Wikipedia, cut into sequences of one length; the label is the sequence one token later."""

    _name = "WikiText"
    _archive = ""
    _folder = ""

    def __init__(
        self, root: str = "", segment: str = "train", vocab: Vocabulary | None = None, seq_len: int = 35
    ) -> None:
        if segment not in _FILES:
            raise ArgumentValueError(f"{self._name}: segment must be 'train', 'validation' or 'test', got {segment!r}.")
        if isinstance(seq_len, bool) or not isinstance(seq_len, (int, numpy.integer)) or seq_len < 1:
            raise ArgumentValueError(f"{self._name}: seq_len must be a positive integer, got {describe(seq_len)}.")
        self._segment = segment
        self._seq_len = int(seq_len)
        super().__init__(root, self._folder, vocab)

    def _get_data(self) -> None:
        filename = _FILES[self._segment]
        origin = f"{self._name} by Merity and others"
        path = file_of(self._name, self._root, [filename, f"{self._folder}/{filename}", self._archive], origin)
        inside = f"{self._folder}/{filename}"
        content = _from_archive(path, inside) if path.endswith(".zip") else read_file(self._name, path)
        self._data, self._label = self._read_batch(content, path)

    def _read_batch(self, content: bytes, path: str) -> tuple[nd.NDArray, nd.NDArray]:
        try:
            text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{self._name}: {path!r} is no text in UTF-8: {error}.") from error
        self._build_vocab(text)
        assert self._vocab is not None
        lines = (line.split() for line in text.splitlines())
        tokens = [token for words in lines if words for token in (*words, _EOS)]
        indices = numpy.array(self._vocab.to_indices(tokens), numpy.int32)
        count = max(0, (len(indices) - 1) // self._seq_len)
        both = [indices[first : first + count * self._seq_len].reshape(count, self._seq_len) for first in (0, 1)]
        data, label = (nd.array(sequences, dtype="int32") for sequences in both)
        return data, label

    def __getitem__(self, idx: Any) -> Any:
        if not -len(self) <= idx < len(self):
            raise OutOfRangeError(f"{self._name}: there is no sequence {idx}; there are {len(self)}.")
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


@with_defaults(root=default_root("wikitext-2"))
class WikiText2(_WikiText):
    """Two million words of Wikipedia's good articles, from local files, cut into sequences.

    An item is a sequence of indices and the sequence one token later, both NDArrays of int32. Lines end with the token
    '<eos>'.

    Parameters
    ----------
    root : str
        The folder that has wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens, or a folder wikitext-2 with
        them, or wikitext-2-v1.zip. Nothing is downloaded. The default follows `MXNET_HOME`.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
        That of another segment; by default it is made of this one.
    seq_len : int
        How many tokens a sequence has. What is left at the end is not used.

    Raises
    ------
    FileMissingError
        If there is no such file; it says where they come from.
    FileFormatError
        If a file is damaged.
    ArgumentValueError
        For another segment, or no length.

    Notes
    -----
    Merity, Xiong, Bradbury and Socher, "Pointer sentinel mixture models", 2016.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from minpy.gluon.contrib.data.text import WikiText2
    >>> root = tempfile.mkdtemp()
    >>> _ = pathlib.Path(root, 'wiki.test.tokens').write_text('the cat sat\\nthe dog ran')
    >>> dataset = WikiText2(root, 'test', seq_len=3)
    >>> data, label = dataset[0]
    >>> dataset.vocabulary.to_tokens(data.asnumpy().tolist()), dataset.vocabulary.to_tokens(label.asnumpy().tolist())
    (['the', 'cat', 'sat'], ['cat', 'sat', '<eos>'])
    """

    _name = "WikiText2"
    _archive = "wikitext-2-v1.zip"
    _folder = "wikitext-2"


@with_defaults(root=default_root("wikitext-103"))
class WikiText103(_WikiText):
    """A hundred million words of Wikipedia's good articles, from local files, cut into sequences, as `WikiText2`.

    Parameters
    ----------
    root : str
        The folder that has wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens, or a folder wikitext-103 with
        them, or wikitext-103-v1.zip.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
    seq_len : int

    Raises
    ------
    FileMissingError, FileFormatError, ArgumentValueError
        As by `WikiText2`.

    Examples
    --------
    >>> from minpy.gluon.contrib.data.text import WikiText103
    >>> WikiText103('/missing')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: WikiText103: there is no wiki.train.tokens and no ...
    """

    _name = "WikiText103"
    _archive = "wikitext-103-v1.zip"
    _folder = "wikitext-103"


def _from_archive(path: str, name: str) -> bytes:
    """Return a file of an archive, of which nothing is unpacked into folders."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    except KeyError:
        raise FileFormatError(f"{path!r} has no file {name!r}: it is another archive.") from None
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise FileFormatError(f"{path!r} is no zip archive, or damaged: {error}.") from error
