//===- ReadFile.cpp - Files as bytes --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Piece by piece, since the size of what is no regular file is not known.
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
  // With one byte more, the end is seen without another piece.
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
  // Else opening a FIFO would wait for a writer.
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file || fcntl(file.number(), F_SETFL, 0) != 0)
    return absl::NotFoundError(strerror(errno));
  return readAll(file.number(), most);
}

} // namespace bagua::runtime
