//===- DeviceNumbers.h - What depends on the device alone -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that a program computes of its own place: lax.axis_index, and which
// stage of a pipeline it is. They are known, for every device.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_DEVICENUMBERS_H
#define BAGUA_LIB_TARGET_STABLEHLO_DEVICENUMBERS_H

#include "Graph.h"

namespace bagua::importer {

/// Finds the values of which all elements are one integer that depends on the
/// device alone: its `deviceNumbers`. Sets their `ofDevice` to the axes over
/// which it differs. They need no argument, so they are static.
void findDeviceNumbers(Graph &graph);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_DEVICENUMBERS_H
