"""Policies: set for all, for a namespace, for a function; and the calls that they count."""

import contextlib
import io

import minpy
import minpy.numpy as np
from minpy.dispatch import policy
from minpy.dispatch.policy import OnlyNumPyPolicy, PreferMXNetPolicy

print(minpy.get_global_policy().name, minpy.Config["default_policy"].name)
minpy.set_global_policy("only_numpy")
print(minpy.get_global_policy().name, np.policy.name)
minpy.set_global_policy(PreferMXNetPolicy())


@minpy.wrap_policy("only_numpy")
def total(x):
    return minpy.get_global_policy().name, float(np.sum(x).asnumpy())


print(total(np.ones((2, 2))), minpy.get_global_policy().name)
np.set_policy(OnlyNumPyPolicy())
np.random.set_policy(OnlyNumPyPolicy())
print(np.dot(np.ones((2, 3)), np.ones((3, 2))).asnumpy().tolist(), np.random.rand(2, 3).shape)
np.record_op_stat()
with contextlib.redirect_stdout(io.StringIO()) as shown:
    np.exp(np.zeros((2,))) + 1
    np.show_op_stat()
counts = sorted(line.strip().replace(" :", ":") for line in shown.getvalue().splitlines() if line.startswith(" "))
print(counts)
np.set_policy(PreferMXNetPolicy())
for name in ("prefer_mxnet", "only_numpy"):
    print(policy.create(name).name)
try:
    policy.create("no such policy")
except TypeError:
    print("TypeError")
print(np.ones((2,), dtype=np.int).asnumpy().dtype, np.float(1), np.pi > 3, np.newaxis)
