"""Write native_library.json: what MXNet 1.9.1 computes with a library that was built with minpy's header.

    g++ -std=c++11 -shared -fPIC tests/support/native/surface.cc tests/support/native/surface_graphs.cc \\
        minpy/src/lib_api.cc -I minpy/include -o /tmp/libsurface.so
    python tests/golden/make_native_library.py /tmp/libsurface.so      # where mxnet is MXNet 1.9.1

MXNet loads the library as it loads one of its own: that it runs at all is half of what this shows.
"""

import json
import sys
from pathlib import Path

import mxnet

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from native_library_answers import answers  # noqa: E402


def main():
    found = {"mxnet": mxnet.__version__, "cases": answers(mxnet, str(Path(sys.argv[1]).resolve()))}
    text = ",\n".join(f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in found["cases"].items())
    path = HERE / "native_library.json"
    path.write_text(f'{{\n  "mxnet": "{found["mxnet"]}",\n  "cases": {{\n{text}\n  }}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
