//===- InProcessRun.h - A run of threads of one process -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks share one state, and nothing else is needed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSRUN_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSRUN_H

#include "Communication/Run.h"

namespace bagua::runtime {

struct InProcessRun final : Run {
  using Run::Run;
};

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_INPROCESS_INPROCESSRUN_H
