//===- Forms.h - Writing what an all_reduce is made of --------------------===//
//
// The way from a form that Scheduling has chosen to ops.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_TRANSFORMS_UTILS_FORMS_H
#define BAGUA_TRANSFORMS_UTILS_FORMS_H

#include "bagua/Dialect/Bagua/Bagua.h"
#include "bagua/Scheduling/CollectiveCost.h"

#include "mlir/IR/Builders.h"

namespace bagua {

/// The name of the form that a pass has chosen for an all_reduce: a StringAttr
/// on it, which bagua-lower-hierarchy obeys.
inline constexpr llvm::StringLiteral kFormAttr = "bagua.form";

/// An all_reduce of a whole tensor as Scheduling has it.
CollectiveCall callOf(AllReduceOp reduce);

/// Writes the collectives of a form before the all_reduce, in order; the last
/// has its name, if any. Returns the result; the all_reduce stays.
mlir::Value writeForm(mlir::OpBuilder &builder, AllReduceOp reduce,
                      llvm::ArrayRef<CollectiveCall> calls);

} // namespace bagua

#endif // BAGUA_TRANSFORMS_UTILS_FORMS_H
