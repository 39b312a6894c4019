"""Sums along few columns do not depend on what lies on the stack."""

import ctypes

import numpy as np
import pytest
from native.building import build

from minpy.ops.kernels.row_reductions import sum_along

SIGNALLING_NAN = 0x7FA00000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_warning_of_what_is_no_part_of_the_rows(dtype):
    fill_stack = ctypes.CDLL(str(build("stack.c"))).fill_stack
    with np.errstate(all="raise"):
        for height in range(1, 17):
            for width in range(1, 40):
                rows = np.ones((height, width), dtype)
                sum_along(rows, 1)  # so that the next call does nothing in between
                fill_stack(SIGNALLING_NAN)
                total = sum_along(rows, 1)
                np.testing.assert_array_equal(total, np.full((height, 1), width, dtype))
