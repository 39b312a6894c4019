"""What the cases of data loaders share: an epoch over pictures, normalized, in batches of two workers."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Checked

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.2, 0.1)
WORKERS = 2


def pictures(count: int, size: int) -> tuple[Array, Array]:
    """Pictures and their numbers."""
    random = np.random.RandomState(0)
    return random.randint(0, 256, (count, size, size, 3)).astype(np.uint8), np.arange(count)


def counted(images: Array, labels: Array) -> tuple[Array, ...]:
    """How many there are, and the sum of their numbers: what an epoch must have counted."""
    return np.array(len(images), np.float32), np.array(labels.sum(), np.float32)


def seen(counts: Any) -> tuple[Array, ...]:
    """What an epoch has counted, as arrays."""
    return tuple(np.array(count, np.float32) for count in counts)


def gluon_epoch(mx: Any, dataset: Any, batch_size: int) -> Checked:
    """An epoch in Gluon, for MXNet and for minpy."""
    transforms = mx.gluon.data.vision.transforms
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    loader = mx.gluon.data.DataLoader(dataset.transform_first(steps), batch_size, num_workers=WORKERS)

    def step() -> tuple[int, int]:
        count = total = 0
        for images, labels in loader:
            images.wait_to_read()
            count += len(images)
            total += int(labels.asnumpy().sum())
        return count, total

    return step, seen


def torch_epoch(images: Array, labels: Array, batch_size: int) -> Checked:
    """The epoch in PyTorch."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))

    class Pictures(Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(images)

        def __getitem__(self, index: int) -> Any:
            tensor = torch.from_numpy(images[index]).permute(2, 0, 1).float().div_(255)
            return tensor.sub_(mean).div_(std), labels[index]

    loader = DataLoader(Pictures(), batch_size, num_workers=WORKERS, persistent_workers=True)

    def step() -> tuple[int, int]:
        count = total = 0
        for batch, numbers in loader:
            count += len(batch)
            total += int(numbers.sum())
        return count, total

    return step, seen
