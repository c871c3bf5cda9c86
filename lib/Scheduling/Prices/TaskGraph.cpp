//===- TaskGraph.cpp - One step as tasks on streams and links -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the arrays, and checks graphs.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Prices/TaskGraph.h"

#include "bagua/Support/StepsInFlight.h"

#include <cmath>

using namespace bagua;

int32_t TaskGraph::add(const Task &task, const std::vector<LinkUse> &newUses,
                       const std::vector<TaskDependency> &newDependencies) {
  tasks.push_back(task);
  uses.insert(uses.end(), newUses.begin(), newUses.end());
  dependencies.insert(dependencies.end(), newDependencies.begin(),
                      newDependencies.end());
  firstUse.push_back(static_cast<int32_t>(uses.size()));
  firstDependency.push_back(static_cast<int32_t>(dependencies.size()));
  return size() - 1;
}

static bool isDuration(double ns) { return std::isfinite(ns) && ns >= 0; }

std::optional<std::string> TaskGraph::check() const {
  if (tasks.empty())
    return "expected at least one task, found none";
  if (!(communicationSlowdown >= 1) || !std::isfinite(communicationSlowdown))
    return "expected a slowdown of at least 1, found " +
           std::to_string(communicationSlowdown);
  if (!isDuration(wakeNs))
    return "expected a duration of waking up, found " + std::to_string(wakeNs);
  for (const LinkModel &link : links) {
    for (double rate : {link.overlappedRate, link.concurrentRate})
      if (!(rate > 0) || rate > 1)
        return "expected an overlapped and a concurrent rate over 0 and at "
               "most "
               "1, found " +
               std::to_string(rate);
    if (!(link.overlappedNs >= 0))
      return "expected an overlapped duration of at least 0, found " +
             std::to_string(link.overlappedNs);
  }
  for (int32_t task = 0; task < size(); ++task) {
    std::string name = "task " + std::to_string(task) + ": ";
    if (tasks[task].stream < 0 ||
        tasks[task].stream >= static_cast<int32_t>(streams.size()))
      return name + "expected one of " + std::to_string(streams.size()) +
             " streams, found " + std::to_string(tasks[task].stream);
    if (!isDuration(tasks[task].fixedNs))
      return name + "expected a duration, found " +
             std::to_string(tasks[task].fixedNs);
    for (const LinkUse *use = usesBegin(task); use != usesEnd(task); ++use)
      if (use->link < 0 || use->link >= static_cast<int32_t>(links.size()) ||
          !isDuration(use->ns))
        return name + "expected one of " + std::to_string(links.size()) +
               " links and a duration, found link " +
               std::to_string(use->link) + " for " + std::to_string(use->ns) +
               " ns";
    for (const TaskDependency *on = dependenciesBegin(task);
         on != dependenciesEnd(task); ++on) {
      if (on->task < 0 || on->task >= size() || on->stepsBack < 0 ||
          on->stepsBack > kStepsInFlight)
        return name + "expected a dependency on a task of this or of one of " +
               std::to_string(kStepsInFlight) + " earlier steps, found task " +
               std::to_string(on->task) + " of " +
               std::to_string(on->stepsBack) + " steps back";
      if (on->stepsBack == 0 && on->task >= task)
        return name + "expected dependencies on earlier tasks, found task " +
               std::to_string(on->task);
    }
  }
  return std::nullopt;
}
