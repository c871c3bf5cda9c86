//===- ExportedStep.h - Real steps on published machines ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exported step, made to compute as long as it was measured to, on a cluster
// of the test's choice.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_VALIDATION_EXPORTEDSTEP_H
#define BAGUA_UNITTESTS_VALIDATION_EXPORTEDSTEP_H

#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace bagua::test {

class ExportedStep {
public:
  /// Imports `name`.mlir of test/graphs; failures are the test's.
  explicit ExportedStep(llvm::StringRef name);

  /// `cluster` is what follows a bagua.cluster's name. All compute together
  /// takes `computeNs`, in the proportions that the cluster's device gives it.
  CommunicationProblem problemOn(llvm::StringRef cluster, double computeNs);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> imported;
};

} // namespace bagua::test

#endif // BAGUA_UNITTESTS_VALIDATION_EXPORTEDSTEP_H
