"""Golden cases of datasets in files, transforms of images, and loaders with workers."""

# ruff: noqa: E501 - one case is one line of text

# MXNet compares hashes and downloads: both are switched off, so that small files of the real formats do.
_FILES = """
import gzip, os, random, struct, tempfile, warnings
D, V, X = mx.gluon.data, mx.gluon.data.vision, mx.gluon.contrib.data.text
for module in (V.datasets, X):
    module.check_sha1 = lambda *a: True
    module.download = lambda url, path=None, **k: os.path.join(path, url.split('/')[-1])
root = tempfile.mkdtemp()
rs = np.random.RandomState(3)
def idx(name, array):
    with gzip.open(os.path.join(root, name), 'wb') as f:
        f.write(struct.pack('>I', 0x800 + array.ndim) + b''.join(struct.pack('>I', n) for n in array.shape) + array.tobytes())
def byte(*shape):
    return rs.randint(0, 256, shape).astype('uint8')
def write(name, content):
    with open(os.path.join(root, name), 'wb') as f:
        f.write(content)
def shown(item):
    image, label = item
    return [list(image.shape), str(image.dtype), int(image.astype('int32').sum().asscalar()), image.reshape((-1,))[:5].asnumpy(), label]
"""
_MNIST = """
for part, count in (('train', 3), ('t10k', 2)):
    idx(part + '-images-idx3-ubyte.gz', byte(count, 28, 28))
    idx(part + '-labels-idx1-ubyte.gz', byte(count))
"""
_CIFAR10 = """
for name in ['data_batch_%d.bin' % i for i in range(1, 6)] + ['test_batch.bin']:
    write(name, b''.join(bytes([i + 4]) + byte(3072).tobytes() for i in range(2)))
"""
_CIFAR100 = """
for name in ('train.bin', 'test.bin'):
    write(name, b''.join(bytes([i, 60 + i]) + byte(3072).tobytes() for i in range(2)))
"""
_FOLDER = """
for folder in ('b', 'a', 'empty'):
    os.makedirs(os.path.join(root, folder, 'inside'))
for name in ('a/2.png', 'a/10.png', 'b/x.PNG', 'a/y.bmp'):
    packed = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, 0, 0), byte(4, 5, 3), img_fmt='.png')
    write(name, mx.recordio.unpack(packed)[1])
write('a/text.txt', b'no picture')
write('stray.png', b'no picture')
def folder(**options):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return V.ImageFolderDataset(root, **options)
"""
_RECORDS = """
path = os.path.join(root, 'pictures')
writer = mx.recordio.MXIndexedRecordIO(path + '.idx', path + '.rec', 'w')
for i in range(3):
    label = float(i) if i < 2 else np.array([1, 2.5])
    writer.write_idx(10 * i, mx.recordio.pack_img(mx.recordio.IRHeader(0, label, i, 0), byte(4, 5, 3), img_fmt='.png'))
writer.close()
"""
_WIKI = """
text = ' \\n = A title = \\n \\n the cat sat on the mat . the cat <unk> \u00e9 ran .\\r\\n \\n the dog\u2028ran\\x0cto it .\\n last'
for name in ('train', 'valid', 'test'):
    write('wiki.%s.tokens' % name, text.encode('utf-8'))
"""

_DATASETS = {
    "mnist": _MNIST
    + "d = V.MNIST(root); result = [len(d), shown(d[1]), shown(d[-1]), shown(d[np.int64(2)]), type(d[0][1]).__name__]",
    "mnist_test": _MNIST + "d = V.MNIST(root, train=False); result = [len(d), shown(d[1])]",
    "mnist_transform": _MNIST
    + "d = V.MNIST(root, True, lambda x, y: (x.astype('float32') / 255, y)); result = [d[1][0][2], d[1][1]]",
    "mnist_missing": _MNIST + "V.MNIST(root)[3]",
    "mnist_slice": _MNIST + "d = V.MNIST(root)[1:3]; result = [list(d[0].shape), d[1]]",
    "mnist_first": _MNIST
    + "d = V.MNIST(root).transform_first(V.transforms.ToTensor()); result = [d[1][0][0][2], d[1][1]]",
    "fashion": _MNIST + "d = V.FashionMNIST(root); result = [len(d), shown(d[1])]",
    "cifar10": _CIFAR10 + "d = V.CIFAR10(root); result = [len(d), shown(d[0]), shown(d[9])]",
    "cifar10_test": _CIFAR10 + "d = V.CIFAR10(root, train=False); result = [len(d), shown(d[1])]",
    "cifar100": _CIFAR100 + "d = V.CIFAR100(root); result = [len(d), shown(d[1])]",
    "cifar100_fine": _CIFAR100 + "d = V.CIFAR100(root, True, False); result = [len(d), shown(d[1])]",
    "folder": _FOLDER
    + "d = folder(); result = [len(d), d.synsets, [(os.path.relpath(p, root), y) for p, y in d.items], shown(d[0]), shown(d[-1])]",
    "folder_gray": _FOLDER + "result = shown(folder(flag=0)[0])",
    "folder_transform": _FOLDER + "result = folder(transform=lambda x, y: (y, x.shape))[2]",
    "folder_missing": "V.ImageFolderDataset(root + '/none')",
    "folder_end": _FOLDER + "folder()[3]",
    "records": _RECORDS
    + "d = D.RecordFileDataset(path + '.rec'); result = [len(d), [len(r) for r in (d[0], d[-1])], mx.recordio.unpack(d[1])[0].id]",
    "records_end": _RECORDS + "D.RecordFileDataset(path + '.rec')[3]",
    "pictures": _RECORDS + "d = V.ImageRecordDataset(path + '.rec'); result = [shown(d[i]) for i in range(3)]",
    "pictures_gray": _RECORDS + "result = shown(V.ImageRecordDataset(path + '.rec', flag=0)[1])",
    "pictures_transform": _RECORDS + "result = V.ImageRecordDataset(path + '.rec', 1, lambda x, y: (y, x.shape))[1]",
    "wikitext2": _WIKI
    + "d = X.WikiText2(root, seq_len=4); result = [len(d), [d[i] for i in range(len(d))], d.vocabulary.idx_to_token, sorted(d.frequencies.items())]",
    "wikitext103": _WIKI
    + "v = X.WikiText2(root).vocabulary; d = X.WikiText103(root, 'validation', v, 3); result = [len(d), d[1], d.vocabulary is v]",
    "wikitext_short": _WIKI + "result = len(X.WikiText2(root, 'test', seq_len=400))",
    "wikitext_end": _WIKI + "X.WikiText2(root, 'test', seq_len=4)[99]",
    "intervals": "S = mx.gluon.contrib.data.sampler.IntervalSampler; result = [list(S(7, 3)), list(S(7, 3, rollover=False)), len(S(7, 3)), len(S(7, 3, False))]",
}

_IMAGES = """
import random
T = mx.gluon.data.vision.transforms
rs = np.random.RandomState(0)
img = nd.array(rs.randint(0, 256, (7, 9, 3)), dtype='uint8')
real = nd.array(rs.rand(7, 9, 3))
batch = nd.array(rs.randint(0, 256, (2, 7, 9, 3)), dtype='uint8')
tensor = nd.array(rs.rand(3, 8, 10))
tensors = nd.array(rs.rand(2, 3, 8, 8))
random.seed(5); np.random.seed(5)
"""
_ONE = {
    "cast": ("T.Cast()", "img tensor"),
    "cast_bytes": ("T.Cast('uint8')", "img tensor"),
    "to_tensor": ("T.ToTensor()", "img real batch tensor"),
    "normalize": ("T.Normalize(0.5, 0.2)", "tensor tensors"),
    "normalize_each": ("T.Normalize((.1, .2, .3), (.4, .5, .6))", "img tensor tensors"),
    "crop": ("T.CropResize(1, 2, 4, 3)", "img real batch tensor"),
    "crop_outside": ("T.CropResize(6, 2, 4, 3)", "img"),
    "crop_resize": ("T.CropResize(1, 2, 4, 3, size=(6, 5), interpolation=1)", "img real batch"),
    "resize": ("T.Resize(4)", "img real batch"),
    "resize_keep": ("T.Resize(4, keep_ratio=True)", "img real batch"),
    "resize_two": ("T.Resize((5, 4))", "img real"),
    "center": ("T.CenterCrop(4)", "img real"),
    "center_two": ("T.CenterCrop((5, 4))", "img"),
    "center_large": ("T.CenterCrop((20, 16))", "img real"),
    "rotate": ("T.Rotate(30.)", "img tensor tensors"),
    "rotate_in": ("T.Rotate(30., zoom_in=True)", "tensor tensors"),
    "rotate_out": ("T.Rotate(-50., zoom_out=True)", "tensor tensors"),
    "rotate_both": ("T.Rotate(30., True, True)", "tensor"),
    "rotation": ("T.RandomRotation((-30, 30))", "img tensor tensors"),
    "rotation_half": ("T.RandomRotation((-30, 30), rotate_with_proba=0.5)", "tensor"),
    "rotation_in": ("T.RandomRotation((-30, 30), zoom_in=True)", "tensor"),
    "rotation_order": ("T.RandomRotation((30, -30))", "tensor"),
    "rotation_chance": ("T.RandomRotation((-30, 30), rotate_with_proba=2)", "tensor"),
    "resized_crop": ("T.RandomResizedCrop((4, 5))", "img real"),
    "resized_crop_scale": ("T.RandomResizedCrop(4, scale=(.5, 1), ratio=(.9, 1.1))", "img"),
    "resized_crop_impossible": ("T.RandomResizedCrop(4, scale=(.9, 1), ratio=(3, 4))", "img"),
    "apply": ("T.RandomApply(T.Cast('float64'), p=.5)", "img"),
    "no_brightness": ("T.RandomBrightness(0)", "img real batch"),
    "no_contrast": ("T.RandomContrast(0)", "img"),
    "no_saturation": ("T.RandomSaturation(0)", "img"),
    # With all four numbers 0 MXNet returns memory that nothing was written to.
    "no_jitter": ("T.RandomColorJitter(1e-9)", "img"),
    "no_lighting": ("T.RandomLighting(0)", "img"),
    "compose": ("T.Compose([T.Resize((5, 4)), T.ToTensor(), T.Normalize((.1, .2, .3), (.4, .5, .6))])", "img batch"),
    "compose_mixed": ("T.Compose([T.CenterCrop(4), T.ToTensor(), lambda x: 2 * x, T.Normalize(0, 2)])", "img"),
    "compose_none": ("T.Compose([])", "img"),
}
_PRINTED = {
    "grouped": "T.Compose([T.Resize(3), T.ToTensor(), T.CenterCrop(3), T.ToTensor(), T.Normalize(0, 1)])",
    "alone": "T.Compose([T.ToTensor(), T.CenterCrop(3), T.Normalize(0, 1)])",
    "empty": "T.Compose([])",
    "apply": "T.RandomApply(T.Cast())",
}

_LOADERS = {
    "numbers": "l = D.DataLoader(D.SimpleDataset(list(range(7))), 2, num_workers=2); result = [len(l), list(l), list(l)]",
    "columns": "d = D.ArrayDataset(nd.arange(12).reshape((6, 2)), np.arange(6), nd.arange(6)); result = list(D.DataLoader(d, 4, num_workers=1))",
    "shuffled": "np.random.seed(5); l = D.DataLoader(D.SimpleDataset(list(range(9))), 2, shuffle=True, last_batch='rollover', num_workers=2)\nresult = [list(l), list(l), len(l)]",
    "threads": "l = D.DataLoader(D.SimpleDataset(list(range(7))), 2, num_workers=2, thread_pool=True); result = [len(l), list(l), list(l)]",
    "no_prefetch": "result = list(D.DataLoader(D.SimpleDataset(list(range(5))), 2, num_workers=2, prefetch=0))",
    "words": "result = list(D.DataLoader(D.SimpleDataset(['a', 'b', 'c']), 2, num_workers=1, batchify_fn=list))",
    "nested": "d = D.SimpleDataset([(i, (i + 1, np.ones(2, 'float32'))) for i in range(3)]); result = list(D.DataLoader(d, 2, num_workers=1))",
    "reloaded": "l = D.DataLoader(D.SimpleDataset(list(range(5))), 2, num_workers=1, auto_reload=True); result = [list(l), list(l)]",
    "pinned": "d = D.SimpleDataset([1, 2]); result = [str(x.context) for x in D.DataLoader(d, 1, num_workers=1, pin_memory=True)]",
    "context": "result = [str(x.context) for x in D.DataLoader(D.SimpleDataset([1, 2]), 1, num_workers=1)]",
    "drawn": "np.random.seed(5); d = D.SimpleDataset([0] * 4).transform(lambda x: np.random.rand()); result = list(D.DataLoader(d, 2, num_workers=1))",
    "epoch_after_error": "l = D.DataLoader(D.SimpleDataset([1, 2, 0]).transform(lambda x: 2 // x), 1, num_workers=1)\ntry:\n    list(l)\nexcept ZeroDivisionError:\n    result = next(iter(l))",
    "raised": "list(D.DataLoader(D.SimpleDataset([1, 'a', None]).transform(lambda x: {}[x]), 1, num_workers=1))",
    "not_whole": "D.DataLoader(D.SimpleDataset([1]), 1, num_workers=1.5)",
}

CASES = [
    *((f"dataset_{name}", f"{_FILES}{text}") for name, text in _DATASETS.items()),
    *(
        (f"transform_{name}_{on}", f"{_IMAGES}t = {text}; result = [t({on}) for _ in range(3)]")
        for name, (text, images) in _ONE.items()
        for on in images.split()
    ),
    *((f"printed_{name}", f"{_IMAGES}result = str({text})") for name, text in _PRINTED.items()),
    *((f"loader_{name}", f"D = mx.gluon.data\n{text}") for name, text in _LOADERS.items()),
]
