"""Golden cases of what Gluon's helpers do with data: splitting, clipping, datasets, samplers, batches, loaders."""

# ruff: noqa: E501 - one case is one line of text

from textwrap import dedent

_PRELUDE = "D, U = mx.gluon.data, mx.gluon.utils\nfive = D.SimpleDataset([1, 2, 3, 4, 5])\n"

_UTILS = {
    **{
        f"split_{length}_{count}": f"result = U.split_data(nd.arange({length}), {count}, even_split=False)"
        for length, count in ((5, 1), (5, 2), (5, 3), (5, 6), (7, 3), (8, 4), (11, 4))
    },
    "split_axis": "result = U.split_data(nd.arange(24).reshape((2, 4, 3)), 2, batch_axis=1)",
    "split_axis_uneven": "result = U.split_data(nd.arange(24).reshape((2, 4, 3)), 3, batch_axis=1, even_split=False)",
    "split_uneven": "U.split_data(nd.arange(5), 2)",
    "split_numpy": "result = U.split_data(np.arange(4), 2)",
    "split_np": "result = U.split_data(mx.np.arange(4), 2)",
    "split_list": "U.split_data([1, 2], 2)",
    "load_one": "x = nd.arange(4); result = U.split_and_load(x, [mx.cpu()])[0] is x",
    "load_two": "parts = U.split_and_load(nd.arange(4), [mx.cpu(0), mx.cpu(1)]); "
    "result = parts + [str(x.context) for x in parts]",
    "load_numpy": "result = U.split_and_load(np.arange(4), [mx.cpu(0), mx.cpu(1)])",
    "load_lists": "result = U.split_and_load([[1, 2], [3, 4]], [mx.cpu(0), mx.cpu(1)])",
    "load_uneven": "result = U.split_and_load(nd.arange(5), [mx.cpu(0), mx.cpu(1)], even_split=False)",
    "load_uneven_refused": "U.split_and_load(nd.arange(5), [mx.cpu(0), mx.cpu(1)])",
    "load_context": "U.split_and_load(nd.arange(4), mx.cpu())",
    "clip": "x = [nd.array([3, 4]), nd.array([[12.]])]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_within": "x = [nd.array([3, 4]), nd.array([12.])]; result = [U.clip_global_norm(x, 100), *x]",
    "clip_unchecked": "x = [nd.array([3, 4]), nd.array([12.])]; "
    "result = [U.clip_global_norm(x, 1, check_isfinite=False), *x]",
    "clip_zero": "x = [nd.zeros(2)]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_nan": "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
    "    x = [nd.array([3, np.nan]), nd.ones(1)]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_infinite": "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
    "    x = [nd.array([3, np.inf]), nd.ones(1)]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_infinite_unchecked": "x = [nd.array([3, np.inf])]; result = [U.clip_global_norm(x, 1, False), *x]",
    "clip_double": "x = [nd.array([3, 4], dtype='float64')]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_contexts": "x = [nd.array([3, 4]), nd.array([12.], ctx=mx.cpu(1))]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_half": "x = [nd.array([3, 4], dtype='float16')]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_mixed": "x = [nd.array([3], dtype='float64'), nd.array([4])]; result = [U.clip_global_norm(x, 1), *x]",
    "clip_integers": "U.clip_global_norm([nd.array([3, 4], dtype='int32')], 1)",
    "clip_none": "U.clip_global_norm([], 1)",
    "shapes": "result = [U.shape_is_known(x) for x in ((3, 4), (3, 0), (), None)]",
    "shapes_np": "with mx.util.np_shape(True):\n    result = [U.shape_is_known(x) for x in ((3, 4), (3, 0), (3, -1), (), None)]",
    "shape_negative": "U.shape_is_known((-1, 2))",
    "indent": "result = U._indent('a\\nb\\nc', 2)",
    "brief": "result = [U._brief_print_list(list('abcdefghij')[:n], 4) for n in range(8)]",
    "repository": "result = [U._get_repo_url(), U._get_repo_file_url('a/b', 'c.txt')]",
}

_DATA = {
    "sequential": "result = [list(D.SequentialSampler(4)), list(D.SequentialSampler(3, 2)), len(D.SequentialSampler(3, 2))]",
    "random": "np.random.seed(7); s = D.RandomSampler(10); result = [[int(i) for i in s], [int(i) for i in s], len(s)]",
    "random_seeds_of_mx": "mx.random.seed(7); np.random.seed(3); result = [int(i) for i in D.RandomSampler(6)]",
    "filter_sampler": "s = D.FilterSampler(lambda x: x % 2, five); result = [list(s), len(s)]",
    **{
        f"batches_{last}": f"s = D.BatchSampler(D.SequentialSampler(10), 3, {last!r})\n"
        "result = [len(s), list(s), len(s), list(s), len(s), list(s)]"
        for last in ("keep", "discard", "rollover")
    },
    "batches_unknown": "list(D.BatchSampler(D.SequentialSampler(10), 3, 'no'))",
    "items": "result = [five[0], five[-1], len(five), list(five)]",
    "item_missing": "five[7]",
    "transform": "t = five.transform(lambda x: 2 * x); result = [t[1], len(t), list(t)]",
    "transform_now": "t = five.transform(lambda x: 2 * x, lazy=False); result = [t[1], len(t), type(t).__name__]",
    "transform_calls": "calls = []; t = five.transform(lambda x: calls.append(x)); t[0]; t[0]; result = len(calls)",
    "transform_of_tuples": "result = D.ArrayDataset([1, 2], [3, 4]).transform(lambda a, b: a + b)[1]",
    "transform_first": "t = D.ArrayDataset([1, 2], [3, 4]).transform_first(lambda a: 10 * a); result = [t[0], t[1]]",
    "transform_first_of_one": "result = list(five.transform_first(lambda a: 10 * a))",
    "filter": "f = five.filter(lambda x: x % 2); result = [list(f), len(f)]",
    "shard_2": "result = [list(five.shard(2, i)) for i in range(2)]",
    "shard_3": "result = [list(five.shard(3, i)) for i in range(3)]",
    "shard_7": "result = [list(five.shard(7, i)) for i in range(7)]",
    "shard_missing": "five.shard(2, 2)",
    "shard_none": "five.shard(0, 0)",
    "shard_fraction": "five.shard(2.5, 0)",
    "take": "result = [list(five.take(n)) for n in (0, 2, 5, 9, None)]",
    "sample": "s = five.sample(D.SequentialSampler(3, 1)); result = [list(s), len(s), s[2]]",
    "sample_list": "five.sample([1, 2])",
    "composed": "result = list(five.filter(lambda x: x > 1).take(3).transform(lambda x: -x).shard(2, 0))",
    "arrays_of_one": "a = D.ArrayDataset(nd.array([[1, 2], [3, 4]])); result = [a[1], len(a)]",
    "arrays_of_numbers": "a = D.ArrayDataset(nd.array([1, 2])); result = [a[1], type(a[1]).__name__]",
    "arrays": "a = D.ArrayDataset(nd.array([[1, 2], [3, 4]]), np.array([5, 6]), [7, 8], nd.array([9, 10])); "
    "result = a[1]",
    "arrays_lengths": "D.ArrayDataset([1, 2], [1])",
    "arrays_none": "D.ArrayDataset()",
    "base_item": "D.Dataset()[0]",
    "base_length": "len(D.Dataset())",
    "sampler_items": "iter(D.Sampler())",
}

_BATCHED = {
    "numbers": "[1, 2, 3]",
    "fractions": "[1.5, 2]",
    "float32": "[np.float32(1), np.float32(2)]",
    "bools": "[True, False]",
    "rows32": "[np.ones(2, 'float32')] * 2",
    "rows64": "[np.ones(2)] * 2",
    "bytes": "[np.ones(2, 'uint8')] * 2",
    "arrays": "[nd.ones(2), nd.zeros(2)]",
    "arrays_int": "[nd.ones(2, dtype='int32')] * 2",
    "arrays_of_one": "[nd.array([3])] * 2",
    "tuples": "[(1, 2.5), (3, 4.5)]",
    "pairs": "[(nd.ones(2), 1), (nd.zeros(2), 0)]",
    "lists": "[[1, 2], [3, 4]]",
    "nested": "[((nd.ones(1), 2), 3)] * 2",
    "words": "['a', 'b']",
    "shapes": "[nd.ones(2), nd.ones(3)]",
    "ragged": "[np.ones(2), np.ones(3)]",
    "none": "[None, None]",
    "empty": "[]",
    "dicts": "[{'a': 1}]",
}

_LOADERS = {
    "default": "batch_size=2, last_batch='discard'",
    "rollover": "batch_size=2, last_batch='rollover'",
    "sampler": "batch_size=2, last_batch='discard', sampler=D.SequentialSampler(4, 1)",
    "batch_sampler": "batch_sampler=D.BatchSampler(D.SequentialSampler(4), 2)",
    "batchify": "batch_size=2, batchify_fn=list",
    "shuffled": "batch_size=2, last_batch='discard', shuffle=True",
    "negative_workers": "batch_size=2, last_batch='discard', num_workers=-1",
    "pinned": "batch_size=2, last_batch='discard', pin_memory=True",
    "no_size": "",
    "shuffled_sampler": "batch_size=2, shuffle=True, sampler=D.SequentialSampler(5)",
    "sampler_and_size": "batch_sampler=D.BatchSampler(D.SequentialSampler(5), 2), batch_size=2",
    "sampler_and_shuffle": "batch_sampler=D.BatchSampler(D.SequentialSampler(5), 2), shuffle=True",
    "sampler_and_last": "batch_sampler=D.BatchSampler(D.SequentialSampler(5), 2), last_batch='keep'",
    "last_unknown": "batch_size=2, last_batch='no'",
    "no_time": "batch_size=2, timeout=0",
}

_LOADED = {
    "columns": "d = D.ArrayDataset(nd.arange(12).reshape((6, 2)), np.arange(6), nd.arange(6))\n"
    "result = list(D.DataLoader(d, 3))",
    "column": "result = list(D.DataLoader(D.ArrayDataset(np.arange(12.).reshape((6, 2))), 3))",
    "list_of_rows": "result = list(D.DataLoader([[1, 2], [3, 4]], 1))",
    "array": "result = list(D.DataLoader(nd.arange(4).reshape((2, 2)), 1))",
    "columns_shuffled": "np.random.seed(5)\n"
    "d = D.ArrayDataset(nd.arange(12).reshape((6, 2)), np.arange(6, dtype='int32'))\n"
    "loader = D.DataLoader(d, 3, shuffle=True)\nresult = [list(loader), list(loader), len(loader)]",
    "transformed": "d = D.ArrayDataset(nd.arange(4), nd.arange(4)).transform(lambda a, b: (a * a, -b))\n"
    "result = list(D.DataLoader(d, 2))",
    "drawn_with_iteration": "np.random.seed(5); l = D.DataLoader(D.SimpleDataset(list(range(6))), 3, shuffle=True)\n"
    "i = iter(l); np.random.seed(6); result = list(i)",
    "interleaved": "l = D.DataLoader(five, 1); a, b = iter(l), iter(l)\n"
    "result = [next(a), next(a), next(b), next(a), next(b)]",
    "contexts": "result = [str(x.context) for x in D.DataLoader(five, 5, pin_memory=True, pin_device_id=1)]",
    "to_context": "x = D.dataloader._as_in_context([nd.ones(1), (nd.ones(2), 3)], mx.cpu(1))\n"
    "result = [x, str(x[0].context), str(x[1][0].context)]",
}

CASES = [
    *((f"utils_{name}", f"{_PRELUDE}{text}") for name, text in _UTILS.items()),
    *((f"data_{name}", f"{_PRELUDE}{dedent(text)}") for name, text in _DATA.items()),
    *(
        (f"batchify_{name}", f"{_PRELUDE}result = D.dataloader.default_batchify_fn({items})")
        for name, items in _BATCHED.items()
    ),
    *(
        (
            f"loader_{name}",
            f"{_PRELUDE}np.random.seed(11); l = D.DataLoader(five, {settings}); result = [len(l), list(l), list(l), len(l)]",
        )
        for name, settings in _LOADERS.items()
    ),
    *((f"loaded_{name}", f"{_PRELUDE}{text}") for name, text in _LOADED.items()),
]
