"""`mx.gluon.model_zoo.model_store`: where files of trained weights lie. Nothing is downloaded."""

from __future__ import annotations

import os

from minpy import base
from minpy.core.errors import ArgumentValueError, FileFormatError, FileMissingError, nearest
from minpy.files import accessing
from minpy.gluon.utils import check_sha1
from minpy.namespaces import module_functions

__all__ = ["get_model_file", "purge", "short_hash"]

ROOT = os.path.join(base.data_dir(), "models")
# The SHA-1 hashes of the files that MXNet 1.x offered for download.
_model_sha1 = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}


def short_hash(name: str) -> str:
    """Return what stands behind the name of a network in the name of its file.

    Parameters
    ----------
    name : str
        Of the network: 'resnet18_v1'.

    Raises
    ------
    ArgumentValueError
        If MXNet offered no weights of that name.

    Examples
    --------
    >>> short_hash('resnet18_v1')
    'a0666292'
    """
    if name not in _model_sha1:
        raise ArgumentValueError(
            f"Pretrained model for {name} is not available: MXNet offered {', '.join(_model_sha1)}."
            f"{nearest(name, _model_sha1)}"
        )
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = ROOT) -> str:
    """Return the path of the file with a network's weights.

    It is `name-hash.params`, as MXNet called what it downloaded, whose SHA-1 hash is checked; or `name.params`, with
    any weights.

    Parameters
    ----------
    name : str
        Of the network: 'resnet18_v1'.
    root : str
        The folder; by default `models` in the folder that the environment variable `MXNET_HOME` names, or in
        `~/.mxnet`.

    Raises
    ------
    FileMissingError
        If neither is there: nothing is downloaded.
    FileFormatError
        If the first is there, and damaged.
    ArgumentValueError
        If MXNet offered no weights of that name, and the second is not there.

    Examples
    --------
    >>> get_model_file('resnet18_v1', root='/nowhere')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: There are no weights of 'resnet18_v1': neither resnet18_v1-a0666292.params ...
    """
    root = os.path.expanduser(root)
    plain = os.path.join(root, f"{name}.params")
    if name not in _model_sha1 and os.path.exists(plain):
        return plain
    hashed = os.path.join(root, f"{name}-{short_hash(name)}.params")
    if os.path.exists(hashed):
        if check_sha1(hashed, _model_sha1[name]):
            return hashed
        raise FileFormatError(
            f"{hashed!r} is damaged, or not the file that MXNet offered: its SHA-1 hash is not "
            f"{_model_sha1[name]}. Copy it again; weights of your own are read from {os.path.basename(plain)!r}."
        )
    if os.path.exists(plain):
        return plain
    raise FileMissingError(
        f"There are no weights of {name!r}: neither {os.path.basename(hashed)} nor {os.path.basename(plain)} is in "
        f"{root!r}. minpy downloads nothing. Copy the file from a computer on which MXNet has downloaded it (there it "
        "lies in ~/.mxnet/models), or save weights there with net.save_parameters; or name its folder with root=, or "
        "with the environment variable MXNET_HOME."
    )


def purge(root: str = ROOT) -> None:
    """Remove all files of weights in a folder.

    Parameters
    ----------
    root : str
        The folder; all its files whose names end with `.params` are removed.

    Raises
    ------
    FileMissingError, FileAccessError
        If there is no such folder, or a file cannot be removed.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> open(os.path.join(folder, 'alexnet.params'), 'w').close()
    >>> purge(folder)
    >>> os.listdir(folder)
    []
    """
    root = os.path.expanduser(root)
    with accessing("model_store.purge", "remove files in", root):
        for name in os.listdir(root):
            if name.endswith(".params"):
                os.remove(os.path.join(root, name))


__dir__, __getattr__ = module_functions(__name__, __all__)
