"""Golden cases of recording, backward, gradients of gradients, and the flags."""

from textwrap import dedent

REQUESTS = [
    (
        "grad_before_backward_is_zeros",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        result = x.grad
        """,
    ),
    ("grad_of_array_without_attach_grad", "result = nd.array([1]).grad"),
    (
        "grad_req_write_overwrites",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        for _ in range(2):
            with autograd.record():
                y = x * x
            y.backward()
        result = x.grad
        """,
    ),
    (
        "grad_req_add_accumulates",
        """
        x = nd.array([1, 2]); x.attach_grad(grad_req='add')
        for _ in range(3):
            with autograd.record():
                y = x * x
            y.backward()
        result = x.grad
        """,
    ),
    (
        "grad_req_null_before_backward",
        """
        x = nd.array([1, 2]); x.attach_grad(grad_req='null')
        with autograd.record():
            y = x * x
        result = x.grad
        """,
    ),
    (
        "grad_req_null_backward",
        """
        x = nd.array([1, 2]); x.attach_grad(grad_req='null')
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "grad_req_null_beside_write",
        """
        x = nd.array([2.0]); w = nd.array([3.0]); x.attach_grad('null'); w.attach_grad()
        with autograd.record():
            y = x * w
        y.backward()
        result = [x.grad, w.grad]
        """,
    ),
    ("grad_req_unknown", "x = nd.array([1]); x.attach_grad(grad_req='sum'); result = x.grad"),
    (
        "grad_keeps_identity_across_backward",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        g = x.grad
        with autograd.record():
            y = x * x
        y.backward()
        result = [g, x.grad is g]
        """,
    ),
    (
        "grad_object_is_the_same_each_time",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        result = x.grad is x.grad
        """,
    ),
    (
        "grad_written_by_the_user_is_kept_for_add",
        """
        x = nd.array([1, 2]); x.attach_grad('add'); x.grad[:] = 10
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "zero_grad_by_assignment",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        x.grad[:] = 0
        result = x.grad
        """,
    ),
    (
        "zero_grad_method",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        x.zero_grad()
        result = x.grad
        """,
    ),
    (
        "attach_grad_twice_resets",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        x.attach_grad()
        result = x.grad
        """,
    ),
    (
        "attach_grad_twice_cuts_old_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        x.attach_grad()
        y.backward()
        result = x.grad
        """,
    ),
    (
        "attach_grad_twice_old_gradient_object",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        g = x.grad
        x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        result = [g, x.grad]
        """,
    ),
    (
        "attach_grad_on_intermediate_cuts",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            y.attach_grad()
            z = y * 3
        z.backward()
        result = [x.grad, y.grad]
        """,
    ),
    (
        "attach_grad_on_intermediate_outside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.attach_grad()
        with autograd.record():
            z = y * 3
        z.backward()
        result = [x.grad, y.grad]
        """,
    ),
    ("attach_grad_returns_none", "result = nd.array([1]).attach_grad()"),
    ("attach_grad_dtype_follows_array", "x = nd.array([1], dtype='float64'); x.attach_grad(); result = x.grad.dtype"),
    (
        "attach_grad_on_integers",
        """
        x = nd.array([1, 2], dtype='int32'); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    ("attach_grad_stype_argument", "x = nd.array([1]); x.attach_grad(stype='default'); result = x.grad.stype"),
    (
        "unused_leaf_keeps_its_gradient",
        """
        x = nd.array([1.0]); w = nd.array([2.0]); x.attach_grad(); w.attach_grad(); w.grad[:] = 7
        with autograd.record():
            y = x * 2
        y.backward()
        result = [x.grad, w.grad]
        """,
    ),
    (
        "leaf_used_twice",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x + x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "diamond",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            a = x * 2
            y = a * a + a
        y.backward()
        result = x.grad
        """,
    ),
    (
        "mark_variables",
        """
        x = nd.array([2.0]); g = nd.zeros((1,)); autograd.mark_variables([x], [g])
        with autograd.record():
            y = x * x
        y.backward()
        result = [g, x.grad]
        """,
    ),
    (
        "mark_variables_single",
        """
        x = nd.array([2.0]); g = nd.zeros((1,)); autograd.mark_variables(x, g)
        with autograd.record():
            y = x * x
        y.backward()
        result = g
        """,
    ),
    (
        "mark_variables_add",
        """
        x = nd.array([2.0]); g = nd.ones((1,)); autograd.mark_variables([x], [g], grad_reqs='add')
        with autograd.record():
            y = x * x
        y.backward()
        result = g
        """,
    ),
    (
        "mark_variables_list_of_requests",
        """
        x, w = nd.array([2.0]), nd.array([3.0])
        g, h = nd.ones((1,)), nd.ones((1,))
        autograd.mark_variables([x, w], [g, h], ['add', 'write'])
        with autograd.record():
            y = x * w
        y.backward()
        result = [g, h]
        """,
    ),
    (
        "mark_variables_other_shape",
        """
        x = nd.array([2.0]); g = nd.zeros((2,)); autograd.mark_variables([x], [g])
        with autograd.record():
            y = x * x
        y.backward()
        result = g
        """,
    ),
]

BACKWARD = [
    (
        "backward_default_head_gradient_is_ones",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_returns_none",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = y.backward()
        """,
    ),
    (
        "backward_head_gradient",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(nd.array([1, 10, 100]))
        result = x.grad
        """,
    ),
    (
        "backward_head_gradient_keyword",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(out_grad=nd.array([1, 10, 100]))
        result = x.grad
        """,
    ),
    (
        "backward_head_gradient_numpy",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(np.ones(3, 'float32'))
        result = x.grad
        """,
    ),
    (
        "backward_head_gradient_other_dtype",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(nd.ones((3,), dtype='float64'))
        result = x.grad
        """,
    ),
    (
        "backward_twice",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_twice_with_retain_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(retain_graph=True)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_twice_with_retain_graph_add",
        """
        x = nd.array([1, 2]); x.attach_grad('add')
        with autograd.record():
            y = x * x
        y.backward(retain_graph=True)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_three_times_after_retain",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(retain_graph=True)
        y.backward()
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_two_heads_of_a_shared_part",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            a = x * x
            y, z = a * 2, a * 3
        y.backward()
        z.backward()
        result = x.grad
        """,
    ),
    (
        "backward_inside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            y.backward()
        result = x.grad
        """,
    ),
    ("backward_of_array_not_recorded", "x = nd.array([1, 2]); y = x * x; y.backward(); result = y"),
    (
        "backward_of_array_without_marked_leaf",
        """
        x = nd.array([1, 2])
        with autograd.record():
            y = x * x
        y.backward()
        result = y
        """,
    ),
    (
        "backward_of_array_computed_outside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "backward_of_a_leaf",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        x.backward()
        result = x.grad
        """,
    ),
    (
        "backward_of_a_leaf_with_head_gradient",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        x.backward(nd.array([4, 5, 6]))
        result = x.grad
        """,
    ),
    (
        "backward_of_several_heads",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y, z = x * x, x * 3
        autograd.backward([y, z])
        result = x.grad
        """,
    ),
    (
        "backward_of_several_heads_with_gradients",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y, z = x * x, x * 3
        autograd.backward([y, z], [nd.array([1, 1, 2]), nd.array([10, 0, 1])])
        result = x.grad
        """,
    ),
    (
        "backward_of_several_heads_one_none",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y, z = x * x, x * 3
        autograd.backward([y, z], [None, nd.array([10, 0, 1])])
        result = x.grad
        """,
    ),
    (
        "backward_of_the_same_head_twice",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.backward([y, y])
        result = x.grad
        """,
    ),
    (
        "backward_of_head_and_its_ancestor",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            z = y * 2
        autograd.backward([y, z])
        result = x.grad
        """,
    ),
    (
        "backward_of_leaf_and_function",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.backward([x, y])
        result = x.grad
        """,
    ),
    (
        "backward_head_counts_differ",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.backward([y], [nd.ones((3,)), nd.ones((3,))])
        result = x.grad
        """,
    ),
    (
        "backward_single_head_function",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.backward(y)
        result = x.grad
        """,
    ),
    ("backward_empty_heads", "result = autograd.backward([])"),
    (
        "backward_of_one_output_of_split",
        """
        x = nd.arange(4)
        x.attach_grad()
        with autograd.record():
            a, b = nd.split(x, num_outputs=2, axis=0)
            y = a * 3
        y.backward()
        result = x.grad
        """,
    ),
    (
        "graph_spans_two_record_scopes",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        with autograd.record():
            z = y * 2
        z.backward()
        result = x.grad
        """,
    ),
    (
        "graph_cut_by_pause",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            with autograd.pause():
                a = y * 2
            z = y + a
        z.backward()
        result = x.grad
        """,
    ),
    (
        "leaf_changed_between_record_and_backward",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        x[:] = 10
        y.backward()
        result = x.grad
        """,
    ),
    (
        "leaf_changed_before_linear_backward",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
        x[:] = 10
        y.backward()
        result = x.grad
        """,
    ),
    (
        "output_changed_before_backward",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.exp(x * 0)
        y[:] = 10
        y.backward()
        result = x.grad
        """,
    ),
    (
        "deep_chain",
        """
        x = nd.array([1.0]); x.attach_grad()
        with autograd.record():
            y = x
            for _ in range(3000):
                y = y + x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "asnumpy_inside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            a = y.asnumpy()
        y.backward()
        result = [a, x.grad]
        """,
    ),
    (
        "numpy_constant_inside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * nd.array(np.array([1, 2, 3]))
        y.backward()
        result = x.grad
        """,
    ),
]

FLAGS = [
    ("flags_outside", "result = [autograd.is_recording(), autograd.is_training()]"),
    (
        "flags_record",
        """
        with autograd.record():
            result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "flags_record_predicting",
        """
        with autograd.record(train_mode=False):
            result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "flags_pause",
        """
        with autograd.pause():
            result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "flags_pause_training",
        """
        with autograd.pause(train_mode=True):
            result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "flags_pause_in_record",
        """
        with autograd.record():
            with autograd.pause():
                a = [autograd.is_recording(), autograd.is_training()]
            b = [autograd.is_recording(), autograd.is_training()]
        result = [a, b]
        """,
    ),
    (
        "flags_train_mode",
        """
        with autograd.train_mode():
            result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "flags_predict_mode_in_record",
        """
        with autograd.record():
            with autograd.predict_mode():
                a = [autograd.is_recording(), autograd.is_training()]
            b = [autograd.is_recording(), autograd.is_training()]
        result = [a, b]
        """,
    ),
    (
        "flags_record_in_predict_mode",
        """
        with autograd.predict_mode():
            with autograd.record():
                a = [autograd.is_recording(), autograd.is_training()]
            b = [autograd.is_recording(), autograd.is_training()]
        result = [a, b]
        """,
    ),
    (
        "flags_nested_record",
        """
        with autograd.record():
            with autograd.record(train_mode=False):
                a = autograd.is_training()
            result = [a, autograd.is_training()]
        """,
    ),
    (
        "flags_restored_after_exception",
        """
        try:
            with autograd.record():
                raise KeyError
        except KeyError:
            pass
        result = [autograd.is_recording(), autograd.is_training()]
        """,
    ),
    (
        "record_yields_none",
        """
        with autograd.record() as scope:
            result = scope
        """,
    ),
    (
        "record_scope_entered_twice",
        """
        scope = autograd.record()
        with scope:
            a = autograd.is_recording()
        with scope:
            b = autograd.is_recording()
        result = [a, b, autograd.is_recording()]
        """,
    ),
    (
        "record_as_decorator",
        """
        @autograd.record()
        def f():
            return autograd.is_recording()
        result = f()
        """,
    ),
    (
        "set_recording_returns_previous",
        """
        a = autograd.set_recording(True)
        b = autograd.set_recording(False)
        result = [a, b, autograd.is_recording()]
        """,
    ),
    (
        "set_training_returns_previous",
        """
        a = autograd.set_training(True); b = autograd.set_training(False); result = [a, b]
        """,
    ),
    (
        "flags_in_another_thread",
        """
        import threading
        result = []
        with autograd.record():
            t = threading.Thread(target=lambda: result.append(autograd.is_recording()))
            t.start()
            t.join()
        """,
    ),
    (
        "backward_train_mode_flag_afterwards",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward(train_mode=False)
        result = [x.grad, autograd.is_training()]
        """,
    ),
    (
        "dropout_in_record",
        """
        x = nd.ones((50, 50))
        with autograd.record():
            y = nd.Dropout(x, p=0.5)
        result = [bool((y == 0).sum() > 800), bool((y == 2).sum() > 800), bool(((y == 0) + (y == 2)).min())]
        """,
    ),
    ("dropout_outside_record", "result = nd.Dropout(nd.ones((3,)), p=0.5)"),
    (
        "dropout_in_record_predicting",
        """
        with autograd.record(train_mode=False):
            result = nd.Dropout(nd.ones((3,)), p=0.5)
        """,
    ),
    (
        "dropout_in_train_mode",
        """
        with autograd.train_mode():
            y = nd.Dropout(nd.ones((50, 50)), p=0.5)
        result = bool((y == 0).sum() > 800)
        """,
    ),
    (
        "dropout_gradient_is_its_mask",
        """
        x = nd.ones((20, 20))
        x.attach_grad()
        with autograd.record():
            y = nd.Dropout(x, p=0.5)
        y.backward()
        result = bool((x.grad == y).min())
        """,
    ),
    (
        "dropout_always_mode",
        """
        y = nd.Dropout(nd.ones((50, 50)), p=0.5, mode='always'); result = bool((y == 0).sum() > 800)
        """,
    ),
    (
        "dropout_p_one",
        """
        with autograd.record():
            result = nd.Dropout(nd.ones((3,)), p=1)
        """,
    ),
]

GRAD_FUNCTION = [
    (
        "grad_single_variable",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        g = autograd.grad(y, x)
        result = [g, x.grad]
        """,
    ),
    (
        "grad_list_of_variables",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, [x])
        """,
    ),
    (
        "grad_several_heads",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y, z = x * x, 3 * x
        result = autograd.grad([y, z], [x])
        """,
    ),
    (
        "grad_head_gradient",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, x, head_grads=nd.array([1, 10, 100]))
        """,
    ),
    (
        "grad_head_gradient_list",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad([y], [x], head_grads=[nd.array([1, 10, 100])])
        """,
    ),
    (
        "grad_leaves_grad_untouched",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        x.grad[:] = 5
        with autograd.record():
            y = x * x
        autograd.grad(y, x)
        result = x.grad
        """,
    ),
    (
        "grad_of_two_variables",
        """
        x, w = nd.array([2.0]), nd.array([3.0])
        x.attach_grad()
        w.attach_grad()
        with autograd.record():
            y = x * x * w
        result = autograd.grad(y, [x, w])
        """,
    ),
    (
        "grad_unused_variable",
        """
        x, w = nd.array([2.0]), nd.array([3.0])
        x.attach_grad()
        w.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, [x, w])
        """,
    ),
    (
        "grad_variable_without_attach_grad",
        """
        x = nd.array([2.0])
        with autograd.record():
            y = x * x
        result = autograd.grad(y, x)
        """,
    ),
    (
        "grad_with_respect_to_intermediate",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            a = x * x
            y = a * 3
        result = autograd.grad(y, a)
        """,
    ),
    (
        "grad_of_head_itself",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, y)
        """,
    ),
    (
        "grad_twice_without_retain",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.grad(y, x)
        result = autograd.grad(y, x)
        """,
    ),
    (
        "grad_twice_with_retain",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        autograd.grad(y, x, retain_graph=True)
        result = autograd.grad(y, x)
        """,
    ),
    (
        "grad_empty_variables",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, [])
        """,
    ),
    (
        "grad_variables_not_arrays",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, 3)
        """,
    ),
    (
        "grad_tuple_of_variables",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        result = autograd.grad(y, (x,))
        """,
    ),
    (
        "grad_grad_req_add_ignored",
        """
        x = nd.array([2.0]); x.attach_grad('add')
        with autograd.record():
            y = x * x
        a = autograd.grad(y, x, retain_graph=True)
        result = [autograd.grad(y, x), x.grad]
        """,
    ),
    (
        "grad_grad_req_null",
        """
        x = nd.array([2.0]); x.attach_grad('null')
        with autograd.record():
            y = x * x
        result = autograd.grad(y, x)
        """,
    ),
    (
        "second_order_of_cube_is_missing",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x * x
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        g.backward()
        result = [g, x.grad]
        """,
    ),
    (
        "second_order_backward_of_list",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.exp(x)
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
            z = nd.square(g).sum()
        z.backward()
        result = x.grad
        """,
    ),
    (
        "second_order_create_graph_outside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.exp(x)
        g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        g.backward()
        result = x.grad
        """,
    ),
    (
        "second_order_create_graph_only",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.exp(x)
            g = autograd.grad(y, [x], create_graph=True)[0]
        g.backward()
        result = x.grad
        """,
    ),
    (
        "second_order_of_products_is_missing",
        """
        x, w = nd.array([2.0]), nd.array([3.0])
        x.attach_grad()
        w.attach_grad()
        with autograd.record():
            y = x * x * w
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        g.backward()
        result = [x.grad, w.grad]
        """,
    ),
    (
        "third_order_of_products_is_missing",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x * x * x
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
            h = autograd.grad(g, [x], create_graph=True, retain_graph=True)[0]
        h.backward()
        result = [g, h, x.grad]
        """,
    ),
    (
        "third_order_sine",
        """
        x = nd.array([0.3, -1.2]); x.attach_grad()
        with autograd.record():
            y = nd.sin(x)
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
            h = autograd.grad(g, [x], create_graph=True, retain_graph=True)[0]
        h.backward()
        result = [g, h, x.grad]
        """,
    ),
]

SECOND_ORDER_FUNCTIONS = {
    "sin": ("nd.sin(x)", "[0.3, -1.2]"),
    "cos": ("nd.cos(x)", "[0.3, -1.2]"),
    "tan": ("nd.tan(x)", "[0.3, -1.2]"),
    "exp": ("nd.exp(x)", "[0.3, -1.2]"),
    "log": ("nd.log(x)", "[0.3, 1.2]"),
    "log2": ("nd.log2(x)", "[0.3, 1.2]"),
    "sqrt": ("nd.sqrt(x)", "[0.3, 1.2]"),
    "rsqrt": ("nd.rsqrt(x)", "[0.3, 1.2]"),
    "cbrt": ("nd.cbrt(x)", "[0.3, 1.2]"),
    "square": ("nd.square(x)", "[0.3, -1.2]"),
    "sigmoid": ("nd.sigmoid(x)", "[0.3, -1.2]"),
    "tanh": ("nd.tanh(x)", "[0.3, -1.2]"),
    "relu": ("nd.relu(x)", "[0.3, -1.2]"),
    "arctan": ("nd.arctan(x)", "[0.3, -1.2]"),
    "arcsin": ("nd.arcsin(x)", "[0.3, -0.8]"),
    "sinh": ("nd.sinh(x)", "[0.3, -1.2]"),
    "reciprocal": ("nd.reciprocal(x)", "[0.3, -1.2]"),
    "abs": ("nd.abs(x)", "[0.3, -1.2]"),
    "expm1": ("nd.expm1(x)", "[0.3, -1.2]"),
    "dot_is_missing": ("nd.dot(x, x)", "[0.3, -1.2]"),
    "softmax_is_missing": ("nd.softmax(x)", "[0.3, -1.2]"),
    "sin_of_exp": ("nd.sin(nd.exp(x))", "[0.3, -1.2]"),
}


def _second_order(expression, values):
    return (
        f"x = nd.array({values}); x.attach_grad()\n"
        f"with autograd.record():\n    y = {expression}\n"
        "    g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]\n"
        "g.backward(nd.array([1, 2]))\nresult = [g, x.grad]"
    )


SECOND_ORDER = [
    (f"second_order_{name}", _second_order(expression, values))
    for name, (expression, values) in SECOND_ORDER_FUNCTIONS.items()
]

IN_PLACE = [
    (
        "in_place_add_to_leaf_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            x += 1
        result = x
        """,
    ),
    (
        "in_place_add_to_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y += 1
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "in_place_multiply_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y *= x
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "in_place_add_array_to_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y += x
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "in_place_add_to_constant_in_record",
        """
        c = nd.array([1])
        with autograd.record():
            c += 1
        result = c
        """,
    ),
    (
        "in_place_add_recorded_to_constant_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        c = nd.zeros((3,))
        with autograd.record():
            c += x
        c.backward()
        result = [c, x.grad]
        """,
    ),
    (
        "assign_all_to_leaf_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            x[:] = 5
            y = x * x
        y.backward()
        result = [x, x.grad]
        """,
    ),
    (
        "assign_array_to_leaf_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            x[:] = nd.array([4, 5, 6])
        result = x
        """,
    ),
    (
        "assign_element_of_leaf_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            x[0] = 5
        result = x
        """,
    ),
    (
        "assign_all_to_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y[:] = 0
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "assign_element_of_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y[0] = 5
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "assign_slice_of_intermediate_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
            y[1:] = 5
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "assign_recorded_into_constant_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        c = nd.zeros((3,))
        with autograd.record():
            c[:] = x * 2
        c.backward()
        result = [c, x.grad]
        """,
    ),
    (
        "assign_recorded_into_element_of_constant_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        c = nd.zeros((3,))
        with autograd.record():
            c[0] = x[1] * 2
        c.backward()
        result = [c, x.grad]
        """,
    ),
    (
        "assign_constant_into_constant_in_record",
        """
        c = nd.zeros((3,))
        with autograd.record():
            c[0] = 2
        result = c
        """,
    ),
    (
        "out_argument_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        c = nd.zeros((3,))
        with autograd.record():
            nd.square(x, out=c)
        c.backward()
        result = [c, x.grad]
        """,
    ),
    (
        "in_place_in_pause",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
            with autograd.pause():
                x += 1
        y.backward()
        result = [x, x.grad]
        """,
    ),
    (
        "update_after_backward",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        x -= 0.1 * x.grad
        result = x
        """,
    ),
    (
        "in_place_add_to_recorded_result_outside_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * 2
        y += 1
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "leaf_changed_in_place_stays_a_leaf",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        x += 1
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "copyto_in_record",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        c = nd.zeros((3,))
        with autograd.record():
            x.copyto(c)
        c.backward()
        result = [c, x.grad]
        """,
    ),
    (
        "view_of_leaf_in_record_writes",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x[0:2]
            y[:] = 7
        result = x
        """,
    ),
]

CUTS = [
    (
        "detach_cuts",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * (x * x).detach()
        y.backward()
        result = x.grad
        """,
    ),
    (
        "block_grad_cuts",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * nd.BlockGrad(x * x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "stop_gradient_cuts",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x * nd.stop_gradient(x * x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "block_grad_alone",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        x.grad[:] = 9
        with autograd.record():
            y = nd.BlockGrad(x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "detach_alone",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x.detach()
        y.backward()
        result = x.grad
        """,
    ),
    (
        "detach_of_leaf_has_no_grad",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        result = x.detach().grad
        """,
    ),
    (
        "copy_keeps_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x.copy() * 2
        y.backward()
        result = x.grad
        """,
    ),
    (
        "astype_keeps_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x.astype('float64') * 2
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "as_in_context_keeps_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = x.as_in_context(mx.cpu(1)) * 2
        y.backward()
        result = x.grad
        """,
    ),
    (
        "identity_keeps_graph",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.identity(x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "asnumpy_round_trip_cuts",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.array(x.asnumpy()) * 2
        y.backward()
        result = x.grad
        """,
    ),
    (
        "make_loss_gradient",
        """
        x = nd.array([1, 2, 3]); x.attach_grad()
        with autograd.record():
            y = nd.make_loss(x * x)
        y.backward(nd.array([5, 5, 5]))
        result = x.grad
        """,
    ),
]

# Name, expression in x, values of x; the head gradient counts 1, 2, 3, ... through the output.
GRADIENTS = [
    ("index_int", "x[1]", "[1, 2, 3]"),
    ("index_slice", "x[0:2]", "[1, 2, 3]"),
    ("index_slice_step", "x[::2]", "[1, 2, 3]"),
    ("index_slice_negative_step", "x[::-1]", "[1, 2, 3]"),
    ("index_pair", "x[1, 0]", "[[1, 2], [3, 4]]"),
    ("index_column", "x[:, 1]", "[[1, 2], [3, 4]]"),
    ("index_new_axis", "x[None]", "[1, 2, 3]"),
    ("index_list_repeated", "x[[0, 0, 2]]", "[1, 2, 3]"),
    ("index_ndarray", "x[nd.array([2, 2, 0])]", "[1, 2, 3]"),
    ("index_numpy_mask", "x[np.array([True, False, True])]", "[1, 2, 3]"),
    ("index_two_lists", "x[[0, 1], [1, 1]]", "[[1, 2], [3, 4]]"),
    ("index_all", "x[:]", "[1, 2, 3]"),
    ("comparison_times", "x * (x > 1.5)", "[1, 2, 3]"),
    ("comparison_alone", "x > 1.5", "[1, 2, 3]"),
    ("comparison_arrays_alone", "x == x", "[1, 2, 3]"),
    ("argmax_alone", "nd.argmax(x, axis=0)", "[1, 2, 3]"),
    ("argmax_times", "nd.argmax(x, axis=0) * x", "[1, 2, 3]"),
    ("where", "nd.where(x > 1.5, x * 2, x * 3)", "[1, 2, 3]"),
    ("take_repeated", "nd.take(x, nd.array([0, 0, 2]))", "[1, 2, 3]"),
    ("take_clipped", "nd.take(x, nd.array([-1, 7]))", "[1, 2, 3]"),
    ("take_wrapped", "nd.take(x, nd.array([-1, 4]), mode='wrap')", "[1, 2, 3]"),
    ("pick", "nd.pick(x, nd.array([1, 0]))", "[[1, 2], [3, 4]]"),
    ("clip_at_bounds", "nd.clip(x, -1, 1)", "[-2, -1, 0, 1, 2]"),
    ("max_all_ties", "x.max()", "[1, 3, 3]"),
    ("max_axis_ties", "x.max(axis=1)", "[[1, 1], [2, 3]]"),
    ("min_all_ties", "x.min()", "[1, 1, 3]"),
    ("maximum_scalar_tie", "nd.maximum(x, 2)", "[1, 2, 3]"),
    ("maximum_scalar_left_tie", "nd.maximum(2, x)", "[1, 2, 3]"),
    ("minimum_scalar_tie", "nd.minimum(x, 2)", "[1, 2, 3]"),
    ("maximum_tie_left", "nd.maximum(x, nd.array([2, 2, 2]))", "[1, 2, 3]"),
    ("maximum_tie_right", "nd.maximum(nd.array([2, 2, 2]), x)", "[1, 2, 3]"),
    ("minimum_tie_left", "nd.minimum(x, nd.array([2, 2, 2]))", "[1, 2, 3]"),
    ("minimum_tie_right", "nd.minimum(nd.array([2, 2, 2]), x)", "[1, 2, 3]"),
    ("broadcast_maximum_tie", "nd.broadcast_maximum(x, nd.array([[2, 2, 2]]))", "[[1, 2, 3]]"),
    ("maximum_of_itself", "nd.maximum(x, x)", "[1, 2, 3]"),
    ("abs_at_zero", "nd.abs(x)", "[-1, 0, 2]"),
    ("relu_at_zero", "nd.relu(x)", "[-1, 0, 2]"),
    ("relu_at_nan", "nd.relu(x)", "[float('nan'), 1]"),
    ("sqrt_at_zero", "nd.sqrt(x)", "[0, 4]"),
    ("cbrt_at_zero", "nd.cbrt(x)", "[0, 8]"),
    ("sign_at_zero", "nd.sign(x)", "[-1, 0, 2]"),
    ("round", "nd.round(x)", "[0.4, 0.6]"),
    ("floor_times", "nd.floor(x) * x", "[1.5, 2.5]"),
    ("norm_at_zero", "x.norm()", "[0, 0]"),
    ("norm_nonzero", "x.norm()", "[3, 4]"),
    ("norm_ord_one_at_zero", "nd.norm(x, ord=1)", "[0, -2]"),
    ("log_at_zero", "nd.log(x)", "[0, 1]"),
    ("power_at_zero", "x ** 2", "[0, 1]"),
    ("power_half_at_zero", "x ** 0.5", "[0, 4]"),
    ("power_zero_exponent", "x ** 0", "[0, 4]"),
    ("power_scalar_base", "2 ** x", "[0, 3]"),
    ("power_arrays_zero_base", "nd.array([0, 2]) ** x", "[2, 3]"),
    ("power_arrays_negative_base", "nd.array([-2, 2]) ** x", "[2, 3]"),
    ("modulo_scalar", "x % 2", "[3, -3]"),
    ("modulo_scalar_left", "7 % x", "[3, -3]"),
    ("modulo_arrays_right", "nd.array([7, 8]) % x", "[3, -3]"),
    ("sort", "nd.sort(x)", "[3, 1, 2]"),
    ("sort_descending", "nd.sort(x, is_ascend=False)", "[3, 1, 2]"),
    ("argsort", "nd.argsort(x)", "[3, 1, 2]"),
    ("topk_value", "nd.topk(x, k=2, ret_typ='value')", "[3, 1, 2]"),
    ("topk_indices", "nd.topk(x, k=2)", "[3, 1, 2]"),
    ("one_hot", "nd.one_hot(x, 3)", "[0, 2]"),
    ("zeros_like", "nd.zeros_like(x)", "[1, 2]"),
    ("ones_like_times", "nd.ones_like(x) * x", "[1, 2]"),
    ("prod_with_zero", "x.prod()", "[0, 2, 3]"),
    ("mean", "x.mean()", "[1, 2, 3, 4]"),
    ("sum_axis_keepdims", "x.sum(axis=0, keepdims=True)", "[[1, 2], [3, 4]]"),
    ("broadcast_add", "x + nd.zeros((2, 3))", "[1, 2, 3]"),
    ("broadcast_to", "nd.broadcast_to(x, shape=(2, 3))", "[[1, 2, 3]]"),
    ("concat_with_itself", "nd.concat(x, x, dim=0)", "[1, 2]"),
    ("stack_with_itself", "nd.stack(x, x, axis=1)", "[1, 2]"),
    ("repeat", "x.repeat(2)", "[1, 2]"),
    ("tile", "x.tile((2, 2))", "[1, 2]"),
    ("reshape", "x.reshape((2, 2))", "[1, 2, 3, 4]"),
    ("transpose", "x.T", "[[1, 2], [3, 4]]"),
    ("dot_matrix_vector", "nd.dot(x, nd.array([5, 6]))", "[[1, 2], [3, 4]]"),
    ("dot_transpose_a", "nd.dot(x, nd.array([[5, 6], [7, 8]]), transpose_a=True)", "[[1, 2], [3, 4]]"),
    ("batch_dot", "nd.batch_dot(x, x)", "[[[1, 2], [3, 4]]]"),
    ("iteration", "sum(row for row in x)", "[[1, 2], [3, 4]]"),
]


def _gradient(expression, values):
    return (
        f"x = nd.array({values}); x.attach_grad(); x.grad[:] = 9\nwith autograd.record():\n    y = {expression}\n"
        "y.backward((nd.arange(y.size) + 1).reshape(y.shape))\nresult = x.grad"
    )


GRADIENT_CASES = [(f"gradient_of_{name}", _gradient(expression, values)) for name, expression, values in GRADIENTS]

DTYPES = [
    (
        "gradient_dtype_float16",
        """
        x = nd.array([1, 2], dtype='float16'); x.attach_grad()
        with autograd.record():
            y = x * x
        y.backward()
        result = x.grad
        """,
    ),
    (
        "gradient_dtype_float64",
        """
        x = nd.array([0.1, 2], dtype='float64'); x.attach_grad()
        with autograd.record():
            y = nd.exp(x)
        y.backward()
        result = x.grad
        """,
    ),
    (
        "gradient_dtype_second_order_float64",
        """
        x = nd.array([0.1, 2], dtype='float64'); x.attach_grad()
        with autograd.record():
            y = nd.exp(x)
            g = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        g.backward()
        result = [g, x.grad]
        """,
    ),
    (
        "gradient_dtype_float64_not_recorded_constant",
        """
        x = nd.array([2], dtype='float64'); x.attach_grad()
        with autograd.record():
            y = x * 3 + 1
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "gradient_dtype_through_cast",
        """
        x = nd.array([2], dtype='float16'); x.attach_grad()
        with autograd.record():
            y = x.astype('float32') * 3
        y.backward()
        result = [y, x.grad]
        """,
    ),
    (
        "gradient_through_integer_cast",
        """
        x = nd.array([2.5]); x.attach_grad()
        with autograd.record():
            y = x.astype('int32').astype('float32') * 3
        y.backward()
        result = [y, x.grad]
        """,
    ),
]

TABLES = (REQUESTS, BACKWARD, FLAGS, GRAD_FUNCTION, SECOND_ORDER, IN_PLACE, CUTS, GRADIENT_CASES, DTYPES)

CASES = [(name, dedent(snippet).strip()) for table in TABLES for name, snippet in table]
