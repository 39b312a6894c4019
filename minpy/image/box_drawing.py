"""Pictures with their objects' boxes drawn into them, by OpenCV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minpy.core.errors import MissingDependencyError
from minpy.image.creating import MEAN, STD
from minpy.pictures.libraries import opencv

__all__ = ["drawn", "require_opencv", "viewable"]

_FONT_SCALE, _FONT_THICKNESS, _GAP = 0.5, 2, 5
_WHITE = (255, 255, 255)


def require_opencv(name: str) -> Any:
    """Return OpenCV, or raise."""
    cv2 = opencv()
    if cv2 is None:
        raise MissingDependencyError(
            f"{name} draws with OpenCV, which is not installed. Install it with: "
            "python -m pip install opencv-python-headless"
        )
    return cv2


def viewable(image: np.ndarray, mean: Any, std: Any, clip: bool) -> np.ndarray:
    """Return an image as it was before its colours were normalized: of uint8, blue first, as OpenCV shows it."""
    pixels = image.astype(np.float32)
    if std is not None and std is not False:
        pixels *= np.asarray(STD if std is True else std, np.float32)
    if mean is not None and mean is not False:
        pixels += np.asarray(MEAN if mean is True else mean, np.float32)
    pixels = pixels[:, :, ::-1]
    if clip:
        pixels = np.clip(pixels, 0, 255)
    return np.ascontiguousarray(pixels.astype(np.int32).astype(np.uint8))


def drawn(
    cv2: Any,
    image: np.ndarray,
    label: np.ndarray,
    color: Sequence[float] | None,
    thickness: int,
    names: Mapping[int, str] | None,
) -> np.ndarray:
    """Draw the boxes of objects, and the names of their classes, into an image; colours that are not given are drawn
    from `numpy.random`.
    """
    height, width = image.shape[:2]
    for number, left, upper, right, lower in label[:, :5]:
        x1, y1, x2, y2 = int(left * width), int(upper * height), int(right * width), int(lower * height)
        ink = np.random.rand(3) * 255 if not color else tuple(color)[::-1]
        cv2.rectangle(image, (x1, y1), (x2, y2), ink, thickness)
        if names is not None and int(number) in names:
            text = names[int(number)]
            font = cv2.FONT_HERSHEY_SIMPLEX
            text_height = cv2.getTextSize(text, font, _FONT_SCALE, _FONT_THICKNESS)[0][1]
            place = (x1 + _GAP, y1 + text_height + _GAP)
            cv2.putText(image, text, place, font, _FONT_SCALE, _WHITE, _FONT_THICKNESS)
    return image
