"""Sentences as numbers, and batches of sentences of about the same length."""

from __future__ import annotations

import bisect
import random
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.core.errors import ArgumentValueError
from minpy.io import DataBatch, DataDesc, DataIter
from minpy.namespaces import module_functions

__all__ = ["BucketSentenceIter", "encode_sentences"]
_IMPORTED = (DataBatch, DataDesc, DataIter, bisect)
__dir__, __getattr__ = module_functions(__name__, __all__)


def encode_sentences(
    sentences: Iterable[Iterable[Hashable]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """Return sentences as lists of numbers, and the numbers of words.

    Parameters
    ----------
    sentences : list of list of str
    vocab : dict of str to int, optional
        The numbers of words; by default a new one, of these sentences.
    invalid_label : int
        The number that stands for no word, which no word gets.
    invalid_key : str
        What stands for it in a new `vocab`.
    start_label : int
        The first number.
    unknown_token : str, optional
        What stands for words that a given `vocab` does not have; it is added with a new number, if it is not there.

    Returns
    -------
    sentences : list of list of int
    vocab : dict of str to int

    Raises
    ------
    ArgumentValueError
        For a word that is not in `vocab`, without `unknown_token`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.rnn.encode_sentences([['a', 'b'], ['c', 'a']], invalid_label=0, start_label=1)
    ([[1, 2], [3, 1]], {'\\n': 0, 'a': 1, 'b': 2, 'c': 3})
    """
    is_new = vocab is None
    numbers: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    coded = []
    for position, sentence in enumerate(sentences):
        line = []
        for token in sentence:
            word = token
            if word not in numbers and not is_new:
                if unknown_token is None:
                    raise ArgumentValueError(
                        f"encode_sentences: Unknown token {word!r} in sentence {position}: vocab does not have it. "
                        "Give unknown_token, which stands for all such words."
                    )
                word = unknown_token
            if word not in numbers:
                while following == invalid_label or (not is_new and following in numbers.values()):
                    following += 1
                numbers[word] = following
                following += 1
            line.append(numbers[word])
        coded.append(line)
    return coded, numbers


class BucketSentenceIter(DataIter):
    """Batches of sentences of about the same length, for networks that are unrolled.

    Each sentence goes into the smallest bucket that holds it, and is filled up there; one that is longer than all of
    them is discarded. The label of a word is the next word.

    Parameters
    ----------
    sentences : list of list of int
        As `encode_sentences` returns them.
    batch_size : int
    buckets : list of int, optional
        The lengths; by default all lengths of which there is a batch.
    invalid_label : int
        What sentences are filled up with.
    data_name, label_name : str
    dtype : dtype
    layout : {'NT', 'TN'}
        Batch first, or time first.

    Raises
    ------
    ArgumentValueError
        For another layout.

    Examples
    --------
    >>> import minpy as mx
    >>> batches = mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5, 6, 7]], 1, buckets=[2, 4], invalid_label=0)
    WARNING: discarded 0 sentences longer than the largest bucket.
    >>> sorted((batch.bucket_key, batch.data[0].shape) for batch in batches)
    [(2, (1, 2)), (2, (1, 2)), (4, (1, 4))]
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout.find("N") not in (0, 1):
            raise ArgumentValueError(
                f"BucketSentenceIter: Invalid layout {layout}: Must by NT (batch major) or TN (time major)"
            )
        if not buckets:
            counts = numpy.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        lengths = sorted(buckets)
        rows: list[list[numpy.ndarray]] = [[] for _ in lengths]
        discarded = 0
        for sentence in sentences:
            bucket = bisect.bisect_left(lengths, len(sentence))
            if bucket == len(lengths):
                discarded += 1
                continue
            row = numpy.full((lengths[bucket],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            rows[bucket].append(row)
        kept = [(length, bucket_rows) for length, bucket_rows in zip(lengths, rows, strict=True) if bucket_rows]
        if not kept:
            raise ArgumentValueError(
                f"BucketSentenceIter: none of {len(sentences)} sentence(s) fits a bucket; the buckets are {lengths}."
            )
        self.buckets = [length for length, _ in kept]
        self.data = [numpy.asarray(bucket_rows, dtype=dtype) for _, bucket_rows in kept]
        print(f"WARNING: discarded {discarded} sentences longer than the largest bucket.")
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self.major_axis = layout.find("N")
        self.layout = layout
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key)
        shape = shape if self.major_axis == 0 else shape[::-1]
        self.provide_data = [DataDesc(name=data_name, shape=shape, layout=layout)]
        self.provide_label = [DataDesc(name=label_name, shape=shape, layout=layout)]
        self.idx = [
            (bucket, begin)
            for bucket, bucket_rows in enumerate(self.data)
            for begin in range(0, len(bucket_rows) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    def reset(self) -> None:
        """Start the next epoch, with the sentences shuffled: by Python's `random` and by `numpy.random`."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for array in self.data:
            numpy.random.shuffle(array)
        self.nddata = []
        self.ndlabel = []
        for array in self.data:
            label = numpy.empty_like(array)
            label[:, :-1] = array[:, 1:]
            label[:, -1] = self.invalid_label
            self.nddata.append(nd.array(array, dtype=self.dtype))
            self.ndlabel.append(nd.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """Return the next batch; its `bucket_key` is the length of its sentences.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, begin = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (of[bucket][begin : begin + self.batch_size] for of in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=self.buckets[bucket],
            provide_data=[DataDesc(name=self.data_name, shape=data.shape, layout=self.layout)],
            provide_label=[DataDesc(name=self.label_name, shape=label.shape, layout=self.layout)],
        )
