"""`mx.contrib.text`: what golden cases cannot show: files, warnings, bad input; and tables against dictionaries."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minpy as mx
from minpy import nd
from minpy.contrib import text
from minpy.contrib.text.embedding import CompositeEmbedding, CustomEmbedding, FastText, GloVe
from minpy.registry import _CLASSES

COUNTS = Counter("abbccc")


@pytest.fixture
def written(tmp_path):
    def write(content, name="vectors.txt", encoding="utf8"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode(encoding))
        return str(path)

    return write


WRONG = {
    "counter": (
        lambda: text.vocab.Vocabulary({"a": 1}),
        r"Vocabulary: expected a collections\.Counter, got dict \{'a': 1\}\.",
    ),
    "min_freq": (
        lambda: text.vocab.Vocabulary(COUNTS, min_freq=0),
        r"Vocabulary: min_freq is 0; it must be 1 at least\.",
    ),
    "reserved": (
        lambda: text.vocab.Vocabulary(COUNTS, reserved_tokens=["<unk>"]),
        r"Vocabulary: the reserved token '<unk>' is the unknown token, which is indexed anyway; leave it out\.",
    ),
    "twice": (
        lambda: text.vocab.Vocabulary(COUNTS, reserved_tokens=["x", "x"]),
        r"Vocabulary: the reserved token 'x' is there twice\.",
    ),
    "index": (
        lambda: text.vocab.Vocabulary(COUNTS).to_tokens(4),
        r"to_tokens: there is no token 4; indices go from 0 to 3\.",
    ),
    "no index": (lambda: text.vocab.Vocabulary(COUNTS).to_tokens("a"), r"to_tokens: expected an index, got str 'a'\."),
    "text": (
        lambda: text.utils.count_tokens_from_str(b"a"),
        r"count_tokens_from_str: expected a string, got bytes b'a'\.",
    ),
    "published": (
        lambda: GloVe("glove.6B.51d.txt"),
        (
            r"GloVe: there is no published file 'glove\.6B\.51d\.txt'\. Did you mean 'glove\.6B\.50d\.txt'.*"
            r"get_pretrained_file_names\('glove'\) lists them; CustomEmbedding takes any\."
        ),
    ),
    "created": (
        lambda: text.embedding.create("gluve"),
        r"create: there is no token embedding 'gluve'\. Did you mean 'glove'\? There are 'glove', 'fasttext'\.",
    ),
    "named": (
        lambda: text.embedding.get_pretrained_file_names("gluve"),
        r"get_pretrained_file_names: there is no token embedding 'gluve'\. Did you mean 'glove'",
    ),
    "no file": (lambda: CustomEmbedding("/nowhere/vectors.txt"), r"text\.embedding: .*'/nowhere/vectors\.txt'"),
    "composed": (
        lambda: CompositeEmbedding(text.vocab.Vocabulary(COUNTS), [3]),
        r"CompositeEmbedding: expected embeddings, such as a CustomEmbedding; got int 3\.",
    ),
    "composed of": (lambda: CompositeEmbedding(3, []), r"vocabulary must be a text\.vocab\.Vocabulary, got int 3\."),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    function, message = WRONG[name]
    with pytest.raises(mx.MXNetError, match=message):
        function()


DAMAGED = {
    "lengths": (
        "a 1 2 3\nc 4 5\n",
        r"vectors\.txt, line 2: the vector of 'c' has 2 numbers, those before have 3\. All must",
    ),
    "words": ("a 1 2\nb x y\n", r"vectors\.txt, line 2: the vector of 'b' is no list of numbers: .*'x'\."),
    "nothing": ("", r"vectors\.txt: there is no vector in it\. Its lines must be a token and its numbers\."),
    "no numbers": (
        "a,1,2\n",
        r"vectors\.txt, line 1: 'a,1,2' is followed by no number\. .* with ' ' between them; elem_delim",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_files_that_hold_something_else_say_where(name, written):
    content, message = DAMAGED[name]
    with pytest.raises(mx.MXNetError, match=message):
        CustomEmbedding(written(content))


def test_files_in_another_encoding(written):
    path = written("café 1 2\n", encoding="latin1")
    with pytest.raises(mx.MXNetError, match=r"vectors\.txt: it is not in utf8: .* Say with encoding in what it is\."):
        CustomEmbedding(path)
    assert CustomEmbedding(path, encoding="latin1").idx_to_token == ["<unk>", "café"]


def test_headers_and_second_vectors_are_left_out_with_a_warning(written):
    with pytest.warns(
        UserWarning, match=r"vectors\.txt, line 1: the token '2' has one number only, 3\.0; it is taken for a"
    ):
        found = CustomEmbedding(written("2 3\na 1 2 3\nb 4 5 6\n"))
    assert found.idx_to_token == ["<unk>", "a", "b"]
    with pytest.warns(
        UserWarning, match=r"vectors\.txt, line 2: the token 'a' has a vector already, of an earlier line;"
    ):
        found = CustomEmbedding(written("a 1 2\na 3 4\n"))
    assert found.get_vecs_by_tokens("a").asnumpy().tolist() == [1, 2]


def test_updates_that_do_not_fit(written):
    words = CustomEmbedding(written("boat 1 2\nfish 3 4\n"))
    with pytest.raises(
        mx.MXNetError, match=r"the token 'boot' is not indexed\. Did you mean 'boat'\? .* that of '<unk>': name"
    ):
        words.update_token_vectors("boot", nd.array([1, 2]))
    for tokens, vectors in (("boat", nd.array([1])), ("boat", [1, 2]), (["boat", "fish"], nd.array([1, 2]))):
        with pytest.raises(
            mx.MXNetError, match=r"expected an NDArray of shape \([12], 2\), a vector for each of the tokens"
        ):
            words.update_token_vectors(tokens, vectors)
    with pytest.raises(mx.MXNetError, match=r"vocabulary must be a text\.vocab\.Vocabulary, got int 3\."):
        CustomEmbedding(written("boat 1 2\n"), vocabulary=3)
    assert words.get_vecs_by_tokens([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("cls", "folder", "name", "archive"),
    [
        (GloVe, "glove", "glove.6B.50d.txt", "glove.6B.zip"),
        (FastText, "fasttext", "wiki.simple.vec", "wiki.simple.zip"),
    ],
)
def test_published_vectors_are_read_where_they_lie(cls, folder, name, archive, written, tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"there is no file '.*{name}', and none is downloaded\. Fetch {archive}, "
    ):
        cls(name)
    written("a 1 2\nb 3 4\n", f"embeddings/{folder}/{name}")
    found = cls(name)
    assert found.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2], [3, 4]]
    some = text.embedding.create(folder, pretrained_file_name=name, vocabulary=text.vocab.Vocabulary(Counter("b")))
    assert (some.idx_to_token, some.idx_to_vec.asnumpy().tolist()) == (["<unk>", "b"], [[0, 0], [3, 4]])


def test_embeddings_of_ones_own_are_created_by_name(written):
    @text.embedding.register
    class Ones(CustomEmbedding):
        def __init__(self, path, **options):
            super().__init__(path, init_unknown_vec=nd.ones, **options)

    found = text.embedding.create("ones", path=written("a 5 6\n"))
    assert found.idx_to_vec.asnumpy().tolist() == [[1, 1], [5, 6]]
    assert text.embedding.get_pretrained_file_names()["ones"] == []
    del _CLASSES[text.embedding._TokenEmbedding]["ones"]  # other tests count what there is


TOKENS = st.text(st.characters(categories=["L", "N"], max_codepoint=500), min_size=1, max_size=4)


@given(
    st.dictionaries(TOKENS, st.integers(1, 5), max_size=8),
    st.integers(0, 9) | st.none(),
    st.integers(1, 4),
    st.lists(TOKENS, unique=True, max_size=3),
)
def test_a_vocabulary_has_each_token_once_the_most_frequent_first(counts, most, least, reserved):
    words = text.vocab.Vocabulary(Counter(counts), most, least, "<unk>", reserved)
    tokens = words.idx_to_token
    assert len(set(tokens)) == len(tokens) == len(words)
    assert [words.token_to_idx[token] for token in tokens] == list(range(len(tokens)))
    assert words.to_tokens(words.to_indices(tokens)) == tokens
    start = 1 + len(reserved)
    assert tokens[:start] == ["<unk>", *reserved]
    frequencies = [counts[token] for token in tokens[start:]]
    assert frequencies == sorted(frequencies, reverse=True)
    left = [count for token, count in counts.items() if count >= least and token not in reserved]
    assert len(frequencies) == min(len(left), len(left) if most is None else most)


@given(st.dictionaries(TOKENS, st.tuples(*[st.floats(-9, 9, width=32)] * 3), min_size=1, max_size=6))
def test_vectors_are_those_of_the_file(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("vectors") / "file.txt"
    path.write_text("".join(f"{token} {' '.join(map(repr, values))}\n" for token, values in vectors.items()), "utf8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = CustomEmbedding(str(path))
    tokens = [*vectors, "no such token"]
    expected = np.array([*vectors.values(), (0, 0, 0)], "float32")
    np.testing.assert_array_equal(words.get_vecs_by_tokens(tokens).asnumpy(), expected)
    for token in vectors:
        np.testing.assert_array_equal(words.get_vecs_by_tokens(token).asnumpy(), np.array(vectors[token], "float32"))
