//===- ReservedFile.h - A file for the result of long work ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opened before the work, so that a path that can't be written to costs nobody
// the work.
//
//   auto file = ReservedFile::open("cluster.mlir");
//   ...
//   absl::Status status = file->write(text);
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_REPLAY_RESERVEDFILE_H
#define BAGUA_REPLAY_RESERVEDFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <string>

namespace bagua::replay {

class ReservedFile {
public:
  /// A file that exists keeps its bytes until write(). Unavailable names the
  /// path and says why it can't be written to; a pipe that nobody reads is such
  /// an error, and nothing to wait for.
  static absl::StatusOr<ReservedFile> open(const std::string &path);
  /// Keeps what is there already.
  static absl::StatusOr<ReservedFile> standardOutput();
  ReservedFile(ReservedFile &&other) noexcept;
  ReservedFile &operator=(ReservedFile &&) = delete;
  ~ReservedFile();

  /// All of it, in place of what the file holds. Called once. Unavailable as of
  /// open().
  absl::Status write(const std::string &text);

private:
  ReservedFile() = default;

  /// Empty: standard output.
  std::string path;
  /// -1: write() makes the file.
  int descriptor = -1;
};

/// Opens the file, or standard output for an empty path, then makes its text,
/// then writes it. The error is the first one of these.
absl::Status
writeWhatIsMade(const std::string &path,
                const std::function<absl::StatusOr<std::string>()> &make);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_RESERVEDFILE_H
