"""`export_model`: what it takes, what is refused, what the file has; and the ways in without files between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from exported import exported, op_types, parameters_of

import minpy as mx
from minpy import customop

onnx = pytest.importorskip("onnx", minversion="1.16", reason="exports models to ONNX")

from minpy.onnx.exporting.sources import ExportError  # noqa: E402 - it stands on onnx
from minpy.onnx.running import run_model  # noqa: E402

SHIFT = np.arange(3.0, dtype="float32")


@customop("numpy")
def softened(x, sharpness=2.0):
    """The smooth maximum of x and 0."""
    return np.log(1.0 + np.exp(sharpness * x)) / sharpness


@customop("numpy")
def shifted(x):
    return softened(x) + SHIFT


@customop("numpy")
def chosen_by_length(x):
    return x * 2.0 if x.shape[0] > 100 else x + 1.0


@customop("numpy")
def centred(x):
    return x - np.add.reduce(x) / x.shape[0]


@customop("numpy", outputs=3)
def mean_and_norm(x):
    count = np.float32(1.0 / x.shape[0])
    return np.add.reduce(x) * count, x * np.float32(x.shape[1] ** -0.5), x * np.float32(x.shape[0] ** 0.5)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def network():
    data = mx.sym.var("data")
    hidden = mx.sym.tanh(mx.sym.FullyConnected(data, num_hidden=4, name="fc1"), name="hidden")
    return mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2")


def drawn_parameters(net):
    return parameters_of(net, data=(5, 3))


# -- what is taken -----------------------------------------------------------------------------------------------------


def test_the_file_computes_what_the_symbol_does():
    net = network()
    parameters = drawn_parameters(net)
    assert mx.onnx.export_model(net, parameters, [(5, 3)], onnx_file_path="net.onnx") == "net.onnx"
    data = np.random.RandomState(0).randn(5, 3).astype("float32")
    ours = net.bind(mx.cpu(), {"data": mx.nd.array(data), **parameters}).forward()[0].asnumpy()
    theirs = run_model("net.onnx", {"data": data})
    np.testing.assert_allclose(theirs["fc2"], ours, rtol=1e-5, atol=1e-6)


def test_names_of_nodes_inputs_and_parameters_are_those_of_the_symbol():
    model = exported(network(), {"data": (5, 3)}, drawn_parameters(network()))
    assert [node.output[0] for node in model.graph.node] == ["fc1", "hidden", "fc2"]
    assert [each.name for each in model.graph.input] == ["data"]
    assert {each.name for each in model.graph.initializer} == {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}


def test_symbols_and_parameters_in_files_and_older_spellings():
    net = network()
    net.save("net-symbol.json")
    mx.nd.save("net-0000.params", {f"arg:{name}": array for name, array in drawn_parameters(net).items()})
    mx.contrib.onnx.export_model(
        "net-symbol.json", "net-0000.params", input_shape=[(5, 3)], input_type=np.float32, onnx_file_path="net.onnx"
    )
    assert op_types(onnx.load("net.onnx")) == ["Gemm", "Tanh", "Gemm"]
    with pytest.raises(mx.MXNetError, match=r"input_shape is an older spelling of in_shapes; give one of them"):
        mx.onnx.export_model(net, "net-0000.params", [(5, 3)], input_shape=[(5, 3)])


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_opsets(opset):
    model = exported(network(), {"data": (5, 3)}, drawn_parameters(network()), opset=opset)
    assert {each.domain: each.version for each in model.opset_import} == {"": opset}


def test_labels_are_left_out_and_unknown_inputs_are_not():
    net = mx.sym.SoftmaxOutput(network(), name="softmax")
    parameters = drawn_parameters(network())
    with pytest.raises(mx.MXNetError, match=r"in_shapes has 1 entry, .* are 2: 'data', 'fc2_weight'\. .* in params"):
        mx.onnx.export_model(
            network(), {name: array for name, array in parameters.items() if name != "fc2_weight"}, [(5, 3)]
        )
    assert net.list_inputs()[-1] == "softmax_label"


def test_dynamic_axes_have_names():
    net, parameters = network(), drawn_parameters(network())
    for dynamic, expected in (
        ({"data": ("n", 3)}, ["n", 3]),
        ({"data": (None, 3)}, ["batch", 3]),
    ):
        model = exported(net, {"data": (5, 3)}, parameters, dynamic=dynamic)
        dims = model.graph.input[0].type.tensor_type.shape.dim
        assert [dim.dim_param or dim.dim_value for dim in dims] == expected
        dims = model.graph.output[0].type.tensor_type.shape.dim
        assert [dim.dim_param or dim.dim_value for dim in dims] == [expected[0], 2]


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opset": 12}, r"opset=12; expected an int from 13 to \d+, the newest that onnx"),
        (
            {"in_shapes": [(5, 3), (2,)]},
            r"in_shapes has 2 entries, and the inputs that are no parameters are 1: 'data'",
        ),
        ({"in_shapes": None}, r"in_shapes is not given; expected a tuple of int for each of 'data'"),
        ({"in_shapes": {"dat": (5, 3)}}, r"in_shapes has 'dat', which is no input; .* Did you mean 'data'\?"),
        ({"in_types": ["float32", "int32"]}, r"in_types has 2 entries, and the inputs are 1"),
        ({"in_types": "float33"}, r"in_types: expected dtypes, such as 'float32'"),
        ({"dynamic_input_shapes": [(None, 3)]}, r"dynamic_input_shapes is given, and dynamic=False"),
        ({"dynamic": True, "dynamic_input_shapes": [(None,)]}, r"both need one entry an axis"),
        ({"params": 3}, r"expected a dict of arrays or the name of their file, got"),
        ({"sym": 3}, r"expected a symbol or the name of its file, got .* block\.export_onnx"),
        ({"onnx_file_path": ""}, r"no name of a file"),
    ],
)
def test_arguments_that_are_not_right(options, message):
    arguments = {"sym": network(), "params": drawn_parameters(network()), "in_shapes": [(5, 3)], **options}
    with pytest.raises(mx.MXNetError, match=message):
        mx.onnx.export_model(**arguments)
    assert not Path("model.onnx").exists()


def test_all_nodes_without_an_equal_are_listed_and_nothing_is_written():
    Path("model.onnx").write_text("what was there")
    data = mx.sym.var("data")
    net = mx.sym.linalg.potrf(data, name="first") + mx.sym.tanh(mx.sym.linalg.potri(data, name="second"))
    with pytest.raises(ExportError) as caught:
        mx.onnx.export_model(net, {}, [(3, 3)])
    text = str(caught.value)
    assert "2 nodes have no equal in ONNX; nothing was written:" in text
    assert "\n  'first' (_linalg_potrf): " in text
    assert "\n  'second' (_linalg_potri): " in text
    assert "get_internals()[name]" in text
    assert Path("model.onnx").read_text() == "what was there"


def test_steps_of_users_functions_are_named_with_their_lines():
    @customop("numpy")
    def unsaid(x):
        return np.linalg.cholesky(x)

    with pytest.raises(
        ExportError, match=r"\(unsaid\): numpy\.linalg\.cholesky \(.*test_export_model\.py:\d+: return np"
    ):
        mx.onnx.export_model(unsaid(mx.sym.var("data")), {}, [(2, 2)])


def test_functions_that_choose_by_an_open_length_are_refused():
    net = chosen_by_length(mx.sym.var("data"), name="chosen")
    exported(net, {"data": (2, 3)})
    with pytest.raises(
        ExportError,
        match=r"(?s)'chosen' \(chosen_by_length\): it chooses by the length of a dynamic axis, .*make that axis fixed "
        r"\(.*test_export_model\.py:\d+: return x \* 2\.0 if x\.shape\[0\] > 100 else x \+ 1\.0\)\n"
        r".*or write them with operators of mx\.onnx\.get_operator_support\(\)\.$",
    ):
        exported(net, {"data": (2, 3)}, dynamic={"data": ("n", 3)})


def test_numbers_that_follow_from_open_lengths_are_computed():
    net = centred(mx.sym.var("data"), name="centred")
    model = exported(net, {"data": (2, 3)}, dynamic={"data": ("n", 3)})
    assert "Shape" in op_types(model)
    data = np.random.RandomState(0).randn(9, 3).astype("float32")
    result = run_model(model, {"data": data})["centred"]
    np.testing.assert_allclose(result, data - data.mean(0), rtol=1e-5, atol=1e-6)


def test_negative_factors_of_open_lengths():
    net = customop("numpy")(lambda x: x * (-x.shape[0]))(mx.sym.var("data"), name="scaled")
    model = exported(net, {"data": (2, 3)}, dynamic={"data": ("n", 3)})
    assert float(run_model(model, {"data": np.ones((7, 3), "float32")})["scaled"][0, 0]) == -7.0


def test_reciprocals_and_roots_of_open_lengths_in_single_precision():
    net = mean_and_norm(mx.sym.var("data"), name="scaled")
    model = exported(net, {"data": (2, 3)}, dynamic={"data": ("n", "m")})
    data = np.random.RandomState(0).randn(9, 7).astype("float32")
    results = list(run_model(model, {"data": data}).values())
    for result, expected in zip(results, (data.mean(0), data / 7**0.5, data * 3.0), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


# -- model-local functions ---------------------------------------------------------------------------------------------


def test_customops_are_functions_under_their_own_names():
    data = mx.sym.var("data")
    net = shifted(softened(data, sharpness=3.0, name="a") + softened(data, sharpness=3.0, name="b"), name="c")
    model = exported(net, {"data": (2, 3)})
    assert {function.name for function in model.functions} == {"softened", "shifted"}
    assert [node.op_type for node in model.graph.node if node.domain] == ["softened", "softened", "shifted"]
    documented = next(function for function in model.functions if function.name == "softened")
    assert "smooth maximum" in documented.doc_string
    assert {node.op_type for node in documented.node} == {"Constant", "Mul", "Exp", "Add", "Log", "Div"}


def test_functions_are_called_as_no_operator_of_onnx_is():
    def scaled(factor):
        @customop("numpy")
        def Add(x):
            return x * factor

        return Add

    data = mx.sym.var("Conv")
    net = scaled(2.0)(data, name="constant") + scaled(3.0)(data, name="Conv/constant")
    model = exported(mx.sym.Group([net, mx.sym.tanh(net, name="Tanh")]), {"Conv": (2, 3)}, dynamic={"Conv": ("n", 3)})
    assert {function.name for function in model.functions} == {"Add_function", "Add_function_2"}
    results = run_model(model, {"Conv": np.ones((4, 3), "float32")})
    assert [float(array[0, 0]) for array in results.values()] == [5.0, pytest.approx(np.tanh(5.0))]


def test_nodes_may_be_called_as_an_input_is():
    net = mx.sym.relu(mx.sym.tanh(mx.sym.var("data"), name="data"), name="weight")
    model = exported(
        mx.sym.broadcast_mul(net, mx.sym.var("weight")), {"data": (2, 3)}, {"weight": mx.nd.full((3,), 2.0)}
    )
    (result,) = run_model(model, {"data": np.ones((2, 3), "float32")}).values()
    np.testing.assert_allclose(result, np.full((2, 3), 2.0 * np.tanh(1.0)), 1e-6)


def test_parameters_are_given_once():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    weight = mx.nd.ones((2, 3))
    exported(net, {"data": (2, 3)}, [{"fc_weight": weight}, {"fc_weight": weight}])
    for params in (
        {"arg:fc_weight": weight, "aux:fc_weight": weight * 2},
        [{"fc_weight": weight}, {"fc_weight": -weight}],
    ):
        with pytest.raises(mx.MXNetError, match=r"params has two arrays for 'fc_weight' .*\. Give one\."):
            exported(net, {"data": (2, 3)}, params)


def test_models_that_do_not_run_for_one_where_the_graph_does_are_told(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    def with_second_row(call, data):
        second = call.node("Gather", data, call.emitter.stored(np.array([1])), axis=0)
        nothing = call.node("Mul", second, call.emitter.stored(np.float32(0.0)))
        return call.node("Add", call.node("Tanh", data), nothing)

    monkeypatch.setitem(OPERATORS, "tanh", with_second_row)
    with pytest.warns(
        UserWarning, match=r"model does not run on data \(1, 3\), where the graph does: .* are not enough"
    ):
        exported(mx.sym.tanh(mx.sym.var("data")), {"data": (2, 3)}, dynamic={"data": ("n", 3)})


def test_a_successful_export_prints_nothing(capfd):
    net = mx.sym.slice_axis(mx.sym.var("data"), axis=0, begin=1, end=None)
    exported(net, {"data": (3, 3)}, dynamic={"data": ("n", 3)})
    assert capfd.readouterr() == ("", "")


def test_outputs_that_are_inputs_parameters_or_computed_twice_are_copies():
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    total = mx.sym.tanh(data, name="total")
    net = mx.sym.Group([data, weight, total, total])
    model = exported(net, {"data": (2, 3)}, {"weight": mx.nd.ones((2,))})
    names = [each.name for each in model.graph.output]
    assert len(set(names)) == 4
    assert op_types(model).count("Identity") == 3


# -- the proof ---------------------------------------------------------------------------------------------------------


def test_a_wrong_row_is_found_and_named(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    monkeypatch.setitem(OPERATORS, "tanh", lambda call, x: call.node("Sigmoid", x))
    Path("model.onnx").write_text("what was there")
    with pytest.raises(ExportError) as caught:
        mx.onnx.export_model(network(), drawn_parameters(network()), [(5, 3)])
    text = str(caught.value)
    assert "its output 'fc2' differs: expected " in text
    assert "The first node that differs is node 'hidden' (tanh): expected " in text
    assert "No file was written." in text
    assert Path("model.onnx").read_text() == "what was there"
    mx.onnx.export_model(network(), drawn_parameters(network()), [(5, 3)], check=False)
    assert op_types(onnx.load("model.onnx")) == ["Gemm", "Sigmoid", "Gemm"]


def test_a_row_that_is_right_for_one_length_only_is_found(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    def tanh(call, x):
        return call.node("Tanh", call.node("Slice", x, np.array([0]), np.array([5]), np.array([0])))

    monkeypatch.setitem(OPERATORS, "tanh", tanh)
    with pytest.raises(ExportError, match=r"'hidden' \(tanh\): expected float32 of shape \(6, 4\), got .* \(5, 4\)"):
        exported(network(), {"data": (5, 3)}, drawn_parameters(network()), dynamic={"data": ("n", 3)})


def test_a_row_of_a_node_that_is_not_valid_is_found(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    monkeypatch.setitem(OPERATORS, "tanh", lambda call, x: call.node("Tanh", x, slope=2.0))
    with pytest.raises(
        ExportError, match=r"onnx\.checker refuses the model that was written; nothing is kept: .*slope"
    ):
        exported(network(), {"data": (5, 3)}, drawn_parameters(network()))


def test_models_beyond_two_gigabytes_have_their_weights_beside(monkeypatch):
    monkeypatch.setattr("minpy.onnx.exporting.export_model._LARGEST_MESSAGE", 100)
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, num_hidden=50, name="fc")
    mx.onnx.export_model(net, parameters_of(net, data=(2, 30)), [(2, 30)], onnx_file_path="large.onnx")
    assert sorted(path.name for path in Path().iterdir()) == ["large.onnx", "large.onnx.data"]
    assert run_model("large.onnx", {"data": np.ones((2, 30), "float32")})["fc"].shape == (2, 50)


def test_large_models_that_cannot_be_replaced_stay_as_they_were(monkeypatch):
    monkeypatch.setattr("minpy.onnx.exporting.export_model._LARGEST_MESSAGE", 100)
    Path("large.onnx").mkdir()
    Path("large.onnx.data").write_text("weights")
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, num_hidden=50, name="fc")
    with pytest.raises(OSError, match=r"large\.onnx"):
        mx.onnx.export_model(net, parameters_of(net, data=(2, 30)), [(2, 30)], onnx_file_path="large.onnx")
    assert Path("large.onnx.data").read_text() == "weights"
    assert sorted(path.name for path in Path().iterdir()) == ["large.onnx", "large.onnx.data"]


def test_what_an_output_hides_is_found(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    monkeypatch.setitem(OPERATORS, "tanh", lambda call, data: call.node("Sigmoid", data))
    net = mx.sym.clip(mx.sym.tanh(mx.sym.var("data"), name="hidden"), 5.0, 6.0)
    with pytest.raises(
        ExportError, match=r"the outputs are equal there, but node 'hidden' \(tanh\) differs: expected "
    ):
        exported(net, {"data": (2, 3)})


def test_networks_with_dropout_are_compared(monkeypatch):
    from minpy.onnx.exporting.tables import OPERATORS

    data = mx.sym.var("data")
    net = mx.sym.tanh(mx.sym.Dropout(data, p=0.5), name="hidden")
    exported(net, {"data": (2, 3)})
    monkeypatch.setitem(OPERATORS, "tanh", lambda call, data: call.node("Sigmoid", data))
    with pytest.raises(
        ExportError, match=r"'hidden' differs: expected .*\. The first node that differs is node 'hidden' \(tanh\)\. No"
    ):
        exported(net, {"data": (2, 3)})
    always = op_types(exported(mx.sym.Dropout(data, mode="always"), {"data": (2, 3)}))
    assert "RandomUniformLike" in always  # onnxruntime takes a Dropout behind another node out of the model


# -- without files between ---------------------------------------------------------------------------------------------


def test_blocks():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.Dense(2))
    net.initialize()
    data = mx.nd.random.normal(shape=(5, 3))
    assert net.export_onnx("block.onnx", data, dynamic=True) == "block.onnx"
    (result,) = run_model("block.onnx", {"data": data.asnumpy()}).values()
    np.testing.assert_allclose(result, net(data).asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(mx.MXNetError, match=r"export_onnx: expected an example of each input"):
        net.export_onnx("block.onnx")


def test_executors():
    net = network()
    executor = net.bind(mx.cpu(), {"data": mx.nd.ones((5, 3)), **drawn_parameters(net)})
    executor.export_onnx("executor.onnx")
    ours = executor.forward()[0].asnumpy()
    np.testing.assert_allclose(run_model("executor.onnx", {"data": np.ones((5, 3), "float32")})["fc2"], ours, rtol=1e-5)
    with pytest.raises(mx.MXNetError, match=r"Executor\.export_onnx: there is no argument 'dat'; the arguments are"):
        executor.export_onnx("executor.onnx", "dat")


def test_compiled_functions():
    @mx.compile
    def mixed(x, y):
        return np.exp(x) * SHIFT + y, np.tanh(y)

    x, y = np.random.RandomState(0).randn(2, 4, 3)
    mixed.export_onnx("mixed.onnx", x, y)
    model = onnx.load("mixed.onnx")
    assert [each.name for each in model.graph.input] == ["x", "y"]
    results = run_model(model, {"x": x, "y": y})
    assert list(results) == ["output0", "output1"]
    np.testing.assert_allclose(results["output0"], np.exp(x) * SHIFT + y)

    changing = mx.compile(lambda x: np.exp(x, out=x))
    with pytest.raises(ExportError, match=r"it changes its arguments, which an ONNX model cannot"):
        changing.export_onnx("changing.onnx", x)
    assert not Path("changing.onnx").exists()


def test_graphs_without_finite_results_are_compared_where_they_have_some(monkeypatch):
    from minpy.onnx.exporting.tables import FUNCTIONS

    root = FUNCTIONS["sqrt"]
    # Right for negative numbers only, of which there is no root; no drawn number is above 9.
    monkeypatch.setitem(FUNCTIONS, "sqrt", lambda call, x: call.node("Neg", root(call, x)))
    exported(mx.sym.sqrt(mx.sym.var("data") - 9.0), {"data": (3,)})
    with pytest.raises(ExportError, match=r"its output 'root' differs: expected "):
        exported(mx.sym.sqrt(-mx.sym.abs(mx.sym.var("data") - 0.1) + 0.5, name="root"), {"data": (3,)})
