//===- InstructionWriter.h - Instructions in the file's form --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions, layouts and axes.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H
#define BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H

#include "PlanModel.h"

#include "bagua/Runtime/PlanGenerated.h"

namespace bagua {

namespace fb = runtime::fb;

/// The opcode of an op's name: `reduce_scatter` is ReduceScatter. Nothing where
/// there is none.
std::optional<fb::Opcode> opcodeOf(llvm::StringRef snakeCase);

/// Indices of the axes in the cluster.
std::vector<uint32_t> axisNumbers(ClusterOp cluster, AxesAttr axes);

/// Empty for no layout.
std::vector<std::unique_ptr<fb::LayoutEntryT>> writeLayout(ClusterOp cluster,
                                                           LayoutAttr layout);

/// Fails, with an error, for an op that the runtime can't run.
llvm::LogicalResult writeInstruction(const PlanModel &model,
                                     const PlanInstruction &instruction,
                                     fb::InstructionT &written);

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H
