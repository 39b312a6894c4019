"""Parameters from one kind of file to another, `.params`, `.safetensors` and `.npz`: every bit and every name kept."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.files import accessing, checked_path, open_to_read
from minpy.ndarray.array_files import Reader, StoredArray, read_stored
from minpy.ndarray.saving import file_content
from minpy.onnx.conversion import npz_files, safetensors_files
from minpy.onnx.conversion.outputs import require_new, written_together
from minpy.onnx.conversion.progress import Progress
from minpy.onnx.conversion.tensors import COMMAND, DTYPES_OF, Tensors, fail, require_dtypes, size_of

__all__ = ["ENDINGS", "convert_parameters", "ending_of", "read_parameters", "write_parameters"]

ENDINGS = tuple(DTYPES_OF)
# In the metadata of .safetensors files: what names were before --plain-names, as a JSON object.
_NAMES = "mxnet_names"
_PREFIXES = ("arg:", "aux:")


def convert_parameters(
    source: str | os.PathLike[str], target: str | os.PathLike[str], plain_names: bool = False, force: bool = False
) -> Tensors:
    """Write the parameters of a file to one of another kind, bit for bit.

    Parameters
    ----------
    source, target : str or PathLike
        Their endings, `.params`, `.safetensors` or `.npz`, say what they are.
    plain_names : bool
        Whether names are written without the `arg:` and `aux:` that checkpoints have. A .safetensors file keeps them in
        its metadata, and its conversion puts them back.
    force : bool
        Whether a target that is there is replaced.

    Returns
    -------
    dict of str to StoredArray
        The arrays, by the names that were written.

    Raises
    ------
    FileMissingError, FileAccessError
        If a file is not there, or cannot be read or written.
    FileFormatError
        If the source is damaged, is of another format, or holds something else than dense arrays of numbers.
    ArgumentError
        If the target cannot keep a name or dtype, or is there already.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import nd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before, after = (os.path.join(folder, name) for name in ('net.params', 'net.safetensors'))
    ...     nd.save(before, {'arg:fc_weight': nd.ones((2, 3))})
    ...     arrays = convert_parameters(before, after)
    ...     {name: (array.dtype, array.data.shape) for name, array in read_parameters(after).items()}
    {'arg:fc_weight': ('float32', (2, 3))}
    """
    path, target_path = checked_path(COMMAND, source), checked_path(COMMAND, target)
    if ending_of(path) == ending_of(target_path):
        raise ArgumentError(f"{COMMAND}: {path!r} and {target_path!r} are of one kind. Copy the file.")
    require_new(path, [target_path], force)
    tensors = read_parameters(path)
    return write_parameters(target_path, tensors, plain_names)


def ending_of(path: str) -> str:
    """Return the ending of a file of parameters; raise if it has none.

    >>> ending_of('net-0000.params')
    '.params'
    """
    for ending in ENDINGS:
        if path.lower().endswith(ending):
            return ending
    raise ArgumentError(f"{COMMAND}: {path!r} has no ending of a file of parameters: {', '.join(ENDINGS)}.")


def read_parameters(path: str | os.PathLike[str]) -> Tensors:
    """Return the arrays of a file of parameters by name, as they stand in it.

    Parameters
    ----------
    path : str or PathLike
        `.params`, `.safetensors` or `.npz`.

    Returns
    -------
    dict of str to StoredArray
        In the file's order; each has a `dtype` and `data`, of bfloat16 the bits.

    Raises
    ------
    FileMissingError, FileAccessError
        If there is no such file, or it cannot be read.
    FileFormatError
        If it is damaged, is of another format, or holds something else than dense arrays of numbers.
    """
    name = checked_path(COMMAND, path)
    ending = ending_of(name)
    with accessing(COMMAND, "read", name), open_to_read(name, pipes=False) as file:
        if ending == ".safetensors":
            tensors, metadata = safetensors_files.read(file, name)
            return _with_prefixes(tensors, metadata, name)
        if ending == ".npz":
            return npz_files.read(file, name)
        arrays = read_stored(Reader(file, os.fstat(file.fileno()).st_size, f"{COMMAND}: {name!r}"))
    if isinstance(arrays, dict):
        return arrays
    if arrays:
        fail(name, f"it holds {len(arrays)} arrays without names", "Save a dict of them: nd.save(file, {name: array}).")
    return {}


def write_parameters(
    path: str | os.PathLike[str], tensors: Mapping[str, StoredArray], plain_names: bool = False
) -> Tensors:
    """Write arrays to a file of parameters: as a whole, or not at all.

    Parameters
    ----------
    path : str or PathLike
        `.params`, `.safetensors` or `.npz`.
    tensors : dict of str to StoredArray
    plain_names : bool
        As for `convert_parameters`.

    Returns
    -------
    dict of str to StoredArray
        The arrays, by the names that were written.

    Raises
    ------
    ArgumentError
        If such a file cannot keep a name or dtype.
    FileAccessError
        If it cannot be written.
    """
    target = checked_path(COMMAND, path)
    ending = ending_of(target)
    require_dtypes(tensors, ending)
    for name in tensors:
        _require_name(name)
    metadata: dict[str, str] = {}
    written = dict(tensors)
    if plain_names:
        names = {name: name[4:] if name.startswith(_PREFIXES) else name for name in tensors}
        _require_distinct(names)
        written = {names[name]: tensor for name, tensor in tensors.items()}
        metadata = {_NAMES: json.dumps({plain: name for name, plain in names.items() if plain != name})}

    def write(file: Any) -> None:
        if ending == ".npz":
            npz_files.write(file, written)
        elif ending == ".safetensors":
            file.writelines(safetensors_files.chunks(written, metadata))
        else:
            file.writelines(file_content(list(written.values()), list(written)))

    with (
        Progress(size_of(written), f"writing {os.path.basename(target)}") as progress,
        written_together({target: lambda file: write(progress.counted(file))}),
    ):
        return written


def _require_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{COMMAND}: the name {name!r} cannot be written in UTF-8: {error.reason}.") from None
    if "\0" in name:
        raise ArgumentError(f"{COMMAND}: the name {name!r} contains '\\0', where readers would cut it off. Rename it.")


def _require_distinct(names: Mapping[str, str]) -> None:
    """Raise if two names are one without their prefixes."""
    owners: dict[str, str] = {}
    for name, plain in names.items():
        if plain in owners:
            raise ArgumentError(
                f"{COMMAND}: --plain-names would give {owners[plain]!r} and {name!r} one name, {plain!r}. Leave it out."
            )
        owners[plain] = name


def _with_prefixes(tensors: Tensors, metadata: Mapping[str, str], path: str) -> Tensors:
    """Return tensors by the names that they had before `plain_names`."""
    if _NAMES not in metadata:
        return tensors
    try:
        names = json.loads(metadata[_NAMES])
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, dict) or any(names[plain] not in (f"arg:{plain}", f"aux:{plain}") for plain in names):
        fail(path, f"its metadata {_NAMES!r} is not what {COMMAND} writes")
    restored = {names.get(name, name): tensor for name, tensor in tensors.items()}
    if len(restored) < len(tensors):
        fail(path, f"its metadata {_NAMES!r} gives two arrays one name")
    return restored
