//===- OwnSession.cpp - A session in the process that made it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wraps each call. Calls that only read also work in a forked process.
//
//===----------------------------------------------------------------------===//
#include "Session/OwnSession.h"

#include "Communication/OwnProcess.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {
namespace {

/// Keeps a session whose memory its device may still use.
void keepForGood(std::unique_ptr<Session> session) {
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::unique_ptr<Session>>;
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(session));
}

class OwnSession final : public Session {
public:
  OwnSession(std::unique_ptr<Session> made, std::function<void()> onFailure,
             std::function<bool()> onEnd)
      : session(std::move(made)), whenFailed(std::move(onFailure)),
        end(std::move(onEnd)) {}
  ~OwnSession() override {
    if (!process.isThis())
      (void)session.release();
    else if (!end())
      keepForGood(std::move(session));
  }

  int rank() const override { return session->rank(); }
  absl::StatusOr<TensorId> find(absl::string_view name) const override {
    return session->find(name);
  }
  int64_t localBytes(TensorId tensor) const override {
    return session->localBytes(tensor);
  }
  absl::Status bind(TensorId tensor, void *data, size_t bytes) override {
    return inProcess([&] { return session->bind(tensor, data, bytes); });
  }
  absl::StatusOr<void *> address(TensorId tensor, size_t bytes) override {
    return inProcess([&] { return session->address(tensor, bytes); });
  }
  absl::StatusOr<std::shared_ptr<void>> hold(TensorId tensor,
                                             size_t bytes) override {
    return inProcess([&] { return session->hold(tensor, bytes); });
  }
  absl::StatusOr<void *> bindOrLocate(TensorId tensor, void *data,
                                      size_t bytes) override {
    return inProcess(
        [&] { return session->bindOrLocate(tensor, data, bytes); });
  }
  bool programUpdates(absl::string_view name) override {
    return session->programUpdates(name);
  }
  int64_t firstWaiter(TensorId tensor) const override {
    return session->firstWaiter(tensor);
  }
  absl::Status start() override {
    return inProcess([&] { return session->start(); });
  }
  void agreeOn(absl::string_view name, uint64_t value,
               absl::string_view meaning) override {
    session->agreeOn(name, value, meaning);
  }
  absl::Status agreeOn(TensorId tensor, uint64_t value,
                       absl::string_view meaning) override {
    return inProcess([&] { return session->agreeOn(tensor, value, meaning); });
  }
  absl::Status beginStep() override {
    return inProcess([&] { return session->beginStep(); });
  }
  absl::Status markReady(TensorId tensor, Queue &after) override {
    return inProcess([&] { return session->markReady(tensor, after); });
  }
  absl::Status markReady(TensorId tensor, void *data, size_t bytes,
                         Queue &after) override {
    return inProcess(
        [&] { return session->markReady(tensor, data, bytes, after); });
  }
  absl::Status markAbsent(TensorId tensor, Queue &after) override {
    return inProcess([&] { return session->markAbsent(tensor, after); });
  }
  absl::Status markAbsent(TensorId tensor, void *data, size_t bytes,
                          Queue &after) override {
    return inProcess(
        [&] { return session->markAbsent(tensor, data, bytes, after); });
  }
  absl::Status wait(TensorId tensor, Queue &before) override {
    return inProcess([&] { return session->wait(tensor, before); });
  }
  bool stepUses(TensorId tensor) const override {
    return session->stepUses(tensor);
  }
  bool isReady(TensorId tensor) const override {
    return session->isReady(tensor);
  }
  void onDone(TensorId tensor,
              std::function<void(const absl::Status &)> done) override {
    if (absl::Status status = check(); !status.ok())
      done(status);
    else
      session->onDone(tensor, std::move(done));
  }
  absl::Status endStep() override {
    return inProcess([&] { return session->endStep(); });
  }
  absl::Status barrier() override {
    return inProcess([&] { return session->barrier(); });
  }
  absl::Status finish() override {
    return inProcess([&] { return session->finish(); });
  }
  void abort(const absl::Status &why) override {
    if (process.isThis())
      session->abort(why);
  }
  int64_t step() const override { return session->step(); }
  absl::StatusOr<std::string> saveState() const override {
    return inProcess([&] { return session->saveState(); });
  }
  absl::Status loadState(absl::string_view bytes) override {
    return inProcess([&] { return session->loadState(bytes); });
  }
  int64_t bytesSent() const override { return session->bytesSent(); }
  absl::StatusOr<StepFigures> stepFigures(int64_t back) const override {
    return session->stepFigures(back);
  }
  int64_t arenaBytes() const override { return session->arenaBytes(); }

private:
  absl::Status check() const { return process.check("a session"); }
  /// The result of the call, a status or a value.
  template <typename Call> auto inProcess(Call call) const -> decltype(call()) {
    if (absl::Status status = check(); !status.ok())
      return status;
    auto result = call();
    if (!result.ok())
      whenFailed();
    return result;
  }

  const OwnProcess process;
  std::unique_ptr<Session> session;
  const std::function<void()> whenFailed;
  const std::function<bool()> end;
};

} // namespace

std::unique_ptr<Session> keepToProcess(std::unique_ptr<Session> session,
                                       std::function<void()> whenFailed,
                                       std::function<bool()> end) {
  return std::make_unique<OwnSession>(std::move(session), std::move(whenFailed),
                                      std::move(end));
}

} // namespace bagua::runtime
