"""Makes `pictures.npz`: small JPEG files, cut out of the photographs that scikit-learn bundles, and their mean colours.

Usage: ``python benchmarks/data/make_pictures.py``, with OpenCV and scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from sklearn.datasets import load_sample_images

# Edge of a picture, edge of what the cases cut out of its middle, how many there are.
KINDS = ((32, 28, 16), (256, 224, 4))


def main() -> None:
    """Writes the file."""
    random = np.random.RandomState(0)
    photographs = load_sample_images().images
    arrays = {}
    for size, kept, count in KINDS:
        files, means = [], []
        for number in range(count):
            photograph = photographs[number % len(photographs)]
            scale = max(2 * size / min(photograph.shape[:2]), 0.25)
            small = cv2.resize(photograph, None, fx=min(scale, 1), fy=min(scale, 1), interpolation=cv2.INTER_AREA)
            y, x = (random.randint(length - size + 1) for length in small.shape[:2])
            coded = cv2.imencode(".jpg", small[y : y + size, x : x + size, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1]
            files.append(coded.ravel())
            margin = (size - kept) // 2
            decoded = cv2.imdecode(coded, 1)[margin : margin + kept, margin : margin + kept, ::-1]
            means.append(decoded.reshape(-1, 3).mean(0))
        arrays[f"bytes_{size}"] = np.concatenate(files)
        arrays[f"lengths_{size}"] = np.array([len(file) for file in files])
        arrays[f"means_{size}"] = np.array(means, "float32")
    np.savez(Path(__file__).with_name("pictures.npz"), **arrays)


if __name__ == "__main__":
    main()
