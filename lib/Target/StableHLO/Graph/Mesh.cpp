//===- Mesh.cpp - The exported mesh, shardings and replica groups ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads GSPMD's and Shardy's shardings, and matches device groups with axes.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace bagua::importer;

int64_t Mesh::sizeOf(AxisMask mask) const {
  int64_t size = 1;
  for (auto [index, axis] : llvm::enumerate(axes))
    if (mask >> index & 1)
      size = axis.size > std::numeric_limits<int64_t>::max() / size
                 ? std::numeric_limits<int64_t>::max()
                 : size * axis.size;
  return size;
}

std::string Mesh::str() const {
  std::string text = "[";
  for (const MeshAxis &axis : axes)
    text += (text.size() > 1 ? ", " : "") + axis.name + " = " +
            std::to_string(axis.size);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The device groups of a set of axes, each ascending, by their first device.
static std::vector<std::vector<int64_t>> groupsOf(const Mesh &mesh,
                                                  AxisMask mask) {
  int64_t devices = mesh.sizeOf(mesh.allAxes());
  std::vector<std::vector<int64_t>> groups;
  std::vector<int64_t> groupOfOther(devices, -1);
  for (int64_t device = 0; device < devices; ++device) {
    // The device with the same coordinates, but 0 on the axes of the set.
    int64_t first = 0, stride = 1, rest = device;
    for (size_t i = mesh.axes.size(); i-- > 0;) {
      int64_t coordinate = rest % mesh.axes[i].size;
      rest /= mesh.axes[i].size;
      if (!(mask >> i & 1))
        first += coordinate * stride;
      stride *= mesh.axes[i].size;
    }
    if (groupOfOther[first] < 0) {
      groupOfOther[first] = static_cast<int64_t>(groups.size());
      groups.emplace_back();
    }
    groups[groupOfOther[first]].push_back(device);
  }
  llvm::sort(groups);
  return groups;
}

std::optional<AxisMask>
Mesh::matchGroups(std::vector<std::vector<int64_t>> groups) const {
  for (std::vector<int64_t> &group : groups)
    llvm::sort(group);
  llvm::sort(groups);
  if (groups.empty() || groups[0].empty())
    return std::nullopt;
  auto size = static_cast<int64_t>(groups[0].size());
  std::optional<AxisMask> best;
  for (AxisMask mask = 0; mask <= allAxes(); ++mask)
    if (sizeOf(mask) == size && groupsOf(*this, mask) == groups &&
        (!best || llvm::popcount(mask) > llvm::popcount(*best)))
      best = mask;
  return best;
}

int64_t Mesh::placeOf(int64_t device, AxisMask mask) const {
  int64_t place = 0, size = 1;
  for (size_t axis = axes.size(); axis-- > 0; device /= axes[axis].size) {
    if (!(mask >> axis & 1))
      continue;
    place += device % axes[axis].size * size;
    size *= axes[axis].size;
  }
  return place;
}

std::optional<std::vector<int64_t>>
Mesh::matchPairs(const std::vector<int64_t> &pairs, AxisMask mask) const {
  std::vector<std::vector<int64_t>> groups = groupsOf(*this, mask);
  struct GroupIndex {
    size_t group;
    int64_t index;
  };
  std::vector<GroupIndex> indices(sizeOf(allAxes()));
  for (auto [number, group] : llvm::enumerate(groups))
    for (auto [index, device] : llvm::enumerate(group))
      indices[device] = {number, static_cast<int64_t>(index)};
  // By group: each pair, as the indices of its ends.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> found(groups.size());
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    GroupIndex from = indices[pairs[i]], to = indices[pairs[i + 1]];
    if (from.group != to.group)
      return std::nullopt;
    found[from.group].push_back({from.index, to.index});
  }
  for (auto &group : found) {
    llvm::sort(group);
    if (group != found.front())
      return std::nullopt;
  }
  std::vector<int64_t> result;
  for (auto [from, to] : found.front()) {
    result.push_back(from);
    result.push_back(to);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// GSPMD
//===----------------------------------------------------------------------===//

/// Reads `1,2,3` and consumes the closing bracket.
static FailureOr<std::vector<int64_t>> parseList(StringRef &text, char close) {
  auto [list, rest] = text.split(close);
  std::vector<int64_t> numbers;
  for (StringRef item : llvm::split(list, ',')) {
    int64_t number;
    if (item.trim().getAsInteger(10, number) || number < 0)
      return failure();
    numbers.push_back(number);
  }
  text = rest;
  return numbers;
}

namespace {
/// `devices=[tile]<=[reshape]T(permutation)`, and the text after it.
struct Tiling {
  std::vector<int64_t> tile;
  std::vector<int64_t> reshape;
  std::vector<int64_t> permutation;
  size_t replicatedDims = 0;
};
} // namespace

static FailureOr<Tiling> parseTiling(StringRef text) {
  Tiling tiling;
  if (!text.consume_front("devices=["))
    return failure();
  FailureOr<std::vector<int64_t>> tile = parseList(text, ']');
  if (failed(tile) || !text.consume_front("<=["))
    return failure();
  FailureOr<std::vector<int64_t>> reshape = parseList(text, ']');
  if (failed(reshape))
    return failure();
  tiling.tile = *tile;
  tiling.reshape = *reshape;
  if (text.consume_front("T(")) {
    FailureOr<std::vector<int64_t>> permutation = parseList(text, ')');
    if (failed(permutation) || permutation->size() != reshape->size())
      return failure();
    tiling.permutation = *permutation;
  } else {
    for (size_t i = 0; i < reshape->size(); ++i)
      tiling.permutation.push_back(static_cast<int64_t>(i));
  }
  text = text.trim();
  if (text == "last_tile_dim_replicate" ||
      text == "last_tile_dims={replicated}" ||
      text == "last_tile_dims={manual}")
    tiling.replicatedDims = 1;
  else if (!text.empty())
    return failure();
  return tiling;
}

/// Cuts the tile's dimensions and the transposed device list into their common
/// factors. Fails if neither divides the other.
static LogicalResult factorize(const Tiling &tiling, Sharding &sharding) {
  std::vector<int64_t> strides(tiling.reshape.size(), 1);
  for (size_t i = tiling.reshape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * tiling.reshape[i];
  int64_t position = static_cast<int64_t>(tiling.permutation.size()) - 1;
  int64_t consumed = 1;
  for (size_t dim = tiling.tile.size(); dim-- > 0;) {
    int64_t left = tiling.tile[dim];
    while (left > 1) {
      if (position < 0)
        return failure();
      int64_t index = tiling.permutation[position];
      if (index >= static_cast<int64_t>(strides.size()))
        return failure();
      int64_t available = tiling.reshape[index] / consumed;
      int64_t size = std::min(left, available);
      if (size == 0 || left % size != 0 || available % size != 0)
        return failure();
      Sharding::Factor factor{strides[index] * consumed, size};
      if (size > 1) {
        sharding.allFactors.push_back(factor);
        if (dim + tiling.replicatedDims < tiling.tile.size())
          sharding.cutting.push_back(factor);
      }
      left /= size;
      consumed *= size;
      if (consumed == tiling.reshape[index]) {
        --position;
        consumed = 1;
      }
    }
  }
  return success();
}

FailureOr<Sharding> bagua::importer::parseGspmdSharding(Location loc,
                                                        StringRef text) {
  StringRef body = text.trim();
  Sharding sharding;
  if (!body.consume_front("{") || !body.consume_back("}"))
    return emitError(loc) << "expected a sharding in braces, found '" << text
                          << "'";
  if (body == "replicated" || body == "manual" || body.starts_with("maximal"))
    return sharding;
  FailureOr<Tiling> tiling = parseTiling(body);
  if (failed(tiling))
    return emitError(loc) << "expected a sharding such as "
                             "{devices=[4,1,2]<=[2,4]T(1,0) "
                             "last_tile_dim_replicate}, found '"
                          << text << "'";
  if (failed(factorize(*tiling, sharding)))
    return emitError(loc) << "expected a tile that divides the device list, "
                             "found '"
                          << text << "'";
  return sharding;
}

LogicalResult bagua::importer::verifyNames(Location loc, const Mesh &mesh) {
  std::set<std::string> names;
  for (const MeshAxis &axis : mesh.axes)
    if (!names.insert(axis.name).second)
      return emitError(loc) << "expected unique names of axes, found '"
                            << axis.name << "' twice in " << mesh.str();
  return success();
}

Mesh Mesh::only(AxisMask mask) const {
  Mesh mesh;
  for (auto [index, axis] : llvm::enumerate(axes))
    if (mask >> index & 1)
      mesh.axes.push_back(axis);
  return mesh;
}

Sharding bagua::importer::shardingOfGroup(ArrayRef<int64_t> group) {
  Sharding sharding;
  size_t known = 1;
  // So far the group has `known` devices; copies of them follow at one stride.
  while (known < group.size()) {
    int64_t stride = group[known] - group[0];
    size_t copies = 1;
    auto isCopy = [&](size_t copy) {
      for (size_t i = 0; i < known; ++i)
        if ((copy + 1) * known > group.size() ||
            group[copy * known + i] !=
                group[i] + stride * static_cast<int64_t>(copy))
          return false;
      return true;
    };
    while (isCopy(copies))
      ++copies;
    if (stride <= 0 || copies == 1)
      return {};
    sharding.allFactors.push_back({stride, static_cast<int64_t>(copies)});
    known *= copies;
  }
  return sharding;
}

FailureOr<Mesh> bagua::importer::meshOfShardings(Location loc, int64_t devices,
                                                 ArrayRef<Sharding> shardings) {
  std::set<int64_t> strides = {1, devices};
  for (const Sharding &sharding : shardings)
    for (const Sharding::Factor &factor : sharding.allFactors) {
      strides.insert(factor.stride);
      strides.insert(factor.stride * factor.size);
    }
  Mesh mesh;
  int64_t previous = 0;
  for (int64_t stride : strides) {
    if (previous && stride % previous != 0)
      return emitError(loc)
             << "expected shardings over one mesh, found cuts at "
                "strides "
             << previous << " and " << stride << " of " << devices
             << " devices";
    if (previous)
      mesh.axes.insert(mesh.axes.begin(), {"", stride / previous});
    previous = stride;
  }
  if (mesh.axes.empty())
    mesh.axes.push_back({"", devices});
  return mesh;
}

Mesh bagua::importer::cutAxes(const Mesh &mesh, ArrayRef<Sharding> groups) {
  std::set<int64_t> cuts;
  for (const Sharding &group : groups)
    for (const Sharding::Factor &factor : group.allFactors) {
      cuts.insert(factor.stride);
      cuts.insert(factor.stride * factor.size);
    }
  std::set<std::string> names;
  for (const MeshAxis &axis : mesh.axes)
    names.insert(axis.name);
  Mesh result;
  int64_t end = mesh.sizeOf(mesh.allAxes());
  for (const MeshAxis &axis : mesh.axes) {
    int64_t begin = end / axis.size;
    // Strides within the axis, the largest first; the axis lies between them.
    std::vector<int64_t> strides;
    for (int64_t cut : cuts)
      if (cut > begin && cut < end)
        strides.insert(strides.begin(), cut);
    strides.push_back(begin);
    std::vector<MeshAxis> parts;
    int64_t number = 0;
    auto nextName = [&] {
      while (true)
        if (std::string name = axis.name + "." + std::to_string(number++);
            !names.count(name))
          return name;
    };
    for (int64_t last = end; int64_t stride : strides) {
      if (last % stride != 0)
        break;
      parts.push_back({nextName(), last / stride, axis.name});
      last = stride;
    }
    if (parts.size() == 1 || parts.size() < strides.size())
      parts = {axis};
    result.axes.insert(result.axes.end(), parts.begin(), parts.end());
    end = begin;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Shardy
//===----------------------------------------------------------------------===//

FailureOr<std::vector<Sharding>>
bagua::importer::parseShardySharding(Location loc, StringRef text) {
  std::vector<Sharding> shardings;
  StringRef rest = text;
  while (true) {
    size_t at = rest.find("<@");
    if (at == StringRef::npos)
      return shardings;
    rest = rest.drop_front(at);
    size_t open = rest.find('['), close = rest.find(']');
    if (open == StringRef::npos || close == StringRef::npos || close < open)
      return emitError(loc) << "expected dimensions in brackets, found '"
                            << rest.take_front(60) << "'";
    StringRef dims = rest.slice(open + 1, close);
    rest = rest.drop_front(close);
    Sharding &sharding = shardings.emplace_back();
    while (true) {
      size_t quote = dims.find('"');
      if (quote == StringRef::npos)
        break;
      dims = dims.drop_front(quote + 1);
      sharding.axisNames.push_back(
          dims.take_until([](char c) { return c == '"'; }).str());
      dims = dims.drop_front(sharding.axisNames.back().size() + 1);
      if (dims.starts_with(":"))
        return emitError(loc) << "expected whole axes, found a part of axis '"
                              << sharding.axisNames.back() << "'";
    }
  }
}

FailureOr<Mesh> bagua::importer::parseShardyMesh(Location loc, StringRef text) {
  Mesh mesh;
  size_t open = text.find('['), close = text.find(']');
  if (open == StringRef::npos || close == StringRef::npos || close < open)
    return emitError(loc) << "expected axes in brackets, found '" << text
                          << "'";
  if (text.drop_front(close).contains("device_ids"))
    return emitError(loc)
           << "expected devices in the order of the axes, found '" << text
           << "'";
  StringRef list = text.slice(open + 1, close).trim();
  if (list.empty())
    return mesh; // A mesh that nothing uses.
  for (StringRef item : llvm::split(list, ',')) {
    auto [name, number] = item.trim().split('=');
    int64_t size;
    if (name.size() < 3 || number.trim().getAsInteger(10, size) || size < 1)
      return emitError(loc) << "expected \"axis\"=size, found '" << item << "'";
    mesh.axes.push_back({name.drop_front().drop_back().str(), size});
  }
  if (failed(verifyNames(loc, mesh)))
    return failure();
  return mesh;
}

FailureOr<AxisMask> bagua::importer::axesOfSharding(Location loc,
                                                    const Mesh &mesh,
                                                    const Sharding &sharding) {
  AxisMask mask = 0;
  for (const std::string &name : sharding.axisNames) {
    AxisMask found = 0;
    for (auto [index, axis] : llvm::enumerate(mesh.axes))
      if ((axis.cutFrom.empty() ? axis.name : axis.cutFrom) == name)
        found |= AxisMask(1) << index;
    if (!found)
      return emitError(loc) << "expected an axis of the mesh " << mesh.str()
                            << ", found '" << name << "'";
    mask |= found;
  }
  int64_t stride = mesh.sizeOf(mesh.allAxes());
  for (auto [index, axis] : llvm::enumerate(mesh.axes)) {
    int64_t end = stride;
    stride /= axis.size;
    for (const Sharding::Factor &factor : sharding.cutting)
      if (stride >= factor.stride && end <= factor.stride * factor.size)
        mask |= AxisMask(1) << index;
  }
  return mask;
}
