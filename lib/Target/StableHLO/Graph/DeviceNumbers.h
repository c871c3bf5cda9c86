//===- DeviceNumbers.h - Values that depend on the device alone -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that a program computes from its own place, such as lax.axis_index or
// the stage of a pipeline. They are known for every device.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_TARGET_STABLEHLO_GRAPH_DEVICENUMBERS_H
#define BAGUA_LIB_TARGET_STABLEHLO_GRAPH_DEVICENUMBERS_H

#include "StableHLO/Graph/Graph.h"

namespace bagua::importer {

/// Finds the values whose elements are all one integer that depends on the
/// device alone, and sets their `deviceNumbers`. Sets their `ofDevice` to the
/// axes over which the integer differs. They need no argument, so they are
/// static.
void findDeviceNumbers(Graph &graph);

} // namespace bagua::importer

#endif // BAGUA_LIB_TARGET_STABLEHLO_GRAPH_DEVICENUMBERS_H
