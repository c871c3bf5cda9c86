//===- BaguaOps.td - All ops of the bagua dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the op files, for tablegen and for the reference manual.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_OPS_TD
#define BAGUA_OPS_TD

include "bagua/Dialect/Bagua/BaguaCollectiveOps.td"
include "bagua/Dialect/Bagua/BaguaComputeOps.td"
include "bagua/Dialect/Bagua/BaguaStepOps.td"
include "bagua/Dialect/Bagua/BaguaUpdateOps.td"

#endif // BAGUA_OPS_TD
