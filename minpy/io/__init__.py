"""`mx.io`: iterators over data, batch by batch.

`batches` has what they give, `data_iter` what all can do, `ndarray_iter` batches of arrays in memory,
`wrapping_iterators` iterators over iterators. Over files are `text_files`, `mnist` and `picture_iterators`;
`mxdata_iter` is the class of these, checks their arguments, and says which instances a batch has. Pictures come from
`record_files`, are made ready by `augmenting` and `box_augmenting`, and put together by `picture_batches`.
"""

from __future__ import annotations

from minpy.io import io, utils
from minpy.io.io import *
from minpy.namespaces import module_functions

__all__ = [*io.__all__, "io", "utils"]
__dir__, __getattr__ = module_functions(__name__, __all__)
