//===- LocalOperations.cpp - Instructions that stay on a rank -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// concat, split and slice become lists of copies, without those whose source is
// their target. cast, encode, decode and arithmetic become
// kernels of the device.
//
//===----------------------------------------------------------------------===//
#include "Plan/Opcodes.h"
#include "Session/Operation.h"
#include "Session/UpdateCounts.h"
#include "bagua/Runtime/Device.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace bagua::runtime {
namespace {

class CopyOperation final : public Operation {
public:
  explicit CopyOperation(std::vector<BufferCopy> copies)
      : copies(std::move(copies)) {}

  absl::Status enqueue(Queue &queue, int64_t /*step*/) override {
    for (const BufferCopy &copy : copies) {
      absl::Status status =
          copy.from
              ? queue.copy(copy.to.address(), copy.from.address(), copy.bytes)
              : queue.zero(copy.to.address(), copy.bytes);
      if (!status.ok())
        return status;
    }
    return absl::OkStatus();
  }

private:
  std::vector<BufferCopy> copies;
};

class KernelOperation final : public Operation {
public:
  explicit KernelOperation(std::unique_ptr<Kernel> bound)
      : kernel(std::move(bound)) {}

  absl::Status enqueue(Queue &queue, int64_t step) override {
    return kernel->launch(queue, step);
  }

private:
  std::unique_ptr<Kernel> kernel;
};

/// An update or a direction with a bias correction.
class UpdateOperation final : public Operation {
public:
  UpdateOperation(std::unique_ptr<Kernel> bound, const UpdateCounts &of,
                  uint32_t counted)
      : kernel(std::move(bound)), counts(of), moment(counted) {}

  absl::Status enqueue(Queue &queue, int64_t step) override {
    return kernel->launch(queue, counts.countBefore(step, moment));
  }

private:
  std::unique_ptr<Kernel> kernel;
  const UpdateCounts &counts;
  const uint32_t moment;
};

class LocalBuilder {
public:
  LocalBuilder(const OperationSource &source, uint32_t number)
      : source(source), number(number), op(source.plan.instruction(number)) {
    if (op.inputs())
      for (uint32_t value : *op.inputs())
        inputs.push_back(source.memory.value(value));
    if (op.outputs())
      for (uint32_t value : *op.outputs())
        outputs.push_back(source.memory.value(value));
  }

  absl::StatusOr<std::unique_ptr<Operation>> build();

private:
  std::unique_ptr<Operation> bucket(bool isConcat);
  void copyStriped(const LocalValue &bucket, const LocalValue &tensor,
                   int64_t offset, int64_t stride, const Layout &stripes,
                   bool isConcat, std::vector<BufferCopy> &copies);
  std::unique_ptr<Operation> slice();
  absl::StatusOr<std::unique_ptr<Operation>> kernel();

  const OperationSource &source;
  const uint32_t number;
  const fb::Instruction &op;
  std::vector<LocalValue> inputs;
  std::vector<LocalValue> outputs;
};

/// Copies the parts of one tensor. They lie `stride` elements apart in the
/// bucket, the first at `offset`. Of a bucket that is stored in parts, only
/// this rank's part is copied.
void LocalBuilder::copyStriped(const LocalValue &bucket,
                               const LocalValue &tensor, int64_t offset,
                               int64_t stride, const Layout &stripes,
                               bool isConcat, std::vector<BufferCopy> &copies) {
  const PlanCluster &cluster = source.plan.cluster();
  int64_t elementBytes = dataTypeBytes(bucket.type);
  int64_t padded = maxPartCount(tensor.wholeCount, stripes, cluster);
  auto copyPart = [&](int64_t part, ElementRange range) {
    Place inBucket = bucket.place + (part * stride + offset) * elementBytes;
    Place inTensor = tensor.place + range.begin * elementBytes;
    int64_t bytes = range.size() * elementBytes;
    if (!isConcat) {
      copies.push_back({inTensor, inBucket, bytes});
      return;
    }
    copies.push_back({inBucket, inTensor, bytes});
    copies.push_back(
        {inBucket + bytes, Place(), (padded - range.size()) * elementBytes});
  };
  if (!bucket.layout.empty()) {
    if (bucket.count > 0)
      copyPart(0, {0, tensor.count});
    return;
  }
  // A layout of several entries cuts parts of parts: the first entry's part is
  // the slowest digit.
  std::vector<ElementRange> parts = {{0, tensor.wholeCount}};
  for (const LayoutPart &entry : stripes) {
    int64_t cuts = cutsOf(entry, cluster);
    std::vector<ElementRange> finer;
    for (ElementRange part : parts)
      for (int64_t i = 0; i < cuts; ++i) {
        ElementRange cut = partRange(part.size(), cuts, i);
        finer.push_back({part.begin + cut.begin, part.begin + cut.end});
      }
    parts = std::move(finer);
  }
  for (size_t part = 0; part < parts.size(); ++part)
    copyPart(static_cast<int64_t>(part), parts[part]);
}

std::unique_ptr<Operation> LocalBuilder::bucket(bool isConcat) {
  const PlanCluster &cluster = source.plan.cluster();
  const LocalValue &whole = isConcat ? outputs[0] : inputs[0];
  const std::vector<LocalValue> &tensors = isConcat ? inputs : outputs;
  if (whole.count == 0)
    return nullptr; // an input among the tensors may be stored nevertheless
  Layout stripes = readLayout(op.striped());
  std::vector<BufferCopy> copies;
  if (stripes.empty()) {
    Place place = whole.place;
    for (const LocalValue &tensor : tensors) {
      copies.push_back({isConcat ? place : tensor.place,
                        isConcat ? tensor.place : place, tensor.bytes()});
      place = place + tensor.bytes();
    }
    return makeCopies(copies);
  }
  int64_t stride = 0;
  for (const LocalValue &tensor : tensors)
    stride += maxPartCount(tensor.wholeCount, stripes, cluster);
  int64_t offset = 0;
  for (const LocalValue &tensor : tensors) {
    copyStriped(whole, tensor, offset, stride, stripes, isConcat, copies);
    offset += maxPartCount(tensor.wholeCount, stripes, cluster);
  }
  return makeCopies(copies);
}

std::unique_ptr<Operation> LocalBuilder::slice() {
  const PlanCluster &cluster = source.plan.cluster();
  if (!cluster.isWorker(source.rank))
    return nullptr;
  auto rangeOf = [&](const LocalValue &value) {
    return workerRange(value.wholeCount, value.layout, cluster, source.rank);
  };
  int64_t offset = rangeOf(outputs[0]).begin - rangeOf(inputs[0]).begin;
  return makeCopies({{outputs[0].place,
                      inputs[0].place + offset * dataTypeBytes(inputs[0].type),
                      outputs[0].bytes()}});
}

absl::StatusOr<std::unique_ptr<Operation>> LocalBuilder::kernel() {
  const KernelTable::Bind *bind =
      source.backend.device().kernels().find(op.opcode());
  if (!bind)
    return absl::UnimplementedError(absl::StrCat(
        "rank ", source.rank, ": the device of backend '",
        source.backend.name(), "' has no kernel for '", op.name()->str(), "' (",
        fb::EnumNameOpcode(op.opcode()), ")"));
  auto kernel = (*bind)(op, inputs, outputs);
  if (const auto &moments = source.updates.momentsOf(number); !moments.empty())
    return std::make_unique<UpdateOperation>(std::move(kernel), source.updates,
                                             moments.front());
  return std::make_unique<KernelOperation>(std::move(kernel));
}

absl::StatusOr<std::unique_ptr<Operation>> LocalBuilder::build() {
  InstructionKind kind = kindOf(op.opcode());
  if (kind == InstructionKind::Concat || kind == InstructionKind::Split)
    return bucket(kind == InstructionKind::Concat);
  if (kind == InstructionKind::After || outputs[0].count == 0)
    return nullptr;
  switch (kind) {
  case InstructionKind::Slice:
    return slice();
  case InstructionKind::Cast:
  case InstructionKind::Encode:
  case InstructionKind::Decode:
  case InstructionKind::Arithmetic:
  case InstructionKind::Direction:
  case InstructionKind::Norm:
  case InstructionKind::Update:
    return kernel();
  case InstructionKind::Collective:
  case InstructionKind::Concat:
  case InstructionKind::Split:
  case InstructionKind::After:
    break; // handled above or in CollectiveOperations.cpp
  }
  return nullptr;
}

} // namespace

std::unique_ptr<Operation> makeCopies(const std::vector<BufferCopy> &copies) {
  std::vector<BufferCopy> needed;
  for (const BufferCopy &copy : copies)
    if (copy.bytes > 0 && copy.to != copy.from)
      needed.push_back(copy);
  if (needed.empty())
    return nullptr;
  return std::make_unique<CopyOperation>(std::move(needed));
}

absl::StatusOr<std::unique_ptr<Operation>>
makeLocalOperation(const OperationSource &source, uint32_t number) {
  return LocalBuilder(source, number).build();
}

absl::StatusOr<std::unique_ptr<Operation>>
makeOperation(const OperationSource &source, uint32_t number) {
  const fb::Instruction &instruction = source.plan.instruction(number);
  if (kindOf(instruction.opcode()) == InstructionKind::Collective)
    return makeCollective(source, instruction);
  return makeLocalOperation(source, number);
}

} // namespace bagua::runtime
