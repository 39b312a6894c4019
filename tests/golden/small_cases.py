"""Golden cases of the small modules: what `mx.base`, `registry`, `util`, `engine`, `contrib.text` and others answer."""

# ruff: noqa: E501 - one case is one line of text

REGISTRY = """
class Base:
    def __init__(self, size=1, **others): self.size, self.others = size, others
register = mx.registry.get_register_func(Base, "shape")
alias = mx.registry.get_alias_func(Base, "shape")
create = mx.registry.get_create_func(Base, "shape")
@register
class Square(Base): pass
@alias("round", "Disc")
class Circle(Base): pass
"""

TEXT = """
from collections import Counter
text = mx.contrib.text
counts = Counter(["a", "b", "b", "c", "c", "c", "some_word$"])
words = text.vocab.Vocabulary(counts)
"""

VECTORS = (
    TEXT
    + """
import os, tempfile, warnings
def written(content):
    handle, path = tempfile.mkstemp()
    with os.fdopen(handle, "w") as file: file.write(content)
    return path
def read(content, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return text.embedding.CustomEmbedding(written(content), **options)
first = read("a 0.1 0.2 0.3\\nb 0.4 0.5 0.6\\nb 9 9 9\\n<unk> 0.7 0.7 0.7\\n")
second = read("3 3\\na 1 2 3\\nc 4 5 6\\n")
"""
)

SQUARES = """
old = mx.contrib.autograd
x, gradient = nd.array([1, 2, 3]), nd.zeros(3)
old.mark_variables([x], [gradient])
with old.train_section():
    inside = mx.autograd.is_training(), mx.autograd.is_recording()
    with old.test_section(): tested = mx.autograd.is_training(), mx.autograd.is_recording()
    y = x * x
"""

CASES = [
    # mx.base
    ("base_as_list", "result = [mx.base._as_list(value) for value in (1, 'a', (1, 2), [3])]"),
    ("base_py_str", "result = mx.base.py_str(b'abc')"),
    ("base_types", "result = [isinstance(1, mx.base.numeric_types), isinstance(np.float32(1), mx.base.numeric_types), isinstance(np.int64(1), mx.base.integer_types), isinstance(np.int8(1), mx.base.integer_types), isinstance(1.0, mx.base.integer_types), isinstance('a', mx.base.string_types)]"),
    ("base_real", "result = mx.base.mx_real_t"),
    ("base_param_doc", "result = mx.base.build_param_doc(['a', 'b'], ['int', 'str'], ['A number.', ''])"),
    ("base_param_doc_twice", "result = mx.base.build_param_doc(['a', 'a'], ['int', 'str'], ['x', 'y'])"),
    ("base_c_array", "result = list(mx.base.c_array(mx.base.mx_uint, [1, 2, 3]))"),
    ("error_types", "result = sorted(set(mx.base.error_types) & {'ValueError', 'TypeError', 'AttributeError', 'IndexError', 'NotImplementedError', 'InternalError', 'NotImplementedForSymbol'} | {mx.error.InternalError.__name__})"),
    # mx.registry
    ("registry_names", REGISTRY + "result = sorted(mx.registry.get_registry(Base))"),
    ("registry_create", REGISTRY + "result = [create('square', size=3).size, create('SQUARE').size, create('disc', 7).size]"),
    ("registry_instance", REGISTRY + "one = Square(5); result = create(one) is one"),
    ("registry_list", REGISTRY + "result = create('[\"square\", {\"size\": 7}]').size"),
    ("registry_dict", REGISTRY + "result = [create({'shape': 'square', 'size': 9}).size, create('{\"shape\": \"square\", \"size\": 8}').size, create(shape='round', size=2).size]"),
    ("registry_copy", REGISTRY + "mx.registry.get_registry(Base).clear(); result = len(mx.registry.get_registry(Base))"),
    ("registry_names_of_functions", REGISTRY + "result = [register.__name__, alias.__name__, create.__name__]"),
    # mx.util, mx.engine, mx.random
    ("util_gpus", "result = [mx.util.get_gpu_count(), mx.context.num_gpus()]"),
    ("engine_bulk", "before = mx.engine.set_bulk_size(3); inner = []\nwith mx.engine.bulk(7):\n    inner.append(mx.engine.set_bulk_size(7))\nresult = [inner[0], mx.engine.set_bulk_size(before)]"),
    ("runtime", "features = mx.runtime.Features(); result = [features.is_enabled('CUDA'), features.is_enabled('cuda'), features.is_enabled('LAPACK'), features['CUDA'].enabled, repr(features['CUDA']), features['LAPACK'].name]"),
    ("runtime_names", "result = sorted(mx.runtime.Features())"),
    ("seed_cpu", "mx.random.seed(5); a = nd.random.uniform(shape=3).asnumpy(); mx.random.seed(5, ctx=mx.cpu(1)); b = nd.random.uniform(shape=3).asnumpy(); result = bool((a == b).all())"),
    ("seed_gpu", "mx.random.seed(5); a = nd.random.uniform(shape=3).asnumpy(); mx.random.seed(5); mx.random.seed(6, ctx=mx.gpu(0)); result = bool((a == nd.random.uniform(shape=3).asnumpy()).all())"),
    ("seed_stream", "mx.random.seed(5); a = [nd.random.uniform(shape=2, ctx=mx.cpu(i)).asnumpy() for i in (0, 1)]; mx.random.seed(5); b = [nd.random.uniform(shape=2, ctx=mx.cpu(i)).asnumpy() for i in (1, 0)]; result = [bool((x == y).all()) for x, y in zip(a, b)]"),
    # DLPack
    ("dlpack_read", "x = nd.array([[1, 2], [3, 4]]); result = nd.from_dlpack(nd.to_dlpack_for_read(x))"),
    ("dlpack_write", "x = nd.zeros(3); y = nd.from_dlpack(nd.to_dlpack_for_write(x)); y[1] = 5; y.wait_to_read(); result = x"),
    ("dlpack_methods", "x = nd.array([1, 2], dtype='int32'); y = nd.from_dlpack(x.to_dlpack_for_write()); y[:] = 7; y.wait_to_read(); result = [x, nd.from_dlpack(x.to_dlpack_for_read())]"),
    # contrib.autograd
    ("autograd_sections", SQUARES + "result = [list(inside), list(tested)]"),
    ("autograd_gradient", SQUARES + "old.compute_gradient([y]); result = gradient"),
    ("autograd_head", SQUARES + "old.backward([y], [nd.array([1, 0, 2])]); result = gradient"),
    ("autograd_set", "old = mx.contrib.autograd\nbefore = old.set_is_training(True); inside = mx.autograd.is_recording(); result = [before, inside, old.set_is_training(False), mx.autograd.is_recording()]"),
    ("autograd_grad_and_loss", "old = mx.contrib.autograd\nresult = old.grad_and_loss(lambda a, b: a * b)(nd.array([2, 3]), nd.array([4, 5]))"),
    ("autograd_grad", "old = mx.contrib.autograd\nresult = old.grad(lambda a, b: a * b * b, argnum=1)(nd.array([2, 3]), nd.array([4, 5]))"),
    ("autograd_several", "old = mx.contrib.autograd\nresult = old.grad(lambda a, b: (a * b, a), argnum=[0])(nd.array([2, 3]), nd.array([4, 5]))"),
    # contrib.text: counting
    ("text_count", TEXT + "result = sorted(text.utils.count_tokens_from_str(' Life is great ! \\n life is good . \\n').items())"),
    ("text_count_lower", TEXT + "result = sorted(text.utils.count_tokens_from_str('*Life*is*great*!*\\n*life*is*good*.*\\n', token_delim=r'\\*', to_lower=True).items())"),
    ("text_count_more", TEXT + "more = text.utils.count_tokens_from_str('a a;d', ' ', ';', counter_to_update=counts); result = [more is counts, sorted(more.items())]"),
    # contrib.text: vocabularies
    ("vocabulary", TEXT + "result = [len(words), words.idx_to_token, sorted(words.token_to_idx.items()), words.unknown_token, words.reserved_tokens]"),
    ("vocabulary_indices", TEXT + "result = [words.to_indices('c'), words.to_indices(['c', 'nothing']), words.to_indices([])]"),
    ("vocabulary_tokens", TEXT + "result = [words.to_tokens(1), words.to_tokens([1, 2]), words.to_tokens([]), words.to_tokens(-1)]"),
    ("vocabulary_most", TEXT + "result = [text.vocab.Vocabulary(counts, most_freq_count=n).idx_to_token for n in (0, 1, 2, 9)]"),
    ("vocabulary_min", TEXT + "result = [text.vocab.Vocabulary(counts, min_freq=n).idx_to_token for n in (1, 2, 3, 4)]"),
    ("vocabulary_most_min", TEXT + "result = text.vocab.Vocabulary(counts, most_freq_count=2, min_freq=3).idx_to_token"),
    ("vocabulary_reserved", TEXT + "result = [text.vocab.Vocabulary(counts, unknown_token='U', reserved_tokens=names).idx_to_token for names in (['x', 'y'], ['b', 'y'], [])]"),
    ("vocabulary_reserved_most", TEXT + "result = [text.vocab.Vocabulary(counts, most_freq_count=2, reserved_tokens=['c']).idx_to_token, text.vocab.Vocabulary(counts, most_freq_count=2, unknown_token='c').idx_to_token]"),
    ("vocabulary_unknown", TEXT + "result = text.vocab.Vocabulary(counts, unknown_token='c').idx_to_token"),
    ("vocabulary_empty", TEXT + "result = [text.vocab.Vocabulary().idx_to_token, text.vocab.Vocabulary(None, reserved_tokens=['r']).idx_to_token]"),
    # contrib.text: embeddings
    ("embedding", VECTORS + "result = [len(first), first.vec_len, first.idx_to_token, first.unknown_token, first.reserved_tokens, first.idx_to_vec]"),
    ("embedding_header", VECTORS + "result = [second.idx_to_token, second.idx_to_vec]"),
    ("embedding_tokens", VECTORS + "result = [first.get_vecs_by_tokens('a'), first.get_vecs_by_tokens(['a', 'nothing']), first.get_vecs_by_tokens(['A', 'B'], lower_case_backup=True), first.get_vecs_by_tokens(['A'])]"),
    ("embedding_update", VECTORS + "first.update_token_vectors(['a', 'b'], nd.array([[1, 1, 1], [2, 2, 2]])); first.update_token_vectors('<unk>', nd.array([3, 3, 3])); result = first.idx_to_vec"),
    ("embedding_update_one", VECTORS + "first.update_token_vectors('a', nd.array([[4, 5, 6]])); first.update_token_vectors(['b'], nd.array([7, 8, 9])); result = first.idx_to_vec"),
    ("embedding_vocabulary", VECTORS + "found = read('a 1 2\\nc 3 4\\nd 5 6\\n', vocabulary=words); result = [found.idx_to_token, found.idx_to_vec]"),
    ("embedding_vocabulary_unknown", VECTORS + "found = read('a 1 2\\n<unk> 3 4\\n', vocabulary=text.vocab.Vocabulary(counts, unknown_token='U', reserved_tokens=['r'])); result = [found.idx_to_token, found.idx_to_vec, found.unknown_token, found.reserved_tokens]"),
    ("embedding_unknown", VECTORS + "found = read('a 1 2\\nb 3 4\\n', unknown_token='b'); result = [found.idx_to_token, found.idx_to_vec]"),
    ("embedding_initial", VECTORS + "result = read('a 1 2\\n', init_unknown_vec=nd.ones).idx_to_vec"),
    ("embedding_delimiter", VECTORS + "result = read('a,1,2\\nb,3,4\\n', elem_delim=',').idx_to_vec"),
    ("embedding_reserved", VECTORS + "found = read('a 1 2\\nb 3 4\\n', reserved_tokens=['q', 'a']); result = [found.idx_to_token, found.idx_to_vec]"),
    ("embedding_composite", VECTORS + "found = text.embedding.CompositeEmbedding(words, [first, second]); result = [found.idx_to_token, found.idx_to_vec, found.vec_len]"),
    ("embedding_composite_one", VECTORS + "result = text.embedding.CompositeEmbedding(words, first).idx_to_vec"),
    ("embedding_names", TEXT + "result = [sorted(text.embedding.get_pretrained_file_names()), sorted(text.embedding.get_pretrained_file_names('glove')), sorted(text.embedding.get_pretrained_file_names('fasttext'))]"),
    ("embedding_glove", VECTORS + "import shutil; root = tempfile.mkdtemp(); os.mkdir(os.path.join(root, 'glove')); path = os.path.join(root, 'glove', 'glove.6B.50d.txt'); text.embedding.GloVe._get_pretrained_file = classmethod(lambda cls, *_: path) if hasattr(text.embedding.GloVe, '_get_pretrained_file') else None; shutil.move(written('a 1 2\\nb 3 4\\n'), path); found = text.embedding.create('glove', pretrained_file_name='glove.6B.50d.txt', embedding_root=root); result = [found.idx_to_token, found.idx_to_vec]"),
]  # fmt: skip
