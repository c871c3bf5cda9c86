# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A store of torch.distributed's, by which ranks meet."""


class Store:
    """For `World.launched(store=Store(torch_store))`, where programs use torch.distributed, too: no port of its own is needed.

    `torch_store` is a TCPStore, FileStore or PrefixStore that all ranks reach."""

    def __init__(self, torch_store):
        self.store = torch_store

    def set(self, name, text):
        self.store.set(name, text)

    def get(self, name):
        # What torch's own get would wait for.
        return self.store.get(name) if self.store.check([name]) else None
