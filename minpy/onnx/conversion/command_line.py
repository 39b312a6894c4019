"""`python -m minpy convert`: the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from minpy.core.errors import ArgumentError, FileAccessError, FileFormatError, MissingDependencyError, MXNetError
from minpy.inspection.report_text import size_text
from minpy.onnx.conversion.layer_lines import lines_of_tensors
from minpy.onnx.conversion.options import named_axes, named_dtype, named_shape, separated_dynamic
from minpy.onnx.conversion.parameter_files import ENDINGS, convert_parameters
from minpy.onnx.conversion.tensors import COMMAND, size_of

__all__ = ["main"]

_EPILOG = """\
IN and OUT say by their endings what they are:
  -symbol.json, .params, a prefix, a folder, an archive  ->  .onnx
  .onnx          ->  NAME-symbol.json, NAME-0000.params, or NAME for both: the pair is written together
  .params        <-> .safetensors, .npz; one of these to another. Every bit, every name and their order are kept,
                 with the arg: and aux: of checkpoints (--plain-names leaves them out; .safetensors remembers them)

An ONNX file is written after onnxruntime (or onnx's reference evaluator) has computed with it what minpy computes with
the model; otherwise nothing is written. ONNX needs the extra `onnx`: pip install onnx onnxruntime. Bars are shown on
terminals, where tqdm is installed: pip install tqdm. The other files need nothing.

The exit status is 0 if OUT was written; 1 if the model cannot be said in the other format, or computes something else
there; 2 if the command, an option or a file is not right. If it is not 0, nothing was written.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        COMMAND,
        description="Converts models between MXNet's files and ONNX; parameters between .params, .safetensors, .npz.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("source", metavar="IN", help="what is read")
    add("target", metavar="OUT", help="what is written")
    add("--shape", metavar="NAME=SHAPE", action="append", type=named_shape, default=[],
        help="an input's shape: data=1,3,224,224; may be repeated; otherwise it is read or guessed")  # fmt: skip
    add("--dynamic", metavar="NAME:AXES", action="append", type=named_axes, default=[],
        help="axes that the ONNX file leaves open: data:0 or data:0,2; alone, the first of each input")  # fmt: skip
    add("--dtype", metavar="NAME=DTYPE", action="append", type=named_dtype, default=[],
        help="an input's dtype: data=float32; by default that of the parameters")  # fmt: skip
    add("--opset", metavar="N", type=int, help="the version of ONNX's operators; by default the newest that is stable")
    add("--check", action="store_true", help="print how far each output differs, in a table; checks an import, too")
    add("--layers", action="store_true", help="print one line a layer, or an array: what it is and what it became")
    add("--params", metavar="FILE", help="the parameters of a symbol: .params, .safetensors or .npz")
    add("--epoch", metavar="N", type=int, help="which of several .params files; by default the last")
    add("--import", metavar="MODULE", action="append", default=[], dest="modules",
        help="a module that defines custom operators; imported first")  # fmt: skip
    add("--plain-names", action="store_true", help="write parameters without arg: and aux: in front of their names")
    add("--force", action="store_true", help="replace OUT if it is there")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command line after `python -m minpy convert`, and return the exit status."""
    parser = _parser()
    try:
        options = parser.parse_args(separated_dynamic(arguments))
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    try:
        _run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # as of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MXNetError as error:
        print(_message(error), file=sys.stderr)
        wrong_input = (ArgumentError, FileAccessError, FileFormatError, MissingDependencyError)
        return 2 if isinstance(error, wrong_input) else 1
    except MemoryError:
        print(
            f"{COMMAND}: there is not enough memory for {options.source!r}. Use a machine with more.", file=sys.stderr
        )
        return 2
    return 0


def _message(error: MXNetError) -> str:
    """Return what is said of an error: `minpy.inspection`, which finds models, names its own command and options."""
    text = str(error).replace("python -m minpy model: ", f"{COMMAND}: ").replace("--data ", "--shape ")
    if isinstance(error, (FileAccessError, FileFormatError)):
        text = " ".join(text.split())
    return text if text.startswith(COMMAND) else f"{COMMAND}: {text}"


def _kind(path: str) -> str:
    """Return '.onnx', 'parameters' or 'model', for a path."""
    lower = path.lower()
    if lower.endswith(".onnx"):
        return ".onnx"
    return "parameters" if lower.endswith(ENDINGS) else "model"


def _run(options: argparse.Namespace) -> None:
    kinds = _kind(options.source), _kind(options.target)
    if kinds == ("parameters", "parameters"):
        _refuse_options(options, ("plain_names",), "parameters")
        tensors = convert_parameters(options.source, options.target, options.plain_names, options.force)
        print(f"{options.target}: {len(tensors)} arrays, {size_text(size_of(tensors))}")
        if options.layers:
            print("\n".join(lines_of_tensors(tensors)))
        return
    is_params = options.source.lower().endswith(".params")
    if kinds == ("parameters", ".onnx") and not is_params:
        raise ArgumentError(
            f"{COMMAND}: {options.source!r} holds parameters alone. Give the network, and --params {options.source}."
        )
    if kinds[0] == kinds[1] or ".onnx" not in kinds or (kinds == (".onnx", "parameters") and not _is_params(options)):
        raise ArgumentError(
            f"{COMMAND}: {options.source!r} cannot become {options.target!r}. A network becomes .onnx, .onnx becomes a "
            "pair NAME-symbol.json, NAME-0000.params; .params, .safetensors and .npz become each other."
        )
    from minpy.onnx.conversion.model_files import ModelOptions, to_onnx, to_pair

    _refuse_options(options, _FOR_EXPORT if kinds[1] == ".onnx" else _FOR_IMPORT, "this conversion")
    chosen = ModelOptions(
        params=options.params,
        epoch=options.epoch,
        shapes=options.shape,
        dtypes=options.dtype,
        dynamic=options.dynamic,
        opset=options.opset,
        check=options.check,
        layers=options.layers,
        force=options.force,
        modules=options.modules,
    )
    convert = to_onnx if kinds[1] == ".onnx" else to_pair
    result = convert(options.source, options.target, chosen)
    for assumption in result.assumptions:
        print(f"assumed: {assumption}")
    if result.layers:
        print("\n".join(result.layers))
    if result.rows:
        from minpy.onnx.conversion.comparison import comparison_table

        print("\n".join(comparison_table(result.rows)))
    for path in result.written:
        print(f"{path}: {size_text(os.path.getsize(path))}")


def _is_params(options: argparse.Namespace) -> bool:
    return bool(options.target.lower().endswith(".params"))


_FOR_IMPORT = ("shape", "check")
_FOR_EXPORT = (*_FOR_IMPORT, "dynamic", "dtype", "opset", "params", "epoch", "modules")


def _refuse_options(options: argparse.Namespace, serving: Sequence[str], subject: str) -> None:
    """Raise for an option that would do nothing."""
    for name in (*_FOR_EXPORT, "plain_names"):
        if name not in serving and getattr(options, name) not in (None, False, []):
            option = "import" if name == "modules" else name.replace("_", "-")
            raise ArgumentError(f"{COMMAND}: --{option} says nothing for {subject}. Leave it out.")
