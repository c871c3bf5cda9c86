//===- SharedRegion.h - Memory that processes of one host share -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One range of memory for all ranks of a host, in a file without a name, which
// each of them sees at an address of its own. Every rank has a part of it in
// which it alone allocates. Pages take memory when they are written to, and
// nothing is left behind when the last process ends.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDREGION_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDREGION_H

#include "Communication/Memory/AddressSpace.h"
#include "Communication/SharedMemory/ForkedCopies.h"
#include "Files/Descriptor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace bagua::runtime {

class SharedRegion final : public ReachableMemory {
public:
  /// What memory is for: data of this rank's, or a place where members of a
  /// group meet, which they need as long as any of them does.
  enum class Use { Data, Meeting };

  /// A new one, with a part of `partBytes` for each of `ranks`; 0: as much as
  /// the host has, or as a file may have (ulimit -f). ResourceExhausted where
  /// that is less than `partBytes`.
  static absl::StatusOr<std::shared_ptr<SharedRegion>> create(int ranks,
                                                              size_t partBytes);
  /// One that another process has created, with the same sizes; seen by its
  /// `place`-th rank.
  static absl::StatusOr<std::shared_ptr<SharedRegion>>
  open(Descriptor file, int ranks, size_t partBytes, int place);
  ~SharedRegion() override;
  SharedRegion(const SharedRegion &) = delete;
  SharedRegion &operator=(const SharedRegion &) = delete;

  int descriptor() const { return file.number(); }
  /// How members of groups name addresses to each other.
  const AddressSpace &addresses() const { return space; }

  /// Zeros in this rank's part, at a multiple of a page. ResourceExhausted
  /// where the part is full, FailedPrecondition where it was withdrawn.
  absl::StatusOr<std::byte *> allocate(size_t bytes, Use use = Use::Data);
  /// Of what allocate() returned. Gives its pages back.
  void free(std::byte *address);

  /// Says which rank of the run this process is, for as long as it has this
  /// region, or lives.
  void mark(int rank) const;
  /// Of memory for data alone. What others see in its place stays as it is, and
  /// takes as much memory again, for they may be reading it.
  absl::Status withdraw(absl::Span<const int> lost) override;
  bool isWithdrawn() const override { return withdrawn; }
  /// Once no other rank reads there, frees what others see of what was
  /// withdrawn.
  void forgetWithdrawn();

private:
  struct Piece {
    size_t bytes;
    Use use;
  };

  SharedRegion(Descriptor file, int ranks, size_t partBytes, int place);
  /// Behind what a part is too small for: why it is as small as it is.
  std::string reasonOfSize() const;
  absl::Status map();
  bool isReachedBy(absl::Span<const int> ranks) const;
  absl::Status makePrivate(size_t at, size_t bytes) const;

  Descriptor file;
  const size_t partBytes;
  const size_t wholeBytes;
  const size_t partBegin;
  /// Whether parts are smaller than the host's memory for the limit of files.
  const bool isLimited;
  AddressSpace space;
  std::optional<ForkedCopies> copies;

  std::mutex mutex;
  /// What is allocated, by offset in this rank's part.
  std::map<size_t, Piece> taken;
  std::atomic<bool> withdrawn{false};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDREGION_H
