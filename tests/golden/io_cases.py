"""Golden cases of `mx.io`: what iterators give, batch by batch and epoch by epoch."""

# ruff: noqa: E501 - one case is one line of text

from textwrap import dedent

# What is in a batch, and the batches of some epochs.
_SHOW = dedent("""
    def show(b, index=False):
        labels = None if b.label is None else [x.asnumpy() for x in b.label]
        return [[x.asnumpy() for x in b.data], labels, b.pad] + ([b.index] if index else [])
    def epochs(it, count=3, index=False):
        found = []
        for _ in range(count):
            found.append([show(b, index) for b in it]); it.reset()
        return found
    def descs(it):
        return [[(d.name, tuple(d.shape), np.dtype(d.dtype), d.layout) for d in ds] for ds in (it.provide_data, it.provide_label)]
""")

_ARRAYS = {
    **{
        f"{handle}_{length}_{size}": f"result = epochs(mx.io.NDArrayIter(np.arange({length} * 2).reshape({length}, 2), "
        f"np.arange({length}), {size}, last_batch_handle='{handle}'), 5)"
        for handle in ("pad", "discard", "roll_over")
        for length, size in ((7, 3), (6, 3), (5, 4), (5, 5), (4, 1))
    },
    "pad_larger": "result = epochs(mx.io.NDArrayIter(np.arange(3), np.arange(3), 8), 2)",
    **{
        f"shuffled_{handle}": "np.random.seed(3); it = mx.io.NDArrayIter({'a': np.arange(10).reshape(5, 2), "
        f"'b': mx.nd.arange(5)}}, np.arange(5), 2, shuffle=True, last_batch_handle='{handle}')\n"
        "result = [epochs(it, 4), np.random.rand()]; it.hard_reset(); result += epochs(it, 2)"
        for handle in ("pad", "discard", "roll_over")
    },
    **{
        f"reset_amid_{handle}_{taken}": f"it = mx.io.NDArrayIter(np.arange(5), np.arange(5), 2, last_batch_handle='{handle}')\n"
        f"for _ in range({taken}): it.next()\n"
        "it.reset(); result = epochs(it, 2); it.reset(); it.reset(); result += epochs(it, 3); it.hard_reset(); result += epochs(it, 1)"
        for handle in ("pad", "roll_over")
        for taken in (1, 2)
    },
    "no_label": "it = mx.io.NDArrayIter(np.arange(4), batch_size=2); result = [epochs(it, 1), descs(it)]",
    "lists": "it = mx.io.NDArrayIter([np.zeros((4, 2)), mx.nd.zeros((4, 3), dtype='int32')], [np.zeros(4), np.zeros((4, 1))], 2); result = descs(it)",
    "list_of_one": "result = descs(mx.io.NDArrayIter([np.zeros((4, 2))], [np.zeros(4)], 2, data_name='x', label_name='y'))",
    "nested_list": "result = descs(mx.io.NDArrayIter([[[1, 2], [3, 4]]], batch_size=2))",
    "dictionary": "result = descs(mx.io.NDArrayIter({'b': np.zeros((4, 2)), 'a': np.zeros(4)}, {'z': np.zeros(4)}, 2, layout='NT'))",
    **{
        f"dtype_{dtype}": f"it = mx.io.NDArrayIter(mx.nd.array([1, 2, 3], dtype='{dtype}'), np.array([1, 2, 3], '{dtype}'), 2); b = it.next(); "
        "result = [descs(it), b.data[0], b.label[0]]"
        for dtype in ("float16", "float32", "float64", "uint8", "int32", "int64")
    },
    "layout_ntc": "it = mx.io.NDArrayIter(np.arange(24).reshape(2, 4, 3), batch_size=1, layout='NTC'); result = [epochs(it, 1), descs(it)]",
    "layout_tnc": "it = mx.io.NDArrayIter(np.arange(24).reshape(4, 2, 3), batch_size=2, layout='TNC'); result = [epochs(it, 1), descs(it)]",
    "copies": "x = mx.nd.arange(4); it = mx.io.NDArrayIter(x, batch_size=2); it.next().data[0][:] = 9; x[2:] = 5; result = [x, it.next().data[0]]",
    "context": "result = str(mx.io.NDArrayIter(mx.nd.array([1, 2], ctx=mx.cpu(1)), batch_size=2).next().data[0].context)",
    "by_hand": "it = mx.io.NDArrayIter(np.arange(5), np.arange(5), 2); result = []\n"
    "while it.iter_next(): result.append([it.getdata()[0], it.getlabel()[0], it.getpad(), it.getindex()])\n"
    "result.append([it.iter_next(), it.num_data, it.cursor])",
    "arrays_kept": "x = mx.nd.arange(3); it = mx.io.NDArrayIter(x, batch_size=2); result = [it.data[0][0], it.data[0][1] is x, len(it.data_list), it.num_source, it.batch_size]",
    "empty": "it = mx.io.NDArrayIter(np.zeros((0, 3)), batch_size=2); result = [epochs(it, 2), descs(it)]",
    "larger_discarded": "result = epochs(mx.io.NDArrayIter(np.arange(3), batch_size=4, last_batch_handle='discard'), 2)",
    "larger_rolled_over": "result = epochs(mx.io.NDArrayIter(np.arange(3), batch_size=4, last_batch_handle='roll_over'), 2)",
    "lengths_differ": "result = epochs(mx.io.NDArrayIter(np.arange(3), np.arange(5), 2), 1)",
    "unknown_handle": "result = epochs(mx.io.NDArrayIter(np.arange(3), batch_size=2, last_batch_handle='pads'), 1)",
    "layout_other_count": "it = mx.io.NDArrayIter(np.arange(24).reshape(2, 4, 3), batch_size=2, layout='TNC'); result = [epochs(it, 1), descs(it)]",
}

_BATCHES = {
    "desc": "d = mx.io.DataDesc('a', (2, 3)); result = [repr(d), str(d), d == ('a', (2, 3)), len(d), list(d), d.layout, np.dtype(d.dtype)]",
    "desc_other": "d = mx.io.DataDesc('a', (2, 3), 'int8', 'TN'); result = [repr(d), mx.io.DataDesc.get_batch_axis(d.layout), mx.io.DataDesc.get_batch_axis(None), mx.io.DataDesc.get_batch_axis('TC')]",
    "desc_pickled": "import pickle, copy\nd = mx.io.DataDesc('a', (2, 3), 'int8', 'TN'); result = [repr(pickle.loads(pickle.dumps(d))), repr(copy.deepcopy(d))]",
    "desc_list": "result = [repr(mx.io.DataDesc.get_list([('a', (1,)), ('b', (2,))], None)), repr(mx.io.DataDesc.get_list([('a', (1,))], [('a', 'int32')]))]",
    "batch": "b = mx.io.DataBatch([nd.ones((2, 3))], [nd.ones(2)]); result = [str(b), str(mx.io.DataBatch([nd.ones(2)])), b.pad, b.index, b.bucket_key, b.provide_data]",
    "base": "it = mx.io.DataIter(3); result = [it.batch_size, it.reset(), it.getdata(), it.getpad(), it.iter_next(), iter(it) is it, list(it)]",
}

_WRAPPED = {
    **{
        f"resize_{size}_{internal}": f"result = epochs(mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(5), np.arange(5), 2), {size}, {internal}))"
        for size in (2, 3, 5)
        for internal in (True, False)
    },
    "resize_rolled_over": "result = epochs(mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(7), batch_size=3, last_batch_handle='roll_over'), 4))",
    "prefetch": "it = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(5), np.arange(5), 2)); result = [epochs(it), descs(it), it.batch_size, it.n_iter]",
    "prefetch_two": "it = mx.io.PrefetchingIter([mx.io.NDArrayIter(np.arange(5) + k, np.arange(5), 2) for k in (0, 10)], "
    "rename_data=[{'data': 'a'}, {'data': 'b'}], rename_label=[{'softmax_label': 'c'}, {'softmax_label': 'd'}])\n"
    "result = [epochs(it), descs(it)]; b = it.next(); result += [repr(b.provide_data), repr(b.provide_label)]",
    "prefetch_reset_amid": "it = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(5), np.arange(5), 2)); it.next(); it.reset(); result = epochs(it, 1); it.next(); it.next(); it.reset(); result += epochs(it, 1)",
    "prefetch_rolled_over": "result = epochs(mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(5), batch_size=2, last_batch_handle='roll_over')))",
    "prefetch_resized": "result = epochs(mx.io.PrefetchingIter(mx.io.ResizeIter(mx.io.NDArrayIter(np.arange(5), batch_size=2), 4)))",
    "resize_prefetched": "result = epochs(mx.io.ResizeIter(mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(5), batch_size=2)), 4))",
}

_FILES = dedent("""
    import os, struct, tempfile
    folder = tempfile.mkdtemp()
    def path(name, text=None):
        where = os.path.join(folder, name)
        if text is not None:
            with open(where, 'wb') as file: file.write(text.encode() if isinstance(text, str) else text)
        return where
    five = path('five.csv', '1,2\\n3,4\\n5,6\\n7,8\\n9,10\\n'); labels = path('labels.csv', '0\\n1\\n2\\n3\\n4\\n')
    svm = path('svm.t', '1.0 0:0.5 2:1.25\\n-2.0\\n-3.0 0:0.5 1:2.5 2:1.25\\n4 2:-1.25\\n')
    svm_labels = path('svm_labels.t', '1.0\\n-2.0 0:0.125\\n-3.0 2:1.25\\n4 1:1.0 2:-1.25\\n')
    def idx(name, a):
        return path(name, struct.pack('>4B%dI' % a.ndim, 0, 0, 8, a.ndim, *a.shape) + a.astype('uint8').tobytes())
    images = idx('images', np.arange(42).reshape(7, 2, 3) * 6); digits = idx('digits', np.arange(7))
""")

_TEXTS = {
    **{
        f"csv_{size}_{rounded}": f"result = epochs(mx.io.CSVIter(data_csv=five, data_shape=(2,), label_csv=labels, batch_size={size}, round_batch={rounded}), index=True)"
        for size in (2, 3, 5)
        for rounded in (True, False)
    },
    "csv_no_label": "it = mx.io.CSVIter(data_csv=five, data_shape=(2, 1), batch_size=2); result = [epochs(it, 1), descs(it)]",
    "csv_label_shape": "it = mx.io.CSVIter(data_csv=five, data_shape=(2,), label_csv=five, label_shape=(2,), batch_size=5); result = [epochs(it, 1), descs(it)]",
    "csv_int64": "it = mx.io.CSVIter(data_csv=five, data_shape=(2,), batch_size=5, dtype='int64'); result = [epochs(it, 1), descs(it)]",
    "csv_names": "result = descs(mx.io.CSVIter(data_csv=five, data_shape=(2,), batch_size=5, data_name='a', label_name='b'))",
    "csv_strings": "result = epochs(mx.io.CSVIter(data_csv=five, data_shape='(2,)', batch_size='5', round_batch='False'), 1)",
    "csv_written_otherwise": "result = epochs(mx.io.CSVIter(data_csv=path('x.csv', '1.5 , -2e3\\n\\n 3,4\\r\\n+5,6'), data_shape=(2,), batch_size=3), 1)",
    "csv_folder": "os.mkdir(path('all')); path('all/b.csv', '1,2\\n'); path('all/a.csv', '3,4'); result = epochs(mx.io.CSVIter(data_csv=path('all'), data_shape=(2,), batch_size=2), 1)",
    "csv_larger": "result = epochs(mx.io.CSVIter(data_csv=five, data_shape=(2,), batch_size=7), 1)",
    "svm": "it = mx.io.LibSVMIter(data_libsvm=svm, data_shape=(3,), batch_size=3); result = [epochs(it, index=True), descs(it)]",
    "svm_stype": "result = mx.io.LibSVMIter(data_libsvm=svm, data_shape=(3,), batch_size=2).next().data[0].stype",
    "svm_2": "result = epochs(mx.io.LibSVMIter(data_libsvm=svm, data_shape=(3,), batch_size=2), 2)",
    "svm_labels": "it = mx.io.LibSVMIter(data_libsvm=svm, data_shape=(3,), label_libsvm=svm_labels, label_shape=(3,), batch_size=4); result = [epochs(it, 1), descs(it)]",
    "mnist": "it = mx.io.MNISTIter(image=images, label=digits, batch_size=3, shuffle=False, silent=True); result = [epochs(it, 2), descs(it)]",
    "mnist_flat": "it = mx.io.MNISTIter(image=images, label=digits, batch_size=2, shuffle=False, flat=True, silent=True); result = [epochs(it, 1), descs(it)]",
    **{
        f"mnist_part_{part}_{count}": f"result = epochs(mx.io.MNISTIter(image=images, label=digits, batch_size=1, shuffle=False, silent=True, num_parts={count}, part_index={part}), 1)"
        for count in (2, 3)
        for part in range(count)
    },
    "mnist_shuffled": "it = mx.io.MNISTIter(image=images, label=digits, batch_size=7, silent=True, seed=4); a, b = [x[0][1][0] for x in epochs(it, 2)]; result = [sorted(a.tolist()), (a == b).all()]",
    "by_hand": "it = mx.io.CSVIter(data_csv=five, data_shape=(2,), label_csv=labels, batch_size=2); it.iter_next(); result = [it.getdata(), it.getlabel(), it.getpad(), it.getindex(), isinstance(it, mx.io.MXDataIter)]",
}

_PICTURES = dedent("""
    import os, tempfile
    folder = tempfile.mkdtemp()
    def path(name, text=None):
        where = os.path.join(folder, name)
        if text is not None:
            with open(where, 'w') as file: file.write(text)
        return where
    def write(name, pictures, labels):
        file = mx.recordio.MXIndexedRecordIO(path(name + '.idx'), path(name + '.rec'), 'w')
        for i, (picture, label) in enumerate(zip(pictures, labels)):
            file.write_idx(i, mx.recordio.pack_img(mx.recordio.IRHeader(0, label, 100 + i, 0), picture, 3, '.png'))
        file.close()
    rng = np.random.RandomState(7)
    sizes = [(9, 12), (12, 9), (8, 8), (5, 11), (11, 5), (10, 10), (8, 14)]
    pictures = [rng.randint(0, 256, size + (3,)).astype('uint8') for size in sizes]
    write('one', pictures, [10.0 * i for i in range(7)])
    def it(make=mx.io.ImageRecordIter, **given):
        given = dict(dict(path_imgrec=path('one.rec'), data_shape=(3, 4, 5), batch_size=7, verbose=False), **given)
        return make(**given)
    def small(x):
        return [[a.mean() if isinstance(a, np.ndarray) and a.ndim == 4 else a for a in b[0]] + b[1:] for b in x]
""")

_INDEX = ", path_imgidx=path('one.idx')"

_SETTINGS = {
    "plain": "",
    "gray": "data_shape=(1, 4, 5)",
    "resize": "resize=7",
    "resize_nearest": "resize=7, inter_method=0",
    "resize_area": "resize=7, inter_method=3",
    "resize_lanczos": "resize=7, inter_method=4",
    "resize_smaller": "resize=5, inter_method=9",
    "resize_larger": "resize=20",
    "enlarged": "data_shape=(3, 16, 15)",
    "enlarged_nearest": "data_shape=(3, 16, 6), inter_method=0",
    "pad": "pad=3, data_shape=(3, 14, 14)",
    "pad_filled": "pad=2, fill_value=7, resize=9, data_shape=(3, 12, 12)",
    "scaled": "min_random_scale=0.5, max_random_scale=0.5, resize=20",
    "crop_size": "min_crop_size=5, max_crop_size=5",
    "random_resized_too_large": "random_resized_crop=True, min_random_area=4, max_random_area=4",
    "mirror": "mirror=True",
    "mean": "mean_r=10, mean_g=20.5, mean_b=30",
    "mean_of_one": "mean_b=30",
    "std": "std_r=2, std_g=3, std_b=7",
    "scale": "scale=0.5",
    "all_numbers": "mean_r=123.68, mean_g=116.28, mean_b=103.53, std_r=58.395, std_g=57.12, std_b=57.375, scale=0.7",
    "uint8": "dtype='uint8', mean_r=10, scale=2",
    "int8": "dtype='int8'",
    "int8_mean": "dtype='int8', mean_r=100, mean_g=100, mean_b=100, std_r=2",
    "strings": "data_shape='(3,4,5)', mirror='True', scale='0.5'",
}

_BOXES = dedent("""
    write('boxes', pictures[:3], [[2, 5, 0, .1, .2, .5, .6], [2, 5, 1, .1, .2, .5, .6, 2, .3, .3, .9, .8], [4, 6, 7, 8, 3, .1, .1, .6, .6, 1]])
    def boxes(**given):
        return it(mx.io.ImageDetRecordIter, **dict(dict(path_imgrec=path('boxes.rec'), batch_size=3, data_shape=(3, 6, 6)), **given))
""")

_IMAGES = {
    **{name: f"result = show(it({options}).next())" for name, options in _SETTINGS.items()},
    "epochs": "x = it(batch_size=3); result = [small(e) for e in epochs(x, 2)] + [descs(x)]",
    "index_file": "result = [small(e) for e in epochs(it(batch_size=3, path_imgidx=path('one.idx')), 2)]",
    **{
        f"part_{part}_{count}{'_index' if index else ''}": f"result = [x[1] for x in epochs(it(batch_size=1, num_parts={count}, part_index={part}{_INDEX if index else ''}), 1)[0]]"
        for count in (2, 3)
        for part in range(count)
        for index in (False, True)
    },
    "several_labels": "write('two', pictures, [[i, i + 0.5] for i in range(7)]); x = it(path_imgrec=path('two.rec'), label_width=2, data_name='a', label_name='b'); result = [x.next().label[0], descs(x)]",
    "list": "result = it(path_imglist=path('l.lst', ''.join('%d\\t%f\\tx.png\\n' % (100 + i, i) for i in range(7)))).next().label[0]",
    "list_of_two": "result = it(label_width=2, path_imglist=path('l.lst', ''.join('%d\\t%f\\t9\\tx.png\\n' % (100 + i, i) for i in range(7)))).next().label[0]",
    "shuffled": "a, b = [x[0][1][0] for x in epochs(it(shuffle=True), 2)]; result = [sorted(a.tolist()), sorted(b.tolist()), (a == b).all()]",
    "mean_picture": "mx.nd.save(path('m.nd'), {'mean_img': mx.nd.arange(60).reshape((3, 4, 5))}); result = show(it(mean_img=path('m.nd'), scale=2, std_r=4, mean_r=9).next())",
    "mean_picture_made": "first = it(mean_img=path('n.nd')).next().data[0]; result = [first, mx.nd.load(path('n.nd'))['mean_img'], it(mean_img=path('n.nd')).next().data[0]]",
    "uint8_iterator": "result = show(it(mx.io.ImageRecordUInt8Iter).next())",
    "int8_iterator": "result = show(it(mx.io.ImageRecordInt8Iter).next())",
    "unknown_argument": "result = it(rand_mirrored=True).batch_size",
    "ids": "result = it().next().index",
    "not_rounded": "result = [b.pad for b in it(batch_size=3, round_batch=False)]",
    "boxes": _BOXES + "x = boxes(); result = [show(x.next(), True), descs(x)]",
    **{
        f"boxes_{mode}_{height}_{width}": _BOXES
        + f"result = show(boxes(resize_mode='{mode}', data_shape=(3, {height}, {width})).next())"
        for mode in ("force", "fit", "shrink")
        for height, width in ((6, 6), (10, 20))
    },
    **{
        f"boxes_{name}": _BOXES + f"result = show(boxes({options}).next())"
        for name, options in {
            "padded": "label_pad_width=20, label_pad_value=-7",
            "estimated": "label_pad_width=-1",
            "resize": "resize=7",
            "mirrored": "rand_mirror_prob=1.0",
            "numbers": "mean_r=10, std_g=2, scale=0.5",
            "list": "path_imglist=path('b.lst', ''.join('%d\\t2\\t5\\t%d\\t.1\\t.2\\t.3\\t.4\\tx.png\\n' % (100 + i, i) for i in range(3)))",
        }.items()
    },
    "boxes_without_area": _BOXES
    + "write('bad', pictures[:1], [[2, 5, 0, .5, .5, .1, .1]]); result = boxes(path_imgrec=path('bad.rec'), batch_size=1).next().label[0]",
}

CASES = [
    (f"io_{group}_{name}", (prelude + _SHOW + snippet).strip())
    for group, prelude, table in (
        ("array", "", _ARRAYS),
        ("batch", "", _BATCHES),
        ("wrapped", "", _WRAPPED),
        ("file", _FILES, _TEXTS),
        ("picture", _PICTURES, _IMAGES),
    )
    for name, snippet in table.items()
]
