//===- Queues.cpp - Queues in C -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Queue.h, and the calls of a session that take a queue.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Handles.h"

#include "bagua/Runtime/Backend.h"
#include "bagua/Runtime/Device.h"

#include "absl/algorithm/container.h"

#include <utility>

using namespace bagua;
using capi::guard;
using capi::requireAll;
using runtime::TensorId;

namespace {

/// Runs a call on the queue behind a handle.
template <typename Body>
bagua_code onQueue(const char *call, bagua_queue *queue, Body body) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll(call, {{"queue", queue}});
    return status.ok() ? body(*queue->queue) : status;
  });
}

/// Runs a call on a session that may make work of a queue use the session.
template <typename Body>
bagua_code onSessionWith(const char *call, bagua_session *session,
                         const char *name, bagua_queue *queue, Body body) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll(call, {{"session", session}, {name, queue}});
    if (!status.ok())
      return status;
    if (!absl::c_linear_search(session->queues, queue->queue))
      session->queues.push_back(queue->queue);
    return body(*session->session, queue->queue->get());
  });
}

/// Gives a tensor after the work of a queue, at an address with its size or at
/// neither. `give` gets the arguments of a call of the session.
template <typename Give>
bagua_code giveAfter(const char *call, bagua_session *session, uint32_t tensor,
                     void *data, size_t bytes, bagua_queue *after, Give give) {
  return onSessionWith(call, session, "after", after,
                       [&](runtime::Session &session, runtime::Queue &queue) {
                         if (!data && bytes > 0)
                           return requireAll(call, {{"data", data}});
                         return data ? give(session, TensorId(tensor), data,
                                            bytes, queue)
                                     : give(session, TensorId(tensor), queue);
                       });
}

} // namespace

bagua_code bagua_queue_create(bagua_world *world, const char *backend,
                              bagua_queue **queue) {
  return guard([&]() -> absl::Status {
    absl::Status status =
        requireAll("bagua_queue_create", {{"world", world}, {"queue", queue}});
    if (!status.ok())
      return status;
    auto found = findBackend(*world->world, backend ? backend : "");
    if (!found.ok())
      return found.status();
    auto made = (*found)->device().createQueue(nullptr);
    if (!made.ok())
      return made.status();
    *queue = new bagua_queue{
        std::make_shared<capi::ProgramQueue>(world->world, *std::move(made))};
    return absl::OkStatus();
  });
}

void bagua_queue_free(bagua_queue *queue) {
  if (queue)
    queue->queue->hasEnded();
  delete queue;
}

bagua_code bagua_queue_copy(bagua_queue *queue, void *to, const void *from,
                            size_t bytes) {
  return onQueue("bagua_queue_copy", queue, [&](capi::ProgramQueue &queue) {
    absl::Status status = absl::OkStatus();
    if (bytes > 0)
      status = requireAll("bagua_queue_copy", {{"to", to}, {"from", from}});
    return status.ok() ? queue.get().copy(to, from, bytes) : status;
  });
}

bagua_code bagua_queue_zero(bagua_queue *queue, void *to, size_t bytes) {
  return onQueue("bagua_queue_zero", queue, [&](capi::ProgramQueue &queue) {
    absl::Status status = absl::OkStatus();
    if (bytes > 0)
      status = requireAll("bagua_queue_zero", {{"to", to}});
    return status.ok() ? queue.get().zero(to, bytes) : status;
  });
}

bagua_code bagua_queue_drain(bagua_queue *queue, double limit_seconds) {
  return onQueue("bagua_queue_drain", queue, [&](capi::ProgramQueue &queue) {
    std::chrono::nanoseconds limit = queue.of().timeout();
    absl::Status status =
        capi::readSeconds("limit_seconds", limit_seconds, limit);
    return status.ok() ? queue.get().drain(limit) : status;
  });
}

bagua_code bagua_session_mark_ready_after(bagua_session *session,
                                          uint32_t tensor, void *data,
                                          size_t bytes, bagua_queue *after) {
  return giveAfter("bagua_session_mark_ready_after", session, tensor, data,
                   bytes, after, [](runtime::Session &session, auto &&...at) {
                     return session.markReady(at...);
                   });
}

bagua_code bagua_session_mark_absent_after(bagua_session *session,
                                           uint32_t tensor, void *data,
                                           size_t bytes, bagua_queue *after) {
  return giveAfter("bagua_session_mark_absent_after", session, tensor, data,
                   bytes, after, [](runtime::Session &session, auto &&...at) {
                     return session.markAbsent(at...);
                   });
}

bagua_code bagua_session_wait_before(bagua_session *session, uint32_t tensor,
                                     bagua_queue *before) {
  return onSessionWith("bagua_session_wait_before", session, "before", before,
                       [&](runtime::Session &session, runtime::Queue &queue) {
                         return session.wait(TensorId(tensor), queue);
                       });
}
