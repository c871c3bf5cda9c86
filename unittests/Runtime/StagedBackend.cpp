//===- StagedBackend.cpp - A device's communicators for the host's memory -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers that overlap on the host are one piece on the device, so that work in
// place is in place there, and a mistake is the same mistake.
//
//===----------------------------------------------------------------------===//
#include "StagedBackend.h"

#include "CommunicatorBackends.h"

#include "FarDevice.h"
#include "bagua/Runtime/Device.h"

#include "bagua/Support/Parts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bagua::runtime::test {
namespace {

/// The buffers of a call, and where they are on the device.
class Staging {
public:
  void add(const void *data, int64_t bytes) {
    auto *begin = const_cast<std::byte *>(static_cast<const std::byte *>(data));
    if (begin)
      pieces.push_back({begin, begin + std::max<int64_t>(bytes, 0), {}});
  }

  absl::Status copyIn(Queue &queue) {
    std::sort(pieces.begin(), pieces.end(),
              [](const auto &a, const auto &b) { return a.begin < b.begin; });
    std::vector<Piece> merged;
    for (Piece &piece : pieces)
      if (!merged.empty() && piece.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, piece.end);
      else
        merged.push_back(piece);
    pieces = std::move(merged);
    for (Piece &piece : pieces) {
      piece.far = allocateFar(piece.bytes());
      absl::Status status =
          queue.copy(piece.far.get(), piece.begin, piece.bytes());
      if (!status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  std::byte *at(const void *data) const {
    auto *address = static_cast<const std::byte *>(data);
    for (const Piece &piece : pieces)
      if (address && address >= piece.begin && address <= piece.end)
        return piece.far.get() + (address - piece.begin);
    return nullptr;
  }

  absl::Status copyOut(Queue &queue) const {
    for (const Piece &piece : pieces) {
      absl::Status status =
          queue.copy(piece.begin, piece.far.get(), piece.bytes());
      if (!status.ok())
        return status;
    }
    return absl::OkStatus();
  }

private:
  struct Piece {
    std::byte *begin;
    std::byte *end;
    std::shared_ptr<std::byte> far;
    size_t bytes() const { return static_cast<size_t>(end - begin); }
  };
  std::vector<Piece> pieces;
};

class StagedCommunicator final : public Communicator {
public:
  StagedCommunicator(std::unique_ptr<Communicator> communicator, Device &on)
      : inner(std::move(communicator)), device(on) {}

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }

  absl::Status allReduce(const void *input, void *output, int64_t count,
                         DataType type, ReduceKind kind, Queue &) override {
    Staging staging;
    staging.add(input, count * dataTypeBytes(type));
    staging.add(output, count * dataTypeBytes(type));
    return run(staging, [&](Queue &queue) {
      return inner->allReduce(staging.at(input), staging.at(output), count,
                              type, kind, queue);
    });
  }

  absl::Status reduceToOwners(const void *input, void *output, int64_t count,
                              DataType type, ReduceKind kind, int contributors,
                              absl::Span<const int> owners, Queue &) override {
    Staging staging;
    staging.add(rank() < contributors ? input : nullptr,
                count * dataTypeBytes(type));
    staging.add(output, partBytes(count, type, owners));
    return run(staging, [&](Queue &queue) {
      return inner->reduceToOwners(staging.at(input), staging.at(output), count,
                                   type, kind, contributors, owners, queue);
    });
  }

  absl::Status gatherFromOwners(const void *input, void *output, int64_t count,
                                DataType type, int receivers,
                                absl::Span<const int> owners,
                                Queue &) override {
    Staging staging;
    staging.add(input, partBytes(count, type, owners));
    staging.add(rank() < receivers ? output : nullptr,
                count * dataTypeBytes(type));
    return run(staging, [&](Queue &queue) {
      return inner->gatherFromOwners(staging.at(input), staging.at(output),
                                     count, type, receivers, owners, queue);
    });
  }

  absl::Status allToAll(const void *input, void *output, int64_t blockBytes,
                        Queue &) override {
    Staging staging;
    staging.add(input, size() * blockBytes);
    staging.add(output, size() * blockBytes);
    return run(staging, [&](Queue &queue) {
      return inner->allToAll(staging.at(input), staging.at(output), blockBytes,
                             queue);
    });
  }

  absl::Status exchange(const void *input, int64_t bytes,
                        absl::Span<const int> destinations,
                        absl::Span<const int> sources,
                        absl::Span<void *const> outputs, Queue &) override {
    Staging staging;
    staging.add(input, bytes);
    for (void *output : outputs)
      staging.add(output, bytes);
    return run(staging, [&](Queue &queue) {
      std::vector<void *> places;
      for (void *output : outputs)
        places.push_back(staging.at(output));
      return inner->exchange(staging.at(input), bytes, destinations, sources,
                             places, queue);
    });
  }

  absl::Status barrier(Queue &) override {
    Staging staging;
    return run(staging, [&](Queue &queue) { return inner->barrier(queue); });
  }

  void agreeOn(uint64_t word, const AgreedFacts *facts) override {
    inner->agreeOn(word, facts);
  }

private:
  /// Of this member's part, if it is an owner.
  int64_t partBytes(int64_t count, DataType type,
                    absl::Span<const int> owners) const {
    auto own = std::find(owners.begin(), owners.end(), rank());
    return own == owners.end() ? 0
                               : partRange(std::max<int64_t>(count, 0),
                                           static_cast<int64_t>(owners.size()),
                                           own - owners.begin())
                                         .size() *
                                     dataTypeBytes(type);
  }

  /// On a queue of its own: one that has failed does nothing more.
  template <typename Call> absl::Status run(Staging &staging, Call call) {
    auto queue = device.createQueue(nullptr);
    absl::Status status = queue.status();
    if (status.ok())
      status = staging.copyIn(**queue);
    if (status.ok())
      status = call(**queue);
    if (status.ok())
      status = staging.copyOut(**queue);
    absl::Status done = queue.ok() ? (*queue)->drain(kLongTime) : status;
    return status.ok() ? done : status;
  }

  const std::unique_ptr<Communicator> inner;
  Device &device;
};

class StagedBackend final : public Backend {
public:
  explicit StagedBackend(Backend &backend) : inner(backend) {}

  absl::string_view name() const override { return "staged"; }
  Device &device() const override { return cpuDevice(); }
  BackendTraits traits() const override { return inner.traits(); }
  bool reaches(const std::vector<int> &members) const override {
    return inner.reaches(members);
  }
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override {
    return std::shared_ptr<std::byte>(new std::byte[bytes](),
                                      std::default_delete<std::byte[]>());
  }
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) override {
    auto made = inner.createCommunicator(group, options);
    if (!made.ok())
      return made.status();
    return std::make_unique<StagedCommunicator>(*std::move(made),
                                                inner.device());
  }

private:
  Backend &inner;
};

} // namespace

std::unique_ptr<Backend> makeStaged(Backend &backend) {
  return std::make_unique<StagedBackend>(backend);
}

} // namespace bagua::runtime::test
