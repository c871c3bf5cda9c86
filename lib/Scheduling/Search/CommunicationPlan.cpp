//===- CommunicationPlan.cpp - All decisions about a step's gradients -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets by rule, text and checks.
//
//===----------------------------------------------------------------------===//
#include "bagua/Scheduling/Search/CommunicationPlan.h"

#include "bagua/Support/Limits.h"
#include "bagua/Support/Parts.h"

#include <algorithm>
#include <charconv>
#include <numeric>

using namespace bagua;

std::optional<std::string> CommunicationProblem::check() const {
  if (std::optional<std::string> wrong = cluster.check())
    return wrong;
  if (std::optional<std::string> wrong = bucketing.check())
    return wrong;
  if (byProgram.size() != byRuntime.size())
    return "expected two graphs of the same ops";
  if (bucketing.tensors.size() != gradients.size())
    return "expected " + std::to_string(gradients.size()) +
           " gradients to put into buckets, found " +
           std::to_string(bucketing.tensors.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    int32_t op = gradients[i].op;
    if (op < 0 || op >= byProgram.size() ||
        byProgram[op].kind != GraphOpKind::Collective)
      return "gradient " + std::to_string(i) +
             ": expected the number of its all_reduce, found " +
             std::to_string(op);
  }
  return std::nullopt;
}

bool CommunicationProblem::canServeAll() const {
  return canServeWire && cluster.servers() > 0 &&
         std::all_of(gradients.begin(), gradients.end(),
                     [this](const StepGradient &gradient) {
                       return gradient.isStatistic ||
                              canServe(cluster, gradient.over);
                     });
}

FormCycle FormCycle::ofParts(const std::vector<FormKind> &parts) {
  for (size_t period = 1; period < parts.size(); ++period)
    if (std::equal(parts.begin() + static_cast<ptrdiff_t>(period), parts.end(),
                   parts.begin()))
      return FormCycle(
          {parts.begin(), parts.begin() + static_cast<ptrdiff_t>(period)});
  return FormCycle(parts);
}

std::vector<int32_t> bagua::planOrder(const BucketingProblem &problem) {
  std::vector<int32_t> order(problem.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return problem.tensors[a].shareClass < problem.tensors[b].shareClass;
  });
  return order;
}

//===----------------------------------------------------------------------===//
// Buckets by rule
//===----------------------------------------------------------------------===//

MessageCost bagua::messageCost(const ClusterModel &cluster,
                               std::map<int32_t, AxisSet> axesOfClass,
                               Encoding wire, AllowedForms forms) {
  return [&cluster, axes = std::move(axesOfClass), wire,
          forms](int64_t bytes, int32_t shareClass) {
    return messageNs(cluster, bytes, axes.at(shareClass), wire, forms);
  };
}

static int64_t bytesOf(const BucketingProblem &problem, const Bucket &bucket) {
  int64_t bytes = 0;
  for (int32_t member : bucket)
    bytes += problem.tensors[member].bytes;
  return bytes;
}

Message bagua::messageOf(const PlannedBucket &bucket, const StepGradient &like,
                         int64_t count) {
  return {like.over, count, like.elementBytes,
          like.isNarrowable ? bucket.wire : Encoding()};
}

/// The kind of form for a message. A single allowed kind is kept, even if it
/// amounts to flat.
static FormKind kindOf(const ClusterModel &cluster, const Message &message,
                       AllowedForms allowed) {
  allowed = formsForWire(allowed, message.wire);
  if (allowed.otherwise == FormKind::Flat)
    for (int form = 0; form < kFormKindCount; ++form)
      if (allowed.forms == formBit(static_cast<FormKind>(form)))
        return static_cast<FormKind>(form);
  return cheapestForm(cluster, message, allowed).form.kind;
}

/// The form of each part; parts differ by at most one element.
static FormCycle cycleOf(const ClusterModel &cluster,
                         const PlannedBucket &bucket, const StepGradient &like,
                         int64_t count, AllowedForms allowed) {
  auto kindFor = [&](int64_t elements) {
    return kindOf(cluster, messageOf(bucket, like, elements), allowed);
  };
  int64_t least = count / bucket.parts;
  FormKind ofLeast = kindFor(least);
  if (count % bucket.parts == 0 || bucket.parts > kMaxParts)
    return ofLeast;
  FormKind ofMore = kindFor(least + 1);
  if (ofMore == ofLeast)
    return ofLeast;
  std::vector<FormKind> forms;
  forms.reserve(bucket.parts);
  for (int64_t part = 0; part < bucket.parts; ++part)
    forms.push_back(countOfPart(count, bucket.parts, part) == least ? ofLeast
                                                                    : ofMore);
  return FormCycle::ofParts(forms);
}

std::vector<PlannedBucket>
bagua::planBuckets(const CommunicationProblem &problem, const BucketRule &rule,
                   const MessageForms &forms, Encoding wire) {
  std::map<int32_t, AxisSet> axes;
  for (size_t i = 0; i < problem.gradients.size(); ++i)
    axes[problem.bucketing.tensors[i].shareClass] = problem.gradients[i].over;
  MessageCost cost = messageCost(problem.cluster, axes, wire, forms.gradients);
  std::vector<Bucket> buckets = bucketize(problem.bucketing, rule, cost);
  std::vector<int32_t> order = planOrder(problem.bucketing),
                       place(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
  std::sort(buckets.begin(), buckets.end(),
            [&](const Bucket &a, const Bucket &b) {
              return place[a.front()] < place[b.front()];
            });
  std::vector<PlannedBucket> planned;
  planned.reserve(buckets.size());
  for (const Bucket &bucket : buckets) {
    int64_t count = 0;
    for (int32_t member : bucket)
      count += problem.gradients[member].count;
    PlannedBucket &entry = planned.emplace_back();
    entry.gradients = static_cast<int32_t>(bucket.size());
    entry.parts = partsOf(rule, bytesOf(problem.bucketing, bucket), count);
    entry.wire = wire;
    const StepGradient &like = problem.gradients[bucket.front()];
    entry.form = cycleOf(problem.cluster, entry, like, count,
                         like.isStatistic ? AllowedForms(forms.statistics)
                                          : forms.gradients);
  }
  return planned;
}

std::optional<std::string>
bagua::checkParts(const std::vector<PlannedBucket> &buckets) {
  std::vector<int64_t> parts;
  parts.reserve(buckets.size());
  for (const PlannedBucket &bucket : buckets)
    parts.push_back(bucket.parts);
  return checkParts(parts);
}

Encoding bagua::commonWire(const std::vector<PlannedBucket> &buckets) {
  bool isCommon = std::all_of(buckets.begin(), buckets.end(),
                              [&](const PlannedBucket &bucket) {
                                return bucket.wire == buckets.front().wire;
                              });
  return isCommon && !buckets.empty() ? buckets.front().wire : Encoding();
}

std::string bagua::checkOthers(const std::vector<PlannedBucket> &others,
                               size_t expected) {
  if (others.size() != expected)
    return "expected " + std::to_string(expected) +
           " all_reduces besides those of buckets (others), found " +
           std::to_string(others.size());
  bool isWhole =
      std::all_of(others.begin(), others.end(), [](const PlannedBucket &other) {
        return other.gradients == 1 && other.parts == 1;
      });
  return isWhole ? ""
                 : "expected all_reduces besides those of buckets one by "
                   "one and in one part each";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `:form+form`; an empty text for flat.
static std::string textOf(const FormCycle &form) {
  if (form == FormKind::Flat)
    return "";
  std::string text;
  for (FormKind kind : form.kinds())
    text += (text.empty() ? ":" : "+") + std::string(wordOf(kind));
  return text;
}

std::string bagua::printBuckets(const std::vector<PlannedBucket> &buckets,
                                Encoding common) {
  std::string text;
  for (size_t i = 0; i < buckets.size();) {
    size_t end = i + 1;
    while (end < buckets.size() && buckets[end] == buckets[i])
      ++end;
    const PlannedBucket &bucket = buckets[i];
    text += text.empty() ? "" : ",";
    if (end - i > 1)
      text += std::to_string(end - i) + "*";
    text += std::to_string(bucket.gradients);
    if (bucket.parts > 1)
      text += "/" + std::to_string(bucket.parts);
    text += textOf(bucket.form);
    if (bucket.wire != common)
      text += ":" + encodingText(bucket.wire);
    i = end;
  }
  return text;
}

/// Takes a positive number from the front.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1)
    return std::nullopt;
  text.remove_prefix(end - text.data());
  return number;
}

static bool take(std::string_view &text, char c) {
  if (text.empty() || text.front() != c)
    return false;
  text.remove_prefix(1);
  return true;
}

/// Reads `form+form`; nothing if it is another text.
static std::optional<FormCycle> parseForms(std::string_view text) {
  std::vector<FormKind> forms;
  do {
    std::string_view name = text.substr(0, text.find('+'));
    std::optional<FormKind> form = parseWord<FormKind>(name);
    if (!form)
      return std::nullopt;
    forms.push_back(*form);
    text.remove_prefix(name.size());
  } while (take(text, '+'));
  return FormCycle(std::move(forms));
}

/// Takes `:forms` and `:wire`, in this order, as far as they are present.
static bool takeWords(std::string_view &text, PlannedBucket &bucket) {
  bool hasForm = false;
  while (take(text, ':')) {
    std::string_view name = text.substr(0, text.find_first_of(":,"));
    std::optional<FormCycle> form = parseForms(name);
    ParsedEncoding wire = parseWire(name);
    text.remove_prefix(name.size());
    if (wire.error.empty()) {
      bucket.wire = wire.encoding;
      return true;
    }
    if (!form || hasForm)
      return false;
    bucket.form = *form;
    hasForm = true;
  }
  return true;
}

std::optional<std::vector<PlannedBucket>>
bagua::parseBuckets(std::string_view text, Encoding common) {
  constexpr int64_t kMost = 1 << 24;
  constexpr int64_t kMostEntries = 1 << 20;
  std::vector<PlannedBucket> buckets;
  while (!text.empty()) {
    std::optional<int64_t> first = takeNumber(text), repeat = 1, parts = 1;
    if (first && take(text, '*')) {
      repeat = first;
      first = takeNumber(text);
    }
    if (take(text, '/'))
      parts = takeNumber(text);
    if (!first || !repeat || !parts || *first > kMost ||
        *repeat > kMostEntries - static_cast<int64_t>(buckets.size()))
      return std::nullopt;
    PlannedBucket bucket{static_cast<int32_t>(*first), *parts, {}, common};
    if (!takeWords(text, bucket))
      return std::nullopt;
    buckets.insert(buckets.end(), *repeat, bucket);
    if (!text.empty() && (!take(text, ',') || text.empty()))
      return std::nullopt;
  }
  return buckets;
}

ResolvedBuckets bagua::resolveBuckets(const std::vector<PlannedBucket> &buckets,
                                      const BucketingProblem &problem,
                                      const std::vector<int64_t> &counts) {
  ResolvedBuckets result;
  std::vector<int32_t> order = planOrder(problem);
  int64_t named = 0;
  for (const PlannedBucket &bucket : buckets)
    named += bucket.gradients;
  if (named != static_cast<int64_t>(order.size())) {
    result.error = "expected buckets of all " + std::to_string(order.size()) +
                   " all_reduces, of gradients and statistics, found " +
                   std::to_string(named);
    return result;
  }
  auto next = order.begin();
  for (const PlannedBucket &bucket : buckets) {
    Bucket members(next, next + bucket.gradients);
    next += bucket.gradients;
    int64_t elements = 0;
    for (int32_t member : members) {
      elements += counts[member];
      if (problem.tensors[member].shareClass !=
          problem.tensors[members[0]].shareClass)
        result.error = "expected gradients of one element type, group and "
                       "agreement in bucket " +
                       std::to_string(result.members.size());
    }
    if (bucket.parts > std::max<int64_t>(1, elements))
      result.error = "expected at most " + std::to_string(elements) +
                     " parts of bucket " +
                     std::to_string(result.members.size()) + ", found " +
                     std::to_string(bucket.parts);
    result.members.push_back(std::move(members));
  }
  return result;
}
