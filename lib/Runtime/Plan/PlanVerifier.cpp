//===- PlanVerifier.cpp - Whether a plan's fields mean something ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies the parts that all steps have in common (cluster, arenas, tensors
// and values), and the table of phases. Sizes are checked for the rank that
// stores most, which is the one at coordinate 0 of all axes.
//
//===----------------------------------------------------------------------===//
#include "PlanVerifier.h"
#include "bagua/Runtime/Moments.h"

#include "FieldChecks.h"

#include "bagua/Support/DataType.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace bagua::runtime {
using absl::StrCat;

/// FlatBuffers looks at the alignment of a vector's length alone, and does not
/// align one without elements.
template <typename T>
static bool isAligned(const flatbuffers::Vector<T> *list) {
  return lengthOf(list) == 0 ||
         reinterpret_cast<uintptr_t>(list->Data()) % alignof(T) == 0;
}

absl::StatusOr<int64_t>
countElements(const flatbuffers::Vector<int64_t> *shape) {
  int64_t count = 1;
  if (lengthOf(shape) > kMaxAxes)
    return invalid(StrCat("expected at most ", kMaxAxes, " dimensions, found ",
                          lengthOf(shape)));
  if (!isAligned(shape))
    return invalid("the shape's numbers are not aligned");
  for (size_t i = 0; i < lengthOf(shape); ++i) {
    int64_t size = shape->Get(i);
    if (size < 0 || (size > 0 && count > kMaxElements / size))
      return invalid(StrCat("dimension ", i, " of size ", size,
                            " is negative or makes the tensor too large"));
    count *= size;
  }
  return count;
}

absl::Status PlanVerifier::spend(size_t listLength) {
  listBudget -= static_cast<int64_t>(listLength);
  if (listBudget < 0)
    return invalid("lists are longer than the file");
  return absl::OkStatus();
}

int PlanVerifier::internLayout(const Layout &layout) {
  std::vector<int64_t> key;
  for (const LayoutPart &entry : layout) {
    key.push_back(static_cast<int64_t>(entry.kind));
    key.push_back(entry.server);
    key.push_back(static_cast<int64_t>(entry.axes.size()));
    key.insert(key.end(), entry.axes.begin(), entry.axes.end());
  }
  auto [place, isNew] =
      layoutNumbers.try_emplace(std::move(key), layouts.size());
  if (isNew)
    layouts.push_back(layout);
  return place->second;
}

absl::Status
PlanVerifier::verifyAxes(const flatbuffers::Vector<uint32_t> *axes) {
  size_t axisCount = plan.cluster()->axes()->size();
  if (lengthOf(axes) > axisCount)
    return invalid(StrCat("expected at most ", axisCount, " axes, found ",
                          lengthOf(axes)));
  for (size_t i = 0; i < lengthOf(axes); ++i) {
    if (axes->Get(i) >= axisCount)
      return invalid(
          StrCat("expected axes below ", axisCount, ", found ", axes->Get(i)));
    if (i > 0 && axes->Get(i - 1) >= axes->Get(i))
      return invalid(StrCat("expected ascending axes, found ", axes->Get(i - 1),
                            " before ", axes->Get(i)));
  }
  return absl::OkStatus();
}

absl::Status
PlanVerifier::verifyIndices(const flatbuffers::Vector<uint32_t> *indices,
                            size_t limit, absl::string_view what) {
  if (absl::Status status = spend(lengthOf(indices)); !status.ok())
    return status;
  for (size_t i = 0; i < lengthOf(indices); ++i)
    if (indices->Get(i) >= limit)
      return invalid(StrCat("expected ", what, " below ", limit, ", found ",
                            indices->Get(i)));
  return absl::OkStatus();
}

absl::Status
PlanVerifier::verifyPairs(const flatbuffers::Vector<uint32_t> *pairs,
                          int64_t groupSize) {
  if (absl::Status status =
          verifyIndices(pairs, groupSize, "places in a group");
      !status.ok())
    return status;
  if (lengthOf(pairs) % 2 != 0)
    return invalid(StrCat("expected places in pairs, found ", pairs->size()));
  std::set<uint32_t> seen[2];
  for (size_t i = 0; i < lengthOf(pairs); ++i)
    if (!seen[i % 2].insert(pairs->Get(i)).second)
      return invalid(StrCat("expected places that ",
                            i % 2 == 0 ? "send" : "get something",
                            " once, found ", pairs->Get(i), " twice"));
  return absl::OkStatus();
}

absl::StatusOr<int> PlanVerifier::verifyLayout(
    const flatbuffers::Vector<flatbuffers::Offset<fb::LayoutEntry>> *entries) {
  size_t length = lengthOf(entries);
  if (length > plan.cluster()->axes()->size() + 1)
    return invalid(StrCat("layout of ", length,
                          " entries, more than the cluster has axes"));
  std::set<uint32_t> used;
  for (size_t i = 0; i < length; ++i) {
    const fb::LayoutEntry &entry = *entries->Get(i);
    absl::Status status =
        verifyEnum(entry.kind(), fb::LayoutKind::MAX, "layout kind");
    if (status.ok())
      status = verifyAxes(entry.axes());
    if (!status.ok())
      return prefixed(StrCat("layout entry ", i), status);
    bool isServer = entry.kind() == fb::LayoutKind::Server;
    if (isServer && (i + 1 != length || lengthOf(entry.axes()) != 0))
      return invalid("a server entry has no axes and is the last one");
    if (isServer &&
        (entry.server() < -1 || entry.server() >= shape.serverCount() ||
         shape.serverCount() == 0))
      return invalid(StrCat("layout on server ", entry.server(),
                            ", the cluster has ", shape.serverCount(),
                            " servers"));
    if (!isServer && (lengthOf(entry.axes()) == 0 || entry.server() != -1))
      return invalid("a shard or root entry has axes and no server");
    for (size_t axis = 0; axis < lengthOf(entry.axes()); ++axis)
      if (!used.insert(entry.axes()->Get(axis)).second)
        return invalid(StrCat("axis ", entry.axes()->Get(axis),
                              " is in two entries of a layout"));
  }
  return internLayout(readLayout(entries));
}

absl::Status PlanVerifier::verifyCluster() {
  const fb::Cluster &cluster = *plan.cluster();
  if (cluster.axes()->size() > kMaxAxes)
    return invalid(StrCat("cluster of ", cluster.axes()->size(),
                          " axes, expected at most ", kMaxAxes));
  std::set<absl::string_view> names;
  std::vector<int64_t> sizes;
  int64_t ranks = 1;
  for (const fb::Axis *axis : *cluster.axes()) {
    if (absl::Status status = verifyName(axis->name(), names); !status.ok())
      return prefixed("cluster axis", status);
    if (axis->size() < 1 || axis->size() > kMaxRanks / ranks)
      return invalid(StrCat(
          "cluster axis '", nameOf(axis->name()), "' of size ", axis->size(),
          ": expected at least 1 and at most ", kMaxRanks, " ranks"));
    ranks *= axis->size();
    sizes.push_back(axis->size());
  }
  if (cluster.dedicated_servers() < 0 ||
      cluster.dedicated_servers() > kMaxRanks - ranks)
    return invalid(StrCat("expected 0 to ", kMaxRanks - ranks,
                          " dedicated servers, found ",
                          cluster.dedicated_servers()));
  if (absl::Status status = verifyAxes(cluster.server_axes()); !status.ok())
    return prefixed("cluster.server_axes", status);
  std::vector<int64_t> serverAxes;
  if (cluster.server_axes())
    serverAxes.assign(cluster.server_axes()->begin(),
                      cluster.server_axes()->end());
  shape = PlanCluster(Topology(std::move(sizes), cluster.dedicated_servers()),
                      cluster.has_colocated_servers(), std::move(serverAxes));
  return absl::OkStatus();
}

absl::Status PlanVerifier::verifyStorage() {
  std::set<absl::string_view> streams;
  if (plan.streams()->size() > kMaxStreams)
    return invalid(StrCat("expected at most ", kMaxStreams, " streams, found ",
                          plan.streams()->size()));
  for (const flatbuffers::String *stream : *plan.streams())
    if (absl::Status status = verifyName(stream, streams); !status.ok())
      return prefixed("stream", status);
  std::set<absl::string_view> arenas;
  int64_t total = 0;
  for (const fb::Arena *arena : *plan.arenas()) {
    if (absl::Status status = verifyName(arena->name(), arenas); !status.ok())
      return prefixed("arena", status);
    if (arena->bytes() < 0 || arena->bytes() > kMaxBytes - total)
      return invalid(StrCat("arena '", nameOf(arena->name()), "' of ",
                            arena->bytes(), " bytes: expected 0 to ", kMaxBytes,
                            " in all arenas together"));
    total += arena->bytes();
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::measure(fb::DataType type, int64_t count, int layout,
                                   VerifiedValue &info) {
  if (absl::Status status = verifyEnum(type, fb::DataType::MAX, "element type");
      !status.ok())
    return status;
  if (count < 0 || count > kMaxElements)
    return invalid(
        StrCat("expected 0 to ", kMaxElements, " elements, found ", count));
  info.type = type;
  info.count = count;
  info.layout = layout;
  // A server keeps at most as many slots as there are ranks, each of at most
  // ceil(count / slots) elements.
  int64_t elements = maxLocalCount(count, layouts[layout], shape);
  info.alignment = dataTypeBytes(static_cast<DataType>(type));
  info.maxBytes = elements * info.alignment;
  return absl::OkStatus();
}

/// The row is one that this runtime offers (verifyFeatures), and the value has
/// been measured without an encoding.
absl::Status PlanVerifier::verifyEncoding(const fb::Value &value,
                                          VerifiedValue &info) {
  const fb::ValueEncoding &found = *value.encoding();
  const EncodingRow *row = findEncoding(static_cast<EncodingId>(found.id()));
  if (!row || row->castTo || !row->isOffered)
    return invalid(StrCat("expected an encoding that is no cast and that this "
                          "runtime offers, found number ",
                          found.id()));
  absl::string_view word(row->word.data(), row->word.size());
  if (lengthOf(found.parameters()) != row->parameters.size())
    return invalid(StrCat("expected ", row->parameters.size(),
                          " parameters of encoding '", word, "', found ",
                          lengthOf(found.parameters())));
  if (!isAligned(found.parameters()))
    return invalid("the encoding's parameters are not aligned");
  for (auto *axes : {found.parts(), found.terms()}) {
    absl::Status status = spend(lengthOf(axes));
    if (status.ok())
      status = verifyAxes(axes);
    if (!status.ok())
      return status;
  }
  EncodedForm form = readEncoding(value);
  if (std::string wrong = checkParameters(form.encoding); !wrong.empty())
    return invalid(StrCat("encoding '", word, "': ", wrong));
  if (!row->supports(static_cast<DataType>(info.type)))
    return invalid(
        StrCat("encoding '", word, "' doesn't support the element type"));
  if (value.arena() < 0)
    return invalid("expected an encoded value in an arena, found a tensor");
  if (isOnServers(layouts[info.layout]))
    return invalid(
        "expected an encoded value on workers, found one on servers");
  const Topology &topology = shape.topology();
  int64_t pieces = topology.groupSize(form.parts);
  int64_t slot = slotBytes(value, shape);
  for (int64_t more : {pieces, topology.groupSize(form.terms)}) {
    if (slot > kMaxBytes / more)
      return invalid(StrCat("expected at most ", kMaxBytes,
                            " bytes of an encoded value, found more"));
    slot *= more;
  }
  info.maxBytes = slot;
  info.alignment = row->alignment;
  auto known = std::find(forms.begin(), forms.end(), form);
  info.form = static_cast<int>(known - forms.begin());
  if (known == forms.end())
    forms.push_back(std::move(form));
  return absl::OkStatus();
}

absl::Status PlanVerifier::verifyArenaPlace(const VerifiedValue &info,
                                            int64_t arena) {
  if (arena >= static_cast<int64_t>(plan.arenas()->size()))
    return invalid(StrCat("expected an arena below ", plan.arenas()->size(),
                          ", found ", arena));
  int64_t bytes = plan.arenas()->Get(arena)->bytes();
  if (info.offset < 0 || info.offset > bytes ||
      info.maxBytes > bytes - info.offset)
    return invalid(StrCat("expected bytes inside arena '",
                          nameOf(plan.arenas()->Get(arena)->name()), "' of ",
                          bytes, ", found ", info.maxBytes, " at ",
                          info.offset));
  if (info.offset % info.alignment != 0)
    return invalid(
        StrCat("offset ", info.offset, " is not a multiple of the ",
               info.isEncoded() ? "encoding's alignment " : "element size ",
               info.alignment));
  return absl::OkStatus();
}

absl::StatusOr<VerifiedValue>
PlanVerifier::verifyTensor(const fb::Tensor &tensor) {
  absl::Status status = verifyEnum(tensor.role(), fb::Role::MAX, "role");
  if (status.ok())
    status = spend(lengthOf(tensor.shape()));
  if (!status.ok())
    return status;
  absl::StatusOr<int64_t> count = countElements(tensor.shape());
  if (!count.ok())
    return count.status();
  absl::StatusOr<int> layout = verifyLayout(tensor.layout());
  if (!layout.ok())
    return layout.status();
  VerifiedValue info;
  status = measure(tensor.type(), *count, *layout, info);
  if (!status.ok())
    return status;
  if (tensor.arena() < -1 || (tensor.arena() < 0 && tensor.offset() != 0))
    return invalid(StrCat("expected an arena and an offset or neither, found "
                          "arena ",
                          tensor.arena(), ", offset ", tensor.offset()));
  if (tensor.arena() >= 0) {
    info.space = -1 - tensor.arena();
    info.offset = tensor.offset();
    if (status = verifyArenaPlace(info, tensor.arena()); !status.ok())
      return status;
  }
  info.isOnEveryRank = isOnEveryRank(tensor) && shape.topology().servers() > 0;
  if (tensor.optional() && !tensor.given_by_program())
    return invalid("optional, but not given by the program");
  return info;
}

absl::Status PlanVerifier::verifyTensors() {
  std::set<absl::string_view> names;
  for (size_t i = 0; i < plan.tensors()->size(); ++i) {
    const fb::Tensor &tensor = *plan.tensors()->Get(i);
    if (absl::Status status = verifyName(tensor.name(), names); !status.ok())
      return prefixed(StrCat("tensor ", i), status);
    absl::StatusOr<VerifiedValue> info = verifyTensor(tensor);
    if (!info.ok())
      return prefixed(StrCat("tensor '", nameOf(tensor.name()), "'"),
                      info.status());
    // A tensor that the program binds is a space of its own.
    if (tensor.arena() < 0)
      info->space = static_cast<int64_t>(i);
    tensorInfos.push_back(*info);
  }
  return absl::OkStatus();
}

absl::StatusOr<VerifiedValue>
PlanVerifier::verifyValue(const fb::Value &value) {
  absl::StatusOr<int> layout = verifyLayout(value.layout());
  if (!layout.ok())
    return layout.status();
  VerifiedValue info;
  absl::Status status = measure(value.type(), value.count(), *layout, info);
  if (status.ok() && value.encoding())
    status = verifyEncoding(value, info);
  if (!status.ok())
    return status;
  if ((value.tensor() < 0) == (value.arena() < 0))
    return invalid(StrCat("expected a tensor or an arena, found tensor ",
                          value.tensor(), " and arena ", value.arena()));
  info.offset = value.offset();
  if (value.arena() >= 0) {
    info.space = -1 - value.arena();
    if (status = verifyArenaPlace(info, value.arena()); !status.ok())
      return status;
    return info;
  }

  if (value.tensor() >= static_cast<int64_t>(tensorInfos.size()))
    return invalid(StrCat("expected a tensor below ", tensorInfos.size(),
                          ", found ", value.tensor()));
  const VerifiedValue &tensor = tensorInfos[value.tensor()];
  if (tensor.space < 0)
    return invalid(StrCat("tensor ", value.tensor(),
                          " lives in an arena: expected the arena"));
  if (info.type != tensor.type || info.layout != tensor.layout)
    return invalid(StrCat("element type or layout differs from tensor ",
                          value.tensor(), "'s"));
  // Parts of parts lie at other places on every rank.
  if (tensor.layout != 0 && (info.count != tensor.count || info.offset != 0))
    return invalid(StrCat("expected all of tensor ", value.tensor(),
                          ", which has a layout"));
  if (info.offset < 0 || info.offset > tensor.maxBytes ||
      info.maxBytes > tensor.maxBytes - info.offset ||
      info.offset % info.alignment != 0)
    return invalid(StrCat("expected elements inside tensor ", value.tensor(),
                          " of ", tensor.maxBytes, " bytes, found ",
                          info.maxBytes, " bytes at ", info.offset));
  info.space = value.tensor();
  info.isOnEveryRank = tensor.isOnEveryRank;
  return info;
}

/// Checks that rows of `at` come first, that the last row matches always, and
/// that no row before it does.
absl::Status PlanVerifier::verifyPhases() {
  const size_t count = plan.phases()->size();
  bool isBehindAt = false;
  for (size_t i = 0; i < count; ++i) {
    const fb::Phase &phase = *plan.phases()->Get(i);
    absl::Status status;
    const bool isAt = phase.at() != -1, isUntil = phase.until() != -1,
               isEvery = phase.every() != 0;
    if (phase.step() >= plan.steps()->size())
      status = invalid(StrCat("expected a step below ", plan.steps()->size(),
                              ", found ", phase.step()));
    else if (isAt + isUntil + isEvery > 1)
      status = invalid("expected at most one of at, until and every");
    else if (phase.at() < -1 || phase.until() == 0 || phase.until() < -1 ||
             phase.every() < 0 || phase.offset() < 0 ||
             phase.offset() >= std::max<int64_t>(phase.every(), 1))
      status = invalid(StrCat("expected numbers of iterations, found at ",
                              phase.at(), ", until ", phase.until(), ", every ",
                              phase.every(), " offset ", phase.offset()));
    else if (isAt && isBehindAt)
      status = invalid("expected rows of 'at' before all others");
    else if (!isAt && (isUntil || isEvery) == (i + 1 == count))
      status = invalid(i + 1 == count
                           ? "expected a last row that matches always"
                           : "matches always, so no row behind it ever runs");
    if (!status.ok())
      return prefixed(StrCat("phase ", i), status);
    isBehindAt |= !isAt;
  }
  return isBehindAt ? absl::OkStatus()
                    : invalid("expected a last row of phases that matches "
                              "always, found none");
}

/// Checks each step, and that the program takes no part in a step of an `at`
/// row.
absl::Status PlanVerifier::verifySteps() {
  std::set<absl::string_view> names;
  size_t instructions = 0;
  for (uint32_t i = 0; i < plan.steps()->size(); ++i) {
    const fb::Step &step = *plan.steps()->Get(i);
    if (absl::Status status = verifyName(step.name(), names); !status.ok())
      return prefixed(StrCat("step ", i), status);
    instructions += step.instructions()->size();
    if (instructions > kMaxInstructions)
      return invalid(StrCat("expected at most ", kMaxInstructions,
                            " instructions, found more"));
    bool isNamed = false, isBefore = false;
    for (const fb::Phase *phase : *plan.phases())
      if (phase->step() == i) {
        isNamed = true;
        isBefore |= phase->at() >= 0;
      }
    absl::Status status =
        isNamed ? verifyStep(*this, plan, step, isBefore)
                : invalid("expected a row of phases that runs it, found none");
    if (!status.ok())
      return plan.steps()->size() == 1
                 ? status
                 : prefixed(StrCat("step '", nameOf(step.name()), "'"), status);
  }
  return absl::OkStatus();
}

absl::Status PlanVerifier::verify() {
  if (absl::Status status = verifyCluster(); !status.ok())
    return status;
  internLayout({}); // number 0
  if (plan.name()->size() > kMaxNameLength)
    return invalid("the plan's name is too long");
  if (!std::isfinite(plan.size_scale()) || plan.size_scale() <= 0)
    return invalid(
        StrCat("expected a positive size_scale, found ", plan.size_scale()));
  absl::Status status = verifyStorage();
  if (status.ok())
    status = verifyTensors();
  if (!status.ok())
    return status;
  for (size_t i = 0; i < plan.values()->size(); ++i) {
    absl::StatusOr<VerifiedValue> info = verifyValue(*plan.values()->Get(i));
    if (!info.ok())
      return prefixed(StrCat("value ", i), info.status());
    valueInfos.push_back(*info);
  }
  status = verifyPhases();
  if (status.ok())
    status = verifySteps();
  return status.ok() ? verifyMoments(plan) : status;
}

absl::StatusOr<PlanCluster> verifyPlan(const fb::Plan &plan, size_t fileBytes) {
  PlanVerifier verifier(plan, fileBytes);
  if (absl::Status status = verifier.verify(); !status.ok())
    return status;
  return verifier.cluster();
}

} // namespace bagua::runtime
