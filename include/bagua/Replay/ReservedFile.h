//===- ReservedFile.h - A file for the result of long work ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is opened before the work, so that a path that can't be written to
// fails before the work and not after it.
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
  /// Opens a file for writing. An existing file keeps its bytes until write().
  /// Unavailable names the path and the reason if it can't be written to; a
  /// pipe without a reader is such an error, too.
  static absl::StatusOr<ReservedFile> open(const std::string &path);
  /// Standard output, which keeps what was written before.
  static absl::StatusOr<ReservedFile> standardOutput();
  ReservedFile(ReservedFile &&other) noexcept;
  ReservedFile &operator=(ReservedFile &&) = delete;
  ~ReservedFile();

  /// Replaces the contents of the file by `text`. Called once. Unavailable as
  /// for open().
  absl::Status write(const std::string &text);

private:
  ReservedFile() = default;

  /// Empty for standard output.
  std::string path;
  /// -1 if write() still has to create the file.
  int descriptor = -1;
};

/// Opens the file, or standard output for an empty path, then calls `make` for
/// the text, then writes it. Returns the first error.
absl::Status
writeWhatIsMade(const std::string &path,
                const std::function<absl::StatusOr<std::string>()> &make);

} // namespace bagua::replay

#endif // BAGUA_REPLAY_RESERVEDFILE_H
