# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of DataParallel."""
from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass
class Options:
    """DataParallel's documentation describes them. The program may change two of them later by its attributes."""
    overlap: str
    optimizer: torch.optim.Optimizer | None
    find_unused_parameters: bool
    broadcast_buffers: bool
    gradient_as_bucket_view: bool
    timeout: float
    first_step: int

    def __post_init__(self) -> None:
        if self.overlap not in ("backward", "step") or (self.overlap == "step") != (self.optimizer is not None):
            raise ValueError('expected overlap="backward", or overlap="step" and an optimizer')

    def alike(self) -> dict[str, object]:
        """By name, the options that must be the same on all ranks."""
        return {name: getattr(self, name) for name in ("overlap", "find_unused_parameters", "broadcast_buffers", "gradient_as_bucket_view", "first_step")}
