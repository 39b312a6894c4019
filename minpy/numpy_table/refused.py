"""The functions that are not captured, and why: a function that calls one of them on arrays runs as it is written."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS", "SETTINGS"]

_CALLS = "it calls a function, which a graph does not hold: call it on whole arrays"
_NUMBER = "its answer is a number or a bool of Python, which depends on values"
_TEXT = "it makes text of values"
_FILES = "it reads or writes files"
SETTINGS = "it reads or changes settings of NumPy's"
_OUTSIDE = "it makes an array of memory or of a stream that a graph does not know"
_MEMORY = "its answer depends on how arrays lie in memory"
_DATES = "it is about dates"
_CLASS = "it makes an array of another class"
_TYPES = "it is about types that NumPy has given up"
_PROGRAMS = "it is about NumPy itself, and no function of arrays"

ROWS = [
    Row("argwhere", "sized"),
    Row("nonzero", "sized", method=True),
    *alike("sized", "bincount flatnonzero intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts "
           "unique_inverse unique_values"),
    *alike("sized", "compress extract", captured=(1,)),  # unless it is known what is taken
    Row("trim_zeros", "sized", view="sometimes"),
    *alike("sized", "polymul roots"),  # zeros at the end are left out
    Row("polydiv", "sized", outputs=2),
    Row("linalg.lstsq", "refused", outputs=4,
        reason="the shape of its answer depends on the rank: take linalg.pinv, or linalg.solve"),
    Row("poly", "refused", reason="whether its answer is complex depends on values"),
    Row("histogramdd", "refused", nests="several", reason="its answer is a list in a tuple: take histogram2d"),
    *alike("refused", "apply_along_axis apply_over_axes fromfunction frompyfunc mask_indices vectorize",
           in_files=False, reason=_CALLS),
    *alike("refused", "allclose array_equal array_equiv", gradient="zero", reason=_NUMBER),
    *alike("refused", "array2string array_repr array_str", gradient="zero", in_files=False, reason=_TEXT),
    *alike("refused", "base_repr binary_repr disp format_float_positional format_float_scientific",
           in_files=False, reason=_TEXT),
    *alike("refused", "save savetxt savez savez_compressed", gradient="zero", in_files=False, reason=_FILES),
    *alike("refused", "fromfile fromregex genfromtxt load loadtxt recfromcsv recfromtxt", in_files=False,
           reason=_FILES),
    *alike("refused", "errstate get_printoptions getbufsize geterr geterrcall geterrobj printoptions "
           "set_numeric_ops set_printoptions set_string_function setbufsize seterr seterrcall seterrobj",
           in_files=False, reason=SETTINGS),
    *alike("refused", "from_dlpack frombuffer fromiter fromstring nested_iters", in_files=False, reason=_OUTSIDE),
    *alike("refused", "may_share_memory shares_memory", gradient="zero", in_files=False, reason=_MEMORY),
    *alike("refused", "byte_bounds fastCopyAndTranspose isfortran", in_files=False, reason=_MEMORY),
    Row("asarray_chkfinite", "refused", in_files=False, reason="it raises by values"),
    Row("min_scalar_type", "refused", gradient="zero", in_files=False, reason="the dtype depends on a value"),
    *alike("refused", "busday_count busday_offset datetime_as_string datetime_data is_busday", in_files=False,
           reason=_DATES),
    *alike("refused", "asmatrix bmat compare_chararrays", in_files=False, reason=_CLASS),
    *alike("refused", "maximum_sctype obj2sctype sctype2char", in_files=False, reason=_TYPES),
    *alike("refused", "add_docstring add_newdoc add_newdoc_ufunc deprecate deprecate_with_doc get_array_wrap "
           "get_include info lookfor safe_eval show_config show_runtime source test who", in_files=False,
           reason=_PROGRAMS),
    # Methods beside the functions of these names.
    *alike("method", "T flatten getitem", view="sometimes"),
    Row("conj", "method", view="sometimes", method=True),
]  # fmt: skip
