# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strategies of overlap: gradients travel while backward makes others, or while the next forward runs as well."""
from bagua.torch.overlap.across_steps import AcrossSteps
from bagua.torch.overlap.overlap import Overlap
from bagua.torch.overlap.within_backward import WithinBackward

__all__ = ["AcrossSteps", "Overlap", "WithinBackward"]
