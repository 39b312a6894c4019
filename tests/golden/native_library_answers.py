"""What a library built from `native/surface.cc` and `native/surface_graphs.cc` computes, under MXNet and under minpy.

`answers(mx, path)` loads the library with either and returns numbers and lists of names by the name of the case.
"""

from __future__ import annotations


def answers(mx, path):
    mx.library.load(path, verbose=False)
    found = {}

    def keep(name, *arrays):
        found[name] = [array.asnumpy().tolist() for array in arrays]

    nd, sym, autograd = mx.nd, mx.sym, mx.autograd
    for dtype in ("float32", "float64", "float16", "uint8", "int32", "int8", "int64"):
        keep(f"dtype {dtype}", *nd.s_dtype(nd.array([[1, 2, 3]], dtype=dtype)))

    a, b = nd.array([1.0, 2.0]), nd.array([10.0, 20.0])
    keep("pair", *nd.s_pair(a, b))
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        product, total = nd.s_pair(a, b)
        loss = product * 3 + total
    loss.backward()
    keep("pair gradients", a.grad, b.grad)

    total = nd.zeros((2,))
    keep("accumulate", nd.s_accumulate(a, total), nd.s_accumulate(a, total), total)
    keep("counter", nd.s_counter(a, start=5), nd.s_counter(a, start=5))
    with autograd.record():
        counted = nd.s_counter(a, start=1)
    counted.backward()
    keep("counter gradient", a.grad)
    keep("attributes", nd.s_attributes(a, flag=True, pair=(1, 2), text="a b"))
    mx.random.seed(3)
    keep("resources", nd.s_resources(a), nd.s_resources(a))

    data, state = sym.Variable("data"), sym.Variable("state")
    accumulated = sym.s_accumulate(data, state, name="acc")
    found["accumulate names"] = [
        accumulated.list_arguments(),
        accumulated.list_auxiliary_states(),
        accumulated.list_outputs(),
    ]
    bound = sym.s_counter(data).bind(mx.cpu(), {"data": a})
    keep("counter bound", bound.forward()[0].copy(), bound.forward()[0])

    graph = sym.elemwise_add(sym.exp(data), sym.log(state))
    args = {"data": a, "state": b}
    for backend, options in (
        ("s_partitioner", {}),
        ("s_partitioner", {"group": True}),
        ("s_selecting", {}),
        ("s_selecting", {"single": True}),
        ("s_same", {}),
    ):
        case = " ".join([backend, *(f"{key}={value}" for key, value in options.items())])
        made = graph.optimize_for(backend, dict(args), {}, mx.cpu(), **options)
        found[case + " names"] = [made.list_arguments(), made.get_internals().list_outputs()]
        keep(case, *made.bind(mx.cpu(), args).forward())
    with_new = dict(args)
    aux = {"unused": nd.zeros((1,))}
    made = graph.optimize_for("s_scale_head", with_new, aux, mx.cpu(), scale=2.5)
    found["scale names"] = [made.list_arguments(), sorted(with_new), sorted(aux)]
    keep("scale", *made.bind(mx.cpu(), with_new).forward(), with_new["s_scale"], aux["s_state"])

    def failure(call):
        try:
            call()
        except Exception as error:
            return type(error).__name__ != "AssertionError" and "thrown in" in str(error)
        return False

    for where in ("parse", "shape", "type", "forward"):
        for operator in (nd.s_fail, nd.s_fail_state):
            found[f"fail {operator.__name__} {where}"] = failure(
                lambda operator=operator, where=where: operator(a, where=where, how="throw").asnumpy()
            )
    found["fail create"] = failure(lambda: nd.s_fail_state(a, where="create", how="throw").asnumpy())
    found["fail pass"] = failure(lambda: graph.optimize_for("s_go_wrong", how="throw"))
    keep("alive", nd.s_pair(a, b)[0])
    return found
