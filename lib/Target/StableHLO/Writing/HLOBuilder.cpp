//===- HLOBuilder.cpp - Writing StableHLO with a stock MLIR ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes attributes in the form of the exporters' own texts.
//
//===----------------------------------------------------------------------===//
#include "StableHLO/Writing/HLOBuilder.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace bagua;
using namespace bagua::importer;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether sums of an element type are accumulated in 32 bits and rounded once:
/// those of 16-bit numbers.
static bool isSummedWider(Type element) {
  return element.isF16() || element.isBF16();
}

Value HLOBuilder::create(StringRef name, ValueRange operands, Type type,
                         ArrayRef<NamedAttribute> attributes) {
  OperationState state(loc, ("stablehlo." + name).str(), operands, type,
                       attributes);
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value HLOBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value);
  return type.getShape() == shape
             ? value
             : create("reshape", value,
                      RankedTensorType::get(shape, type.getElementType()));
}

Value HLOBuilder::flatten(Value value) {
  return reshape(value, typeOf(value).getNumElements());
}

Value HLOBuilder::convert(Value value, Type element) {
  RankedTensorType type = typeOf(value);
  return type.getElementType() == element
             ? value
             : create("convert", value,
                      RankedTensorType::get(type.getShape(), element));
}

Value HLOBuilder::pad(Value value, int64_t count) {
  value = flatten(value);
  RankedTensorType type = typeOf(value);
  int64_t missing = count - type.getNumElements();
  if (missing == 0)
    return value;
  auto zerosType = RankedTensorType::get(missing, type.getElementType());
  Value zeros = create("constant", {}, zerosType,
                       named("value", builder.getZeroAttr(zerosType)));
  return concatenate({value, zeros}, 0);
}

Value HLOBuilder::slice(Value value, unsigned dimension, int64_t begin,
                        int64_t end) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> starts(type.getRank(), 0), ends(type.getShape());
  SmallVector<int64_t> strides(type.getRank(), 1), shape(type.getShape());
  if (begin == 0 && end == shape[dimension])
    return value;
  starts[dimension] = begin;
  ends[dimension] = end;
  shape[dimension] = end - begin;
  return create("slice", value,
                RankedTensorType::get(shape, type.getElementType()),
                {named("start_indices", builder.getDenseI64ArrayAttr(starts)),
                 named("limit_indices", builder.getDenseI64ArrayAttr(ends)),
                 named("strides", builder.getDenseI64ArrayAttr(strides))});
}

Value HLOBuilder::sliceAt(Value value, Value at, int64_t count) {
  return create("dynamic_slice", {value, at},
                RankedTensorType::get(count, typeOf(value).getElementType()),
                named("slice_sizes", builder.getDenseI64ArrayAttr(count)));
}

Value HLOBuilder::concatenate(ValueRange values, unsigned dimension) {
  if (values.size() == 1)
    return values.front();
  RankedTensorType type = typeOf(values.front());
  SmallVector<int64_t> shape(type.getShape());
  shape[dimension] = 0;
  for (Value value : values)
    shape[dimension] += typeOf(value).getDimSize(dimension);
  return create("concatenate", values,
                RankedTensorType::get(shape, type.getElementType()),
                named("dimension", builder.getI64IntegerAttr(dimension)));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value HLOBuilder::splatLike(Value value, double number) {
  RankedTensorType type = typeOf(value);
  Attribute element =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(), number))
          : builder.getIntegerAttr(type.getElementType(),
                                   static_cast<int64_t>(number));
  return create("constant", {}, type,
                named("value", DenseElementsAttr::get(type, element)));
}

Value HLOBuilder::binary(StringRef name, Value lhs, Value rhs) {
  return create(name, {lhs, rhs}, lhs.getType());
}

Value HLOBuilder::select(Value condition, Value then, Value otherwise) {
  return create("select", {condition, then, otherwise}, then.getType());
}

Value HLOBuilder::ownOf(ArrayRef<int32_t> numbers) {
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  auto unsignedScalar =
      RankedTensorType::get({}, builder.getIntegerType(32, false));
  Value device =
      create(isReplicated ? "replica_id" : "partition_id", {}, unsignedScalar);
  auto type = RankedTensorType::get(static_cast<int64_t>(numbers.size()),
                                    builder.getI32Type());
  Value table = create("constant", {}, type,
                       named("value", DenseElementsAttr::get(type, numbers)));
  Value own = sliceAt(table, create("convert", device, scalar), 1);
  return reshape(own, {});
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

void HLOBuilder::addChannel(SmallVectorImpl<NamedAttribute> &attributes) {
  if (isReplicated)
    return;
  std::string channel =
      llvm::formatv("channel_handle<handle = {0}, type = 1>", ++channels);
  attributes.push_back(named("channel_handle",
                             OpaqueAttr::get(builder.getStringAttr("stablehlo"),
                                             channel, builder.getNoneType())));
}

NamedAttribute HLOBuilder::table(StringRef name, ArrayRef<int64_t> numbers,
                                 int64_t columns) {
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(numbers.size()) / columns, columns},
      builder.getI64Type());
  return named(name, DenseElementsAttr::get(type, numbers));
}

SmallVector<NamedAttribute>
HLOBuilder::groupAttributes(const DeviceGroups &groups) {
  std::vector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups)
    flat.insert(flat.end(), group.begin(), group.end());
  SmallVector<NamedAttribute> attributes{table(
      "replica_groups", flat, static_cast<int64_t>(groups.front().size()))};
  addChannel(attributes);
  return attributes;
}

Operation *HLOBuilder::createReduction(StringRef name, Value value, Type type,
                                       ReduceKind kind,
                                       ArrayRef<NamedAttribute> more,
                                       const DeviceGroups &groups) {
  OperationState state(loc, ("stablehlo." + name).str(), value, type);
  state.addAttributes(groupAttributes(groups));
  state.addAttributes(more);
  if (!isReplicated)
    state.addAttribute("use_global_device_ids", builder.getUnitAttr());
  state.addRegion();
  Operation *op = builder.create(state);
  OpBuilder::InsertionGuard guard(builder);
  Type scalar = RankedTensorType::get({}, typeOf(value).getElementType());
  Block *body =
      builder.createBlock(&op->getRegion(0), {}, {scalar, scalar}, {loc, loc});
  StringRef combine = kind == ReduceKind::Min   ? "minimum"
                      : kind == ReduceKind::Max ? "maximum"
                                                : "add";
  Value result = binary(combine, body->getArgument(0), body->getArgument(1));
  builder.create(OperationState(loc, "stablehlo.return", result, TypeRange()));
  return op;
}

/// `shape` is the shape of the result.
Value HLOBuilder::reduce(StringRef name, Value value, ArrayRef<int64_t> shape,
                         ReduceKind kind, ArrayRef<NamedAttribute> more,
                         const DeviceGroups &groups) {
  Type element = typeOf(value).getElementType();
  Type wide = isSummedWider(element) ? builder.getF32Type() : element;
  value = convert(value, wide);
  Value result =
      createReduction(name, value, RankedTensorType::get(shape, wide), kind,
                      more, groups)
          ->getResult(0);
  if (kind == ReduceKind::Mean)
    result =
        binary("divide", result,
               splatLike(result, static_cast<double>(groups.front().size())));
  return convert(result, element);
}

Value HLOBuilder::allReduce(Value value, ReduceKind kind,
                            const DeviceGroups &groups) {
  return reduce("all_reduce", value, typeOf(value).getShape(), kind, {},
                groups);
}

Value HLOBuilder::reduceScatter(Value value, unsigned dimension,
                                ReduceKind kind, const DeviceGroups &groups) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dimension] /= static_cast<int64_t>(groups.front().size());
  return reduce(
      "reduce_scatter", value, shape, kind,
      named("scatter_dimension", builder.getI64IntegerAttr(dimension)), groups);
}

Value HLOBuilder::allGather(Value value, unsigned dimension,
                            const DeviceGroups &groups) {
  SmallVector<NamedAttribute> attributes = groupAttributes(groups);
  attributes.push_back(
      named("all_gather_dim", builder.getI64IntegerAttr(dimension)));
  if (!isReplicated)
    attributes.push_back(named("use_global_device_ids", builder.getUnitAttr()));
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dimension] *= static_cast<int64_t>(groups.front().size());
  return create("all_gather", value,
                RankedTensorType::get(shape, typeOf(value).getElementType()),
                attributes);
}

Value HLOBuilder::permute(Value value, ArrayRef<int64_t> pairs,
                          const DeviceGroups &groups) {
  SmallVector<int64_t> devices;
  for (const std::vector<int64_t> &group : groups)
    for (int64_t place : pairs)
      devices.push_back(group[place]);
  SmallVector<NamedAttribute> attributes{
      table("source_target_pairs", devices, 2)};
  addChannel(attributes);
  return create("collective_permute", value, value.getType(), attributes);
}

Value HLOBuilder::allToAll(Value value, int64_t split, int64_t concat,
                           Type type, const DeviceGroups &groups) {
  SmallVector<NamedAttribute> attributes = groupAttributes(groups);
  auto size = static_cast<int64_t>(groups.front().size());
  attributes.push_back(
      named("split_dimension", builder.getI64IntegerAttr(split)));
  attributes.push_back(
      named("concat_dimension", builder.getI64IntegerAttr(concat)));
  attributes.push_back(named("split_count", builder.getI64IntegerAttr(size)));
  return create("all_to_all", value, type, attributes);
}
