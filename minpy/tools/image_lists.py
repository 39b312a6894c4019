"""Lists of pictures (`.lst`): made of a folder, written and read.

A line is a number, one or more labels, and the picture's path below the folder, with tabs between them.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.files import access_error, accessing, read_file, write_file

__all__ = ["Item", "chunks", "found", "read", "shuffled", "write"]

_SEED = 100


class Item(NamedTuple):
    """A picture of a list: its number, its path below the folder, and its labels.

    Examples
    --------
    >>> Item(3, 'cats/1.jpg', (0.0,)).path
    'cats/1.jpg'
    """

    number: int
    path: str
    labels: tuple[float, ...]


def found(root: str, recursive: bool, extensions: Sequence[str]) -> tuple[list[Item], dict[str, int]]:
    """Return the pictures in a folder, and the labels of its folders.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ('cats', 'dogs'):
    ...     os.mkdir(os.path.join(folder, name))
    ...     open(os.path.join(folder, name, '1.jpg'), 'w').close()
    >>> items, labels = found(folder, True, ['.jpg'])
    >>> labels
    {'cats': 0, 'dogs': 1}
    >>> items[1]
    Item(number=1, path='dogs/1.jpg', labels=(1.0,))
    """
    items: list[Item] = []
    labels: dict[str, int] = {}

    def is_picture(folder: str, name: str) -> bool:
        return os.path.splitext(name)[1].lower() in extensions and os.path.isfile(os.path.join(folder, name))

    def fail(error: OSError) -> None:
        raise access_error("im2rec", "read", root, error) from error

    if not recursive:
        with accessing("im2rec", "read", root):
            names = sorted(os.listdir(root))
        return [Item(number, name, (0.0,)) for number, name in enumerate(n for n in names if is_picture(root, n))], {}
    for folder, inside, names in os.walk(root, onerror=fail, followlinks=True):
        # A link to a folder that it lies in would be followed without end.
        above = {os.path.realpath(folder), *map(str, Path(os.path.realpath(folder)).parents)}
        inside[:] = sorted(name for name in inside if os.path.realpath(os.path.join(folder, name)) not in above)
        below = os.path.relpath(folder, root)
        for name in sorted(names):
            if is_picture(folder, name):
                label = labels.setdefault(below, len(labels))
                path = os.path.relpath(os.path.join(folder, name), root)
                items.append(Item(len(items), path.replace(os.sep, "/"), (float(label),)))
    return items, labels


def shuffled(items: list[Item]) -> list[Item]:
    """Return the pictures in another order: always the same, which is also MXNet's.

    Examples
    --------
    >>> [item.number for item in shuffled([Item(number, '', ()) for number in range(6)])]
    [2, 5, 0, 4, 3, 1]
    """
    items = list(items)
    random.Random(_SEED).shuffle(items)
    return items


def chunks(items: list[Item], count: int, train_ratio: float, test_ratio: float) -> Iterator[tuple[str, list[Item]]]:
    """Yield the lists that pictures are divided into, and what is added to the names of their files.

    Examples
    --------
    >>> items = [Item(number, '', ()) for number in range(8)]
    >>> [(name, len(part)) for name, part in chunks(items, 1, 0.5, 0.25)]
    [('_test', 2), ('_train', 4), ('_val', 2)]
    """
    if count < 1:
        raise ArgumentValueError(f"im2rec: --chunks is {count}; expected 1 or more.")
    if min(train_ratio, test_ratio) < 0 or train_ratio + test_ratio > 1 + 1e-9:
        raise ArgumentValueError(
            f"im2rec: --train-ratio is {train_ratio} and --test-ratio {test_ratio}; expected parts of "
            "1, together 1 at most."
        )
    size = -(-len(items) // count)
    for number in range(count):
        piece = items[number * size : (number + 1) * size]
        name = f"_{number}" if count > 1 else ""
        if train_ratio == 1:
            yield name, piece
            continue
        tested = int(len(piece) * test_ratio)
        trained = tested + int(len(piece) * train_ratio)
        if test_ratio:
            yield f"{name}_test", piece[:tested]
        yield f"{name}_train", piece[tested:trained]
        if train_ratio + test_ratio < 1:
            yield f"{name}_val", piece[trained:]


def write(path: str, items: list[Item]) -> None:
    """Write a list of pictures.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + '/cats.lst'
    >>> write(path, [Item(7, 'cats/1.jpg', (0.0,))])
    >>> from pathlib import Path
    >>> Path(path).read_text()
    '7\\t0.000000\\tcats/1.jpg\\n'
    """
    lines = ("\t".join([str(item.number), *(f"{label:f}" for label in item.labels), item.path]) for item in items)
    write_file("im2rec", path, (f"{line}\n".encode() for line in lines))


def read(path: str) -> tuple[list[Item], list[FileFormatError]]:
    """Return the pictures of a list, and an error for each line that is none.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + '/cats.lst'
    >>> write(path, [Item(7, 'cats/1.jpg', (0.0, 2.5))])
    >>> read(path)
    ([Item(number=7, path='cats/1.jpg', labels=(0.0, 2.5))], [])
    """
    items, wrong = [], []
    text = read_file("im2rec", path).decode("utf-8", "surrogateescape")
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        fields = [field.strip() for field in line.strip().split("\t")]
        try:
            if len(fields) < 3:
                raise ValueError(f"it has {len(fields)} of the three parts or more")
            items.append(Item(int(fields[0]), fields[-1], tuple(map(float, fields[1:-1]))))
        except ValueError as error:
            wrong.append(
                FileFormatError(
                    f"{path!r}, line {number}: {line.strip()[:80]!r}; expected a number, labels and a path, with tabs "
                    f"between them: {error}"
                )
            )
    return items, wrong
