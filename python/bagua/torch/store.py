# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A store of torch.distributed's, by which ranks meet."""
from __future__ import annotations

import typing


class _TorchStore(typing.Protocol):
    def set(self, name: str, text: str, /) -> object: ...

    def get(self, name: str, /) -> bytes: ...

    def check(self, names: list[str], /) -> bool: ...


class Store:
    """For `World.launched(store=Store(torch_store))`, where programs use torch.distributed, too: no port of its own is needed.

    `torch_store` is a TCPStore, FileStore or PrefixStore that all ranks reach."""

    def __init__(self, torch_store: _TorchStore) -> None:
        self.store = torch_store

    def set(self, name: str, text: str) -> None:
        self.store.set(name, text)

    def get(self, name: str) -> bytes | None:
        # What torch's own get would wait for.
        return self.store.get(name) if self.store.check([name]) else None
