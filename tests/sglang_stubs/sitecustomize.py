"""Packages that SGLang imports and that cannot be had for a CPU, so that the rest of it starts: its compiled kernels,
and torchvision, whose published build is for CUDA. Every name in them exists; whatever is called raises.

Python imports this file by itself where its folder is on PYTHONPATH. A package that is installed is not replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

STUBBED = ("sgl_kernel", "torchvision")


class Absent:
    """Something out of a stubbed package: it may be named and passed on."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Absent:
        return _inside(self._name, name)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"{self._name} is a stub of steer-tui's tests")


class Stub(ModuleType):
    """A stubbed package, or a module of one."""

    __version__ = "0"

    def __getattr__(self, name: str) -> Absent:
        return _inside(self.__name__, name)


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        stubbed = fullname.partition(".")[0] in STUBBED
        return ModuleSpec(fullname, self, is_package=True) if stubbed else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


def _inside(owner: str, name: str) -> Absent:
    if name.startswith("__"):  # what Python itself asks for
        raise AttributeError(name)
    return Absent(f"{owner}.{name}")


sys.meta_path.append(_Finder())
