"""`python -m minpy.tools.im2rec PREFIX ROOT`: lists of the pictures in a folder, and record files made of lists.

    python -m minpy.tools.im2rec data/pets pictures --list --recursive --train-ratio 0.8
    python -m minpy.tools.im2rec data/pets pictures --resize 256 --num-thread 4

The first command writes `data/pets_train.lst` and `data/pets_val.lst`, the second one `.rec` and `.idx` files beside
them. Options and files are those of MXNet's tool of this name.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from minpy import pictures
from minpy.core.errors import MXNetError
from minpy.files import accessing, read_file
from minpy.recordio import IRHeader, MXIndexedRecordIO, pack
from minpy.tools import image_lists
from minpy.tools.image_lists import Item

__all__ = ["main", "make_lists", "make_records", "record_of"]


def arguments(command_line: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m minpy.tools.im2rec",
        description="Make lists of the pictures in a folder (--list), or record files (.rec, .idx) of such lists.",
    )
    parser.add_argument(
        "prefix", help="what the names of the lists and of the record files begin with, or their folder"
    )
    parser.add_argument("root", help="the folder of the pictures")
    add = parser.add_argument_group("lists").add_argument
    add("--list", action="store_true", help="make lists, PREFIX.lst, instead of record files")
    extensions = [".jpeg", ".jpg", ".png"]
    add("--exts", nargs="+", default=extensions, help="what the names of pictures end with (default: .jpeg .jpg .png)")
    add("--chunks", type=int, default=1, help="how many lists there are (default: 1)")
    add("--train-ratio", type=float, default=1.0, help="which part is for training: PREFIX_train.lst (default: 1.0)")
    add("--test-ratio", type=float, default=0, help="which part is for tests: PREFIX_test.lst (default: 0)")
    add(
        "--recursive", action="store_true", help="look through folders in the folder, too; each gets a label of its own"
    )
    unshuffled = "keep the pictures in the order of their names; by default they are shuffled"
    add("--no-shuffle", dest="shuffle", action="store_false", help=unshuffled)
    add = parser.add_argument_group("record files").add_argument
    add("--pass-through", action="store_true", help="pack the files of pictures as they are")
    add("--resize", type=int, default=0, help="the shorter side of the pictures, in pixels; 0: as it is (default: 0)")
    add("--center-crop", action="store_true", help="cut out the square in the middle")
    quality = "of JPEG, 1 to 100; of PNG how hard to compress, 1 to 9 (default: 95)"
    add("--quality", type=int, default=95, help=quality)
    add("--num-thread", type=int, default=1, help="how many threads decode and encode (default: 1)")
    color = "1: in colours; 0: in gray; -1: as they are, with alpha (default: 1)"
    add("--color", type=int, default=1, choices=[-1, 0, 1], help=color)
    add("--encoding", default=".jpg", choices=[".jpg", ".png"], help="how pictures are packed (default: .jpg)")
    add("--pack-label", action="store_true", help="pack all labels of a picture, not only its first")
    options = parser.parse_args(command_line)
    options.prefix, options.root = os.path.abspath(options.prefix), os.path.abspath(options.root)
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    Parameters
    ----------
    given : sequence of str, optional
        Its options; by default those of the command line.

    Examples
    --------
    >>> main(['--help'])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    options = arguments(given)
    try:
        if options.list:
            make_lists(options)
            return 0
        lists = lists_of(options.prefix)
        if not lists:
            print(f"There is no list {options.prefix}*.lst: make one with --list.", file=sys.stderr)
            return 1
        for path in lists:
            make_records(path, options)
    except MXNetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def make_lists(options: argparse.Namespace) -> None:
    """Write lists of the pictures in a folder, and print the labels of its folders.

    Raises
    ------
    ArgumentValueError
        For ratios or a number of lists that make no sense.
    FileMissingError, FileAccessError
        If the folder cannot be read, or a list not be written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> open(folder + '/1.jpg', 'w').close()
    >>> make_lists(arguments([folder + '/all', folder, '--list', '--recursive']))
    . 0
    >>> from pathlib import Path
    >>> Path(folder, 'all.lst').read_text()
    '0\\t0.000000\\t1.jpg\\n'
    """
    items, labels = image_lists.found(
        options.root, options.recursive, [extension.lower() for extension in options.exts]
    )
    for folder, label in labels.items():
        print(folder, label)
    if options.shuffle:
        items = image_lists.shuffled(items)
    for name, part in image_lists.chunks(items, options.chunks, options.train_ratio, options.test_ratio):
        image_lists.write(f"{options.prefix}{name}.lst", part)


def lists_of(prefix: str) -> list[str]:
    """Return the lists whose names begin with a prefix; or those in a folder, if it is one."""
    inside = os.path.isdir(prefix)
    folder = prefix if inside else os.path.dirname(prefix)
    begin = "" if inside else os.path.basename(prefix)
    with accessing("im2rec", "read", folder):
        names = sorted(os.listdir(folder))
    return [os.path.join(folder, name) for name in names if name.startswith(begin) and name.endswith(".lst")]


def make_records(path: str, options: argparse.Namespace) -> int:
    """Write the record file and the index of a list; name pictures and lines that are left out, and return how many.

    Raises
    ------
    FileMissingError, FileAccessError
        If the list cannot be read, or the files not be written.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> with open(folder + '/1.png', 'wb') as file:
    ...     size = file.write(pictures.encode(np.zeros((4, 6, 3), 'uint8'), '.png'))
    >>> with open(folder + '/all.lst', 'w') as file:
    ...     size = file.write('0\\t7.0\\t1.png\\n')
    >>> left_out = make_records(folder + '/all.lst', arguments([folder + '/all', folder]))  # doctest: +ELLIPSIS
    /...all.rec: 1 picture
    >>> left_out
    0
    """
    items, wrong = image_lists.read(path)
    left_out = 0
    for error in wrong:
        left_out += 1
        print(f"left out: {error}", file=sys.stderr)
    base = os.path.splitext(path)[0]
    count = 0
    with MXIndexedRecordIO(f"{base}.idx", f"{base}.rec", "w") as writer:
        for item, record in progress(packed(items, options), len(items), os.path.basename(base)):
            if isinstance(record, Exception):
                left_out += 1
                print(f"left out: {record}", file=sys.stderr)
            else:
                writer.write_idx(item.number, record)
                count += 1
    print(
        f"{base}.rec: {count} picture{'' if count == 1 else 's'}" + (f", {left_out} left out" if left_out else ""),
        flush=True,
    )
    return left_out


def packed(items: Iterable[Item], options: argparse.Namespace) -> Iterator[tuple[Item, bytes | Exception]]:
    """Yield pictures and their records, or what is wrong with them, in their order."""

    def attempt(item: Item) -> bytes | Exception:
        try:
            return record_of(item, options)
        except MXNetError as error:
            if isinstance(error, ImportError):
                raise
            return error

    threads = max(1, options.num_thread)
    if threads == 1:
        for item in items:
            yield item, attempt(item)
        return
    waiting: deque[tuple[Item, Future[bytes | Exception]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append((item, pool.submit(attempt, item)))
            if len(waiting) > 4 * threads:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()


def record_of(item: Item, options: argparse.Namespace) -> bytes:
    """Return the record of a picture.

    Raises
    ------
    FileMissingError, FileAccessError
        If its file is not there, or cannot be read.
    ArgumentError
        If it is damaged.

    Examples
    --------
    >>> record_of(Item(0, 'missing.jpg', (1.0,)), arguments(['all', '/nowhere']))
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: im2rec: there is no file '/nowhere/missing.jpg'.
    """
    several = options.pack_label and len(item.labels) > 1
    header = IRHeader(0, item.labels if several else item.labels[0], item.number, 0)
    path = os.path.join(options.root, item.path)
    if options.pass_through:
        return pack(header, read_file("im2rec", path))
    image = pictures.read(path, options.color, to_rgb=False, rotate=True, name="im2rec")
    data = pictures.encode(shaped(image, options), options.encoding, options.quality, name=f"im2rec of {path!r}")
    return pack(header, data)


def shaped(image: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    """Return a picture cut and resized as the options say."""
    height, width = image.shape[:2]
    if options.center_crop and height != width:
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        image = image[top : top + side, left : left + side]
        height = width = side
    if options.resize:
        if height > width:
            width, height = options.resize, height * options.resize // width
        else:
            width, height = width * options.resize // height, options.resize
        image = pictures.resize(image, width, height, 1)
    return image


def progress(steps: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """Return the same with a bar of how many are done, where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return steps
    bar: Iterable[Any] = tqdm(steps, total=total, desc=what, unit=" pictures", disable=None, leave=False)
    return bar


if __name__ == "__main__":
    sys.exit(main())
