//===- MeshAxesGroups.cpp - Replica groups by names of axes ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the attribute's text and lists the devices.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Graph/MeshAxesGroups.h"

#include "StableHLO/Graph/Mesh.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace bagua::importer;

namespace {
/// `name = "y"`, or a part of an axis as `name = "y", sub_axis_info = (1)2`:
/// the axis is cut into `before`, `size` and the rest, outermost first.
struct AxisRef {
  std::string name;
  std::optional<int64_t> before, size;
};

/// Reads the attribute from left to right.
class Parser {
public:
  Parser(Operation *op, StringRef text) : op(op), text(text) {}

  /// Reads the mesh and the axes; false if the text has another form.
  bool parse();

  Mesh mesh;
  std::vector<AxisRef> axes;
  /// The symbol of the mesh, if the module has no mesh of this name.
  std::string missingMesh;

private:
  bool take(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool takeNumber(int64_t &number) {
    text = text.ltrim();
    return !text.consumeInteger(10, number) && number > 0;
  }
  bool takeQuoted(std::string &word);
  bool parseMesh();
  bool parseMeshAxis();
  bool parseAxis();
  bool parsePart(AxisRef &axis);
  template <typename Item> bool parseList(Item parseItem);

  Operation *op;
  StringRef text;
};
} // namespace

bool Parser::takeQuoted(std::string &word) {
  if (!take("\""))
    return false;
  size_t length = text.find('"');
  if (length == StringRef::npos)
    return false;
  word = text.take_front(length).str();
  text = text.drop_front(length + 1);
  return true;
}

template <typename Item> bool Parser::parseList(Item parseItem) {
  if (!take("["))
    return false;
  if (take("]"))
    return true;
  do {
    if (!parseItem())
      return false;
  } while (take(","));
  return take("]");
}

bool Parser::parseMeshAxis() {
  MeshAxis &axis = mesh.axes.emplace_back();
  return take("#stablehlo.mesh_axis<") && take("name") && take("=") &&
         takeQuoted(axis.name) && take(",") && take("size") && take("=") &&
         takeNumber(axis.size) && take(">");
}

/// `@mesh`, or `#stablehlo.mesh<axes = [...]>`.
bool Parser::parseMesh() {
  if (!take("@"))
    return take("#stablehlo.mesh<") && take("axes") && take("=") &&
           parseList([&] { return parseMeshAxis(); }) && take(">");
  std::string symbol;
  if (!takeQuoted(symbol)) {
    StringRef word = text.take_until([](char c) { return c == ','; }).trim();
    symbol = word.str();
    text = text.drop_front(word.size());
  }
  for (Operation &candidate : *op->getParentOfType<ModuleOp>().getBody()) {
    auto name = candidate.getAttrOfType<StringAttr>("sym_name");
    auto axes = candidate.getAttrOfType<OpaqueAttr>("mesh");
    if (candidate.getName().getStringRef() != "sdy.mesh" || !name || !axes ||
        name.getValue() != symbol)
      continue;
    // The flattener has reported a faulty mesh at its own place before.
    FailureOr<Mesh> found =
        parseShardyMesh(candidate.getLoc(), axes.getAttrData());
    if (failed(found))
      return false;
    mesh = *found;
    return true;
  }
  missingMesh = symbol;
  return true;
}

bool Parser::parsePart(AxisRef &axis) {
  int64_t before, size;
  if (!take("(") || !takeNumber(before) || !take(")") || !takeNumber(size))
    return false;
  axis.before = before;
  axis.size = size;
  return true;
}

/// As StableHLO writes an axis, or as Shardy does.
bool Parser::parseAxis() {
  AxisRef &axis = axes.emplace_back();
  if (take("#sdy<axis_ref"))
    return takeQuoted(axis.name) && (!take(":") || parsePart(axis)) &&
           take(">");
  return take("#stablehlo.axis_ref<") && take("name") && take("=") &&
         takeQuoted(axis.name) &&
         (!take(",") ||
          (take("sub_axis_info") && take("=") && parsePart(axis))) &&
         take(">");
}

bool Parser::parse() {
  return take("replica_group_mesh_axes<") && take("mesh") && take("=") &&
         parseMesh() && take(",") && take("axes") && take("=") &&
         parseList([&] { return parseAxis(); }) && take(">") && text.empty();
}

/// The factor of the device list that an axis, or a part of one, is.
static FailureOr<Sharding::Factor> factorOf(Operation *op, const Mesh &mesh,
                                            const AxisRef &ref) {
  int64_t stride = mesh.sizeOf(mesh.allAxes());
  for (const MeshAxis &axis : mesh.axes) {
    stride /= axis.size;
    if (axis.name != ref.name)
      continue;
    int64_t before = ref.before.value_or(1),
            size = ref.size.value_or(axis.size);
    if (before > axis.size || axis.size % before != 0 ||
        axis.size / before % size != 0)
      return emitError(op->getLoc()) << "expected a part of axis '" << axis.name
                                     << "' that divides its size " << axis.size
                                     << ", found (" << before << ")" << size;
    return Sharding::Factor{stride * (axis.size / before / size), size};
  }
  return emitError(op->getLoc())
         << "expected an axis of the mesh " << mesh.str() << ", found '"
         << ref.name << "'";
}

FailureOr<std::vector<std::vector<int64_t>>>
bagua::importer::groupsOfMeshAxes(Operation *op, OpaqueAttr attr,
                                  int64_t devices) {
  Parser parser(op, attr.getAttrData());
  if (!parser.parse())
    return emitError(op->getLoc()) << "expected replica_groups as a table of "
                                      "device ids or as axes of a mesh, found "
                                   << attr;
  if (!parser.missingMesh.empty())
    return emitError(op->getLoc()) << "expected a mesh of the module, found '@"
                                   << parser.missingMesh << "'";
  if (failed(verifyNames(op->getLoc(), parser.mesh)))
    return failure();
  if (parser.mesh.axes.size() > kMaxAxes ||
      parser.mesh.sizeOf(parser.mesh.allAxes()) != devices)
    return emitError(op->getLoc())
           << "expected a mesh of " << devices << " devices on at most "
           << kMaxAxes << " axes, found " << parser.mesh.str();
  std::vector<Sharding::Factor> factors;
  int64_t size = 1;
  for (const AxisRef &axis : parser.axes) {
    FailureOr<Sharding::Factor> factor = factorOf(op, parser.mesh, axis);
    if (failed(factor))
      return failure();
    size *= factor->size;
    factors.push_back(*factor);
    if (size > devices)
      break;
  }
  // By the first device, which has coordinate 0 along all of the axes.
  std::map<int64_t, std::vector<int64_t>> groups;
  for (int64_t device = 0; size <= devices && device < devices; ++device) {
    int64_t first = device, place = 0;
    for (const Sharding::Factor &factor : factors) {
      int64_t coordinate = device / factor.stride % factor.size;
      first -= coordinate * factor.stride;
      place = place * factor.size + coordinate;
    }
    std::vector<int64_t> &group = groups[first];
    group.resize(size, -1);
    group[place] = device;
  }
  std::vector<std::vector<int64_t>> result;
  for (auto &[first, group] : groups)
    if (!llvm::is_contained(group, -1))
      result.push_back(std::move(group));
  if (result.empty() || result.size() < groups.size())
    return emitError(op->getLoc())
           << "expected each axis once in replica_groups, found " << attr;
  return result;
}
