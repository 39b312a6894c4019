"""Datasets, samplers, and loaders of batches."""

from minpy.gluon.data import batchify, dataloader, dataset, sampler, vision
from minpy.gluon.data.dataloader import DataLoader
from minpy.gluon.data.dataset import *
from minpy.gluon.data.sampler import *
from minpy.namespaces import module_functions

__all__ = ["DataLoader", *dataset.__all__, *sampler.__all__, "batchify", "dataloader", "dataset", "sampler", "vision"]
__dir__, __getattr__ = module_functions(__name__, __all__)
