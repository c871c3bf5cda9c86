//===- Handles.h - What is behind the handles of the C interface ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structs behind the handles. Each keeps alive the objects that it depends
// on.
//
//===----------------------------------------------------------------------===//
#ifndef BAGUA_LIB_CAPI_HANDLES_H
#define BAGUA_LIB_CAPI_HANDLES_H

#include "ProgramQueue.h"

#include "bagua/Runtime/Agreement.h"
#include "bagua/Runtime/PlanTensor.h"
#include "bagua/Runtime/Session.h"
#include "bagua/bagua.h"

#include <memory>
#include <vector>

struct bagua_plan {
  std::shared_ptr<const bagua::runtime::Plan> plan;
  std::vector<bagua::runtime::PlanTensor> tensors;
};

struct bagua_world {
  std::shared_ptr<bagua::runtime::World> world;
};

struct bagua_communicator {
  std::shared_ptr<bagua::runtime::World> world;
  bagua::runtime::Agreement agreement;
  std::unique_ptr<bagua::runtime::Communicator> communicator;
};

struct bagua_queue {
  std::shared_ptr<bagua::capi::ProgramQueue> queue;
};

struct bagua_session {
  size_t tensorCount;
  std::unique_ptr<bagua::runtime::Session> session;
  /// Queues whose work may use the session.
  std::vector<std::shared_ptr<bagua::capi::ProgramQueue>> queues;

  /// Waits for the queues. A session whose queue stands still stays in memory.
  ~bagua_session() {
    for (auto &queue : queues)
      if (!queue->hasEnded())
        (void)session.release(); // NOLINT(bugprone-unused-return-value)
  }
};

struct bagua_memory {
  std::shared_ptr<void> memory;
};

#endif // BAGUA_LIB_CAPI_HANDLES_H
