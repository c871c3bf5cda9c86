# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bagua for Python programs: `bagua.runtime` and, if PyTorch is installed, `bagua.torch`."""
from __future__ import annotations

import importlib
import importlib.metadata
import os
import types

from bagua.version import VERSION as __version__  # noqa: F401, is read by users


def _refuse_another() -> None:
    """Refuses to be mixed with another project, which is on PyPI as `bagua`; this one's distribution is `bagua-compiler`."""
    try:
        place = importlib.metadata.distribution("bagua").locate_file("bagua")
    except importlib.metadata.PackageNotFoundError:
        return
    if os.path.realpath(str(place)) == os.path.dirname(os.path.realpath(__file__)):
        raise ImportError("expected the package bagua-compiler alone, found it mixed with another project's package 'bagua': "
                          "run pip uninstall bagua bagua-compiler, and install bagua-compiler again")


_refuse_another()


def __getattr__(name: str) -> types.ModuleType:
    if name in ("runtime", "torch"):
        return importlib.import_module(f"bagua.{name}")
    raise AttributeError(f"module 'bagua' has no attribute '{name}'")
