//===- StepOps.cpp - Clusters, steps and trainings ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax, lookups and the verifiers that need no other symbol. Verifiers that
// look up the cluster are in StepVerifier.cpp.
//
//===----------------------------------------------------------------------===//
#include "AssemblyFormat.h"

#include "bagua/Support/Limits.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bagua;

//===----------------------------------------------------------------------===//
// ClusterOp
//===----------------------------------------------------------------------===//

/// More than any cluster has, and few enough that no product of sizes
/// overflows.
static constexpr int64_t kMaxHosts = int64_t(1) << 20;

/// Checks that an axis with the links of another axis stands right behind that
/// axis, or behind others that have the same links.
static LogicalResult verifyLinks(ClusterOp cluster, unsigned index) {
  AxisAttr axis = cluster.getAxis(index);
  if (!axis.getLinksOf())
    return success();
  AxisAttr outer = index > 0 ? cluster.getAxis(index - 1) : AxisAttr();
  bool isBehind =
      outer && (axis.getLinksOf() == outer.getLinksOf() ||
                (!outer.getLinksOf() && axis.getLinksOf() == outer.getName()));
  if (!isBehind)
    return cluster.emitOpError()
           << "expected axis '" << axis.getName() << "' behind axis '"
           << axis.getLinksOf().getValue() << "', whose links it has";
  if (axis.getTable() || outer.getTable() ||
      axis.getLatencyNs() != outer.getLatencyNs() ||
      axis.getBytesPerS() != outer.getBytesPerS() ||
      axis.getSharers() != outer.getSharers() ||
      axis.getOverlappedRate() != outer.getOverlappedRate() ||
      axis.getOverlappedNs() != outer.getOverlappedNs() ||
      axis.getConcurrentRate() != outer.getConcurrentRate() ||
      axis.getGapNs() != outer.getGapNs())
    return cluster.emitOpError()
           << "expected axis '" << axis.getName()
           << "' to have the latency, gap, rates and sharers of axis '"
           << axis.getLinksOf().getValue()
           << "', whose links it uses, and no table on either axis";
  return success();
}

LogicalResult ClusterOp::verify() {
  llvm::StringMap<unsigned> seen;
  if (getAxes().empty())
    return emitOpError("expected at least one axis");
  int64_t ranks = 1;
  for (auto axis : getAxes().getAsRange<AxisAttr>()) {
    if (!seen.try_emplace(axis.getName(), 0).second)
      return emitOpError() << "expected unique names of axes, found '"
                           << axis.getName() << "' twice";
    if (axis.getSize() > kMaxHosts / ranks)
      return emitOpError() << "expected at most " << kMaxHosts
                           << " ranks, found more with axis '" << axis.getName()
                           << "' of " << axis.getSize();
    ranks *= axis.getSize();
  }
  for (unsigned index = 0; index < getAxisCount(); ++index)
    if (failed(verifyLinks(*this, index)))
      return failure();
  if (getServers().value_or(0) > kMaxHosts)
    return emitOpError() << "expected at most " << kMaxHosts
                         << " servers, found " << *getServers();
  if (AxesAttr on = getServersOnAttr())
    for (StringAttr name : on.getNames())
      if (!seen.count(name.getValue()))
        return emitOpError() << "has no axis '" << name.getValue()
                             << "', named by servers_on";
  return success();
}

std::optional<unsigned> ClusterOp::findAxis(StringRef name) {
  for (auto [index, axis] : llvm::enumerate(getAxes().getAsRange<AxisAttr>()))
    if (axis.getName() == name)
      return index;
  return std::nullopt;
}

AxisAttr ClusterOp::getAxis(unsigned index) {
  return cast<AxisAttr>(getAxes()[index]);
}

int64_t ClusterOp::getGroupSize(AxesAttr axes) {
  int64_t size = 1;
  for (StringAttr name : axes.getNames())
    size *= getAxis(*findAxis(name.getValue())).getSize();
  return size;
}

int64_t ClusterOp::getWorkerCount() { return getGroupSize(getAllAxes()); }

int64_t ClusterOp::getServerCount() {
  return getServers().value_or(0) +
         (getServersOn() ? getGroupSize(*getServersOn()) : 0);
}

namespace {
/// Cuts axes of a cluster.
class AxisCutter {
public:
  explicit AxisCutter(ClusterOp cluster) : cluster(cluster) {}

  void cut(AxisAttr axis, ArrayRef<int64_t> sizes);

  SmallVector<Attribute> axes;
  /// By name of an old axis: the names of its parts.
  llvm::StringMap<SmallVector<StringAttr>> parts;

private:
  void add(AxisAttr axis, StringRef name, int64_t size, int64_t sharers,
           StringAttr linksOf, DictionaryAttr table);
  /// `gpu.0`, or the next number that is free.
  StringAttr nameOf(AxisAttr axis);

  ClusterOp cluster;
  llvm::StringSet<> given;
};
} // namespace

void AxisCutter::add(AxisAttr axis, StringRef name, int64_t size,
                     int64_t sharers, StringAttr linksOf,
                     DictionaryAttr table) {
  axes.push_back(AxisAttr::get(
      axis.getContext(), name, size, axis.getLatencyNs(), axis.getBytesPerS(),
      sharers, axis.getOverlappedRate(), axis.getOverlappedNs(),
      axis.getConcurrentRate(), axis.getGapNs(), linksOf, table));
  parts[axis.getName()].push_back(StringAttr::get(axis.getContext(), name));
}

StringAttr AxisCutter::nameOf(AxisAttr axis) {
  for (unsigned number = 0;; ++number) {
    std::string name = (axis.getName() + "." + Twine(number)).str();
    if (!cluster.findAxis(name) && given.insert(name).second)
      return StringAttr::get(axis.getContext(), name);
  }
}

void AxisCutter::cut(AxisAttr axis, ArrayRef<int64_t> sizes) {
  auto cuts = llvm::count_if(sizes, [](int64_t size) { return size > 1; });
  StringAttr owner = axis.getLinksOf();
  if (cuts > 1 && axis.getTable())
    cluster.emitRemark()
        << "the measured times of axis '" << axis.getName()
        << "' are ignored: they hold for the whole axis, but the step's mesh "
           "cuts it into parts";
  // A part of one rank distinguishes no ranks; the other part is then the whole
  // axis.
  const int64_t *whole = cuts > 1 ? nullptr : llvm::max_element(sizes);
  for (const int64_t &size : sizes) {
    if (&size == whole) {
      add(axis, axis.getName(), size, axis.getSharers(), owner,
          axis.getTable());
    } else if (whole) {
      add(axis, nameOf(axis), size, /*sharers=*/1, nullptr, nullptr);
    } else {
      StringAttr name = nameOf(axis);
      add(axis, name, size, axis.getSharers(), owner, nullptr);
      if (!owner)
        owner = name;
    }
  }
}

void ClusterOp::cutAxes(ArrayRef<SmallVector<int64_t>> sizes) {
  AxisCutter cutter(*this);
  for (auto [index, parts] : llvm::enumerate(sizes))
    cutter.cut(getAxis(index), parts);
  if (AxesAttr on = getServersOnAttr()) {
    SmallVector<StringAttr> servers;
    for (StringAttr name : on.getNames())
      llvm::append_range(servers, cutter.parts[name.getValue()]);
    setServersOnAttr(AxesAttr::get(getContext(), servers));
  }
  setAxesAttr(ArrayAttr::get(getContext(), cutter.axes));
}

AxesAttr ClusterOp::getAllAxes() {
  SmallVector<StringAttr> names;
  for (auto axis : getAxes().getAsRange<AxisAttr>())
    names.push_back(StringAttr::get(getContext(), axis.getName()));
  return AxesAttr::get(getContext(), names);
}

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

static ParseResult
parseStepArgument(OpAsmParser &parser,
                  SmallVectorImpl<OpAsmParser::Argument> &args,
                  SmallVectorImpl<Attribute> &infos) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Role> role = symbolizeRole(word);
  if (!role)
    return parser.emitError(location)
           << "expected batch, input, param, optimizer, buffer, residual or "
              "replica, found '"
           << word << "'";
  ArgumentAttr info;
  OpAsmParser::Argument &argument = args.emplace_back();
  if (parser.parseArgument(argument) ||
      parseArgumentInfo(parser, *role, info) ||
      parser.parseColonType(argument.type))
    return failure();
  infos.push_back(info);
  return success();
}

/// `bsp`, `asp` or `ssp(s)`.
static ParseResult parseConsistency(OpAsmParser &parser,
                                    OperationState &result) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Consistency> consistency = symbolizeConsistency(word);
  if (!consistency)
    return parser.emitError(location)
           << "expected bsp, asp or ssp(steps), found '" << word << "'";
  Builder &builder = parser.getBuilder();
  result.addAttribute("consistency",
                      ConsistencyAttr::get(builder.getContext(), *consistency));
  if (*consistency != Consistency::Ssp)
    return success();
  int64_t staleness = 0;
  if (parser.parseLParen() || parser.parseInteger(staleness) ||
      parser.parseRParen())
    return failure();
  result.addAttribute("staleness", builder.getI64IntegerAttr(staleness));
  return success();
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  StringAttr name;
  FlatSymbolRefAttr cluster;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseKeyword("on") ||
      parser.parseAttribute(cluster, "cluster", result.attributes))
    return failure();
  AxesAttr data = AxesAttr::get(context, {});
  if (succeeded(parser.parseOptionalKeyword("data")) && parseAxes(parser, data))
    return failure();
  result.addAttribute("data_axes", data);
  if (succeeded(parser.parseOptionalKeyword("consistency")) &&
      parseConsistency(parser, result))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("streams"))) {
    AxesAttr streams;
    if (parseAxes(parser, streams))
      return failure();
    SmallVector<Attribute> names(streams.getNames().begin(),
                                 streams.getNames().end());
    result.addAttribute("streams", ArrayAttr::get(context, names));
  }

  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> infos;
  auto parseOne = [&] { return parseStepArgument(parser, arguments, infos); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  result.addAttribute("arguments", ArrayAttr::get(context, infos));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

static void printStepArgument(OpAsmPrinter &printer, ArgumentAttr info,
                              BlockArgument argument) {
  printer << stringifyRole(info.getRole()) << ' ';
  printer.printRegionArgument(argument, {}, /*omitType=*/true);
  printer << ' ';
  printArgumentInfo(printer, info);
  printer << " : " << argument.getType();
}

void StepOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " on ";
  printer.printAttributeWithoutType(getClusterAttr());
  if (!getDataAxes().empty()) {
    printer << " data ";
    printAxes(printer, getDataAxes());
  }
  if (std::optional<Consistency> consistency = getConsistency()) {
    printer << " consistency " << stringifyConsistency(*consistency);
    if (std::optional<int64_t> staleness = getStaleness())
      printer << '(' << *staleness << ')';
  }
  if (ArrayAttr streams = getStreamsAttr()) {
    printer << " streams [";
    llvm::interleaveComma(streams.getAsRange<StringAttr>(), printer,
                          [&](StringAttr name) { printStream(printer, name); });
    printer << ']';
  }
  printer << " (";
  llvm::interleaveComma(
      getBody().getArguments(), printer, [&](BlockArgument argument) {
        printStepArgument(printer, getArgument(argument.getArgNumber()),
                          argument);
      });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"sym_name", "cluster", "data_axes", "arguments",
                            "consistency", "staleness", "streams"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

void StepOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (argument.getArgNumber() < getArguments().size())
      setName(argument, getArgument(argument.getArgNumber()).getName());
}

ArgumentAttr StepOp::getArgument(unsigned index) {
  return cast<ArgumentAttr>(getArguments()[index]);
}

void StepOp::setArgument(unsigned index, ArgumentAttr argument) {
  SmallVector<Attribute> arguments(getArguments().begin(),
                                   getArguments().end());
  arguments[index] = argument;
  setArgumentsAttr(ArrayAttr::get(getContext(), arguments));
}

llvm::DenseMap<StringAttr, unsigned> StepOp::numberArguments() {
  llvm::DenseMap<StringAttr, unsigned> numbers;
  for (auto [index, info] :
       llvm::enumerate(getArguments().getAsRange<ArgumentAttr>()))
    numbers.try_emplace(info.getName(), static_cast<unsigned>(index));
  return numbers;
}

SmallVector<unsigned> StepOp::getStateArguments() {
  SmallVector<unsigned> indices;
  for (auto [index, info] :
       llvm::enumerate(getArguments().getAsRange<ArgumentAttr>()))
    if (info.isState())
      indices.push_back(index);
  return indices;
}

ClusterOp StepOp::lookupCluster() {
  return SymbolTable::lookupNearestSymbolFrom<ClusterOp>(*this,
                                                         getClusterAttr());
}

YieldOp StepOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

bool StepOp::runsBetweenIterations() {
  return llvm::all_of(
             getArguments().getAsRange<ArgumentAttr>(),
             [](ArgumentAttr argument) { return argument.isState(); }) &&
         getBody().front().getOps<ComputeOp>().empty() && !getYield().getAdd();
}

bool StepOp::isAsynchronous() {
  return getConsistency().value_or(Consistency::Bsp) != Consistency::Bsp;
}

/// Checks that names are unique among arguments and results together, because
/// the program binds tensors by name.
static LogicalResult verifyNames(StepOp step) {
  llvm::DenseMap<StringAttr, Location> seen;
  auto claim = [&](StringAttr name, Location location) -> LogicalResult {
    if (name.empty() || name.size() > kMaxNameLength)
      return mlir::emitError(location)
             << "expected names of 1 to " << kMaxNameLength
             << " bytes in step '" << step.getSymName() << "', found one of "
             << name.size();
    auto [entry, isNew] = seen.try_emplace(name, location);
    if (isNew)
      return success();
    InFlightDiagnostic diagnostic =
        mlir::emitError(location)
        << "expected names that are unique in step '" << step.getSymName()
        << "', found '" << name.getValue() << "' twice";
    diagnostic.attachNote(entry->second) << "the other is here";
    return diagnostic;
  };
  for (BlockArgument argument : step.getBody().getArguments())
    if (failed(claim(step.getArgument(argument.getArgNumber()).getName(),
                     argument.getLoc())))
      return failure();
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto stepOp = cast<StepOpInterface>(op);
    for (unsigned index = 0; index < op.getNumResults(); ++index)
      if (StringAttr name = stepOp.getResultName(index))
        if (failed(claim(name, op.getLoc())))
          return failure();
  }
  return success();
}

static LogicalResult verifyGradients(StepOp step) {
  llvm::DenseMap<StringAttr, unsigned> numbers = step.numberArguments();
  for (auto compute : step.getBody().front().getOps<ComputeOp>()) {
    for (OpResult result : compute->getResults()) {
      StringAttr param = getGradientParam(result);
      if (!param)
        continue;
      StringRef name = param.getValue();
      auto index = numbers.find(param);
      if (index == numbers.end() ||
          step.getArgument(index->second).getRole() != Role::Param)
        return compute.emitOpError()
               << "marks the gradient of '" << name
               << "', but the step has no param of that name";
      BlockArgument expecting = step.getBody().getArgument(index->second);
      auto expected = cast<ShapedType>(expecting.getType());
      auto grad = cast<ShapedType>(result.getType());
      if (expected.getShape() != grad.getShape()) {
        InFlightDiagnostic diagnostic = compute.emitOpError()
                                        << "expected the gradient of '" << name
                                        << "' in the param's shape " << expected
                                        << ", found " << grad;
        diagnostic.attachNote(expecting.getLoc()) << "the param is here";
        return diagnostic;
      }
    }
  }
  return success();
}

static LogicalResult verifyYield(StepOp step) {
  YieldOp yield = step.getYield();
  SmallVector<unsigned> states = step.getStateArguments();
  if (yield.getValues().size() != states.size())
    return yield.emitOpError()
           << "expected one value for each of the step's " << states.size()
           << " state arguments, found " << yield.getValues().size();
  for (auto [value, index] : llvm::zip_equal(yield.getValues(), states)) {
    Type expected = step.getBody().getArgument(index).getType();
    if (value.getType() != expected)
      return yield.emitOpError() << "expected " << expected << " for state '"
                                 << step.getArgument(index).getName().getValue()
                                 << "', found " << value.getType();
  }
  return success();
}

/// Checks that all ops implement StepOpInterface, through which every pass asks
/// them.
static LogicalResult verifyMembers(StepOp step) {
  for (Operation &op : step.getBody().front().without_terminator())
    if (!isa<StepOpInterface>(op))
      return op.emitOpError()
             << "can't stand in step '" << step.getSymName() << "'";
  return success();
}

/// Checks that a place is aligned: the runtime computes on elements in their
/// places.
static LogicalResult verifyPlace(Operation *op, Value value, PlaceAttr place) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isIntOrFloat() || !place ||
      place.getKind() != PlaceKind::Arena)
    return success();
  int64_t elementBytes = getElementBytes(type.getElementType());
  if (elementBytes == 0 || place.getOffset() % elementBytes == 0)
    return success();
  return op->emitOpError() << "expected a place for " << type
                           << " at a multiple of " << elementBytes
                           << " bytes, found byte " << place.getOffset()
                           << " of arena '" << place.getName().getValue()
                           << "'";
}

/// Checks that streams are among the step's, and that each result has a place
/// at which its elements may lie.
static LogicalResult verifyPlacement(StepOp step) {
  for (BlockArgument argument : step.getBody().getArguments())
    if (failed(
            verifyPlace(step, argument,
                        step.getArgument(argument.getArgNumber()).getPlace())))
      return failure();
  ArrayAttr streams = step.getStreamsAttr();
  for (Operation &op : step.getBody().front().without_terminator()) {
    auto stepOp = cast<StepOpInterface>(op);
    StringAttr stream = stepOp.getStreamAttr();
    if (stream && streams && !llvm::is_contained(streams, stream))
      return op.emitOpError()
             << "is on stream '" << stream.getValue()
             << "', which is not among the step's streams " << streams;
    ArrayAttr places = stepOp.getPlacesAttr();
    if (places && places.size() != op.getNumResults())
      return op.emitOpError()
             << "expected one place for each of " << op.getNumResults()
             << " results, found " << places.size();
    if (places)
      for (auto [place, result] : llvm::zip_equal(places, op.getResults()))
        if (failed(verifyPlace(&op, result, cast<PlaceAttr>(place))))
          return failure();
  }
  return success();
}

LogicalResult StepOp::verify() {
  Block &block = getBody().front();
  if (getArguments().size() != block.getNumArguments())
    return emitOpError() << "expected one description for each of "
                         << block.getNumArguments() << " arguments, found "
                         << getArguments().size();
  for (auto [index, attribute] : llvm::enumerate(getArguments()))
    if (!isa<ArgumentAttr>(attribute))
      return emitOpError() << "expected #bagua.argument for argument " << index
                           << ", found " << attribute;
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape())
      return emitOpError()
             << "expected a tensor of static shape for argument '"
             << getArgument(argument.getArgNumber()).getName().getValue()
             << "', found " << argument.getType();
  }
  bool isSsp = getConsistency() == Consistency::Ssp;
  if (isSsp != getStaleness().has_value())
    return emitOpError("expected a staleness with ssp, and only there");
  return success();
}

/// Checks that need the ops inside the step; MLIR has verified each op by then.
LogicalResult StepOp::verifyRegions() {
  if (failed(verifyMembers(*this)) || failed(verifyNames(*this)) ||
      failed(verifyGradients(*this)) || failed(verifyYield(*this)))
    return failure();
  return verifyPlacement(*this);
}

void YieldOp::build(OpBuilder &, OperationState &) {}

//===----------------------------------------------------------------------===//
// TrainingOp, PhaseOp
//===----------------------------------------------------------------------===//

StepOp PhaseOp::lookupStep() {
  return SymbolTable::lookupNearestSymbolFrom<StepOp>((*this)->getParentOp(),
                                                      getStepAttr());
}

std::optional<int64_t> PhaseOp::getIteration() {
  if (getAtStart())
    return 0;
  std::optional<uint64_t> iteration = getAt();
  return iteration ? std::optional(static_cast<int64_t>(*iteration))
                   : std::nullopt;
}

LogicalResult PhaseOp::verify() {
  int kinds = getAtStart() + (getAtAttr() != nullptr) +
              (getUntilAttr() != nullptr) + (getEveryAttr() != nullptr) +
              isBackground();
  if (kinds > 1)
    return emitOpError("expected at most one of at_start, at, until, every and "
                       "background_ns");
  if (getEvery().has_value() != getOffset().has_value())
    return emitOpError("expected 'every' and 'offset' together");
  if (getEvery() && *getOffset() >= *getEvery())
    return emitOpError() << "expected an offset below " << *getEvery()
                         << ", found " << *getOffset();
  return success();
}

/// Checks that background steps commit by adding, and no others.
static LogicalResult verifyCommit(PhaseOp phase, StepOp step) {
  bool adds = step.getYield().getAdd();
  if (adds != phase.isBackground())
    return phase.emitOpError()
           << (adds ? "expected 'background_ns' for step '"
                    : "expected 'yield add' in background step '")
           << step.getSymName() << (adds ? "', which yields with 'add'" : "'");
  return success();
}

/// Checks that the program binds nothing to a step that runs beside iterations
/// or between them, and runs nothing of it.
static LogicalResult verifyWithoutProgram(PhaseOp phase, StepOp step) {
  std::string what;
  if (phase.isBackground())
    what = "a background step";
  else if (std::optional<int64_t> iteration = phase.getIteration())
    what = "a step 'at " + std::to_string(*iteration) + "'";
  else
    return success();
  for (auto info : step.getArguments().getAsRange<ArgumentAttr>())
    if (!info.isState())
      return phase.emitOpError()
             << "expected " << what << " without batch and input, found '"
             << info.getName().getValue() << "'";
  for (Operation &op : step.getBody().front())
    if (isa<ComputeOp>(op))
      return phase.emitOpError()
             << "expected " << what << " without compute, found '"
             << cast<ComputeOp>(op).getName() << "'";
  return success();
}

LogicalResult PhaseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto step = symbols.lookupNearestSymbolFrom<StepOp>((*this)->getParentOp(),
                                                      getStepAttr());
  if (!step)
    return emitOpError() << "expected the name of a step, found "
                         << getStepAttr();
  if (failed(verifyCommit(*this, step)))
    return failure();
  return verifyWithoutProgram(*this, step);
}

/// Checks that rows `at` an iteration come first, that the last foreground row
/// always matches, and that no row that always matches hides another.
static LogicalResult verifyRowOrder(TrainingOp training) {
  PhaseOp last;
  for (auto phase : training.getBody().front().getOps<PhaseOp>()) {
    if (phase.isBackground())
      continue;
    if (last && last.matchesAlways()) {
      InFlightDiagnostic diagnostic =
          phase.emitOpError("can never run: a row before it always matches");
      diagnostic.attachNote(last.getLoc()) << "this row";
      return diagnostic;
    }
    if (phase.getIteration() && last && !last.getIteration())
      return phase.emitOpError(
          "expected rows 'at_start' and 'at' before all others");
    last = phase;
  }
  if (!last || !last.matchesAlways())
    return training.emitOpError(
        "expected a last foreground row that always matches");
  return success();
}

/// Checks that the ranks have their own batches along the same axes in all
/// steps that have batches.
static LogicalResult verifyDataAxes(TrainingOp training) {
  StepOp first;
  for (auto phase : training.getBody().front().getOps<PhaseOp>()) {
    StepOp step = phase.lookupStep();
    if (!step || llvm::none_of(step.getArguments().getAsRange<ArgumentAttr>(),
                               [](ArgumentAttr info) {
                                 return info.getRole() == Role::Batch;
                               }))
      continue;
    if (!first)
      first = step;
    if (step.getDataAxes() == first.getDataAxes())
      continue;
    InFlightDiagnostic diagnostic =
        phase.emitOpError()
        << "expected data " << first.getDataAxes().str() << ", as step '"
        << first.getSymName() << "' has, found " << step.getDataAxes().str();
    diagnostic.attachNote(first.getLoc())
        << "step '" << first.getSymName() << "' is here";
    return diagnostic;
  }
  return success();
}

/// Checks that a state has one type and one role in all steps that name it, and
/// that these agree about the data.
LogicalResult TrainingOp::verifySymbolUses(SymbolTableCollection &) {
  struct Declaration {
    Type type;
    Role role;
    StepOp step;
  };
  llvm::StringMap<Declaration> states;
  for (auto phase : getBody().front().getOps<PhaseOp>()) {
    StepOp step = phase.lookupStep();
    if (!step)
      continue; // the phase's own verifier reports it
    for (unsigned index : step.getStateArguments()) {
      ArgumentAttr info = step.getArgument(index);
      Type type = step.getBody().getArgument(index).getType();
      auto [entry, isNew] = states.try_emplace(
          info.getName().getValue(), Declaration{type, info.getRole(), step});
      const Declaration &first = entry->second;
      if (isNew || (first.type == type && first.role == info.getRole()))
        continue;
      InFlightDiagnostic diagnostic =
          phase.emitOpError()
          << "expected state '" << info.getName().getValue() << "' as "
          << stringifyRole(first.role) << " of type " << first.type
          << " in step '" << step.getSymName() << "', found "
          << stringifyRole(info.getRole()) << " of type " << type;
      StepOp other = first.step;
      diagnostic.attachNote(other.getLoc())
          << "step '" << other.getSymName() << "' is here";
      return diagnostic;
    }
  }
  return verifyDataAxes(*this);
}

LogicalResult TrainingOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<PhaseOp>(op))
      return op.emitOpError("expected only bagua.phase in a training");
  return verifyRowOrder(*this);
}
