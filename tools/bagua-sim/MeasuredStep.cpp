//===- MeasuredStep.cpp - A step of a real run ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events are sorted by the step that they name and not by time, since
// communication of one step may run beside the next step.
//
//===----------------------------------------------------------------------===//
#include "MeasuredStep.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <map>

using namespace bagua;
namespace json = llvm::json;

namespace {
/// When a step begins and ends.
struct StepTimes {
  int64_t step;
  double startNs, endNs;
};
} // namespace

static double nanoseconds(const json::Object &event, llvm::StringRef key) {
  return event.getNumber(key).value_or(0) * 1000;
}

static int64_t argumentOf(const json::Object &event, llvm::StringRef key) {
  const json::Object *arguments = event.getObject("args");
  return arguments ? arguments->getInteger(key).value_or(0) : 0;
}

static llvm::StringRef textOf(const json::Object &event, llvm::StringRef key) {
  return event.getString(key).value_or("");
}

static bool isSpan(const json::Object &event) {
  return textOf(event, "ph") == "X";
}

/// The steps whose end is known: the next one begins, or finish() has returned.
static std::vector<StepTimes>
findSteps(const std::vector<const json::Object *> &events) {
  std::vector<StepTimes> steps;
  std::map<int64_t, double> finished;
  for (const json::Object *event : events) {
    if (!isSpan(*event) || event->getInteger("tid") != 0 ||
        argumentOf(*event, "unfinished"))
      continue;
    const int64_t step = argumentOf(*event, "step");
    const double start = nanoseconds(*event, "ts");
    const double end = start + nanoseconds(*event, "dur");
    if (textOf(*event, "name").starts_with("step "))
      steps.push_back({step, start, end});
    else if (textOf(*event, "name") == "finish")
      finished[step] = end;
  }
  llvm::sort(steps, [](const StepTimes &a, const StepTimes &b) {
    return a.startNs < b.startNs;
  });
  for (size_t i = 0; i < steps.size(); ++i)
    if (auto found = finished.find(steps[i].step); found != finished.end())
      steps[i].endNs = found->second;
    else if (i + 1 < steps.size())
      steps[i].endNs = steps[i + 1].startNs;
  if (steps.size() > 1 && !finished.count(steps.back().step))
    steps.pop_back();
  return steps;
}

static llvm::Expected<json::Value> readJson(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(
        file.getError(), "--run='" + path + "': " + file.getError().message());
  llvm::Expected<json::Value> value = json::parse((*file)->getBuffer());
  if (value)
    return value;
  return llvm::createStringError("--run='" + path +
                                 "': " + llvm::toString(value.takeError()));
}

/// Adds the spans of the chosen step's events.
static void addSpans(const std::vector<const json::Object *> &events,
                     double startNs, MeasuredStep &result) {
  for (const json::Object *event : events) {
    const int64_t thread = event->getInteger("tid").value_or(0);
    if (!isSpan(*event) || argumentOf(*event, "step") != result.step ||
        thread < 0 || thread >= static_cast<int64_t>(result.threads.size()))
      continue;
    llvm::StringRef label = textOf(*event, "name");
    const double start = nanoseconds(*event, "ts") - startNs;
    const double duration = nanoseconds(*event, "dur");
    if (label.starts_with("step ") && thread == 0)
      continue;
    if (thread == 0)
      result.exposedNs += duration;
    result.spans.push_back({thread, start, start + duration, label.str(),
                            argumentOf(*event, "bytes")});
  }
}

llvm::Expected<MeasuredStep> bagua::readMeasuredStep(llvm::StringRef path) {
  llvm::Expected<json::Value> value = readJson(path);
  if (!value)
    return value.takeError();
  const json::Object *root = value->getAsObject();
  static const json::Array kNone;
  const json::Array *list = root ? root->getArray("traceEvents") : nullptr;
  std::vector<const json::Object *> events;
  MeasuredStep result;
  for (const json::Value &entry : list ? *list : kNone)
    if (const json::Object *event = entry.getAsObject()) {
      events.push_back(event);
      const json::Object *arguments = event->getObject("args");
      if (textOf(*event, "name") != "thread_name" || !arguments)
        continue;
      result.rank = event->getInteger("pid").value_or(0);
      result.threads.push_back(textOf(*arguments, "name").str());
    }
  std::vector<StepTimes> steps = findSteps(events);
  if (steps.empty() || result.threads.empty())
    return llvm::createStringError(
        "--run='" + path +
        "': expected a trace that a run has written by BAGUA_TRACE, found no "
        "step that has ended");
  auto middle = steps.begin() + (steps.size() - 1) / 2;
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const StepTimes &a, const StepTimes &b) {
                     return a.endNs - a.startNs < b.endNs - b.startNs;
                   });
  result.step = middle->step;
  result.steps = steps.size();
  result.durationNs = middle->endNs - middle->startNs;
  addSpans(events, middle->startNs, result);
  return result;
}
