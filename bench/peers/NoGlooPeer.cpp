//===- NoGlooPeer.cpp - In place of GlooPeer.cpp without Gloo -------------===//
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
