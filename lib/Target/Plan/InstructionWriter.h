//===- InstructionWriter.h - Instructions in the file's form --------------===//
//
// One function for each kind of op; layouts and axes for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H
#define BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H

#include "PlanModel.h"

#include "bagua/Runtime/PlanGenerated.h"

namespace bagua {

namespace fb = runtime::fb;

template <typename T>
using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;

/// Indices of the axes in the cluster.
std::vector<uint32_t> axisNumbers(ClusterOp cluster, AxesAttr axes);

/// Null for no layout.
VectorOffset<flatbuffers::Offset<fb::LayoutEntry>>
writeLayout(flatbuffers::FlatBufferBuilder &builder, ClusterOp cluster,
            LayoutAttr layout);

/// Fails, with an error, for an op that the runtime can't run.
llvm::FailureOr<flatbuffers::Offset<fb::Instruction>>
writeInstruction(flatbuffers::FlatBufferBuilder &builder,
                 const PlanModel &model, const PlanInstruction &instruction);

} // namespace bagua

#endif // BAGUA_LIB_TARGET_PLAN_INSTRUCTIONWRITER_H
