"""Datasets, samplers, and loaders of batches."""

from minpy.gluon.data import batchify, dataloader, dataset, sampler, vision
from minpy.gluon.data.dataloader import DataLoader
from minpy.gluon.data.dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from minpy.gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)
from minpy.namespaces import listing, missing

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "dataloader",
    "dataset",
    "sampler",
    "vision",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.data", "name", __all__)
