//===- OtherWorld.h - A world with another backend ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A world as another one has it, and a backend of a test's: either beside the
// others, under its name, or in place of the host's, so that a suite which asks
// the world for communicators runs on it.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_UNITTESTS_RUNTIME_OTHERWORLD_H
#define BAGUA_UNITTESTS_RUNTIME_OTHERWORLD_H

#include "bagua/Runtime/Backend.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bagua::runtime {

class OtherWorld final : public World {
public:
  enum class Use { Beside, AsControl };

  OtherWorld(std::unique_ptr<World> world, std::unique_ptr<Backend> backend,
             Use ownUse)
      : inner(std::move(world)), other(std::move(backend)), use(ownUse) {}

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  std::vector<int> hosts() const override { return inner->hosts(); }
  int startedAs(int rank) const override { return inner->startedAs(rank); }
  std::chrono::nanoseconds timeout() const override { return inner->timeout(); }

  Backend *backend(absl::string_view name) override {
    return name == other->name() ? other.get() : inner->backend(name);
  }
  std::vector<std::string> backends() const override {
    std::vector<std::string> names = inner->backends();
    names.emplace_back(other->name());
    return names;
  }
  Backend &control() override {
    return use == Use::AsControl ? *other : inner->control();
  }

  WorkWatch *workWatch() override { return inner->workWatch(); }
  void note(const std::string &what) override { inner->note(what); }
  void limitStay() override { inner->limitStay(); }
  void abort(const absl::Status &why) override { inner->abort(why); }
  absl::Status status() const override { return inner->status(); }
  void onAbort(const void *owner, std::function<void()> handler) override {
    inner->onAbort(owner, std::move(handler));
  }

private:
  const std::unique_ptr<World> inner;
  const std::unique_ptr<Backend> other;
  const Use use;
};

/// A backend as another one is, which may be a world's own.
class BorrowedBackend : public Backend {
public:
  explicit BorrowedBackend(Backend &lent) : inner(lent) {}

  absl::string_view name() const override { return inner.name(); }
  Device &device() const override { return inner.device(); }
  BackendTraits traits() const override { return inner.traits(); }
  bool reaches(const std::vector<int> &members) const override {
    return inner.reaches(members);
  }
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(size_t bytes) override {
    return inner.allocate(bytes);
  }
  absl::StatusOr<std::unique_ptr<Communicator>>
  createCommunicator(const CommunicatorGroup &group,
                     const CommunicatorOptions &options) override {
    return inner.createCommunicator(group, options);
  }

private:
  Backend &inner;
};

} // namespace bagua::runtime

#endif // BAGUA_UNITTESTS_RUNTIME_OTHERWORLD_H
