//===- Sessions.cpp - Sessions in C ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Session.h, one by one.
//
//===----------------------------------------------------------------------===//
#include "Errors.h"
#include "Figures.h"
#include "Handles.h"

#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

using namespace bagua;
using capi::guard;
using capi::requireAll;
using runtime::TensorId;

namespace {

/// Runs a call on the session behind a handle.
template <typename Body>
bagua_code onSession(const char *call, const bagua_session *session,
                     Body body) {
  return guard([&]() -> absl::Status {
    absl::Status status = requireAll(call, {{"session", session}});
    return status.ok() ? body(*session->session) : status;
  });
}

/// Stores where a tensor is.
absl::Status store(absl::StatusOr<void *> found, void **place) {
  if (found.ok())
    *place = *found;
  return found.status();
}

} // namespace

bagua_code bagua_session_create(const bagua_plan *plan, bagua_world *world,
                                const bagua_session_options *options,
                                bagua_session **session) {
  return guard([&]() -> absl::Status {
    runtime::SessionOptions read;
    bagua_session_options known = {};
    absl::Status status =
        requireAll("bagua_session_create",
                   {{"plan", plan}, {"world", world}, {"session", session}});
    if (status.ok()) {
      read.timeout = world->world->timeout();
      status = capi::readWaiting("bagua_session_options", options, known, read);
    }
    if (!status.ok())
      return status;
    if (known.backend)
      read.backend = known.backend;
    read.firstStep = known.first_step;
    auto made = runtime::Session::create(plan->plan, world->world, read);
    if (!made.ok())
      return made.status();
    *session = new bagua_session{plan->tensors.size(), *std::move(made), {}};
    return absl::OkStatus();
  });
}

void bagua_session_free(bagua_session *session) { delete session; }

bagua_code bagua_session_find(const bagua_session *session, const char *name,
                              uint32_t *tensor) {
  return onSession("bagua_session_find", session,
                   [&](const runtime::Session &session) -> absl::Status {
                     absl::Status status =
                         requireAll("bagua_session_find",
                                    {{"name", name}, {"tensor", tensor}});
                     if (!status.ok())
                       return status;
                     auto found = session.find(name);
                     if (found.ok())
                       *tensor = static_cast<uint32_t>(*found);
                     return found.status();
                   });
}

int64_t bagua_session_local_bytes(const bagua_session *session,
                                  uint32_t tensor) {
  return session && tensor < session->tensorCount
             ? session->session->localBytes(TensorId(tensor))
             : -1;
}

bagua_code bagua_session_bind(bagua_session *session, uint32_t tensor,
                              void *data, size_t bytes) {
  return onSession("bagua_session_bind", session,
                   [&](runtime::Session &session) {
                     return session.bind(TensorId(tensor), data, bytes);
                   });
}

bagua_code bagua_session_address(bagua_session *session, uint32_t tensor,
                                 size_t bytes, void **data) {
  return onSession(
      "bagua_session_address", session, [&](runtime::Session &session) {
        absl::Status status =
            requireAll("bagua_session_address", {{"data", data}});
        return status.ok()
                   ? store(session.address(TensorId(tensor), bytes), data)
                   : status;
      });
}

bagua_code bagua_session_hold(bagua_session *session, uint32_t tensor,
                              size_t bytes, void **data,
                              bagua_memory **memory) {
  return onSession("bagua_session_hold", session,
                   [&](runtime::Session &session) -> absl::Status {
                     absl::Status status =
                         requireAll("bagua_session_hold",
                                    {{"data", data}, {"memory", memory}});
                     if (!status.ok())
                       return status;
                     auto held = session.hold(TensorId(tensor), bytes);
                     if (!held.ok())
                       return held.status();
                     *data = held->get();
                     *memory = new bagua_memory{*std::move(held)};
                     return absl::OkStatus();
                   });
}

void bagua_memory_free(bagua_memory *memory) { delete memory; }

bagua_code bagua_session_bind_or_locate(bagua_session *session, uint32_t tensor,
                                        void *data, size_t bytes,
                                        void **place) {
  return onSession(
      "bagua_session_bind_or_locate", session, [&](runtime::Session &session) {
        absl::Status status =
            requireAll("bagua_session_bind_or_locate", {{"place", place}});
        return status.ok()
                   ? store(session.bindOrLocate(TensorId(tensor), data, bytes),
                           place)
                   : status;
      });
}

int bagua_session_program_updates(bagua_session *session, const char *name) {
  return session && name ? session->session->programUpdates(name) : -1;
}

bagua_code bagua_session_start(bagua_session *session) {
  return onSession("bagua_session_start", session,
                   [](runtime::Session &session) { return session.start(); });
}

int64_t bagua_session_first_waiter(const bagua_session *session,
                                   uint32_t tensor) {
  return session ? session->session->firstWaiter(TensorId(tensor)) : -1;
}

bagua_code bagua_session_begin_step(bagua_session *session) {
  return onSession(
      "bagua_session_begin_step", session,
      [](runtime::Session &session) { return session.beginStep(); });
}

bagua_code bagua_session_mark_ready(bagua_session *session, uint32_t tensor) {
  return onSession("bagua_session_mark_ready", session,
                   [&](runtime::Session &session) {
                     return session.markReady(TensorId(tensor));
                   });
}

bagua_code bagua_session_mark_ready_at(bagua_session *session, uint32_t tensor,
                                       void *data, size_t bytes) {
  return onSession("bagua_session_mark_ready_at", session,
                   [&](runtime::Session &session) {
                     return session.markReady(TensorId(tensor), data, bytes);
                   });
}

bagua_code bagua_session_mark_each_ready(bagua_session *session,
                                         const uint32_t *tensors,
                                         void *const *data, const size_t *bytes,
                                         size_t count) {
  return onSession(
      "bagua_session_mark_each_ready", session, [&](runtime::Session &session) {
        absl::Status status =
            requireAll("bagua_session_mark_each_ready", {{"tensors", tensors}});
        if (status.ok() && data)
          status =
              requireAll("bagua_session_mark_each_ready", {{"bytes", bytes}});
        for (size_t i = 0; status.ok() && i < count; ++i)
          status =
              data ? session.markReady(TensorId(tensors[i]), data[i], bytes[i])
                   : session.markReady(TensorId(tensors[i]));
        return status;
      });
}

bagua_code bagua_session_agree_on(bagua_session *session, const char *fact,
                                  uint64_t value, const char *meaning) {
  return onSession("bagua_session_agree_on", session,
                   [&](runtime::Session &session) {
                     absl::Status status =
                         requireAll("bagua_session_agree_on", {{"fact", fact}});
                     if (status.ok())
                       session.agreeOn(fact, value, meaning ? meaning : "");
                     return status;
                   });
}

bagua_code bagua_session_agree_on_tensor(bagua_session *session,
                                         uint32_t tensor, uint64_t value,
                                         const char *meaning) {
  return onSession(
      "bagua_session_agree_on_tensor", session, [&](runtime::Session &session) {
        return session.agreeOn(TensorId(tensor), value, meaning ? meaning : "");
      });
}

bagua_code bagua_session_mark_absent(bagua_session *session, uint32_t tensor) {
  return onSession("bagua_session_mark_absent", session,
                   [&](runtime::Session &session) {
                     return session.markAbsent(TensorId(tensor));
                   });
}

bagua_code bagua_session_mark_absent_at(bagua_session *session, uint32_t tensor,
                                        void *data, size_t bytes) {
  return onSession("bagua_session_mark_absent_at", session,
                   [&](runtime::Session &session) {
                     return session.markAbsent(TensorId(tensor), data, bytes);
                   });
}

bagua_code bagua_session_wait(bagua_session *session, uint32_t tensor) {
  return onSession("bagua_session_wait", session,
                   [&](runtime::Session &session) {
                     return session.wait(TensorId(tensor));
                   });
}

bagua_code bagua_session_wait_for_each(bagua_session *session,
                                       const uint32_t *tensors, size_t count) {
  return onSession(
      "bagua_session_wait_for_each", session, [&](runtime::Session &session) {
        absl::Status status =
            requireAll("bagua_session_wait_for_each", {{"tensors", tensors}});
        for (size_t i = 0; status.ok() && i < count; ++i)
          status = session.wait(TensorId(tensors[i]));
        return status;
      });
}

int bagua_session_step_uses(const bagua_session *session, uint32_t tensor) {
  return session ? session->session->stepUses(TensorId(tensor)) : -1;
}

int bagua_session_is_ready(const bagua_session *session, uint32_t tensor) {
  return session ? session->session->isReady(TensorId(tensor)) : -1;
}

bagua_code bagua_session_on_done(bagua_session *session, uint32_t tensor,
                                 void (*done)(void *user, bagua_code code,
                                              const char *message),
                                 void *user) {
  return onSession(
      "bagua_session_on_done", session,
      [&](runtime::Session &session) -> absl::Status {
        if (!done)
          return absl::InvalidArgumentError(
              "bagua_session_on_done: expected 'done', found null");
        session.onDone(
            TensorId(tensor), [done, user](const absl::Status &status) {
              bagua_code code = capi::report(status);
              done(user, code, code == BAGUA_OK ? "" : bagua_last_error());
            });
        return absl::OkStatus();
      });
}

bagua_code bagua_session_end_step(bagua_session *session) {
  return onSession("bagua_session_end_step", session,
                   [](runtime::Session &session) { return session.endStep(); });
}

bagua_code bagua_session_barrier(bagua_session *session) {
  return onSession("bagua_session_barrier", session,
                   [](runtime::Session &session) { return session.barrier(); });
}

bagua_code bagua_session_finish(bagua_session *session) {
  return onSession("bagua_session_finish", session,
                   [](runtime::Session &session) { return session.finish(); });
}

void bagua_session_abort(bagua_session *session, const char *why) {
  onSession("bagua_session_abort", session, [&](runtime::Session &session) {
    session.abort(absl::AbortedError(why ? why : ""));
    return absl::OkStatus();
  });
}

int64_t bagua_session_step(const bagua_session *session) {
  return session ? session->session->step() : -1;
}

int64_t bagua_session_bytes_sent(const bagua_session *session) {
  return session ? session->session->bytesSent() : -1;
}

int64_t bagua_session_arena_bytes(const bagua_session *session) {
  return session ? session->session->arenaBytes() : -1;
}

bagua_code bagua_session_step_figures(const bagua_session *session,
                                      int64_t back,
                                      bagua_step_figures *figures) {
  return onSession("bagua_session_step_figures", session,
                   [&](const runtime::Session &session) -> absl::Status {
                     absl::Status status = requireAll(
                         "bagua_session_step_figures", {{"figures", figures}});
                     if (!status.ok())
                       return status;
                     auto found = session.stepFigures(back);
                     if (!found.ok())
                       return found.status();
                     return capi::writeFigures(*found, figures);
                   });
}

bagua_code bagua_session_save_state(const bagua_session *session, void **bytes,
                                    size_t *size) {
  return onSession("bagua_session_save_state", session,
                   [&](const runtime::Session &session) -> absl::Status {
                     absl::Status status =
                         requireAll("bagua_session_save_state",
                                    {{"bytes", bytes}, {"size", size}});
                     if (!status.ok())
                       return status;
                     auto state = session.saveState();
                     if (!state.ok())
                       return state.status();
                     void *copy = std::malloc(state->size() + 1);
                     if (!copy)
                       return absl::ResourceExhaustedError("");
                     std::memcpy(copy, state->data(), state->size());
                     *bytes = copy;
                     *size = state->size();
                     return absl::OkStatus();
                   });
}

bagua_code bagua_session_load_state(bagua_session *session, const void *bytes,
                                    size_t size) {
  return onSession(
      "bagua_session_load_state", session,
      [&](runtime::Session &session) -> absl::Status {
        absl::Status status =
            requireAll("bagua_session_load_state", {{"bytes", bytes}});
        return status.ok()
                   ? session.loadState({static_cast<const char *>(bytes), size})
                   : status;
      });
}

void bagua_bytes_free(void *bytes) { std::free(bytes); }
