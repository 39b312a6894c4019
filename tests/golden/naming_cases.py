"""Golden cases of the names and attributes that symbols get by where they are made."""

# ruff: noqa: E501 - one case is one line of text

START = """
import threading

NameManager, Prefix, AttrScope = mx.name.NameManager, mx.name.Prefix, mx.AttrScope

def var(name='x', **options):
    return mx.sym.var(name, **options)

def tanh(**options):
    return mx.sym.tanh(var(), **options)

def name(**options):
    return tanh(**options).name

def attributes(symbol):
    found = symbol.attr_dict()
    return [node + '.' + key + '=' + found[node][key] for node in sorted(found) for key in sorted(found[node])]

def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]
"""

NAMES = [
    ("counts", "with NameManager():\n    result = [name(), name(), mx.sym.exp(var()).name, name()]"),
    (
        "given_names_do_not_count",
        "with NameManager():\n    result = [name(name='t'), name(), name(name='tanh1'), name()]",
    ),
    ("given_name_is_not_kept_free", "with NameManager():\n    result = [name(name='tanh0'), name()]"),
    ("empty_name", "with NameManager():\n    result = [name(name=''), name(name=None)]"),
    (
        "arithmetic",
        """
with NameManager():
    x, y = var('x'), var('y')
    made = [x + y, x - y, x * y, x / y, x + 1, 1 - x, x * 2, 2 / x, x ** 2, 2 ** x, -x, x > y, x == 1, x % 2, abs(x)]
    result = [one.name for one in made]
""",
    ),
    (
        "methods_and_aliases",
        """
with NameManager():
    x = var()
    made = [x.reshape((1, -1)), mx.sym.Reshape(x, shape=(1, -1)), x.sum(), mx.sym.sum(x), mx.sym.Flatten(x), x.flatten(),
            x.astype('int32'), x.T if hasattr(x, 'T') else x.transpose(), mx.sym.concat(x, x, dim=0), x.expand_dims(0)]
    result = [one.name for one in made]
""",
    ),
    (
        "inputs_that_are_made",
        """
with NameManager():
    x = mx.sym.FullyConnected(var('data'), num_hidden=2)
    y = mx.sym.BatchNorm(mx.sym.Convolution(x, kernel=(1, 1), num_filter=2, name='conv'))
    result = mx.sym.SoftmaxOutput(y).list_inputs()
""",
    ),
    (
        "nested_managers",
        "with NameManager():\n    a = name()\n    with NameManager():\n        b = name()\n    result = [a, b, name()]",
    ),
    (
        "the_same_manager_twice",
        """
manager = NameManager()
with manager:
    first = name()
with manager:
    second = name()
result = [first, second]
""",
    ),
    (
        "a_manager_inside_itself",
        """
manager = NameManager()
with manager:
    first = name()
    with manager:
        second = name()
    third = name()
result = [first, second, third]
""",
    ),
    ("prefix", "with Prefix('net_'):\n    result = [name(), name(), name(name='t'), var('x').name]"),
    (
        "prefix_of_inputs",
        "with Prefix('net_'):\n    result = mx.sym.FullyConnected(var(), num_hidden=2, name='fc').list_inputs()",
    ),
    (
        "nested_prefixes",
        "with Prefix('a_'):\n    x = name()\n    with Prefix('b_'):\n        y = name()\n    result = [x, y, name()]",
    ),
    (
        "prefix_in_manager",
        "with NameManager():\n    x = name()\n    with Prefix('b_'):\n        y = name()\n    result = [x, y, name()]",
    ),
    ("manager_in_prefix", "with Prefix('a_'):\n    with NameManager():\n        result = [name(), name()]"),
    (
        "get",
        "result = [NameManager().get('given', 'hint'), NameManager().get(None, 'hint'), Prefix('p_').get('given', 'hint')]",
    ),
    (
        "own_manager",
        """
class Own(NameManager):
    def get(self, name, hint):
        return 'own_' + super().get(name, hint)
with Own():
    result = [name(), name(name='t')]
""",
    ),
    (
        "after_an_exception",
        """
with NameManager():
    first = name()
    try:
        with Prefix('lost_'):
            raise ValueError
    except ValueError:
        pass
    result = [first, name()]
""",
    ),
    (
        "composed",
        "with NameManager():\n    x = tanh(name='inner')\n    result = [tanh(name='t')(x=x, name='c').name, tanh()(x=x).name]",
    ),
    (
        "threads_do_not_share_a_prefix",
        "with Prefix('a_'):\n    other = in_thread(name)\n    result = [other.startswith('a_'), name()]",
    ),
    (
        "threads_with_managers_of_their_own",
        """
def run():
    with NameManager():
        return [name(), name()]
with NameManager():
    first = name()
    result = [first, *in_thread(run), name()]
""",
    ),
    (
        "a_manager_used_in_another_thread",
        """
manager = NameManager()
def run():
    with manager:
        return name()
with manager:
    first = name()
    result = [first, in_thread(run), name()]
""",
    ),
]

ATTRIBUTES = [
    ("scope_of_a_variable", "with AttrScope(mood='good'):\n    result = attributes(var())"),
    (
        "scope_of_an_operator",
        "with AttrScope(mood='good'):\n    x = var()\nwith AttrScope(mood='bad'):\n    result = attributes(mx.sym.tanh(x, name='t'))",
    ),
    (
        "scope_of_inputs_that_are_made",
        "with AttrScope(mood='good'):\n    result = attributes(mx.sym.FullyConnected(var(), num_hidden=2, name='fc'))",
    ),
    (
        "hidden_attributes",
        "with AttrScope(ctx_group='g', lr_mult='2', wd_mult='3', force_mirroring='True', mirror_stage='1'):\n    result = attributes(var())",
    ),
    (
        "hidden_attributes_read",
        "with AttrScope(ctx_group='g'):\n    x = var()\n    result = [x.attr('ctx_group'), x.attr('__ctx_group__'), tanh().attr('ctx_group'), tanh().attr('__ctx_group__')]",
    ),
    (
        "underscores_in_scope",
        "with AttrScope(__lr_mult__='2', __own__='1'):\n    x = var()\n    result = [*attributes(x), x.attr('lr_mult'), x.attr('__lr_mult__'), x.attr('own')]",
    ),
    (
        "nested_scopes",
        "with AttrScope(a='1', b='1'):\n    with AttrScope(b='2', c='2'):\n        x = var('x')\n    result = [*attributes(x), *attributes(var('y'))]",
    ),
    (
        "given_attributes_win",
        "with AttrScope(a='1', b='1'):\n    result = [*attributes(var(attr={'b': '2'})), *attributes(tanh(name='t', attr={'a': '3'}))]",
    ),
    (
        "attributes_of_an_operator_are_not_its_inputs",
        "x = mx.sym.FullyConnected(var(), num_hidden=2, name='fc', attr={'mood': 'good'})\nresult = attributes(x)",
    ),
    (
        "hidden_attributes_of_an_operator",
        "x = mx.sym.FullyConnected(var(), num_hidden=2, name='fc', lr_mult=2)\nresult = attributes(x)",
    ),
    (
        "options_of_a_variable",
        "result = attributes(var(lr_mult=2, wd_mult=0.5, shape=(2, 3), dtype='float64', init='zeros'))",
    ),
    ("options_win_over_scope", "with AttrScope(lr_mult='5'):\n    result = attributes(var(lr_mult=2))"),
    ("own_options_of_a_variable", "result = attributes(var(__own__='1'))"),
    ("not_a_string", "with AttrScope(a=1):\n    pass\nresult = 0"),
    ("not_a_string_in_attr", "result = attributes(var(attr={'a': 1}))"),
    ("option_without_underscores", "result = attributes(var(own='1'))"),
    (
        "scope_get",
        "scope = AttrScope(a='1')\nresult = sorted(scope.get({'b': '2'})) + sorted(scope.get(None)) + [scope.get({'a': '3'})['a']]",
    ),
    (
        "the_same_scope_twice",
        "scope = AttrScope(a='1')\nwith scope:\n    x = var('x')\nwith scope:\n    y = var('y')\nresult = [*attributes(x), *attributes(y)]",
    ),
    (
        "the_same_scope_in_another",
        "scope = AttrScope(a='1')\nwith AttrScope(b='2'):\n    with scope:\n        x = var('x')\nwith scope:\n    y = var('y')\nresult = [*attributes(x), *attributes(y)]",
    ),
    (
        "after_an_exception",
        "try:\n    with AttrScope(a='1'):\n        raise ValueError\nexcept ValueError:\n    pass\nresult = attributes(var())",
    ),
    (
        "threads_do_not_share_a_scope",
        "with AttrScope(a='1'):\n    result = [*in_thread(lambda: attributes(var('x'))), *attributes(var('y'))]",
    ),
    (
        "a_thread_with_a_scope",
        "def run():\n    with AttrScope(b='2'):\n        return attributes(var('x'))\nwith AttrScope(a='1'):\n    result = [*in_thread(run), *attributes(var('y'))]",
    ),
    ("set_attr", "x = var()\nx._set_attr(mood='good', lr_mult='2')\nresult = attributes(x)"),
    (
        "list_attr",
        "x = mx.sym.Activation(var(), act_type='relu', name='a', attr={'mood': 'good'})\nresult = [key + '=' + value for key, value in sorted(x.list_attr().items())]",
    ),
    ("missing_attribute", "result = var().attr('nothing')"),
    ("scope_and_prefix", "with Prefix('net_'), AttrScope(a='1'):\n    result = attributes(tanh())"),
]

CASES = [(f"name_{name}", START + snippet) for name, snippet in NAMES]
CASES += [(f"attribute_{name}", START + snippet) for name, snippet in ATTRIBUTES]
