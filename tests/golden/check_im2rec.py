"""Proves that MXNet 1.9.1 reads equal pictures and labels from record files that `minpy.tools.im2rec` makes.

In two steps, on demand: ``python tests/golden/check_im2rec.py write FOLDER`` under minpy cuts photographs of
scikit-learn into pictures, and makes lists and record files of them; ``python tests/golden/check_im2rec.py read
FOLDER`` under MXNet 1.9.1 reads them through ImageRecordIter and compares.
"""

import json
import sys
from pathlib import Path

import numpy as np

SIDE = 48
OPTIONS = {
    "plain": ["--encoding", ".png"],
    "resized": ["--encoding", ".png", "--resize", "32", "--num-thread", "3"],
    "passed": ["--pass-through"],
    "jpeg": ["--quality", "90"],
    "labels": ["--encoding", ".png", "--pack-label"],
}


def write(folder: Path) -> None:
    """Cuts pictures, and makes record files with all options."""
    from sklearn.datasets import load_sample_images

    from minpy import pictures
    from minpy.tools import im2rec

    root = folder / "pictures"
    lines = []
    for label, image in enumerate(load_sample_images().images):
        (root / f"class{label}").mkdir(parents=True)
        for number in range(12):
            top, left = 30 * number, 45 * number
            cut = image[top : top + SIDE, left : left + SIDE]
            name = f"class{label}/{number}.png"
            (root / name).write_bytes(pictures.encode(cut, ".png", 9, to_rgb=True))
            lines.append(f"{len(lines)}\t{label}\t{number / 4}\t{name}\n")
    for name, options in OPTIONS.items():
        prefix = folder / name
        if name == "labels":
            prefix.with_suffix(".lst").write_text("".join(lines))
        else:
            assert not im2rec.main([str(prefix), str(root), "--list", "--recursive"])
        assert not im2rec.main([str(prefix), str(root), *options])


def read(folder: Path) -> None:
    """Reads the record files through MXNet's iterator, and compares with the pictures themselves."""
    import cv2
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"this compares with MXNet 1.9.1, not {mx.__version__}")
    counts = {}
    for name in OPTIONS:
        side = 32 if name == "resized" else SIDE
        width = 2 if name == "labels" else 1
        batches = mx.io.ImageRecordIter(
            path_imgrec=str(folder / f"{name}.rec"), path_imgidx=str(folder / f"{name}.idx"), batch_size=1,
            data_shape=(3, side, side), label_width=width, preprocess_threads=1, shuffle=False, round_batch=False,
        )  # fmt: skip
        rows = [line.rstrip("\n").split("\t") for line in (folder / f"{name}.lst").read_text().splitlines()]
        found = [(batch.data[0].asnumpy()[0], batch.label[0].asnumpy().ravel()) for batch in batches]
        assert len(found) == len(rows) == 24
        for (image, label), row in zip(found, rows, strict=True):
            np.testing.assert_array_equal(label, np.array(row[1:-1][:width], "float32"))
            expected = cv2.imread(str(folder / "pictures" / row[-1]))
            if name == "resized":
                expected = cv2.resize(expected, (side, side))
            difference = np.abs(image - expected[..., ::-1].transpose(2, 0, 1)).mean()
            assert difference <= (0 if name != "jpeg" else 9), (name, row, difference)
        counts[name] = len(found)
    print(json.dumps(counts))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
