"""Datasets, samplers, and loaders of batches."""

from minpy.gluon.data import batchify, dataloader, dataset, sampler, vision
from minpy.gluon.data.dataloader import DataLoader
from minpy.gluon.data.dataset import *
from minpy.gluon.data.sampler import *
from minpy.namespaces import listing, missing

__all__ = ["DataLoader", *dataset.__all__, *sampler.__all__, "batchify", "dataloader", "dataset", "sampler", "vision"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.data", "name", __all__)
