"""What rank 0 has, for all ranks."""
import torch

from bagua import runtime

# Of what is sent at once, so that a model has no second copy of its size. When it is freed, the largest block from which glibc's malloc
# learns to keep as much for the next ones (mallopt(3), M_MMAP_THRESHOLD): a program that had freed none gave the memory of each step's
# gradients back to the system, whose page faults took 2 % of a GPT's step.
_PIECE = (32 << 20) - (64 << 10)


def _room(tensor):
    """In bytes; the next one begins at a multiple of eight."""
    return (tensor.numel() * tensor.element_size() + 7) // 8 * 8


@torch.no_grad()
def broadcast(group, rank, tensors):
    """As bytes one behind the other, a piece at a time."""
    pieces, size = [[]], 0
    for tensor in tensors:
        if size and size + _room(tensor) > _PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(tensor)
        size += _room(tensor)
    flat = torch.zeros(max(sum(map(_room, piece)) for piece in pieces), dtype=torch.uint8, device="cpu")
    for piece in pieces:
        _broadcast_piece(group, rank, piece, flat)


def _broadcast_piece(group, rank, tensors, flat):
    parts, size = [], 0
    for tensor in tensors:
        part = flat[size:size + tensor.numel() * tensor.element_size()]
        parts.append(part.view(tensor.dtype).view(tensor.shape))
        size += _room(tensor)
    if not size:
        return
    if rank == 0:
        for part, tensor in zip(parts, tensors):
            part.copy_(tensor)
    group.broadcast(flat.data_ptr(), size, runtime.Type.INT8)
    if rank != 0:
        for part, tensor in zip(parts, tensors):
            tensor.data.copy_(part)  # unseen by autograd, as DistributedDataParallel does it
