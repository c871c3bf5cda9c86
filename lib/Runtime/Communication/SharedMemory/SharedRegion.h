//===- SharedRegion.h - Memory that processes of one host share -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One range of memory for all ranks of a host, in a file without a name. Each
// rank maps it at its own address and allocates only in its own part. Pages
// take memory when they are written to, and nothing is left behind when the
// last process ends.
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
  /// The purpose of memory: data of this rank, or a place where members of a
  /// group meet, which is needed as long as any member needs it.
  enum class Use { Data, Meeting };

  /// Creates a region with a part of `partBytes` for each of `ranks`; 0: as
  /// much as the host has, or as a file may have (ulimit -f). ResourceExhausted
  /// if that is less than `partBytes`.
  static absl::StatusOr<std::shared_ptr<SharedRegion>> create(int ranks,
                                                              size_t partBytes);
  /// Opens a region that another process has created, with the same sizes, as
  /// its `place`-th rank.
  static absl::StatusOr<std::shared_ptr<SharedRegion>>
  open(Descriptor file, int ranks, size_t partBytes, int place);
  ~SharedRegion() override;
  SharedRegion(const SharedRegion &) = delete;
  SharedRegion &operator=(const SharedRegion &) = delete;

  int descriptor() const { return file.number(); }
  /// How members of groups name addresses to each other.
  const AddressSpace &addresses() const { return space; }

  /// Zeroed memory in this rank's part, at a multiple of a page.
  /// ResourceExhausted if the part is full, FailedPrecondition if it was
  /// withdrawn.
  absl::StatusOr<std::byte *> allocate(size_t bytes, Use use = Use::Data);
  /// Frees memory that allocate() returned; its pages go back to the system.
  void free(std::byte *address);

  /// Records which rank of the run this process is, until the process ends or
  /// gives up the region.
  void mark(int rank) const;
  /// Withdraws memory for data only. Others keep seeing the old contents, which
  /// take the same amount of memory again, since they may be reading them.
  absl::Status withdraw(absl::Span<const int> lost) override;
  bool isWithdrawn() const override { return withdrawn; }
  /// Frees the old contents of withdrawn memory, once no other rank reads them.
  void forgetWithdrawn();

private:
  struct Piece {
    size_t bytes;
    Use use;
  };

  SharedRegion(Descriptor file, int ranks, size_t partBytes, int place);
  /// Appended to an error about a part that is too small: why it is that small.
  std::string reasonOfSize() const;
  absl::Status map();
  bool isReachedBy(absl::Span<const int> ranks) const;
  absl::Status makePrivate(size_t at, size_t bytes) const;

  Descriptor file;
  const size_t partBytes;
  const size_t wholeBytes;
  const size_t partBegin;
  /// Whether the limit on files makes parts smaller than the host's memory.
  const bool isLimited;
  AddressSpace space;
  std::optional<ForkedCopies> copies;

  std::mutex mutex;
  /// The allocated pieces, by offset in this rank's part.
  std::map<size_t, Piece> taken;
  std::atomic<bool> withdrawn{false};
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_SHAREDMEMORY_SHAREDREGION_H
