//===- GlooPeer.h - Gloo's all_reduce, for comparison ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks as threads over Gloo's TCP transport on loopback. Built as a stub that
// refuses where Gloo is not installed.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_BENCH_PEERS_GLOOPEER_H
#define BAGUA_BENCH_PEERS_GLOOPEER_H

#include <cstdint>
#include <memory>

namespace bagua::bench {

/// Where the ranks of one group find each other; shared by their threads.
class GlooMeeting {
public:
  GlooMeeting();
  ~GlooMeeting();

  struct Impl;
  std::unique_ptr<Impl> impl;
};

class GlooPeer {
public:
  virtual ~GlooPeer() = default;

  /// float32 sum in place, by Gloo's default algorithm. Ends the program on an
  /// error.
  virtual void allReduce(float *data, int64_t count) = 0;
};

bool hasGloo();

/// Called by all ranks.
std::unique_ptr<GlooPeer> connectGloo(GlooMeeting &meeting, int rank, int size);

} // namespace bagua::bench

#endif // BAGUA_BENCH_PEERS_GLOOPEER_H
