"""Golden cases of `mx.recordio`: bytes in files and records, keys, positions, pickling, errors."""

# ruff: noqa: E501, ISC004 - one case is one line of text

import base64
from pathlib import Path
from textwrap import dedent

PICTURES = Path(__file__).resolve().parent / "pictures"

FILES = """
import os, pickle, struct, tempfile
R = mx.recordio
folder = tempfile.mkdtemp()
rec, idx = os.path.join(folder, 'a.rec'), os.path.join(folder, 'a.idx')
MAGIC = struct.pack('<I', 0xced7230a)
RECORDS = [b'', b'a', b'abcd', b'hello', MAGIC, MAGIC * 2, b'abc' + MAGIC, b'abcd' + MAGIC + b'xyz',
           b'abcd' + MAGIC * 2 + b'z', b'xxxx' + MAGIC, MAGIC + b'1234' + MAGIC + b'12', bytes(range(256)) * 5]
def write(records=RECORDS):
    writer = R.MXRecordIO(rec, 'w')
    for record in records: writer.write(record)
    writer.close()
def write_indexed(keys=(0, 2, 4, 6), **options):
    writer = R.MXIndexedRecordIO(idx, rec, 'w', **options)
    for key in keys: writer.write_idx(key, b'rec%d' % int(key))
    writer.close()
    return writer
def content(path):
    with open(path, 'rb') as file: return file.read().hex()
"""
PACKING = """
R = mx.recordio
H = R.IRHeader
def plain(header):
    label = header.label
    return [header.flag, label.tolist() if isinstance(label, np.ndarray) else label, header.id, header.id2,
            str(getattr(label, 'dtype', type(label).__name__))]
"""
LABELS = {
    "float": "3.5",
    "int": "3",
    "numpy": "np.float32(2)",
    "list": "[1, 2, 3]",
    "tuple": "(1, 2)",
    "array": "np.array([1.5, 2.5])",
    "matrix": "np.array([[1, 2], [3, 4.0]])",
    "empty": "[]",
    "text": "'x'",
    "none": "None",
    "bool": "True",
    "zero_axes": "np.array(4.0)",
}


def picture(name: str) -> str:
    data = base64.b64encode((PICTURES / name).read_bytes()).decode()
    return f"import base64; data = base64.b64decode('{data}')\n"


UNPACKED = [
    (f"unpack_img_{name.replace('.', '_')}_{word}", f"{picture(name)}result = R.unpack_img(R.pack(H(0, 1, 2, 3), data)"
     f"{options})[1]")
    for name in ("noise.png", "gray.jpg", "alpha.png", "deep_gray.png", "deep_colors.png", "exif6.jpg", "palette.png",
                 "slope.jpg")
    for word, options in (("default", ""), ("gray", ", iscolor=0"), ("colors", ", iscolor=1"))
    if name != "deep_colors.png" or word != "default"  # in 16 bits, which golden files do not hold
]  # fmt: skip

CASES = [
    (f"recordio_{name}", FILES + dedent(snippet).strip())
    for name, snippet in (
        ("bytes_of_records", "write()\nresult = content(rec)"),
        ("bytes_of_none", "write([])\nresult = content(rec)"),
        (
            "read_all",
            """
            write()
            reader = R.MXRecordIO(rec, 'r')
            result = [record.hex() for record in iter(reader.read, None)] + [reader.read()]
            """,
        ),
        (
            "reset",
            """
            write()
            reader = R.MXRecordIO(rec, 'r')
            first = [reader.read(), reader.read()]
            reader.reset()
            result = [part.hex() for part in (*first, reader.read(), reader.read())]
            """,
        ),
        (
            "pickled_reader",
            """
            write()
            reader = R.MXRecordIO(rec, 'r')
            reader.read(), reader.read()
            other = pickle.loads(pickle.dumps(reader))
            result = [other.read().hex(), other.read().hex(), other.is_open, other.writable]
            """,
        ),
        (
            "states",
            """
            writer = R.MXRecordIO(rec, 'w')
            states = [writer.is_open, writer.writable, writer.flag]
            writer.close(), writer.close()
            states += [writer.is_open, writer.writable]
            reader = R.MXRecordIO(rec, 'r')
            result = [*states, reader.is_open, reader.writable, reader.flag, writer.write.__name__]
            """,
        ),
        ("write_returns_nothing", "result = R.MXRecordIO(rec, 'w').write(b'a')"),
        ("write_to_reader", "write()\nR.MXRecordIO(rec, 'r').write(b'a')"),
        ("write_closed", "writer = R.MXRecordIO(rec, 'w'); writer.close(); writer.write(b'a')"),
        ("write_text", "R.MXRecordIO(rec, 'w').write('a')"),
        ("write_none", "R.MXRecordIO(rec, 'w').write(None)"),
        ("write_number", "R.MXRecordIO(rec, 'w').write(5)"),
        *[(f"flag_{flag or 'none'}", f"write()\nR.MXRecordIO(rec, '{flag}')") for flag in ("a", "rb", "wb", "x", "")],
        ("missing", "R.MXRecordIO(rec, 'r')"),
        ("missing_index", "write()\nR.MXIndexedRecordIO(idx, rec, 'r')"),
        ("missing_records", "open(idx, 'w').close()\nR.MXIndexedRecordIO(idx, rec, 'r')"),
        ("index", "writer = write_indexed()\nresult = [content(idx), content(rec), writer.keys, sorted(writer.idx.items())]"),
        ("index_of_text", "write_indexed(['7', '5'], key_type=str)\nresult = [content(idx), R.MXIndexedRecordIO(idx, rec, 'r').keys]"),
        ("index_of_floats", "write_indexed([1, 2], key_type=float)\nresult = content(idx)"),
        (
            "key_types",
            "write_indexed()\nresult = [R.MXIndexedRecordIO(idx, rec, 'r', key_type=kind).keys for kind in (int, str, float)]",
        ),
        (
            "read_idx",
            """
            write_indexed()
            reader = R.MXIndexedRecordIO(idx, rec, 'r')
            found = [reader.read_idx(4), reader.read(), reader.read_idx(0), reader.seek(2), reader.read(), reader.read(),
                     reader.read(), reader.read()]
            result = [part and part.decode() for part in found]
            """,
        ),
        ("read_idx_missing", "write_indexed()\nR.MXIndexedRecordIO(idx, rec, 'r').read_idx(1)"),
        ("read_idx_of_writer", "R.MXIndexedRecordIO(idx, rec, 'w').read_idx(1)"),
        ("seek_in_writer", "R.MXIndexedRecordIO(idx, rec, 'w').seek(1)"),
        ("write_idx_to_reader", "write_indexed()\nR.MXIndexedRecordIO(idx, rec, 'r').write_idx(1, b'a')"),
        ("write_idx_key", "R.MXIndexedRecordIO(idx, rec, 'w').write_idx('x', b'a')"),
        (
            "tell",
            """
            writer = R.MXIndexedRecordIO(idx, rec, 'w')
            result = [writer.tell()]
            for key, record in enumerate(RECORDS):
                writer.write_idx(key, record)
                result.append(writer.tell())
            """,
        ),
        ("keys_twice", "write_indexed([3, 3])\nr = R.MXIndexedRecordIO(idx, rec, 'r')\nresult = [r.keys, sorted(r.idx.items())]"),
        (
            "reset_of_indexed",
            """
            write_indexed()
            reader = R.MXIndexedRecordIO(idx, rec, 'r')
            reader.read_idx(6), reader.reset()
            result = [reader.keys, reader.read().decode()]
            reader.close()
            result += [reader.keys, len(reader.idx)]
            """,
        ),
        (
            "reset_of_writer",
            """
            writer = R.MXIndexedRecordIO(idx, rec, 'w')
            writer.write_idx(1, b'a'), writer.reset(), writer.write_idx(2, b'b'), writer.close()
            result = [content(idx), content(rec), writer.keys]
            """,
        ),
        (
            "pickled_index",
            """
            write_indexed()
            other = pickle.loads(pickle.dumps(R.MXIndexedRecordIO(idx, rec, 'r')))
            result = [other.keys, other.read().decode(), other.read_idx(6).decode()]
            """,
        ),
        ("bad_index", "write_indexed()\nwith open(idx, 'a') as file: file.write('x\\ty\\n')\nR.MXIndexedRecordIO(idx, rec, 'r')"),
        ("index_without_offsets", "write_indexed()\nwith open(idx, 'a') as file: file.write('7\\n')\nR.MXIndexedRecordIO(idx, rec, 'r')"),
        ("index_with_more", "write_indexed()\nwith open(idx, 'a') as file: file.write('7\\t0\\tmore\\n')\nresult = R.MXIndexedRecordIO(idx, rec, 'r').keys"),
        ("index_without_last_end", "write_indexed()\nwith open(idx, 'a') as file: file.write('7\\t0')\nresult = R.MXIndexedRecordIO(idx, rec, 'r').keys"),
    )
] + [
    (f"recordio_{name}", PACKING + snippet)
    for name, snippet in (
        *[(f"pack_{name}", f"result = R.pack(H(9, {label}, 7, 1), b'data').hex()") for name, label in LABELS.items()],
        *[
            (f"unpack_{name}", f"header, data = R.unpack(R.pack(H(9, {label}, 7, 1), b'data'))\nresult = [plain(header), data.decode()]")
            for name, label in LABELS.items()
        ],
        ("pack_plain_tuple", "result = R.pack((0, 1, 2, 3), b'data').hex()"),
        ("pack_short_tuple", "R.pack((0, 1, 2), b'data')"),
        ("pack_large_id", "result = R.pack(H(0, 1, 2**40, 2**64 - 1), b'').hex()"),
        ("pack_negative_id", "R.pack(H(0, 1, -1, 0), b'')"),
        ("pack_fractional_id", "R.pack(H(0, 1, 1.5, 0), b'')"),
        ("pack_text_as_bytes", "R.pack(H(0, 1, 1, 0), 'text')"),
        ("header", "result = [repr(H(0, 1.0, 2, 3)), H._fields, R._IR_SIZE if hasattr(R, '_IR_SIZE') else 24]"),
        ("unpack_nothing", "R.unpack(b'')"),
        ("unpack_short", "R.unpack(b'abc')"),
        ("unpack_without_labels", "R.unpack(bytes([3]) + bytes(23) + b'1234')"),
        ("unpack_label_is_read_only", "result = R.unpack(R.pack(H(0, [1, 2], 0, 0), b''))[0].label.flags.writeable"),
        (
            "pack_img_png",
            "image = np.arange(60).reshape(4, 5, 3).astype('uint8')\n"
            "result = R.unpack_img(R.pack_img(H(0, 1, 2, 3), image, quality=9, img_fmt='.png'))[1]",
        ),
        (
            "pack_img_formats",
            "image = np.arange(60).reshape(4, 5, 3).astype('uint8')\n"
            "result = [list(R.pack_img(H(0, 1, 2, 3), image, quality=quality, img_fmt=kind)[24:28]) for quality, kind in "
            "((95, '.jpg'), (80, '.JPEG'), (200, '.jpg'), (3, '.png'), (95, '.PNG'), (95, '.bmp'))]",
        ),
        (
            "pack_img_gray",
            "image = np.arange(20).reshape(4, 5).astype('uint8')\n"
            "result = R.unpack_img(R.pack_img(H(0, [1, 2], 2, 3), image, img_fmt='.png'))[1]",
        ),
        (
            "pack_img_default",
            "rows, columns = np.mgrid[:16, :24]\n"
            "image = np.stack([rows * 9, columns * 9, rows + columns], -1).astype('uint8')\n"
            "found = R.unpack_img(R.pack_img(H(0, 1, 2, 3), image))[1].astype('int64')\n"
            "result = [list(found.shape), bool(abs(found - image).mean() < 2)]",
        ),
        *UNPACKED,
        ("unpack_img_no_picture", "result = R.unpack_img(R.pack(H(0, 1, 2, 3), b'junk'))[1]"),
    )
]  # fmt: skip
