//===- NoGlooPeer.cpp - In place of GlooPeer.cpp without Gloo -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says that Gloo is not there.
//
//===----------------------------------------------------------------------===//
#include "GlooPeer.h"

namespace bagua::bench {

struct GlooMeeting::Impl {};

GlooMeeting::GlooMeeting() = default;
GlooMeeting::~GlooMeeting() = default;

bool hasGloo() { return false; }

std::unique_ptr<GlooPeer> connectGloo(GlooMeeting &, int, int) {
  return nullptr;
}

} // namespace bagua::bench
