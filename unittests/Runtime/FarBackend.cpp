//===- FarBackend.cpp - Communicators of the far device -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call is first one of the host's communicator, which finds calls that
// differ and moves what is only moved. Sums of floats are then computed again,
// as a ring would.
//
//===----------------------------------------------------------------------===//
#include "FarBackend.h"

#include "FarDevice.h"
#include "Kernels/ReduceKernels.h"
#include "Kernels/UpdateKernels.h"
#include "OtherWorld.h"

#include "bagua/Support/Parts.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace bagua::runtime::test {
namespace {

using Buffer = std::vector<std::byte>;

/// Whether sums depend on their order.
bool isOrdered(DataType type, ReduceKind kind) {
  const bool isInteger = type == DataType::Int8 || type == DataType::Int32 ||
                         type == DataType::Int64;
  return !isInteger && (kind == ReduceKind::Sum || kind == ReduceKind::Mean);
}

/// Divides by `number`.
void divide(DataType type, std::byte *data, int64_t count, int number) {
  const DataType wide =
      type == DataType::Float64 ? DataType::Float64 : DataType::Float32;
  Buffer values(count * dataTypeBytes(wide));
  castKernel(type, data, wide, values.data(), count);
  for (int64_t i = 0; i < count; ++i)
    if (wide == DataType::Float64)
      reinterpret_cast<double *>(values.data())[i] /= number;
    else
      reinterpret_cast<float *>(values.data())[i] /= static_cast<float>(number);
  castKernel(wide, values.data(), type, data, count);
}

std::vector<int> copyOf(absl::Span<const int> list) {
  return {list.begin(), list.end()};
}

class FarCommunicator final : public Communicator {
public:
  explicit FarCommunicator(std::unique_ptr<Communicator> communicator)
      : inner(std::move(communicator)) {}

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }

  absl::Status allReduce(const void *input, void *output, int64_t count,
                         DataType type, ReduceKind kind,
                         Queue &queue) override {
    return launch(queue, [=, this, from = near(input), to = near(output)] {
      const Buffer kept = keep(from, count, type, kind);
      absl::Status status = inner->allReduce(from, to, count, type, kind);
      if (!status.ok() || kept.empty())
        return status;
      std::vector<int> owners(size());
      std::iota(owners.begin(), owners.end(), 0);
      Buffer part;
      status = sumPart({kept, count, type, kind, size(), owners}, part);
      return status.ok() ? inner->gatherFromOwners(part.data(), to, count, type,
                                                   size(), owners)
                         : status;
    });
  }

  absl::Status reduceToOwners(const void *input, void *output, int64_t count,
                              DataType type, ReduceKind kind, int contributors,
                              absl::Span<const int> owners,
                              Queue &queue) override {
    return launch(queue, [=, this, from = near(input), to = near(output),
                          list = copyOf(owners)] {
      const Buffer kept = keep(from, count, type, kind);
      absl::Status status = inner->reduceToOwners(from, to, count, type, kind,
                                                  contributors, list);
      if (!status.ok() || count == 0 || !isOrdered(type, kind))
        return status;
      Buffer part;
      status = sumPart({kept, count, type, kind, contributors, list}, part);
      if (status.ok() && to)
        std::copy(part.begin(), part.end(), static_cast<std::byte *>(to));
      return status;
    });
  }

  absl::Status gatherFromOwners(const void *input, void *output, int64_t count,
                                DataType type, int receivers,
                                absl::Span<const int> owners,
                                Queue &queue) override {
    return launch(queue, [=, this, from = near(input), to = near(output),
                          list = copyOf(owners)] {
      return inner->gatherFromOwners(from, to, count, type, receivers, list);
    });
  }

  absl::Status allToAll(const void *input, void *output, int64_t blockBytes,
                        Queue &queue) override {
    return launch(queue, [=, this, from = near(input), to = near(output)] {
      return inner->allToAll(from, to, blockBytes);
    });
  }

  absl::Status exchange(const void *input, int64_t bytes,
                        absl::Span<const int> destinations,
                        absl::Span<const int> sources,
                        absl::Span<void *const> outputs,
                        Queue &queue) override {
    std::vector<void *> places;
    for (void *output : outputs)
      places.push_back(near(output));
    return launch(queue, [=, this, input = near(input),
                          to = copyOf(destinations), from = copyOf(sources)] {
      return inner->exchange(input, bytes, to, from, places);
    });
  }

  absl::Status barrier(Queue &queue) override {
    return launch(queue, [this] { return inner->barrier(); });
  }

  void agreeOn(uint64_t newWord, const AgreedFacts *newFacts) override {
    word = newWord;
    facts = newFacts;
  }

private:
  struct Sum {
    /// This member's contribution, if it has one.
    const Buffer &input;
    int64_t count;
    DataType type;
    ReduceKind kind;
    int contributors;
    const std::vector<int> &owners;

    int64_t bytes() const { return dataTypeBytes(type); }
    ElementRange part(size_t owner) const {
      return partRange(count, static_cast<int64_t>(owners.size()),
                       static_cast<int64_t>(owner));
    }
  };

  /// Enqueues a call with the facts that are stated now.
  absl::Status launch(Queue &queue, std::function<absl::Status()> call) {
    return enqueueFar(queue, [=, this, stated = word, statedFacts = facts] {
      inner->agreeOn(stated, statedFacts);
      return call();
    });
  }

  /// A copy of what is summed again, for work in place. Empty if nothing is.
  static Buffer keep(const void *input, int64_t count, DataType type,
                     ReduceKind kind) {
    if (!input || count <= 0 || !isOrdered(type, kind))
      return {};
    auto *begin = static_cast<const std::byte *>(input);
    return {begin, begin + count * dataTypeBytes(type)};
  }

  absl::Status sumPart(const Sum &sum, Buffer &part);

  const std::unique_ptr<Communicator> inner;
  uint64_t word = 0;
  const AgreedFacts *facts = nullptr;
};

/// Sends each owner this member's contribution to its part, and sums the part
/// of this member, if it is an owner, from the member after it on.
absl::Status FarCommunicator::sumPart(const Sum &sum, Buffer &part) {
  int64_t block = 0;
  for (size_t i = 0; i < sum.owners.size(); ++i)
    block = std::max(block, sum.part(i).size() * sum.bytes());
  Buffer from(size() * block + 1), to(from.size());
  for (size_t i = 0; i < sum.owners.size() && !sum.input.empty(); ++i)
    std::copy_n(sum.input.data() + sum.part(i).begin * sum.bytes(),
                sum.part(i).size() * sum.bytes(),
                from.data() + sum.owners[i] * block);
  if (absl::Status status = inner->allToAll(from.data(), to.data(), block);
      !status.ok())
    return status;
  auto own = std::find(sum.owners.begin(), sum.owners.end(), rank());
  if (own == sum.owners.end())
    return absl::OkStatus();
  const int64_t count = sum.part(own - sum.owners.begin()).size();
  auto contribution = [&](int i) {
    return to.data() + (rank() + 1 + i) % sum.contributors * block;
  };
  part.assign(contribution(0), contribution(0) + count * sum.bytes());
  for (int i = 1; i < sum.contributors && count > 0; ++i) {
    const std::byte *terms[] = {part.data(), contribution(i)};
    std::byte *const results[] = {part.data()};
    reduceElements(sum.type, ReduceKind::Sum, terms, results, count);
  }
  if (sum.kind == ReduceKind::Mean && count > 0)
    divide(sum.type, part.data(), count, sum.contributors);
  return absl::OkStatus();
}

class FarBackend final : public Backend {
public:
  explicit FarBackend(Backend &host) : inner(host) {}

  absl::string_view name() const override { return kFar; }
  Device &device() const override { return farDevice(); }
  BackendTraits traits() const override { return kFarTraits; }
  bool reaches(const std::vector<int> &members) const override {
    return inner.reaches(members);
  }
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override {
    auto memory = inner.allocate(bytes);
    return memory.ok() ? makeFarMemory(*std::move(memory), bytes) : memory;
  }
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) override {
    auto made = inner.createCommunicator(group, options);
    if (!made.ok())
      return made.status();
    return std::make_unique<FarCommunicator>(*std::move(made));
  }

private:
  Backend &inner;
};

} // namespace

std::unique_ptr<World> makeFar(std::unique_ptr<World> world) {
  auto backend = std::make_unique<FarBackend>(world->control());
  return std::make_unique<OtherWorld>(std::move(world), std::move(backend),
                                      OtherWorld::Use::Beside);
}

} // namespace bagua::runtime::test
