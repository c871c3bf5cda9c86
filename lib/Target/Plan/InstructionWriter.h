//===- InstructionWriter.h - Instructions in the file's form --------------===//
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

template <typename T>
using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;

/// The opcode of an op's name: `reduce_scatter` is ReduceScatter. Nothing where
/// there is none.
std::optional<fb::Opcode> opcodeOf(llvm::StringRef snakeCase);

/// Indices of the axes in the cluster.
std::vector<uint32_t> axisNumbers(ClusterOp cluster, AxesAttr axes);

/// Of permute; null for none.
VectorOffset<uint32_t> writePairs(flatbuffers::FlatBufferBuilder &builder,
                                  llvm::ArrayRef<int64_t> pairs);

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
