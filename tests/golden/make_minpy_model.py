"""Writes ``minpy_model.params``: a model as MinPy saves it, in HDF5. Run under dmlc MinPy 0.3.4, with h5py.

Usage: ``python tests/golden/make_minpy_model.py``
"""

from pathlib import Path

import minpy.numpy as np
from minpy.nn.model import ModelBase

model = ModelBase()
model.params = {"w": np.ones((2, 2)) * 3}
model.aux_params = {"seen": np.ones((1,))}
model.save(str(Path(__file__).resolve().parent / "minpy_model"))
