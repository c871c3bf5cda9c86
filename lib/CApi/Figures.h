//===- Figures.h - Figures of steps in C ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured ones and predicted ones are told alike.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_FIGURES_H
#define BAGUA_LIB_CAPI_FIGURES_H

#include "Errors.h"

#include "bagua/Runtime/StepFigures.h"
#include "bagua/bagua.h"

#include <chrono>

namespace bagua::capi {

/// As writeStruct does.
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
