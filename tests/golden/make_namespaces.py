"""Writes ``namespaces.json``: the names in MXNet 1.9.1's modules and classes. Run under MXNet 1.9.1.

Of modules, public names are recorded, those of operators that MXNet keeps to itself (but for gradients), and the few
private ones that programs reach for. Each has its origin: empty if it is defined there or generated, else the module
that it was imported from.

Usage: ``python tests/golden/make_namespaces.py``
"""

import importlib
import json
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

MODULES = """
nd nd.contrib nd.linalg nd.random nd.image nd.op nd._internal nd.sparse sym sym.contrib sym.linalg sym.random sym.image
sym.sparse sym._internal np np.random np.linalg npx npx.random npx.image symbol.numpy symbol.numpy.random
symbol.numpy.linalg symbol.numpy_extension random autograd test_utils base registry util runtime libinfo log engine rtc
error contrib contrib.text contrib.text.embedding contrib.text.vocab contrib.text.utils contrib.autograd contrib.ndarray
contrib.symbol contrib.amp contrib.amp.amp contrib.quantization contrib.svrg_optimization contrib.io contrib.tensorboard
profiler operator context name attribute executor th viz mon image image.image recordio kv init callback initializer
library ndarray.ndarray symbol.symbol numpy.multiarray numpy_op_signature numpy_dispatch_protocol
gluon gluon.block gluon.parameter gluon.trainer gluon.nn gluon.nn.basic_layers gluon.nn.conv_layers gluon.nn.activations
gluon.rnn gluon.rnn.rnn_layer gluon.rnn.rnn_cell gluon.loss gluon.utils gluon.data gluon.data.dataset gluon.data.sampler
gluon.data.dataloader gluon.contrib gluon.contrib.nn gluon.contrib.cnn gluon.contrib.rnn optimizer optimizer.optimizer
optimizer.contrib lr_scheduler metric kvstore kvstore.base kvstore.kvstore
io io.io io.utils image.detection model module module.base_module module.bucketing_module module.executor_group
module.module module.python_module module.sequential_module monitor executor_manager misc notebook notebook.callback
rnn rnn.io rnn.rnn rnn.rnn_cell gluon.data.vision gluon.data.vision.datasets gluon.data.vision.transforms
gluon.model_zoo gluon.model_zoo.model_store gluon.model_zoo.vision gluon.model_zoo.vision.alexnet
gluon.model_zoo.vision.densenet gluon.model_zoo.vision.inception gluon.model_zoo.vision.mobilenet
gluon.model_zoo.vision.resnet gluon.model_zoo.vision.squeezenet gluon.model_zoo.vision.vgg gluon.contrib.data
gluon.contrib.data.sampler gluon.contrib.data.text gluon.contrib.estimator gluon.contrib.estimator.estimator
gluon.contrib.estimator.event_handler gluon.contrib.estimator.batch_processor gluon.contrib.estimator.utils
contrib.amp.loss_scaler contrib.amp.lists contrib.amp.lists.symbol_fp16 contrib.amp.lists.symbol_bf16
contrib.svrg_optimization.svrg_module contrib.svrg_optimization.svrg_optimizer
""".split()  # noqa: SIM905
PRIVATE = {
    "contrib.amp.amp": ["_amp_initialized"],
    "image.image": ["_get_interp_method"],
    "base": ["_as_list"],
    "gluon.block": ["_BlockScope", "_flatten", "_regroup"],
    "gluon.data.dataloader": ["_MultiWorkerIter", "_as_in_context"],
    "executor_manager": ["_split_input_slice"],
    "gluon.model_zoo.model_store": ["_model_sha1"],
    "gluon.loss": ["_apply_weighting", "_reshape_like"],
    "gluon.utils": ["_get_repo_file_url", "_get_repo_url"],
    "contrib.text.embedding": ["_TokenEmbedding"],
}
CLASSES = {
    "nd.NDArray": lambda mx: mx.nd.NDArray,
    "sym.Symbol": lambda mx: mx.sym.Symbol,
    "np.ndarray": lambda mx: mx.np.ndarray,
    "executor.Executor": lambda mx: mx.executor.Executor,
    "Context": lambda mx: mx.Context,
    "autograd.Function": lambda mx: mx.autograd.Function,
    "operator.CustomOp": lambda mx: mx.operator.CustomOp,
    "operator.CustomOpProp": lambda mx: mx.operator.CustomOpProp,
    "AttrScope": lambda mx: mx.AttrScope,
    "name.NameManager": lambda mx: mx.name.NameManager,
    "gluon.Block": lambda mx: mx.gluon.Block,
    "gluon.HybridBlock": lambda mx: mx.gluon.HybridBlock,
    "gluon.SymbolBlock": lambda mx: mx.gluon.SymbolBlock,
    "gluon.Parameter": lambda mx: mx.gluon.Parameter,
    "gluon.Constant": lambda mx: mx.gluon.Constant,
    "gluon.ParameterDict": lambda mx: mx.gluon.ParameterDict,
    "gluon.Trainer": lambda mx: mx.gluon.Trainer,
    "gluon.nn.Sequential": lambda mx: mx.gluon.nn.Sequential,
    "gluon.nn.HybridSequential": lambda mx: mx.gluon.nn.HybridSequential,
    "gluon.rnn.RecurrentCell": lambda mx: mx.gluon.rnn.RecurrentCell,
    "gluon.rnn.LSTM": lambda mx: mx.gluon.rnn.LSTM,
    "gluon.data.DataLoader": lambda mx: mx.gluon.data.DataLoader,
    "gluon.data.Dataset": lambda mx: mx.gluon.data.Dataset,
    "optimizer.Optimizer": lambda mx: mx.optimizer.Optimizer,
    "optimizer.Updater": lambda mx: mx.optimizer.Updater,
    "initializer.Initializer": lambda mx: mx.initializer.Initializer,
    "metric.EvalMetric": lambda mx: mx.metric.EvalMetric,
    "metric.CompositeEvalMetric": lambda mx: mx.metric.CompositeEvalMetric,
    "lr_scheduler.LRScheduler": lambda mx: mx.lr_scheduler.LRScheduler,
    "kvstore.KVStore": lambda mx: mx.kvstore.KVStore,
    "kvstore.KVStoreBase": lambda mx: mx.kvstore.KVStoreBase,
    "io.DataBatch": lambda mx: mx.io.DataBatch,
    "io.DataDesc": lambda mx: mx.io.DataDesc,
    "io.DataIter": lambda mx: mx.io.DataIter,
    "io.NDArrayIter": lambda mx: mx.io.NDArrayIter,
    "io.MXDataIter": lambda mx: mx.io.MXDataIter,
    "io.PrefetchingIter": lambda mx: mx.io.PrefetchingIter,
    "image.ImageIter": lambda mx: mx.image.ImageIter,
    "image.ImageDetIter": lambda mx: mx.image.ImageDetIter,
    "image.Augmenter": lambda mx: mx.image.Augmenter,
    "image.DetAugmenter": lambda mx: mx.image.DetAugmenter,
    "recordio.MXRecordIO": lambda mx: mx.recordio.MXRecordIO,
    "recordio.MXIndexedRecordIO": lambda mx: mx.recordio.MXIndexedRecordIO,
    "recordio.IRHeader": lambda mx: mx.recordio.IRHeader,
    "module.BaseModule": lambda mx: mx.module.BaseModule,
    "module.Module": lambda mx: mx.module.Module,
    "module.BucketingModule": lambda mx: mx.module.BucketingModule,
    "module.SequentialModule": lambda mx: mx.module.SequentialModule,
    "module.PythonModule": lambda mx: mx.module.PythonModule,
    "module.PythonLossModule": lambda mx: mx.module.PythonLossModule,
    "model.FeedForward": lambda mx: mx.model.FeedForward,
    "monitor.Monitor": lambda mx: mx.monitor.Monitor,
    "rnn.BaseRNNCell": lambda mx: mx.rnn.BaseRNNCell,
    "rnn.FusedRNNCell": lambda mx: mx.rnn.FusedRNNCell,
    "rnn.BucketSentenceIter": lambda mx: mx.rnn.BucketSentenceIter,
    "gluon.data.vision.transforms.Compose": lambda mx: mx.gluon.data.vision.transforms.Compose,
    "gluon.contrib.estimator.Estimator": lambda mx: mx.gluon.contrib.estimator.Estimator,
    "contrib.amp.loss_scaler.LossScaler": lambda mx: mx.contrib.amp.loss_scaler.LossScaler,
    "contrib.svrg_optimization.svrg_module.SVRGModule": lambda mx: mx.contrib.svrg_optimization.svrg_module.SVRGModule,
}


def origin(module: Any, value: Any) -> str:
    """Returns where a member of a module was imported from; an empty text if it belongs there."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
    if isinstance(value, types.ModuleType):
        return "" if name.startswith(module.__name__ + ".") else name
    return name if not name.startswith("mxnet") or name == "mxnet.base" != module.__name__ else ""


def members(module: Any, path: str) -> dict[str, str]:
    """Returns the names of a module that are recorded, and their origins."""
    inner = path.endswith("._internal")
    names = [
        name
        for name in dir(module)
        if not name.startswith("_")
        or name in PRIVATE.get(path, ())
        or (inner and not name.startswith(("__", "_backward", "_split_v2_backward", "_broadcast_backward")))
    ]
    return {name: origin(module, getattr(module, name)) for name in sorted(names)}


def main() -> None:
    """Writes the file."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    found = {"": members(mx, "")}
    for path in MODULES:
        module = mx
        for part in path.split("."):
            module = getattr(module, part, None) or importlib.import_module(f"mxnet.{path}")
        found[path] = members(module, path)
    classes = {path: sorted(name for name in dir(get(mx)) if not name.startswith("_")) for path, get in CLASSES.items()}
    lines = [f"{json.dumps(path)}: {json.dumps(names)}" for path, names in found.items()]
    rows = [f"{json.dumps(path)}: {json.dumps(names)}" for path, names in classes.items()]
    text = '{"modules": {\n' + ",\n".join(lines) + '\n},\n"classes": {\n' + ",\n".join(rows) + "\n}}\n"
    (HERE / "namespaces.json").write_text(text, encoding="utf-8")
    counts = [sum(map(len, one.values())) for one in (found, classes)]
    print(f"namespaces.json: {counts[0]} names of modules, {counts[1]} of classes")


if __name__ == "__main__":
    main()
