"""Pictures decoded, encoded and resized by OpenCV or Pillow (the extra `image`): the one place that knows them."""

from __future__ import annotations

__all__: list[str] = []
