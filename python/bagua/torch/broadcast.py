# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rank 0 has, for all ranks."""
from __future__ import annotations

import typing

import torch

from bagua import runtime

# The bytes that are sent at once: no second copy of the model is needed. It is also the largest block from which glibc's malloc learns, when
# it is freed, to keep as much for the next ones (mallopt(3), M_MMAP_THRESHOLD): a program that had freed none gave the memory of each step's
# gradients back to the system, whose page faults took 2 % of a GPT's step.
_PIECE = (32 << 20) - (64 << 10)


def _room(tensor: torch.Tensor) -> int:
    """In bytes; the next one begins where any type may."""
    return (tensor.numel() * tensor.element_size() + 15) // 16 * 16


def _cut(tensor: torch.Tensor) -> typing.Sequence[torch.Tensor]:
    """Into parts that fit into a piece, where that takes no copy."""
    if _room(tensor) <= _PIECE or not tensor.is_contiguous():
        return [tensor]
    return torch.split(tensor.view(-1), _PIECE // tensor.element_size())


@torch.no_grad()
def broadcast(group: runtime.Communicator, rank: int, tensors: typing.Iterable[torch.Tensor]) -> None:
    """As bytes one behind the other, a piece at a time."""
    pieces: list[list[torch.Tensor]] = [[]]
    size = 0
    for part in (part for tensor in tensors for part in _cut(tensor.data)):  # unseen by autograd, as DistributedDataParallel does it
        if size and size + _room(part) > _PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(part)
        size += _room(part)
    sizes = [sum(map(_room, piece)) for piece in pieces]
    # A first piece that is alike must not be taken where others are not.
    group.agree_on("the bytes of params and buffers that are broadcast", sum(sizes))
    flat = torch.zeros(max(sizes), dtype=torch.uint8, device="cpu")
    for piece in pieces:
        _broadcast_piece(group, rank, piece, flat)


def _broadcast_piece(group: runtime.Communicator, rank: int, parts: list[torch.Tensor], flat: torch.Tensor) -> None:
    places: list[torch.Tensor] = []
    size = 0
    for part in parts:
        place = flat[size:size + part.numel() * part.element_size()]
        places.append(place.view(part.dtype).view(part.shape))
        size += _room(part)
    if not size:
        return
    if rank == 0:
        for place, part in zip(places, parts):
            place.copy_(part)
    group.broadcast(flat.data_ptr(), size, runtime.Type.INT8)
    if rank != 0:
        for place, part in zip(places, parts):
            part.copy_(place)
