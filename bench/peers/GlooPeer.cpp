//===- GlooPeer.cpp - Gloo's all_reduce, for comparison -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One Gloo context a thread, found through a store in this process.
//
//===----------------------------------------------------------------------===//
#include "GlooPeer.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

namespace bagua::bench {
namespace {

class TcpPeer final : public GlooPeer {
public:
  TcpPeer(gloo::rendezvous::Store &store, int rank, int size)
      : context(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    context->connectFullMesh(store, device);
  }

  void allReduce(float *data, int64_t count) override {
    gloo::AllreduceOptions options(context);
    options.setOutput(data, count);
    using Sum = void (*)(void *, const void *, const void *, size_t);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

private:
  std::shared_ptr<gloo::rendezvous::Context> context;
};

} // namespace

struct GlooMeeting::Impl {
  gloo::rendezvous::HashStore store;
};

GlooMeeting::GlooMeeting() : impl(std::make_unique<Impl>()) {}
GlooMeeting::~GlooMeeting() = default;

bool hasGloo() { return true; }

std::unique_ptr<GlooPeer> connectGloo(GlooMeeting &meeting, int rank,
                                      int size) {
  return std::make_unique<TcpPeer>(meeting.impl->store, rank, size);
}

} // namespace bagua::bench
