//===- MessageWriter.h - Writing what an all_reduce is made of ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way from the stages that Scheduling expands a message into to ops.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_BRIDGE_MESSAGEWRITER_H
#define BAGUA_TRANSFORMS_BRIDGE_MESSAGEWRITER_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/Prices/Message.h"

#include "mlir/IR/Builders.h"

#include <optional>
#include <string_view>

namespace bagua {

/// The name of the form that a pass has chosen for an all_reduce: a StringAttr
/// on it, which bagua-lower-hierarchy obeys.
inline constexpr llvm::StringLiteral kFormAttr = "bagua.form";
/// The same of the wire and bagua-cast-wire.
inline constexpr llvm::StringLiteral kWireAttr = "bagua.wire";

/// The choice that an earlier pass has written to `attribute` of the
/// all_reduce; `otherwise` if there is none. An error if the attribute is no
/// word for a `what`.
template <typename Enum>
mlir::FailureOr<Enum> readChoice(AllReduceOp reduce, llvm::StringRef attribute,
                                 llvm::StringRef what, Enum otherwise) {
  mlir::Attribute chosen = reduce->getAttr(attribute);
  if (!chosen)
    return otherwise;
  auto word = llvm::dyn_cast<mlir::StringAttr>(chosen);
  if (std::optional<Enum> parsed =
          word ? parseWord<Enum>(std::string_view(word.getValue()))
               : std::nullopt)
    return *parsed;
  return reduce.emitOpError() << "expected a " << what << " in '" << attribute
                              << "', found " << chosen;
}

/// The same of kWireAttr.
mlir::FailureOr<Encoding> readWire(AllReduceOp reduce,
                                   const Encoding &otherwise);

/// An all_reduce of a tensor as Scheduling has it, with its own elements on the
/// wire.
Message messageOf(AllReduceOp reduce);

/// Whether servers can sum what the all_reduce does.
bool canBeServed(AllReduceOp reduce, const ClusterModel &cluster);

/// Emits an error where servers can't sum what the all_reduce does (canServe):
/// all ranks have to be among those that reduce, or to store other parts.
llvm::LogicalResult expectServed(AllReduceOp reduce,
                                 const ClusterModel &cluster);

/// Writes the stages before the all_reduce, in order; the last has its name, if
/// any. Returns the result; the all_reduce stays.
mlir::Value writeMessage(mlir::OpBuilder &builder, AllReduceOp reduce,
                         llvm::ArrayRef<MessageStage> stages);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_BRIDGE_MESSAGEWRITER_H
