//===- SharedRegion.cpp - Memory that processes of one host share ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region is a memfd, as large as the ranks could ever fill. Each rank
// allocates in its own part, first fit.
//
//===----------------------------------------------------------------------===//
#include "Communication/SharedMemory/SharedRegion.h"

#include "Files/HostLimits.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace bagua::runtime {
namespace {

/// More than any rank can fill.
size_t bytesOfHost() {
  auto pages = static_cast<size_t>(std::max<long>(1, sysconf(_SC_PHYS_PAGES)));
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// The most bytes of all ranks together: a part of the address space.
constexpr size_t kMostBytes = size_t{32} << 40;

size_t pageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t roundToPage(size_t bytes) {
  return (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
}

/// The bytes of a part, in whole pages, so that every part begins at a page.
size_t bytesOfPart(int ranks, size_t wanted) {
  const size_t most = kMostBytes / static_cast<size_t>(ranks);
  return std::min(wanted ? roundToPage(wanted) : bytesOfHost(),
                  most / pageBytes() * pageBytes());
}

absl::Status failure(const char *what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("shared memory: ", what, ": ", describeError(errno)));
}

} // namespace

SharedRegion::SharedRegion(Descriptor shared, int ranks, size_t part, int place)
    : file(std::move(shared)), partBytes(part),
      wholeBytes(static_cast<size_t>(ranks) * partBytes),
      partBegin(static_cast<size_t>(place) * partBytes),
      isLimited(partBytes < bytesOfPart(ranks, 0)) {}

SharedRegion::~SharedRegion() {
  copies.reset();
  if (space.base)
    munmap(space.base, wholeBytes);
}

absl::StatusOr<std::shared_ptr<SharedRegion>>
SharedRegion::create(int ranks, size_t wanted) {
  size_t partBytes = bytesOfPart(ranks, wanted);
  // Without a wanted size, the limits decide.
  const size_t most = mostFileBytes() / static_cast<size_t>(ranks);
  if (wanted == 0)
    partBytes = std::min(partBytes, most / pageBytes() * pageBytes());
  absl::Status fits = checkFileSize(static_cast<size_t>(ranks) *
                                    std::max(partBytes, pageBytes()));
  if (!fits.ok())
    return absl::Status(fits.code(), absl::StrCat("shared memory of ", ranks,
                                                  " ranks: ", fits.message()));
  Descriptor file(memfd_create("bagua", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file)
    return failure("memfd_create");
  std::shared_ptr<SharedRegion> region(
      new SharedRegion(std::move(file), ranks, partBytes, 0));
  if (ftruncate(region->descriptor(), static_cast<off_t>(region->wholeBytes)) !=
      0)
    return failure("ftruncate");
  // The seals prevent anybody from truncating the file while others have it
  // mapped.
  fcntl(region->descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  if (absl::Status status = region->map(); !status.ok())
    return status;
  return region;
}

absl::StatusOr<std::shared_ptr<SharedRegion>>
SharedRegion::open(Descriptor file, int ranks, size_t wanted, int place) {
  struct stat status = {};
  if (fstat(file.number(), &status) != 0)
    return failure("fstat");
  // Without a wanted size, the creator has taken what its limits allow.
  const auto found = static_cast<size_t>(std::max<off_t>(0, status.st_size));
  const size_t most = bytesOfPart(ranks, wanted);
  const size_t partBytes = wanted ? most : found / static_cast<size_t>(ranks);
  if (found != partBytes * static_cast<size_t>(ranks) || partBytes == 0 ||
      partBytes % pageBytes() != 0 || partBytes > most)
    return absl::InvalidArgumentError(absl::StrCat(
        "shared memory: expected ", most * static_cast<size_t>(ranks),
        " bytes for ", ranks, " ranks, found ", status.st_size));
  std::shared_ptr<SharedRegion> region(
      new SharedRegion(std::move(file), ranks, partBytes, place));
  if (absl::Status mapped = region->map(); !mapped.ok())
    return mapped;
  return region;
}

absl::Status SharedRegion::map() {
  void *address = mmap(nullptr, wholeBytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, descriptor(), 0);
  if (address == MAP_FAILED)
    return failure("mmap");
  // A core dump of part of a terabyte helps nobody.
  madvise(address, wholeBytes, MADV_DONTDUMP);
  copies.emplace(address, wholeBytes, descriptor());
  space = {static_cast<std::byte *>(address), wholeBytes};
  return absl::OkStatus();
}

std::string SharedRegion::reasonOfSize() const {
  return isLimited ? ", as limited by the size that was set, or by the file "
                     "size limit (ulimit -f) of the process that created the "
                     "memory"
                   : "";
}

absl::StatusOr<std::byte *> SharedRegion::allocate(size_t bytes, Use use) {
  if (bytes > partBytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("shared memory: expected at most ", partBytes,
                     " bytes for a rank", reasonOfSize(), ", found ", bytes));
  bytes = std::max(roundToPage(bytes), roundToPage(1));
  std::lock_guard<std::mutex> lock(mutex);
  if (withdrawn)
    return absl::FailedPreconditionError(
        "shared memory: a rank that is lost could write to it");
  size_t at = 0;
  for (auto &[offset, piece] : taken) {
    if (offset - at >= bytes)
      break;
    at = offset + piece.bytes;
  }
  if (partBytes - at < bytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("shared memory: fewer than ", bytes,
                     " bytes in one piece are left of the rank's ", partBytes,
                     reasonOfSize()));
  taken[at] = {bytes, use};
  return space.base + partBegin + at;
}

void SharedRegion::free(std::byte *address) {
  size_t at = space.offsetOf(address) - partBegin;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = taken.find(at);
  if (found == taken.end())
    return;
  const auto [bytes, use] = found->second;
  if (withdrawn && use == Use::Data)
    madvise(address, bytes, MADV_DONTNEED); // frees the private copy
  else
    madvise(address, bytes, MADV_REMOVE);
  taken.erase(found);
}

//===----------------------------------------------------------------------===//
// Withdrawing memory from others
//===----------------------------------------------------------------------===//

namespace {

/// A lock on one byte of the file. The contents don't matter: the system
/// releases the lock when the process has ended and has no memory any more, or
/// when it closes the file.
struct flock lockOf(int rank) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

/// Copies each page that others could write to. Writes of this process's
/// threads meanwhile are not lost.
void touch(std::byte *begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += pageBytes())
    __atomic_fetch_or(reinterpret_cast<unsigned char *>(begin + at), 0,
                      __ATOMIC_RELAXED);
}

} // namespace

void SharedRegion::mark(int rank) const {
  struct flock lock = lockOf(rank);
  fcntl(descriptor(), F_SETLK, &lock);
}

/// Whether a process of one of these ranks has this memory, as far as the
/// system knows.
bool SharedRegion::isReachedBy(absl::Span<const int> ranks) const {
  for (int rank : ranks) {
    struct flock lock = lockOf(rank);
    if (fcntl(descriptor(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK)
      return true;
  }
  return false;
}

absl::Status SharedRegion::withdraw(absl::Span<const int> lost) {
  // A process that ends gives up its memory a little before its lock.
  constexpr std::chrono::milliseconds kEnding(100);
  const auto end = std::chrono::steady_clock::now() + kEnding;
  while (isReachedBy(lost) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!isReachedBy(lost))
    return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex);
  if (withdrawn.exchange(true))
    return absl::OkStatus();
  absl::Status status;
  for (auto &[at, piece] : taken)
    if (piece.use == Use::Data)
      status.Update(makePrivate(partBegin + at, piece.bytes));
  return status;
}

/// Maps the same pages privately, and then copies each page, as the system does
/// before a page is written to. So the copy has everything that threads of this
/// process have written, before, meanwhile and after.
absl::Status SharedRegion::makePrivate(size_t at, size_t bytes) const {
  std::byte *begin = space.base + at;
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor(),
           static_cast<off_t>(at)) == MAP_FAILED)
    return failure("mmap");
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0)
    return absl::OkStatus();
  if (errno != EINVAL) // EINVAL: older than Linux 5.14
    return failure("can't be withdrawn");
  touch(begin, bytes);
  return absl::OkStatus();
}

void SharedRegion::forgetWithdrawn() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!withdrawn)
    return;
  for (auto &[at, piece] : taken)
    if (piece.use == Use::Data)
      fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(partBegin + at),
                static_cast<off_t>(piece.bytes));
}

} // namespace bagua::runtime
