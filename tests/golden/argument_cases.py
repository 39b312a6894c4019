"""Golden cases of arguments: by which names they may be given, and what becomes of values at the edge."""

CREATION = [
    ("zeros_out", "o = nd.ones((2, 2)); r = nd.zeros((2, 2), out=o); result = [o, r is o]"),
    ("ones_out", "o = nd.zeros((2, 2)); r = nd.ones((2, 2), out=o); result = [o, r is o]"),
    ("zeros_out_of_another_shape", "result = nd.zeros((2, 2), out=nd.ones((2, 3)))"),
    ("eye_out", "o = nd.zeros((2, 2), dtype='int32'); nd.eye(2, dtype='int32', out=o); result = o"),
    ("creation_name", "result = [nd.zeros((2,), name='a'), nd.ones((2,), name='a'), nd.eye(1, name='a')]"),
    ("creation_default_stype", "result = [nd.zeros((2,), stype='default'), nd.zeros((1,), stype=None)]"),
    ("zeros_stype_csr", "result = nd.zeros((2, 2), stype='csr').stype"),
    ("zeros_stype_unknown", "result = nd.zeros((2, 2), stype='dense')"),
    ("zeros_unknown_keyword", "result = nd.zeros((2,), shapes=1)"),
    ("ones_unknown_keyword", "result = nd.ones((2,), shapes=1)"),
    ("full_unknown_keyword", "result = nd.full((2,), 1, shapes=1)"),
    ("sym_zeros_unknown_keyword", "result = mx.sym.zeros((2,), shapes=1).name"),
    ("array_wraps_int8", "result = nd.array([200, -200, 127], dtype='int8')"),
    ("array_wraps_uint8", "result = nd.array([300, -1], dtype='uint8')"),
    ("array_wraps_int32", "result = nd.array([2**40 + 5, -(2**31) - 1], dtype='int32')"),
    ("array_wraps_floats", "result = nd.array([200.5, -1.5], dtype='int8')"),
    ("array_wraps_nested", "result = nd.array([[200, 1], [1, 2]], dtype='int8')"),
    ("array_wraps_scalar", "result = nd.array([nd.array(200, dtype='int8').asscalar()])"),
    ("array_wraps_numpy", "result = nd.array(np.array([200, 300]), dtype='int8')"),
    ("array_too_large", "result = nd.array([2**70], dtype='int64')"),
    ("array_large_to_float", "result = nd.array([2**70])"),
    ("full_wraps", "result = [nd.full((2,), 200, dtype='int8'), nd.full((1,), -1, dtype='uint8')]"),
    ("set_wraps_number", "x = nd.zeros(2, dtype='int8'); x[:] = 200; result = x"),
    ("set_wraps_element", "x = nd.zeros(2, dtype='uint8'); x[0] = -1; result = x"),
    ("set_wraps_list", "x = nd.zeros(2, dtype='int8'); x[:] = [200, 1]; result = x"),
    ("set_wraps_numpy", "x = nd.zeros(2, dtype='int8'); x[:] = np.array([200, 1]); result = x"),
    ("add_wraps_number", "result = nd.ones(2, dtype='uint8') + 300"),
]

SHARED_MEMORY = [
    (
        "from_numpy_read_only",
        "a = np.ones(3, 'float32'); a.flags.writeable = 0; x = nd.from_numpy(a); x[:] = 5; nd.waitall(); result = a",
    ),
    (
        "from_numpy_twice",
        "a = np.ones(3, 'float32'); x, y = nd.from_numpy(a), nd.from_numpy(a); y[:] = 5; nd.waitall(); result = a, x",
    ),
    ("from_numpy_locks", "a = np.ones(3, 'float32'); nd.from_numpy(a); result = a.flags.writeable"),
    ("from_numpy_fortran", "result = nd.from_numpy(np.asfortranarray(np.ones((3, 2), 'float32')))"),
    ("from_numpy_fortran_copy", "result = nd.from_numpy(np.asfortranarray(np.ones((3, 2))), zero_copy=False)"),
    ("from_numpy_array_cls", "result = nd.from_numpy(ndarray=np.ones(3), zero_copy=True, array_cls=nd.NDArray)"),
    ("flatten_inplace", "x = nd.arange(6).reshape((2, 3, 1)); y = x.flatten(inplace=True); y[:] = 7; result = [x, y]"),
    ("flatten_not_inplace", "x = nd.arange(6).reshape((2, 3, 1)); y = x.flatten(); y[:] = 7; result = [x, y]"),
    ("expand_dims_inplace", "x = nd.arange(6); y = x.expand_dims(axis=-1, inplace=True); y[:] = 7; result = [x, y]"),
    ("expand_dims_inplace_no_axis", "result = nd.arange(6).expand_dims(3, inplace=True)"),
    ("squeeze_inplace", "x = nd.ones((2, 1, 3)); y = x.squeeze(inplace=True); y[:] = 7; result = [x, y]"),
    ("squeeze_axis_inplace", "x = nd.ones((1, 1, 3)); y = x.squeeze(axis=1, inplace=True); y[:] = 7; result = [x, y]"),
    ("squeeze_to_one_inplace", "x = nd.ones((1, 1)); y = x.squeeze(inplace=True); y[:] = 7; result = [x, y]"),
    ("squeeze_inplace_long_axis", "result = nd.ones((2, 1)).squeeze(axis=0, inplace=True)"),
    (
        "inplace_recorded",
        (
            "x = nd.array([1, 2, 3]); x.attach_grad()\n"
            "with autograd.record():\n"
            "    y = x.expand_dims(0, inplace=True) * x.expand_dims(1, inplace=True).flatten(inplace=True).squeeze()\n"
            "y.backward(); result = x.grad"
        ),
    ),
    ("as_np_ndarray_context", "result = str(nd.ones((2,), ctx=mx.cpu(1)).as_np_ndarray().ctx)"),
    ("as_np_ndarray_and_back", "result = str(nd.ones((2,), ctx=mx.cpu(1)).as_np_ndarray().as_nd_ndarray().ctx)"),
]

NAMES = [
    ("method_reshape_like_rhs", "result = nd.arange(6).reshape_like(rhs=nd.ones((2, 3)))"),
    ("method_broadcast_like_other", "result = nd.ones((1, 2)).broadcast_like(other=nd.ones((2, 2)))"),
    ("method_broadcast_like", "result = nd.ones((1, 2)).broadcast_like(nd.ones((2, 2)))"),
    ("method_broadcast_to_shape", "result = nd.ones((1, 2)).broadcast_to(shape=(2, 2))"),
    ("power_base_exp", "result = [nd.power(base=nd.array([2]), exp=3), nd.power(base=2, exp=nd.array([3, 4]))]"),
    ("maximum_lhs_rhs", "result = [nd.maximum(lhs=nd.array([2, 4]), rhs=3), nd.minimum(lhs=3, rhs=nd.array([2, 4]))]"),
    ("split_v2_ary", "result = nd.split_v2(ary=nd.arange(6), indices_or_sections=2)"),
    ("moveaxis_names", "result = nd.moveaxis(tensor=nd.ones((1, 2, 3)), source=0, destination=2).shape"),
    ("concatenate_names", "result = nd.concatenate(arrays=[nd.ones(1), nd.ones(2)], axis=0, always_copy=True)"),
    ("add_n_num_args", "result = nd.add_n(nd.ones(2), nd.ones(2), num_args=2)"),
    ("stack_num_args", "result = nd.stack(nd.ones(2), nd.ones(2), axis=1, num_args=2)"),
    ("exp_unknown_keyword", "result = nd.exp(nd.ones(2), shapes=1)"),
    ("sum_unknown_keyword", "result = nd.sum(nd.ones(2), shapes=1)"),
    (
        "sym_maximum_left_right",
        "s = mx.sym.maximum(left=mx.sym.var('x'), right=2); result = s.eval(x=nd.array([1, 3]))",
    ),
    (
        "sym_maximum_number_left",
        "s = mx.sym.maximum(left=2, right=mx.sym.var('x')); result = s.eval(x=nd.array([1, 3]))",
    ),
    ("sym_power_base_exp", "s = mx.sym.power(base=mx.sym.var('x'), exp=2); result = s.eval(x=nd.array([1, 3]))"),
    ("sym_pow_base_exp", "s = mx.sym.pow(base=2, exp=mx.sym.var('x')); result = s.eval(x=nd.array([1, 3]))"),
    ("sym_hypot_left_right", "s = mx.sym.hypot(left=mx.sym.var('x'), right=4); result = s.eval(x=nd.array([3]))"),
    (
        "sym_of_two_numbers",
        "result = [mx.sym.maximum(3, 4), mx.sym.minimum(3, 4), mx.sym.pow(3, 4), mx.sym.hypot(3, 4)]",
    ),
    (
        "sym_split_v2_ary",
        "s = mx.sym.split_v2(ary=mx.sym.var('x'), indices_or_sections=2); result = s.eval(x=nd.arange(4))",
    ),
    (
        "sym_reshape_like",
        "x, y = mx.sym.var('x'), mx.sym.var('y')\nresult = x.reshape_like(y).infer_shape(x=(6,), y=(2, 3))[1]",
    ),
    ("sym_reshape_like_rhs", "result = mx.sym.var('x').reshape_like(rhs=mx.sym.var('y'), name='z').list_outputs()"),
    ("sym_broadcast_to", "result = mx.sym.var('x').broadcast_to((2, 3)).infer_shape(x=(1, 3))[1]"),
    ("sym_broadcast_to_shape", "result = mx.sym.var('x').broadcast_to(shape=(2, 3)).infer_shape(x=(1, 3))[1]"),
    ("sym_flatten_inplace", "result = mx.sym.var('x').flatten(inplace=True).infer_shape(x=(2, 3, 4))[1]"),
    ("sym_expand_dims_inplace", "result = mx.sym.var('x').expand_dims(1, inplace=False).infer_shape(x=(2, 3))[1]"),
    ("sym_squeeze_inplace", "result = mx.sym.var('x').squeeze(axis=1, inplace=True).infer_shape(x=(2, 1))[1]"),
    ("set_recording_name", "result = autograd.set_recording(is_recording=False)"),
    ("list_attr_recursive", "result = sorted(mx.sym.var('x', lr_mult=2).list_attr(recursive=False).items())"),
    ("attr_scope_get_attr", "result = mx.AttrScope(a='b').get(attr={'c': 'd'})['c']"),
]

RANDOM = [
    ("sample_normal_names", "result = nd.sample_normal(mu=nd.array([1, 2]), sigma=nd.array([0, 0]))"),
    ("sample_normal_other_names", "result = nd.sample_normal(loc=nd.array([1, 2]), scale=nd.array([0, 0]))"),
    ("sample_uniform_names", "result = nd.sample_uniform(low=nd.array([1]), high=nd.array([1]), shape=(2,))"),
    ("sample_uniform_unknown_keyword", "result = nd.sample_uniform(nd.array([0]), nd.array([1]), shapes=1)"),
    ("random_uniform_unknown_keyword", "result = nd.random.uniform(shapes=1)"),
    ("random_normal_unknown_keyword", "result = nd.random.normal(shapes=1)"),
    ("random_uniform_operator_unknown_keyword", "result = nd.random_uniform(shapes=1)"),
    ("random_uniform_name", "result = nd.random.uniform(2, 2, shape=2, name='a')"),
    ("random_uniform_operator_order", "result = nd.random_uniform(2, 2, (2,), mx.cpu(), 'float64')"),
    ("random_randint_operator_order", "result = nd.random_randint(2, 3, (2,), mx.cpu(), 'int64')"),
    ("random_ctx_as_text", "result = nd.uniform(low=2, high=2, shape=(2,), ctx='cpu(0)')"),
    ("random_normal_like_names", "result = nd.random.normal_like(data=nd.ones((2,)), loc=3, scale=1).shape"),
    ("sym_random_uniform_name", "result = mx.sym.random.uniform(0, 1, (2,), name='u').list_outputs()"),
    ("sym_random_multinomial", "result = mx.sym.random.multinomial(mx.sym.var('p'), name='m').list_outputs()"),
    ("sym_random_unknown_keyword", "result = mx.sym.random.uniform(shapes=1).name"),
]

SHAPES = [
    ("slice_step_empty_list", "result = nd.slice(nd.arange(6), begin=(1,), end=(5,), step=[])"),
    ("slice_step_empty_tuple", "result = nd.slice(nd.arange(6), begin=(1,), end=(5,), step=())"),
    ("reshape_target_shape", "result = nd.Reshape(nd.arange(6), target_shape=(2, 0))"),
    ("reshape_target_shape_exact", "result = nd.Reshape(nd.arange(6), target_shape=(2, 3))"),
    ("reshape_keep_highest", "result = nd.Reshape(nd.ones((3, 2)), target_shape=(0, 2), keep_highest=True)"),
    ("reshape_keep_highest_of_any", "result = nd.Reshape(nd.ones((3, 2)), target_shape=(7, 2), keep_highest=True)"),
    ("reshape_shape_wins", "result = nd.Reshape(nd.ones((3, 2)), shape=(6,), target_shape=(2, 3))"),
    ("reshape_target_shape_misfit", "result = nd.Reshape(nd.ones((4, 2)), target_shape=(4, 5)).shape"),
    (
        "sym_reshape_target_shape",
        "s = mx.sym.Reshape(mx.sym.var('x'), target_shape=(2, 0)); result = s.infer_shape(x=(6,))",
    ),
    (
        "sym_reshape_keep_highest",
        (
            "s = mx.sym.Reshape(mx.sym.var('x'), target_shape=(0, 2), keep_highest=True)\n"
            "result = s.eval(x=nd.ones((3, 2)))"
        ),
    ),
    ("gather_nd_out_of_range", "result = nd.gather_nd(nd.ones((2, 2)), nd.array([[0, 5], [0, 1]])).asnumpy()"),
]

_PRELU = [
    ((6, 4), (6, 4)), ((6, 4), (6, 1)), ((6, 4), (1, 4)), ((6, 4), (6,)), ((6, 4), (4,)), ((6, 4), (1,)),
    ((6, 4), (1, 1)), ((6, 4), (3,)), ((6, 4), (4, 6)), ((24,), (24,)), ((24,), (1,)), ((2, 3, 4), (3,)),
    ((2, 3, 4), (1, 3)), ((2, 3, 4), (2, 3)), ((2, 3, 4), (2,)), ((2, 3, 4), (4,)), ((2, 2, 6), (2, 1)),
    ((2, 2, 6), (2,)), ((2, 2, 6), (2, 2)), ((2, 3, 4), (3, 4)), ((1, 2, 3, 4), (2,)), ((1, 2, 3, 4), (1, 2)),
]  # fmt: skip
PRELU = [
    (
        f"prelu_{'x'.join(map(str, data))}_by_{'x'.join(map(str, gamma))}",
        (
            f"result = nd.LeakyReLU(-nd.arange(1, 25).reshape({data}), "
            f"nd.arange(1, int(np.prod({gamma})) + 1).reshape({gamma}), act_type='prelu')"
        ),
    )
    for data, gamma in _PRELU
] + [
    (
        "prelu_gradients_of_slopes_each",
        (
            "x = nd.array([[-1, 2], [-3, -4]]); g = nd.array([[1, 2], [3, 4]]); x.attach_grad(); g.attach_grad()\n"
            "with autograd.record():\n"
            "    y = nd.LeakyReLU(x, g, act_type='prelu')\n"
            "y.backward(nd.array([[1, 2], [3, 4]])); result = [x.grad, g.grad]"
        ),
    ),
    (
        "prelu_gradients_of_slopes_of_rows",
        (
            "x = nd.array([[-1, 2], [-3, -4]]); g = nd.array([[1], [3]]); x.attach_grad(); g.attach_grad()\n"
            "with autograd.record():\n"
            "    y = nd.LeakyReLU(x, g, act_type='prelu')\n"
            "y.backward(nd.array([[1, 2], [3, 4]])); result = [x.grad, g.grad]"
        ),
    ),
]

_INTEGERS = (
    "x = nd.array([1, 2], dtype='int32'); x.attach_grad(); w = nd.array([[3, 4], [4, 5], [5, 6]]); w.attach_grad()\n"
)
INTEGERS = [
    ("integer_attach_grad", _INTEGERS + "result = [x.grad, x.grad.dtype]"),
    ("bool_attach_grad", "x = nd.array([1, 0], dtype='bool'); x.attach_grad(); result = x.grad"),
    *(
        (
            f"integer_gradient_{name}",
            f"{_INTEGERS}with autograd.record():\n    y = {code}\ny.backward()\nresult = [x.grad, w.grad]",
        )
        for name, code in {
            "of_product": "x * 2",
            "of_sum": "x.sum()",
            "of_cast": "x.astype('float32') * 2.5",
            "of_exp": "nd.exp(x.astype('float32'))",
            "of_take": "nd.take(w, x)",
            "of_embedding_rows": "nd.take(w, x, axis=0) * 3",
            "of_one_hot": "nd.one_hot(x, 3)",
            "of_pick": "nd.pick(w[0:2], x, mode='clip')",
            "mixed": "w[0] * (x * 2).astype('float32')",
            "untouched": "w * 2",
            "of_square": "nd.square(x)",
            "of_negative": "-x",
            "of_integer_exp": "nd.exp(x)",
            "of_part": "nd.split(x, num_outputs=2, axis=0)[1]",
        }.items()
    ),
    (
        "integer_gradient_added",
        (
            "x = nd.array([1, 2], dtype='int32'); x.attach_grad('add'); x.grad[:] = 7\n"
            "with autograd.record():\n    y = x * 2\ny.backward(); result = x.grad"
        ),
    ),
    (
        "integer_mark_variables",
        (
            "x, g = nd.array([1, 2], dtype='int32'), nd.array([5, 5], dtype='int32'); autograd.mark_variables(x, g)\n"
            "with autograd.record():\n    y = x.astype('float32') * 3\ny.backward(); result = g"
        ),
    ),
    ("attach_grad_default_stype", "x = nd.ones(2); x.attach_grad(stype='default'); result = x.grad"),
    ("attach_grad_stype_csr", "x = nd.ones((2, 2)); x.attach_grad(stype='csr'); result = x.grad.stype"),
]

CURRENT = [
    ("default_ctx", "with mx.cpu(1):\n    result = str(mx.Context.default_ctx)"),
    (
        "default_ctx_set",
        "mx.Context.default_ctx = mx.cpu(2)\nresult = str(mx.current_context())\nmx.Context.default_ctx = mx.cpu(0)",
    ),
    ("name_manager_current", "with mx.name.Prefix('p_'):\n    result = mx.name.NameManager.current.get(None, 'h')"),
    ("attr_scope_current", "with mx.AttrScope(a='b'):\n    result = mx.AttrScope.current.get(None)['a']"),
]

EXECUTOR = [
    *(
        (f"copy_params_from_unknown_{name}", f"e = mx.sym.var('x').bind(mx.cpu(), [nd.ones(2)]); {call}; result = 1")
        for name, call in {
            "argument": "e.copy_params_from({'z': nd.ones(2)})",
            "state": "e.copy_params_from({}, {'z': nd.ones(2)})",
            "allowed": "e.copy_params_from({'z': nd.ones(2)}, allow_extra_params=True)",
        }.items()
    ),
]

CASES = CREATION + SHARED_MEMORY + NAMES + RANDOM + SHAPES + PRELU + INTEGERS + CURRENT + EXECUTOR
