//===- Figures.h - Figures of steps in C ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes measured and predicted figures into the C interface's struct.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_FIGURES_H
#define BAGUA_LIB_CAPI_FIGURES_H

#include "Errors.h"

#include "bagua/Runtime/StepFigures.h"
#include "bagua/bagua.h"

#include <chrono>

namespace bagua::capi {

/// Errors are those of writeStruct.
inline absl::Status writeFigures(const runtime::StepFigures &figures,
                                 bagua_step_figures *to) {
  using Seconds = std::chrono::duration<double>;
  const bagua_step_figures known = {
      sizeof(known), figures.step, Seconds(figures.duration).count(),
      Seconds(figures.exposed).count(), figures.bytesSent};
  return writeStruct("bagua_step_figures", &known, sizeof(known), to);
}

} // namespace bagua::capi

#endif // BAGUA_LIB_CAPI_FIGURES_H
