"""`mx.gluon.data.vision.datasets`: datasets of images."""

from minpy.gluon.data.vision.cifar import CIFAR10, CIFAR100
from minpy.gluon.data.vision.mnist import MNIST, FashionMNIST
from minpy.gluon.data.vision.pictures import ImageFolderDataset, ImageListDataset, ImageRecordDataset
from minpy.namespaces import module_functions

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
