//===- ReadFile.cpp - Files as bytes --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are read piece by piece, since only regular files have a known size.
//
//===----------------------------------------------------------------------===//
#include "Files/ReadFile.h"

#include "Files/Descriptor.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bagua::runtime {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

} // namespace

absl::StatusOr<std::string> readAll(int descriptor, size_t most) {
  struct stat about;
  std::string all;
  // With room for one more byte, the end is found without another piece.
  if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
    all.reserve(std::min(static_cast<size_t>(about.st_size), most) + 1);
  while (true) {
    const size_t had = all.size();
    all.resize(all.capacity() > had ? all.capacity() : had + kPieceBytes);
    const ssize_t got = read(descriptor, all.data() + had, all.size() - had);
    const int error = errno;
    all.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (all.size() > most)
      return absl::InvalidArgumentError(
          absl::StrCat("expected at most ", most, " bytes, found more"));
    if (got == 0)
      return all;
    if (got < 0 && error != EINTR)
      return absl::UnavailableError(absl::StrCat("read: ", strerror(error)));
  }
}

absl::StatusOr<std::string> readFile(const std::string &path, size_t most) {
  // With O_NONBLOCK, opening a FIFO does not wait for a writer.
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file || fcntl(file.number(), F_SETFL, 0) != 0)
    return absl::NotFoundError(strerror(errno));
  return readAll(file.number(), most);
}

} // namespace bagua::runtime
