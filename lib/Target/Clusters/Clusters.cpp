//===- Clusters.cpp - The cluster that an argument names ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The presets are the .mlir files of this folder, compiled in.
//
//===----------------------------------------------------------------------===//
#include "bagua/Target/Clusters.h"

#include "Sizes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace bagua;

namespace {
struct Preset {
  StringRef name;
  StringRef text;
};
} // namespace

static constexpr Preset kPresets[] = {
#include "ClusterPresets.inc"
};

/// The suffix of a preset's name that adds as many machines as it has nodes, as
/// servers.
static constexpr StringRef kWithServers = "+servers";

static constexpr int64_t kDefaultLatencyNs = 25000;
static constexpr int64_t kDefaultBytesPerS = 12500000000;

SmallVector<StringRef> bagua::clusterPresets() {
  SmallVector<StringRef> names;
  for (const Preset &preset : kPresets)
    names.push_back(preset.name);
  return names;
}

static ClusterOp buildCluster(OpBuilder &builder, Location location,
                              ArrayRef<AxisSize> axes) {
  SmallVector<Attribute> attributes;
  for (const AxisSize &axis : axes)
    attributes.push_back(AxisAttr::get(
        builder.getContext(), axis.name, axis.size,
        axis.latency.value_or(kDefaultLatencyNs),
        axis.rate.value_or(kDefaultBytesPerS),
        /*sharers=*/1, /*overlapped_rate=*/nullptr, /*overlapped_ns=*/0,
        /*concurrent_rate=*/nullptr, /*gap_ns=*/0, /*links_of=*/nullptr,
        /*table=*/nullptr));
  return builder.create<ClusterOp>(location, "cluster",
                                   builder.getArrayAttr(attributes));
}

ClusterOp
bagua::buildDefaultCluster(OpBuilder &builder, Location location,
                           ArrayRef<std::pair<std::string, int64_t>> axes) {
  std::vector<AxisSize> sizes;
  for (const auto &[name, size] : axes)
    sizes.push_back({name, size, std::nullopt, std::nullopt});
  return buildCluster(builder, location, sizes);
}

static FailureOr<OwnedCluster> buildFromSizes(StringRef text,
                                              MLIRContext *context) {
  Location location = UnknownLoc::get(context);
  FailureOr<std::vector<AxisSize>> axes = parseSizes(text, location);
  if (failed(axes))
    return failure();
  OwnedCluster result;
  result.module = ModuleOp::create(location);
  auto builder = OpBuilder::atBlockEnd(result.module->getBody());
  result.op = buildCluster(builder, location, *axes);
  if (failed(result.op.verify()))
    return failure();
  return result;
}

FailureOr<OwnedCluster> bagua::readCluster(StringRef argument,
                                           MLIRContext *context) {
  OwnedCluster result;
  if (argument.empty())
    return result;
  context->loadDialect<BaguaDialect>();
  StringRef presetName = argument;
  bool hasMoreServers = presetName.consume_back(kWithServers);
  const Preset *preset = llvm::find_if(
      kPresets, [&](const Preset &entry) { return entry.name == presetName; });
  if (preset != std::end(kPresets)) {
    result.module =
        parseSourceString<ModuleOp>(preset->text, context, argument);
  } else if (llvm::sys::fs::exists(argument)) {
    result.module = parseSourceFile<ModuleOp>(argument, context);
  } else if (argument.ends_with(".mlir") ||
             (argument.contains('/') && !argument.contains('='))) {
    return emitError(UnknownLoc::get(context))
           << "expected a bagua.cluster in '" << argument
           << "' for --cluster, found no such file";
  } else if (argument.contains('=')) {
    return buildFromSizes(argument, context);
  } else {
    return emitError(UnknownLoc::get(context))
           << "expected a preset (" << llvm::join(clusterPresets(), ", ")
           << "; with " << kWithServers
           << " a server more for each node), a file or sizes such as "
              "node=2,gpu=4 or host=4@500mbit,100us for --cluster, found '"
           << argument << "'";
  }
  if (!result.module)
    return failure();
  auto clusters = llvm::to_vector(result.module->getOps<ClusterOp>());
  if (clusters.size() != 1)
    return emitError(UnknownLoc::get(context))
           << "expected one bagua.cluster in " << argument << ", found "
           << clusters.size();
  result.op = clusters.front();
  if (preset != std::end(kPresets) && hasMoreServers)
    result.op.setServers(result.op.getAxis(0).getSize());
  return result;
}
