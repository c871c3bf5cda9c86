//===- Mapping.h - What the user states about an exported step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON file of --mapping; docs/Import.md describes it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_READING_MAPPING_H
#define BAGUA_LIB_TARGET_STABLEHLO_READING_MAPPING_H

#include "bagua/Dialect/Bagua/Bagua.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bagua::importer {

/// An argument or a result, by position or by tree path.
using Position = std::variant<int64_t, std::string>;

struct Mapping {
  struct State {
    Position argument, result;
    /// Empty: the inferred name.
    std::string name;
    std::optional<Role> role;
  };
  struct Input {
    Position argument;
    std::string name;
    std::optional<Role> role;
  };
  struct Gradient {
    /// The param's name.
    std::string param;
    /// A result of the function that is there only for the mapping; or, if
    /// there is a location,
    Position output = 0;
    /// the name of the location of the op that makes it.
    std::string location;
    /// Which of the ops with this location, in the file's order, and which of
    /// its results.
    int64_t index = 0;
    int64_t result = 0;
  };

  std::vector<State> states;
  std::vector<Input> inputs;
  std::vector<Gradient> gradients;
};

/// Parses the text; `name` is the file's name, for messages.
mlir::FailureOr<Mapping> parseMapping(mlir::MLIRContext *context,
                                      llvm::StringRef text,
                                      llvm::StringRef name);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_READING_MAPPING_H
