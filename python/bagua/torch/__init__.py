# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bagua for PyTorch: training on several ranks by a plan.

    torchrun --nproc-per-node=4 train.py

    model = bagua.torch.DataParallel(model, plan="step.bagua")     # in place of DistributedDataParallel
    for batch in batches:
        loss(model(batch)).backward()                               # gradients are the means over all ranks
        optimizer.step()
        optimizer.zero_grad()

docs/RunOnYourCluster.md says where the plan comes from.
"""
from bagua.torch.data_parallel import DataParallel
from bagua.torch.store import Store
from bagua.torch.table import step_table

__all__ = ["DataParallel", "Store", "step_table"]
