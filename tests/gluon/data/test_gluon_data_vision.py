"""Datasets in files, and transforms: what errors say, files changed at random, buffers as `Compose` uses them."""

# ruff: noqa: E501 - one case is one line of text

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import nd
from minpy.core.errors import FileFormatError
from minpy.gluon.contrib.data.text import WikiText2
from minpy.gluon.data.vision import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
    transforms,
)
from minpy.pictures import encode

IMAGE = np.random.RandomState(0).randint(0, 256, (7, 9, 3)).astype(np.uint8)


def _idx(array: np.ndarray) -> bytes:
    head = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


IMAGES = _idx(np.arange(2 * 28 * 28).reshape(2, 28, 28) % 251)
LABELS = _idx(np.array([3, 8]))
CIFAR = b"".join(bytes([label]) + bytes(range(256)) * 12 for label in (3, 8))


def _mnist(root: Path, images: bytes = IMAGES, labels: bytes = LABELS, suffix: str = "") -> Path:
    (root / f"train-images-idx3-ubyte{suffix}").write_bytes(images)
    (root / f"train-labels-idx1-ubyte{suffix}").write_bytes(labels)
    return root


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_packed_or_not(packed: bool, tmp_path: Path) -> None:
    pack = gzip.compress if packed else bytes
    dataset = MNIST(_mnist(tmp_path, pack(IMAGES), pack(LABELS), ".gz" if packed else ""))
    assert len(dataset) == 2
    image, label = dataset[1]
    assert (image.shape, image.dtype, label, label.dtype) == ((28, 28, 1), np.uint8, 8, np.int32)
    assert image[0, :3, 0].asnumpy().tolist() == [784 % 251, 785 % 251, 786 % 251]


def test_mnist_under_numpy_semantics(tmp_path: Path) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        image, label = MNIST(_mnist(tmp_path))[1]
    assert type(image) is type(label) is mx.np.ndarray
    assert label.shape == ()


def test_cifar_in_its_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = len(CIFAR)
            archive.addfile(member, io.BytesIO(CIFAR))
    for train, count in ((True, 10), (False, 2)):
        dataset = CIFAR10(tmp_path, train)
        assert len(dataset) == count
        image, label = dataset[count - 1]
        assert (image.shape, label) == ((32, 32, 3), 8)
        assert image[0, 0].asnumpy().tolist() == [0, 0, 0]
        assert image[0, 1].asnumpy().tolist() == [1, 1, 1]


def test_wikitext_in_its_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wikitext-2-v1.zip", "w") as archive:
        archive.writestr("wikitext-2/wiki.train.tokens", "a b c\n\na b")
    dataset = WikiText2(tmp_path, seq_len=2)
    assert [dataset.vocabulary.to_tokens(one.asnumpy().tolist()) for one in dataset[1]] == [
        ["c", "<eos>"],
        ["<eos>", "a"],
    ]


def _list_file(root: Path, text: str) -> Path:
    (root / "all.lst").write_text(text)
    return root


def _record(root: Path, content: bytes) -> str:
    path = str(root / "all")
    with mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w") as writer:
        writer.write_idx(0, content)
    return path + ".rec"


def _folder(root: Path, content: bytes) -> Path:
    (root / "cat").mkdir()
    (root / "cat" / "1.png").write_bytes(content)
    return root


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "no mnist": (lambda root: MNIST(root), FileNotFoundError, "there is no train-images-idx3-ubyte.gz and no train-images-idx3-ubyte in the folder .*nothing is downloaded. Get the files of the MNIST database"),
    "no fashion": (lambda root: FashionMNIST(root, False), FileNotFoundError, "no t10k-images.* Fashion-MNIST, and put them there"),
    "no cifar": (lambda root: CIFAR10(root), FileNotFoundError, "no data_batch_1.bin and no cifar-10-batches-bin/data_batch_1.bin and no cifar-10-binary.tar.gz"),
    "no words": (lambda root: WikiText2(root), FileNotFoundError, "no wiki.train.tokens and no wikitext-2/wiki.train.tokens and no wikitext-2-v1.zip"),
    "no idx": (lambda root: MNIST(_mnist(root, b"PNG")), ValueError, "begins with b'PNG'; an idx file begins with two zero bytes"),
    "another type": (lambda root: MNIST(_mnist(root, b"\0\0\x0d\3" + bytes(12))), ValueError, r"elements of type 13 in 3 dimensions; expected type 8 \(unsigned bytes\) in 3"),
    "cut head": (lambda root: MNIST(_mnist(root, IMAGES[:9])), ValueError, "ends after 9 bytes, within its header of 16"),
    "cut": (lambda root: MNIST(_mnist(root, IMAGES[:-1])), ValueError, r"shape \(2, 28, 28\), which takes 1568 bytes; behind its header are 1567. It was cut"),
    "huge": (lambda root: MNIST(_mnist(root, struct.pack(">4I", 0x803, *[0xFFFFFFFF] * 3))), ValueError, "It was cut short, or is damaged"),
    "cut pack": (lambda root: MNIST(_mnist(root, gzip.compress(IMAGES)[:-9])), ValueError, "is packed by gzip, and damaged"),
    "check sum": (lambda root: MNIST(_mnist(root, gzip.compress(IMAGES)[:-8] + bytes(8))), ValueError, "is packed by gzip, and damaged: CRC check failed"),
    "cut check sum": (lambda root: MNIST(_mnist(root, gzip.compress(IMAGES)[:-3])), ValueError, "is packed by gzip, and damaged"),
    "packed huge": (lambda root: MNIST(_mnist(root, gzip.compress(struct.pack(">4I", 0x803, *[0xFFFFFFFF] * 3)))), ValueError, r"behind its header are \d+ at most"),
    "two files": (lambda root: MNIST(_mnist(root, labels=_idx(np.arange(3)))), ValueError, "has 2 images, and .* 3 labels. They do not belong together"),
    "cut cifar": (lambda root: (_list_file(root, ""), (root / "train.bin").write_bytes(bytes(3074 + 5)), CIFAR100(root)), ValueError, "has 3079 bytes; expected a multiple of 3074, which an image takes. Record 1 was cut short"),
    "no archive": (lambda root: ((root / "cifar-10-binary.tar.gz").write_bytes(b"no archive"), CIFAR10(root)), ValueError, "is no tar archive packed by gzip, or damaged"),
    "no zip": (lambda root: ((root / "wikitext-2-v1.zip").write_bytes(b"no archive"), WikiText2(root)), ValueError, "is no zip archive, or damaged"),
    "no text": (lambda root: ((root / "wiki.train.tokens").write_bytes(b"\xff\xfe"), WikiText2(root)), ValueError, "is no text in UTF-8"),
    "segment": (lambda root: WikiText2(root, "valid"), ValueError, "segment must be 'train', 'validation' or 'test', got 'valid'"),
    "no folder": (lambda root: ImageFolderDataset(root / "cats"), FileNotFoundError, "cannot read .*cats"),
    "no picture": (lambda root: ImageFolderDataset(_folder(root, b"no picture"))[0], ValueError, "ImageFolderDataset, item 0 of .*1.png.*could not be decoded"),
    "no record": (lambda root: ImageRecordDataset(_record(root, b""))[0], ValueError, "item 0 of .*all.rec' holds no picture that can be read"),
    "damaged record": (lambda root: ImageRecordDataset(_record(root, bytes(24) + b"no picture"))[0], ValueError, "item 0 of .*could not be decoded"),
    "record end": (lambda root: ImageRecordDataset(_record(root, b""))[1], IndexError, "there is no record 1 in .*whose index has 1"),
    "no list": (lambda root: ImageListDataset(root, "all.lst"), FileNotFoundError, "cannot read .*all.lst"),
    "line": (lambda root: ImageListDataset(_list_file(root, "0\t1\ta.png\n1\tcat\tb.png\n"), "all.lst"), ValueError, "line 2 of .*all.lst.* expected a number, labels and a path"),
    "entry": (lambda root: ImageListDataset(root, [["a.png"]]), ValueError, "entry 0 must be labels and a path"),
    "rotate bytes": (lambda root: transforms.Rotate(3)(nd.array(IMAGE, dtype="uint8")), TypeError, "Rotate: the image is uint8 .*expected float32.*after ToTensor"),
    "limits": (lambda root: transforms.RandomRotation((3, -3)), ValueError, "the smaller one first"),
    "size": (lambda root: transforms.CenterCrop("large"), ValueError, r"size must be a number, or a tuple \(width, height\), got str"),
    "steps": (lambda root: transforms.Compose([3]), TypeError, "the transform at position 0 is int 3, which is no function"),
    "blocks": (lambda root: transforms.HybridCompose([len]), TypeError, "position 0 is .*no HybridBlock. Use Compose"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, tmp_path: Path) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call(tmp_path)


_BYTES = {"images": IMAGES, "packed": gzip.compress(IMAGES), "labels": LABELS, "cifar": CIFAR}
_CHANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 255)), max_size=4)


@pytest.mark.parametrize("name", _BYTES)
def test_hostile_files(name: str, tmp_path: Path) -> None:
    """Whatever stands in a file, there is a dataset or an error that names the file."""

    @settings(max_examples=60, deadline=None)
    @given(_CHANGES, st.integers(0, len(_BYTES[name])) | st.just(len(_BYTES[name])))
    def run(changes: list[tuple[int, int]], length: int) -> None:
        content = bytearray(_BYTES[name])
        for place, value in changes:
            content[place % len(content)] = value
        content = content[:length]
        try:
            if name == "cifar":
                (tmp_path / "test_batch.bin").write_bytes(content)
                dataset: Any = CIFAR10(tmp_path, train=False)
            else:
                part = "labels" if name == "labels" else "images"
                _mnist(tmp_path, **{part: bytes(content)})
                dataset = MNIST(tmp_path)
            said = ""
        except FileFormatError as error:
            said = str(error)
        assert (str(tmp_path) in said) if said else (len(dataset) == len(dataset._data))

    run()


STEPS: dict[str, Any] = {
    "tensor": [transforms.ToTensor()],
    "normalized": [transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))],
    "resized": [transforms.Resize((5, 4)), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)],
    "twice": [transforms.ToTensor(), transforms.Normalize(0.5, 0.25), transforms.Normalize(0.5, 0.25)],
    "cast": [transforms.Cast("float32"), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)],
    "function": [transforms.ToTensor(), lambda x: x * 2, transforms.Normalize(0.5, 0.25)],
    "cropped": [transforms.CenterCrop(5), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)],
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("cls", [nd, mx.np])
def test_compose_is_one_after_the_other(name: str, cls: Any) -> None:
    image = cls.array(IMAGE, dtype="uint8")
    composed = transforms.Compose(STEPS[name])
    expected = image
    for step in STEPS[name]:
        expected = step(expected)
    got = composed(image)
    assert type(got) is type(expected)
    np.testing.assert_array_equal(got.asnumpy(), expected.asnumpy())
    np.testing.assert_array_equal(image.asnumpy(), IMAGE)
    with mx.autograd.record():
        np.testing.assert_array_equal(composed(image).asnumpy(), expected.asnumpy())


def test_a_tensor_that_is_normalized_alone_stays_as_it_was() -> None:
    tensor = nd.ones((3, 4, 5))
    transforms.Compose([transforms.Normalize(0.5, 0.25)])(tensor)
    assert (tensor.asnumpy() == 1).all()


def test_hooks_see_what_is_in_between() -> None:
    step = transforms.ToTensor()
    seen: list[Any] = []
    step.register_forward_hook(lambda block, inputs, output: seen.append(output.shape))
    transforms.Compose([step, transforms.Normalize(0.5, 0.25)])(nd.array(IMAGE, dtype="uint8"))
    assert seen == [(3, 7, 9)]


HYBRID = {
    "resize": transforms.Resize(4),
    "crop": transforms.CropResize(1, 2, 4, 3, (6, 5)),
    "tensor": transforms.ToTensor(),
    "cast": transforms.Cast(),
    "flip": transforms.RandomFlipLeftRight(),
    "jitter": transforms.RandomColorJitter(0.3, 0.3, 0.3, 0.1),
    "light": transforms.RandomLighting(0.1),
    "apply": transforms.HybridRandomApply(transforms.RandomBrightness(0.5), 0.5),
}


@pytest.mark.parametrize("name", HYBRID)
def test_hybridized(name: str) -> None:
    block, image = HYBRID[name], nd.array(IMAGE, dtype="uint8")
    answers = []
    for hybridized in (False, True):
        block.hybridize(hybridized)
        mx.random.seed(4)
        answers.append([block(image).asnumpy() for _ in range(2)])
    np.testing.assert_array_equal(*answers)


def test_transforms_of_pictures_by_chance() -> None:
    image = nd.array(IMAGE, dtype="uint8")
    padded = transforms.RandomCrop(7, pad=2)(image)
    assert (padded.shape, padded.dtype) == ((7, 7, 3), np.uint8)
    gray = transforms.RandomGray(1)(image).asnumpy()
    assert (gray[..., 0] == gray[..., 2]).all()
    assert transforms.RandomGray(0)(image) is image


@pytest.mark.parametrize("threads", [False, True])
def test_pictures_through_workers(threads: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "all")
    with mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w") as writer:
        for index in range(20):
            content = encode(np.full((40, 50, 3), index, np.uint8), ".png")
            writer.write_idx(index, mx.recordio.pack(mx.recordio.IRHeader(0, index, index, 0), content))
    steps = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
    dataset = ImageRecordDataset(path + ".rec").transform_first(steps)
    loader = mx.gluon.data.DataLoader(dataset, 6, num_workers=2, thread_pool=threads, last_batch="discard")
    for start, (images, labels) in zip(range(0, 18, 6), loader, strict=True):
        assert labels.asnumpy().tolist() == list(range(start, start + 6))
        assert images.shape == (6, 3, 32, 32)
        np.testing.assert_allclose(images.asnumpy()[:, 0, 0, 0] * 255, labels.asnumpy(), atol=1e-4)


def test_a_list_of_pictures(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encode(IMAGE, ".png"))
    dataset = ImageListDataset(_list_file(tmp_path, "0\t2.5\ta.png\n\n1\t1\t2\ta.png\n"), "all.lst")
    assert [np.asarray(label).tolist() for _, label in dataset] == [2.5, [1, 2]]
    assert (dataset[0][0].asnumpy() == IMAGE[..., ::-1]).all() or (dataset[0][0].asnumpy() == IMAGE).all()
