"""Golden cases of `autograd.get_symbol`, for arithmetic and comparisons with numbers: nodes, numbers, values."""

START = """import json
x = nd.array([1, 2, 4]); x.attach_grad()
with autograd.record():
    y = {expression}
"""

GRAPH = """text = autograd.get_symbol(y).tojson()
nodes = [node for node in json.loads(text)["nodes"] if node["op"] != "null"]
symbol = mx.sym.load_json(text)
numbers = [float(node["attrs"]["scalar"]) for node in nodes if "scalar" in node.get("attrs", {})]
values = symbol.bind(mx.cpu(), {name: x for name in symbol.list_arguments()}).forward()[0]
result = [[node["op"] for node in nodes], numbers, len(symbol.list_arguments()), y, values]
"""

SIGNS = {
    "plus": "+", "minus": "-", "times": "*", "over": "/", "mod": "%", "power": "**",
    "equal": "==", "unequal": "!=", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=",
}  # fmt: skip
NUMBERS = {"int": "2", "float": "0.1", "negative": "(-1.5)", "true": "True"}
FUNCTIONS = ["maximum", "minimum", "add", "subtract", "multiply", "divide", "power", "modulo", "greater", "logical_and"]

EXPRESSIONS = {
    "polynomial": "x * x + 2 * x - 1",
    "chain": "(1 - x / 3) ** 2 * (x > 1) + 0.5",
    **{f"{name}_{kind}": f"x {sign} {number}" for name, sign in SIGNS.items() for kind, number in NUMBERS.items()},
    **{f"r{name}_{kind}": f"{number} {sign} x" for name, sign in SIGNS.items() for kind, number in NUMBERS.items()},
    **{f"nd_{name}": f"nd.{name}(x, 2)" for name in FUNCTIONS},
    **{f"nd_r{name}": f"nd.{name}(3, x)" for name in FUNCTIONS},
}

CASES = [(f"recorded_{name}", START.format(expression=text) + GRAPH) for name, text in EXPRESSIONS.items()]
