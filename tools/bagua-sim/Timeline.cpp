//===- Timeline.cpp - A simulated step as a page --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers the data that pages/timeline.html draws.
//
//===----------------------------------------------------------------------===//
#include "Timeline.h"

#include "Page.h"
#include "Report.h"
#include "bagua/Dialect/Bagua/Layouts.h"
#include "bagua/Transforms/Utils/StepQueries.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace bagua;
namespace json = llvm::json;

static int64_t rounded(double value) { return std::llround(value); }

namespace {
/// A sum of rectangles, as a map from each time to the change of the sum.
class Skyline {
public:
  void add(double start, double end, double height) {
    changes[start] += height;
    changes[end] -= height;
  }

  /// The points [time, value]; each value holds until the next point.
  template <typename Rounding> json::Array points(Rounding rounding) const {
    json::Array result;
    double sum = 0;
    json::Value shown = nullptr;
    for (auto [at, change] : changes) {
      sum += change;
      json::Value value = rounding(sum);
      if (value == shown)
        continue;
      result.push_back(json::Array{rounded(at), value});
      shown = std::move(value);
    }
    return result;
  }

private:
  std::map<double, double> changes;
};

/// Which bytes of an arena are in use, and when.
class ArenaUse {
public:
  void touch(int64_t offset, int64_t bytes, double start, double end) {
    if (bytes > 0)
      touches.push_back({offset, offset + bytes, start, end});
  }

  /// Values may share bytes, as a bucket and its tensors do. So the arena is
  /// cut at all bounds of values, and each piece is in use from its first touch
  /// to its last.
  void addTo(Skyline &memory) const {
    std::map<int64_t, std::pair<double, double>> pieces;
    for (const Touch &touch : touches) {
      pieces.try_emplace(touch.from, INFINITY, -INFINITY);
      pieces.try_emplace(touch.to, INFINITY, -INFINITY);
    }
    for (const Touch &touch : touches)
      for (auto piece = pieces.find(touch.from); piece->first < touch.to;
           ++piece) {
        auto &[start, end] = piece->second;
        start = std::min(start, touch.start);
        end = std::max(end, touch.end);
      }
    for (auto piece = pieces.begin(); piece != pieces.end(); ++piece)
      if (auto [start, end] = piece->second; start < end)
        memory.add(start, end,
                   static_cast<double>(std::next(piece)->first - piece->first));
  }

private:
  struct Touch {
    int64_t from, to;
    double start, end;
  };
  std::vector<Touch> touches;
};
} // namespace

/// A value is in use from its maker's start to its last reader's end; state is
/// in use during the whole step.
static Skyline memoryOf(const Prediction &prediction) {
  llvm::DenseMap<Operation *, int32_t> numbers;
  for (auto [task, op] : llvm::enumerate(prediction.tasks.ops))
    numbers[op] = static_cast<int32_t>(task);
  auto step = cast<StepOp>(prediction.tasks.ops.front()->getParentOp());
  ClusterOp cluster = step.lookupCluster();
  const std::vector<TaskTimes> &times = prediction.simulation.tasks;
  llvm::MapVector<StringAttr, ArenaUse> arenas;
  auto touch = [&](Value value, double start, double end) {
    PlaceAttr place = getPlace(value);
    if (place && place.getKind() == PlaceKind::Arena)
      arenas[place.getName()].touch(
          place.getOffset(),
          maxLocalBytes(cast<RankedTensorType>(value.getType()), cluster),
          start, end);
  };
  for (BlockArgument argument : step.getBody().getArguments())
    touch(argument, 0, prediction.stepNs);
  for (auto [task, op] : llvm::enumerate(prediction.tasks.ops))
    for (Value result : op->getResults()) {
      double end = times[task].endNs;
      for (Operation *user : result.getUsers())
        if (auto found = numbers.find(user); found != numbers.end())
          end = std::max(end, times[found->second].endNs);
      touch(result, times[task].startNs, end);
    }
  Skyline memory;
  for (auto &[name, arena] : arenas)
    arena.addTo(memory);
  return memory;
}

/// Links with the same use, such as those of servers that share every tensor,
/// become one row.
static json::Array linksOf(const Prediction &prediction) {
  const TaskGraph &graph = prediction.tasks.graph;
  std::vector<Skyline> skylines(graph.links.size());
  for (int32_t task = 0; task < graph.size(); ++task) {
    const TaskTimes &times = prediction.simulation.tasks[task];
    double start = times.startNs + graph[task].fixedNs;
    for (auto *use = graph.usesBegin(task); use != graph.usesEnd(task); ++use)
      if (use->ns > 0 && times.endNs > start)
        skylines[use->link].add(start, times.endNs,
                                use->ns / (times.endNs - start));
  }
  struct Row {
    std::vector<std::string> names;
    double used;
    json::Array points;
  };
  std::vector<Row> rows;
  for (auto [link, skyline] : llvm::enumerate(skylines)) {
    json::Array points = skyline.points(
        [](double use) { return std::round(use * 1000) / 1000; });
    if (points.empty())
      continue;
    std::string name = linkName(prediction.cluster, static_cast<int32_t>(link));
    auto row = llvm::find_if(
        rows, [&](const Row &other) { return other.points == points; });
    if (row == rows.end())
      rows.push_back(
          {{name},
           prediction.simulation.linkBusyNs[link] / prediction.stepNs,
           std::move(points)});
    else
      row->names.push_back(name);
  }
  json::Array result;
  for (Row &row : rows)
    result.push_back(json::Object{{"names", json::Array(row.names)},
                                  {"used", row.used},
                                  {"points", std::move(row.points)}});
  return result;
}

/// The reason why a task started when it did.
static std::string reasonOf(const Prediction &prediction, int32_t task) {
  const TaskTimes &times = prediction.simulation.tasks[task];
  if (times.cause < 0)
    return "nothing kept it waiting";
  const TaskGraph &graph = prediction.tasks.graph;
  bool isSameStream = graph[times.cause].stream == graph[task].stream;
  std::string reason = llvm::formatv(
      "{0} {1}", isSameStream ? "after, on this stream," : "waited for",
      labelOf(prediction.tasks.ops[times.cause]));
  if (times.causeStepsBack > 0)
    reason += llvm::formatv(", {0} step{1} before", times.causeStepsBack,
                            times.causeStepsBack > 1 ? "s" : "");
  return reason;
}

/// Adds the threads of the measured step as further streams, and its spans as
/// their tasks.
static void addMeasured(const MeasuredStep &measured, json::Array &streams,
                        json::Array &tasks) {
  const auto first = static_cast<int64_t>(streams.size());
  for (const std::string &name : measured.threads)
    streams.push_back(name + ", run");
  for (const MeasuredStep::Span &span : measured.spans)
    if (span.endNs > span.startNs)
      tasks.push_back(json::Array{first + span.thread, rounded(span.startNs),
                                  rounded(span.endNs), span.label, span.bytes,
                                  "in the run", false});
}

static json::Value figuresOf(const MeasuredStep *measured) {
  if (!measured)
    return nullptr;
  return json::Object{{"rank", measured->rank},
                      {"step", measured->step},
                      {"steps", static_cast<int64_t>(measured->steps)},
                      {"stepNs", rounded(measured->durationNs)},
                      {"exposedNs", rounded(measured->exposedNs)}};
}

std::string bagua::timelineOf(const Prediction &prediction,
                              const BoundReport &bounded,
                              const MeasuredStep *measured) {
  const TaskGraph &graph = prediction.tasks.graph;
  const Simulation &simulation = prediction.simulation;
  std::vector<bool> isCritical(graph.size());
  for (int32_t task : simulation.criticalPath)
    isCritical[task] = true;
  json::Array streams, tasks;
  for (const StreamModel &stream : graph.streams)
    streams.push_back(stream.name);
  for (int32_t task = 0; task < graph.size(); ++task) {
    const TaskTimes &times = simulation.tasks[task];
    if (times.endNs > times.startNs)
      tasks.push_back(json::Array{
          graph[task].stream, rounded(times.startNs), rounded(times.endNs),
          labelOf(prediction.tasks.ops[task]), graph[task].bytes,
          reasonOf(prediction, task), bool(isCritical[task])});
  }
  if (measured)
    addMeasured(*measured, streams, tasks);
  auto step = cast<StepOp>(prediction.tasks.ops.front()->getParentOp());
  return fillPage("timeline",
                  json::Object{{"step", step.getSymName()},
                               {"strategy", prediction.strategy},
                               {"stepNs", rounded(prediction.stepNs)},
                               {"computeNs", rounded(prediction.computeNs)},
                               {"exposedNs", rounded(prediction.exposedNs)},
                               {"boundNs", rounded(bounded.bound.ns)},
                               {"run", figuresOf(measured)},
                               {"bound", bounded.binding},
                               {"streams", std::move(streams)},
                               {"tasks", std::move(tasks)},
                               {"links", linksOf(prediction)},
                               {"memory", memoryOf(prediction).points(rounded)},
                               {"arenaBytes", prediction.peakBytes}});
}
