"""Proves that MXNet 1.9.1 reads the record files that minpy writes, and the other way round. In three steps, on demand:

``python tests/golden/check_records.py write FOLDER`` under minpy writes files;
``python tests/golden/check_records.py exchange FOLDER`` under MXNet 1.9.1 reads them, and writes its own beside them;
``python tests/golden/check_records.py read FOLDER`` under minpy reads those, and compares all bytes.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"\x0a\x23\xd7\xce"


def records() -> list[bytes]:
    """Returns records of all lengths and alignments, with the word that begins records in many places."""
    generator = np.random.default_rng(0)
    found = [generator.bytes(length) for length in range(40)]
    for _ in range(300):
        parts = [MAGIC if generator.random() < 0.5 else generator.bytes(generator.integers(0, 9)) for _ in range(9)]
        found.append(b"".join(parts))
    return [*found, MAGIC * 1000, generator.bytes(3_000_000), b"\xce" + MAGIC * 3 + b"\0"]


def labels(number: int) -> Any:
    """Returns one label, or several."""
    return float(number) if number % 3 else np.arange(number % 5, dtype=np.float32) / 2


def write(mx: Any, folder: Path, prefix: str) -> None:
    """Writes the records one after the other, by keys, and packed with labels."""
    recordio = mx.recordio
    plain = recordio.MXRecordIO(str(folder / f"{prefix}.rec"), "w")
    keyed = recordio.MXIndexedRecordIO(str(folder / f"{prefix}_keyed.idx"), str(folder / f"{prefix}_keyed.rec"), "w")
    packed = recordio.MXRecordIO(str(folder / f"{prefix}_packed.rec"), "w")
    for number, record in enumerate(records()):
        plain.write(record)
        keyed.write_idx(3 * number, record)
        packed.write(recordio.pack(recordio.IRHeader(0, labels(number), number, 7), record))
    for writer in (plain, keyed, packed):
        writer.close()


def read(mx: Any, folder: Path, prefix: str) -> None:
    """Reads what the other wrote, and compares it with the records."""
    recordio = mx.recordio
    expected = records()
    plain = recordio.MXRecordIO(str(folder / f"{prefix}.rec"), "r")
    assert list(iter(plain.read, None)) == expected
    keyed = recordio.MXIndexedRecordIO(str(folder / f"{prefix}_keyed.idx"), str(folder / f"{prefix}_keyed.rec"), "r")
    assert keyed.keys == list(range(0, 3 * len(expected), 3))
    for number in np.random.default_rng(1).permutation(len(expected)):
        assert keyed.read_idx(3 * int(number)) == expected[number]
    packed = recordio.MXRecordIO(str(folder / f"{prefix}_packed.rec"), "r")
    for number, record in enumerate(expected):
        header, data = recordio.unpack(packed.read())
        assert data == record
        assert (header.id, header.id2) == (number, 7)
        label = labels(number)
        if np.size(label):
            np.testing.assert_array_equal(header.label, label)
    print(f"read {3 * len(expected)} records of {prefix}")


def main(step: str, folder: Path) -> None:
    """Runs one step."""
    if step == "exchange":
        import mxnet

        if mxnet.__version__ != "1.9.1":
            raise SystemExit(f"this compares with MXNet 1.9.1, not {mxnet.__version__}")
        read(mxnet, folder, "minpy")
        write(mxnet, folder, "mxnet")
        return
    import minpy

    if step == "write":
        write(minpy, folder, "minpy")
        return
    read(minpy, folder, "mxnet")
    for path in sorted(folder.glob("mxnet*")):
        own = folder / path.name.replace("mxnet", "minpy")
        assert path.read_bytes() == own.read_bytes(), f"{path.name} and {own.name} differ"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
