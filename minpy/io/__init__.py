"""`mx.io`: iterators over data, batch by batch.

`batches` has what they give, `base` what each answers, `ndarray_iter` batches of arrays in memory, `wrapping` iterators
over iterators. Over files are `text_files`, `mnist`, `picture_iterators` and `box_iterators`; `mxdata_iter` is their
face, `parameters` checks their arguments, and `rounds` says which instances a batch has. Pictures come from
`record_files`, are made ready by `augmenting`, `box_augmenting` and `normalizing`, and put together by
`picture_batches`.
"""

from __future__ import annotations

from minpy.io import io, utils
from minpy.io.io import *
from minpy.namespaces import module_functions

__all__ = [*io.__all__, "io", "utils"]
__dir__, __getattr__ = module_functions(__name__, __all__)
