"""Golden cases of writes into arrays, and through views of them, recorded or not: what is in memory, and x.grad."""

TWO = "x = nd.array([1, 2]); x.attach_grad()\n"
THREE = "x = nd.array([1, 2, 3]); x.attach_grad()\n"


def _written(name, setup, body, arrays, head="c.sum()"):
    """Makes two cases: the arrays after ``body`` has run under `record`, and x.grad after a backward from ``head``."""
    lines = [line for line in body.splitlines() if line]
    snippet = setup + "with autograd.record():\n" + "\n".join(f"    {line}" for line in lines)
    gradient = snippet + f"\n    y = {head}\ny.backward()\nresult = x.grad"
    return [(f"{name}_values", f"{snippet}\nresult = [{arrays}]"), (f"{name}_gradient", gradient)]


def _changed(name, change, head="h.sum()"):
    """Makes a case: ``change`` happens outside `record` to ``h = x * x``; what follows is recorded again."""
    snippet = f"{THREE}with autograd.record():\n    h = x * x\n{change}\nwith autograd.record():\n    y = {head}\n"
    return [(name, f"{snippet}y.backward()\nresult = [h, x.grad]")]


CASES = [
    *_written("view_store", TWO + "c = nd.zeros(4)\n", "c[0:2][:] = x * x", "c"),
    *_written("kept_view_store", TWO + "c = nd.zeros(4)\n", "v = c[0:2]\nv[:] = x * x", "c, v"),
    *_written("kept_view_store_read_from_view", TWO + "c = nd.zeros(4)\n", "v = c[0:2]\nv[:] = x * x", "v", "v.sum()"),
    *_written("part_store", TWO + "c = nd.zeros(4)\n", "c[0:2] = x * x", "c"),
    *_written("whole_store", TWO + "c = nd.zeros(2)\n", "c[:] = x * x", "c"),
    *_written("two_part_stores", TWO + "c = nd.zeros(4)\n", "c[0:2] = x * x\nc[2:4] = x * 3", "c"),
    *_written("copyto_view", TWO + "c = nd.zeros(4)\n", "(x * x).copyto(c[0:2])", "c"),
    *_written("out_is_view", TWO + "c = nd.zeros(4)\n", "nd.square(x, out=c[0:2])", "c"),
    *_written("store_into_rows", TWO + "c = nd.zeros((2, 2))\n", "for row in c: row[:] = x * x", "c"),
    *_written("add_to_row", TWO + "c = nd.zeros((2, 2))\n", "row = c[1]\nrow += x", "c"),
    *_written("store_into_reshaped", TWO + "c = nd.zeros((2, 1))\n", "c.reshape((2,))[:] = x * x", "c"),
    *_written(
        "store_into_from_numpy", TWO + "b = np.zeros(2, 'float32'); c = nd.from_numpy(b)\n", "c[:] = x * x", "b, c"
    ),
    *_written("older_view", TWO + "c = nd.zeros(4); v = c[0:2]\n", "c[0:2] = x * x", "c, v", "(v * v).sum()"),
    *_written("view_of_row_store", TWO + "c = nd.zeros((2, 2)); v = c[1]\n", "c[1] = x * 3", "c, v"),
    *_written("number_into_view", TWO + "c = nd.zeros(4)\n", "c[0:2][:] = 5", "c", "(c[0:2] * x).sum()"),
    *_written("number_into_view_of_variable", THREE + "v = x[0:1]\n", "v[:] = 5", "x", "(x * x).sum()"),
    *_written("store_into_result", THREE, "h = x * x\nh[0:1] = x[0:1]", "h", "h.sum()"),
    *_written("store_into_view_of_result", THREE, "h = x * x\nh[0:1][:] = x[0:1]", "h", "h.sum()"),
    *_written("number_into_view_of_result", THREE, "h = x * x\nh[0:1][:] = 0", "h", "h.sum()"),
    *_written(
        "paused_number_into_recorded_view",
        THREE,
        "h = x * x\nv = h[0:1]\nwith autograd.pause(): v[:] = 100",
        "h, v",
        "h.sum()",
    ),
    *_written(
        "paused_number_into_recorded_view_squared",
        THREE,
        "h = x * x\nv = h[0:1]\nwith autograd.pause(): v[:] = 100",
        "h, v",
        "(h * h).sum()",
    ),
    *_written(
        "paused_number_into_recorded_reshaped",
        THREE,
        "h = x * x\nv = h.reshape((3, 1))\nwith autograd.pause(): v[0] = 100",
        "h, v",
        "h.sum()",
    ),
    *_written(
        "paused_number_into_detached",
        TWO,
        "h = x * x\nd = h.detach()\nwith autograd.pause(): d[:] = 9",
        "h, d",
        "h.sum()",
    ),
    *_written("number_into_detached", TWO, "h = x * x\nd = h.detach()\nd[:] = 9", "h, d", "h.sum()"),
    *_written("store_into_detached", TWO, "h = x * x\nd = h.detach()\nd[:] = x * 3", "h, d", "h.sum()"),
    *_changed("view_changed_outside", "h[0:1][:] = 0"),
    *_changed("part_changed_outside", "h[0] = 0"),
    *_changed("part_changed_outside_beside_variable", "h[0] = 0", "h.sum() + x.sum()"),
    *_changed("view_changed_outside_beside_variable", "h[0:1][:] = 0", "h.sum() + x.sum()"),
    *_changed("added_to_outside_beside_variable", "h += 1", "h.sum() + x.sum()"),
    *_changed("part_changed_outside_squared", "h[0] = 2", "(h * h).sum()"),
    *_changed("whole_changed_outside_beside_variable", "h[:] = 0", "h.sum() + x.sum()"),
]
