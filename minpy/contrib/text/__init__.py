"""`mx.contrib.text`: words counted, numbered, and given the vectors of pretrained embeddings."""

from minpy.contrib.text import embedding, utils, vocab
from minpy.namespaces import listing

__all__ = ["embedding", "utils", "vocab"]
__dir__ = listing(__all__)
