//===- GlooNetwork.h - Bytes between hosts, by Gloo -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The network that groups of several hosts use.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_GLOONETWORK_H
#define BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_GLOONETWORK_H

#include "Communication/Transport/Transport.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <memory>
#include <string>

namespace bagua::runtime {

/// TCP, by Gloo, at a numeric address of this host's. A connection is lost when
/// nothing of what was sent on it was acknowledged for `patience`, and when the
/// other host does not answer for as long: large packets may be lost where
/// small ones are not. Unavailable where the address can't be used;
/// Unimplemented where the library was built without Gloo.
absl::StatusOr<std::unique_ptr<Network>>
createGlooNetwork(const std::string &address,
                  std::chrono::nanoseconds patience);

} // namespace bagua::runtime

#endif // BAGUA_LIB_RUNTIME_COMMUNICATION_GLOO_GLOONETWORK_H
